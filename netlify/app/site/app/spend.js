/** Money. One rule: what is set aside counts as used, so nothing is ever under the bill; but it is told apart. */

import { html, useState } from "../vendor/ui.js";
import { post, useResource } from "./api.js";
import { Field, Form, Loading, Page } from "./parts.js";
import { Aside, Costs } from "./runs.js";
import { dollars } from "./words.js";

export function SpendPage() {
  const [by, setBy] = useState("day");
  const resource = useResource(`/spend?by=${by}`);
  if (!resource.data) return html`<${Page} title="Spend"><${Loading} of=${resource} /><//>`;
  const { day, month, sums } = resource.data;
  return html`<${Page} title="Spend">
    <div class="meters"><${Meter} name="Today" period=${day} /><${Meter} name="This month" period=${month} /></div>
    <${Aside} of=${[month]} />
    <p class="help">Past a limit nothing is asked of the model; it waits, and goes on once you raise it or the day is over. The limits themselves are in the settings.</p>
    <h2>This month, by <select aria-label="Summed by" value=${by} onChange=${(event) => setBy(event.currentTarget.value)}>
      ${["day", "agent", "model"].map((it) => html`<option value=${it}>${it}</option>`)}</select></h2>
    <${Costs} sums=${sums} what=${by} name=${(sum) => `${sum.name}, ${sum.kind}`} why=${false} />
  <//>`;
}

function Meter({ name, period }) {
  const share = period.limit_dollars > 0 ? Math.min(1, period.used_dollars / period.limit_dollars) : 1;
  const reached = share > 0.995;
  const submit = async ({ amount }) => {
    await post("/spend/raise", { period: period.period, dollars: Number(amount) });
    return "Raised. What waited goes on.";
  };
  return html`<section class=${`card meter ${reached ? "reached" : ""}`} aria-label=${name}>
    <h2>${name}</h2>
    <p class="amount"><strong>${dollars(period.spent_dollars)}</strong> spent of ${dollars(period.limit_dollars)}${period.unsettled_dollars > 0 ? html`, and ${dollars(period.unsettled_dollars)} set aside` : null}</p>
    <meter min="0" max="1" high="0.8" value=${share} aria-label=${`Used ${name.toLowerCase()}`}></meter>
    <${Form} submit=${submit} send="Raise" label=${`Raise the limit: ${name}`} class="inline">
      <${Field} label="Raise it to, in dollars"><input name="amount" type="number" inputmode="decimal" min="0" step="any" required defaultValue=${Math.ceil(period.limit_dollars * 2)} /><//>
    <//>
  </section>`;
}
