/** When a reminder or job came up, and what became of it. One rule: each time has one fate, and it is shown. */

import { html } from "../vendor/ui.js";
import { Markdown } from "./markdown.js";
import { Badge, Empty, When } from "./parts.js";
import { Link } from "./router.js";
import { drawn, known } from "./text.js";
import { counted, lateness } from "./words.js";

export function Upcoming({ slots }) {
  if (slots.length === 0) return html`<${Empty}>It does not come up again.<//>`;
  return html`<ol class="slots">${slots.map((slot) => html`<li key=${slot.slot}><${When} at=${slot.at} near /><span class="help">${drawn(slot.said)}</span></li>`)}</ol>`;
}

/** What became of past times, each with the push that told of it. A report is text from outside. */
export function Past({ slots, more, pushes = [] }) {
  for (const slot of slots) if (slot.report) known.learn(slot.report);
  if (slots.length === 0) return html`<${Empty}>It has not come up yet.<//>`;
  return html`<ol class="slots">${slots.map((slot) => html`<li key=${slot.slot}>
      <span><${When} at=${slot.at} /> <${Badge} kind=${slot.fate}>${fateOf(slot)}<//> ${delivery(slot, pushes)}</span>
      ${slot.why ? html`<span class="help">${drawn(slot.why)}</span>` : null}
      ${slot.report ? html`<details><summary>Report</summary><${Markdown} text=${slot.report} /></details>` : null}
      ${slot.conversation ? html`<span class="help"><${Link} to=${`/conversations/${slot.conversation}`}>What its run did<//></span>` : null}
    </li>`)}</ol>${more ? html`<p class="help">There is an older part.</p>` : null}`;
}

function fateOf(slot) {
  const times = slot.count > 1 ? ` ${counted(slot.count, "time")}` : "";
  if (slot.fate === "ran" && slot.late_seconds) return `ran ${lateness(slot.late_seconds)} late`;
  return `${slot.fate}${times}`;
}

function delivery(slot, pushes) {
  const push = pushes.find((it) => it.id.endsWith(slot.slot));
  return push ? html`<${PushState} push=${push} />` : null;
}

/** What became of a push, and what was pressed under it. */
export function PushState({ push }) {
  const kind = push.state === "failed" ? "failed" : push.state === "sent" ? "ran" : "";
  return html`<${Badge} kind=${kind}>phone: ${drawn(push.told)}<//>${push.answer ? html` <${Badge}>${push.answer === "snooze" ? "snoozed" : drawn(push.answer)}<//>` : null}`;
}
