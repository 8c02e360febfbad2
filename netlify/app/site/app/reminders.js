/** Reminders. One rule: a time is typed as one says it, and said back exactly. */

import { html, useState } from "../vendor/ui.js";
import { patch, pathOf, post, remove, requestId, useResource } from "./api.js";
import { Action, Badge, Empty, Field, Form, FromOutside, Loading, Page, When } from "./parts.js";
import { go, Link } from "./router.js";
import { Past, PushState } from "./slots.js";
import { drawn } from "./text.js";
import { oneLine } from "./words.js";

const WHEN_HELP = "tomorrow 9:00 · in 20 minutes · every Monday 8:00 · 0 9 1 * *";

export function RemindersPage() {
  const [over, setOver] = useState(false);
  const resource = useResource(`/reminders?over=${over}`);
  return html`<${Page} title="Reminders">
    <${NewReminder} />
    ${resource.data ? html`<${List} reminders=${resource.data.reminders} over=${over} />` : html`<${Loading} of=${resource} />`}
    <p><label class="check"><input type="checkbox" checked=${over} onChange=${() => setOver(!over)} /> Show those that are over</label></p>
  <//>`;
}

function NewReminder() {
  const submit = async ({ text, when }, form) => {
    const made = await post("/reminders", { request_id: requestId(), text, when });
    form.reset();
    return made.said;
  };
  return html`<${Form} submit=${submit} send="Remind me" label="New reminder" class="card">
    <${Field} label="Remind me of"><input name="text" required dir="auto" /><//>
    <${Field} label="When" help=${WHEN_HELP}><input name="when" required autocapitalize="off" /><//>
  <//>`;
}

function List({ reminders, over }) {
  if (reminders.length === 0) return html`<${Empty}>${over ? "There has been no reminder yet." : "No reminder is set."}<//>`;
  return html`<ul class="rows">${reminders.map((it) => html`<li key=${it.id}><${Link} to=${`/reminders/${it.id}`} class="row">
    <span class="row-main"><bdi>${drawn(oneLine(it.text))}</bdi></span>
    <span class="row-end">${it.next_at ? html`<${When} at=${it.next_at} near />` : html`<${Badge}>${it.state}<//>`}</span>
  <//></li>`)}</ul>`;
}

export function ReminderPage({ id }) {
  const path = pathOf("reminders", id);
  const reminder = useResource(path);
  const slots = useResource(`${path}/slots`);
  const pushes = useResource(`/pushes?thing=${encodeURIComponent(id)}`);
  const back = html`<${Link} to="/reminders" class="back">Reminders<//>`;
  if (!reminder.data) return html`<${Page} title="Reminder" back=${back}><${Loading} of=${reminder} /><//>`;
  const it = reminder.data;
  const change = async ({ text, when }) => (await patch(path, { text, ...(when.trim() ? { when } : {}) })).said;
  return html`<${Page} title=${oneLine(it.text, 80)} back=${back}>
    <p class="lead">${it.state === "active" ? drawn(it.said) : html`<${Badge}>${it.state}<//>`} <${FromOutside} label=${it.label} /></p>
    <h2>What became of it</h2>
    ${slots.data ? html`<${Past} slots=${slots.data.slots} more=${slots.data.more} />` : html`<${Loading} of=${slots} />`}
    ${pushes.data?.pushes.length ? html`<h2>On the phone</h2><ul class="slots">${pushes.data.pushes.map((push) => html`<li key=${push.id}><${PushState} push=${push} /></li>`)}</ul>` : null}
    <${Form} submit=${change} send="Change it" label="Change the reminder" class="card">
      <${Field} label="Remind me of"><textarea name="text" required dir="auto" rows="3">${it.text}</textarea><//>
      <${Field} label="A new time" help=${`Left empty, it stays: ${it.rule}, ${it.zone}. ${WHEN_HELP}`}><input name="when" autocapitalize="off" /><//>
    <//>
    ${it.state === "active" ? html`<${Action} confirm="Yes, cancel it" act=${async () => (await remove(path), go("/reminders"))}>Cancel this reminder<//>` : null}
  <//>`;
}
