/** Settings, and what this browser is to the server. One rule: what is shown is what holds now. */

import { html } from "../vendor/ui.js";
import { patch, useResource } from "./api.js";
import { Action, Field, Form, Loading, Page } from "./parts.js";
import { Link } from "./router.js";
import { leave } from "./session.js";
import { drawn } from "./text.js";

export function SettingsPage() {
  const settings = useResource("/settings");
  const status = useResource("/status");
  return html`<${Page} title="Settings">
    ${settings.data ? html`<${Choices} it=${settings.data} />` : html`<${Loading} of=${settings} />`}
    <h2>This dreamwalker</h2>
    ${status.data ? html`<dl class="facts">
      <dt>version</dt><dd>${drawn(status.data.version)}</dd>
      <dt>model</dt><dd>${status.data.practice ? "the practice model: rules, not an AI" : drawn(status.data.model)}</dd>
      <dt>phone</dt><dd>${status.data.pushes}${status.data.buttons ? ", with buttons" : ""} · <${Link} to="/pushes">what was pushed<//></dd>
      <dt>API</dt><dd><${Link} to="/reference">what it takes and answers<//></dd>
      <dt>commit</dt><dd>${status.data.commit_no.toLocaleString()}</dd>
    </dl>` : html`<${Loading} of=${status} />`}
    <h2>This browser</h2>
    <p>It keeps the token, what you are typing and what is not sent yet. <${Action} confirm="Yes, forget all of it" act=${leave}>Leave<//></p>
  <//>`;
}

function Choices({ it }) {
  const save = async (given) => {
    await patch("/settings", {
      zone: given.zone.trim(),
      day_limit_dollars: Number(given.day),
      month_limit_dollars: Number(given.month),
      ask: given.ask,
      pushes: given.pushes === "on",
      snooze_minutes: Number(given.snooze),
    });
    return "Kept.";
  };
  const zones = Intl.supportedValuesOf?.("timeZone") ?? [];
  return html`<${Form} submit=${save} send="Keep" label="Settings" class="card">
    <${Field} label="Your time zone"><input name="zone" list="zones" required defaultValue=${it.zone} autocapitalize="off" /><datalist id="zones">${zones.map((zone) => html`<option value=${zone} />`)}</datalist><//>
    <${Field} label="Spend at most a day, in dollars"><input name="day" type="number" min="0" step="any" inputmode="decimal" required defaultValue=${it.day_limit_dollars} /><//>
    <${Field} label="Spend at most a month, in dollars"><input name="month" type="number" min="0" step="any" inputmode="decimal" required defaultValue=${it.month_limit_dollars} /><//>
    <fieldset class="choices"><legend class="label">When text from outside is about, ask me before anything is written or sent</legend>
      <label class="check"><input type="radio" name="ask" value="since-message" defaultChecked=${it.ask === "since-message"} /> if it came in since I last wrote, or if private text would go out</label>
      <label class="check"><input type="radio" name="ask" value="strict" defaultChecked=${it.ask === "strict"} /> always</label>
    </fieldset>
    <${Field} label="Push to my phone"><select name="pushes"><option value="on" selected=${it.pushes}>yes</option><option value="off" selected=${!it.pushes}>no</option></select><//>
    <${Field} label="Snooze, in minutes"><input name="snooze" type="number" min="1" required defaultValue=${it.snooze_minutes} /><//>
  <//>`;
}
