/** Jobs: prompts that an agent runs on a schedule. One rule: what it did and what it will do stand on one page. */

import { html } from "../vendor/ui.js";
import { patch, pathOf, post, remove, requestId, useResource } from "./api.js";
import { Action, Badge, Empty, Field, Form, FromOutside, Loading, Page, When } from "./parts.js";
import { go, Link } from "./router.js";
import { Past, Upcoming } from "./slots.js";
import { drawn } from "./text.js";

const WHEN_HELP = "every day 7:00 · every Monday 8:00 · every 2 hours · 0 7 * * 1-5";

export function JobsPage() {
  const resource = useResource("/jobs");
  const submit = async ({ title, text, when }, form) => {
    const made = await post("/jobs", { request_id: requestId(), title, text, when });
    form.reset();
    return made.said;
  };
  return html`<${Page} title="Jobs">
    ${resource.data ? html`<${List} jobs=${resource.data.jobs} />` : html`<${Loading} of=${resource} />`}
    <details class="card"><summary>New job</summary>
      <${Form} submit=${submit} send="Make the job" label="New job">
        <${Field} label="Title"><input name="title" required dir="auto" /><//>
        <${Field} label="What to do each time" help="A run knows this text and its own earlier reports, and nothing else of yours."><textarea name="text" required rows="4" dir="auto"></textarea><//>
        <${Field} label="When" help=${WHEN_HELP}><input name="when" required autocapitalize="off" /><//>
      <//>
    </details>
  <//>`;
}

function List({ jobs }) {
  if (jobs.length === 0) return html`<${Empty}>There is no job yet.<//>`;
  return html`<ul class="rows">${jobs.map((it) => html`<li key=${it.id}><${Link} to=${`/jobs/${it.id}`} class="row">
    <span class="row-main"><bdi>${drawn(it.title)}</bdi></span>
    <span class="row-end">${it.running ? html`<${Badge} kind="running">runs now<//>` : null} ${it.next_at ? html`<${When} at=${it.next_at} near />` : html`<${Badge}>${it.state}<//>`}</span>
  <//></li>`)}</ul>`;
}

export function JobPage({ id }) {
  const path = pathOf("jobs", id);
  const job = useResource(path);
  const upcoming = useResource(`${path}/upcoming`);
  const slots = useResource(`${path}/slots`);
  const pushes = useResource(`/pushes?thing=${encodeURIComponent(id)}`);
  const back = html`<${Link} to="/jobs" class="back">Jobs<//>`;
  if (!job.data) return html`<${Page} title="Job" back=${back}><${Loading} of=${job} /><//>`;
  const it = job.data;
  const change = async ({ title, text, when }) => (await patch(path, { title, text, ...(when.trim() ? { when } : {}) })).said;
  return html`<${Page} title=${it.title} back=${back}>
    <p class="lead"><${Badge} kind=${it.running ? "running" : ""}>${it.running ? "runs now" : it.state}<//> ${drawn(it.rule)}, ${drawn(it.zone)} · for ${drawn(it.agent)} <${FromOutside} label=${it.label} /></p>
    <p class="plain card" dir="auto">${drawn(it.text)}</p>
    <h2>Next</h2>
    ${upcoming.data ? html`<${Upcoming} slots=${upcoming.data.slots} />` : html`<${Loading} of=${upcoming} />`}
    <h2>What became of it</h2>
    ${slots.data ? html`<${Past} slots=${slots.data.slots} more=${slots.data.more} pushes=${pushes.data?.pushes} />` : html`<${Loading} of=${slots} />`}
    ${it.state === "removed"
      ? null
      : html`<p class="buttons">
            ${it.state === "active" ? html`<${Action} act=${() => post(`${path}/pause`)}>Pause<//>` : null}
            ${it.state === "paused" ? html`<${Action} class="main-button" act=${() => post(`${path}/resume`)}>Resume<//>` : null}
            <${Action} confirm="Yes, remove it" act=${async () => (await remove(path), go("/jobs"))}>Remove<//>
          </p>
          <details class="card"><summary>Change it</summary>
            <${Form} submit=${change} send="Change it" label="Change the job">
              <${Field} label="Title"><input name="title" required defaultValue=${it.title} dir="auto" /><//>
              <${Field} label="What to do each time"><textarea name="text" required rows="4" dir="auto">${it.text}</textarea><//>
              <${Field} label="A new schedule" help=${`Left empty, it stays. ${WHEN_HELP}`}><input name="when" autocapitalize="off" /><//>
            <//>
          </details>`}
  <//>`;
}

