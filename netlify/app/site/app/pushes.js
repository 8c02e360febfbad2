/** What was pushed to the phone. One rule: what became of each is shown. */

import { html } from "../vendor/ui.js";
import { post, useResource } from "./api.js";
import { Action, Empty, Loading, Page, When } from "./parts.js";
import { Link } from "./router.js";
import { PushState } from "./slots.js";
import { drawn } from "./text.js";
import { oneLine } from "./words.js";

export function PushesPage() {
  const resource = useResource("/pushes");
  return html`<${Page} title="On the phone" back=${html`<${Link} to="/settings" class="back">Settings<//>`}>
    <p><${Action} act=${() => post("/pushes/test")}>Push a test<//></p>
    ${!resource.data ? html`<${Loading} of=${resource} />` : resource.data.pushes.length === 0 ? html`<${Empty}>Nothing was pushed yet.<//>` : null}
    <ul class="rows">${(resource.data?.pushes ?? []).map((push) => html`<li key=${push.id} class="row">
      <span class="row-main"><bdi class="strong">${drawn(push.title)}</bdi><span class="help" dir="auto">${drawn(oneLine(push.text, 140))}</span></span>
      <span class="row-end"><${PushState} push=${push} /> <${When} at=${push.made_at} /></span>
    </li>`)}</ul>
  <//>`;
}
