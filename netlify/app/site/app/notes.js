/** Notes, and everything they ever said. One rule: nothing is overwritten; undoing is writing an earlier text anew. */

import { html, useState } from "../vendor/ui.js";
import { pathOf, post, remove, requestId, useResource } from "./api.js";
import { Markdown } from "./markdown.js";
import { Action, Badge, Empty, Field, Form, FromOutside, Loading, Page, When } from "./parts.js";
import { Link } from "./router.js";
import { drawn } from "./text.js";
import { counted, oneLine } from "./words.js";

export function NotesPage({ agent }) {
  const [query, setQuery] = useState("");
  const removed = useResource(`${pathOf("agents", agent, "notes")}?removed=true`).data?.notes ?? [];
  const resource = useResource(`${pathOf("agents", agent, "notes")}?query=${encodeURIComponent(query)}`);
  return html`<${Page} title=${agent === "dreamwalker" ? "Notes" : `Notes of ${agent}`}>
    <input type="search" class="search" aria-label="Search the notes" placeholder="Search the notes" value=${query} onInput=${(event) => setQuery(event.currentTarget.value)} />
    ${resource.data ? html`<${List} agent=${agent} notes=${resource.data.notes} more=${resource.data.more} query=${query} />` : html`<${Loading} of=${resource} />`}
    ${removed.length > 0 && !query ? html`<details class="removed"><summary>${counted(removed.length, "removed note")}</summary><${List} agent=${agent} notes=${removed} /></details>` : null}
  <//>`;
}

function List({ agent, notes, more, query }) {
  if (notes.length === 0) return html`<${Empty}>${query ? "No note holds all of these words." : "There is no note yet. Tell your agent something worth remembering."}<//>`;
  return html`<ul class="rows">${notes.map((it) => html`<li key=${it.id}><${Link} to=${`/notes/${agent}/${it.id}`} class="row">
    <span class="row-main"><bdi class="strong">${drawn(it.title)}</bdi><span class="help" dir="auto">${drawn(oneLine(it.text, 140))}</span></span>
    <span class="row-end"><${When} at=${it.at} /></span>
  <//></li>`)}</ul>${more ? html`<p class="help">There are more; search finds them.</p>` : null}`;
}

export function NotePage({ agent, id }) {
  const path = `${pathOf("notes", id)}/versions`;
  const resource = useResource(path);
  const [editing, setEditing] = useState(false);
  const back = html`<${Link} to=${`/notes/${agent}`} class="back">Notes<//>`;
  if (!resource.data) return html`<${Page} title="Note" back=${back}><${Loading} of=${resource} /><//>`;
  const { title, versions, removed } = resource.data;
  const [newest, ...earlier] = versions;
  const write = async ({ text }) => {
    await post(path, { request_id: requestId(), text, base: newest.version });
    setEditing(false);
  };
  return html`<${Page} title=${title} back=${back}>
    ${removed ? html`<p class="undo" role="status">You removed this note. No agent finds it; what it ever said is kept. <${Action} act=${() => post(`${pathOf("notes", id)}/restore`)}>Undo<//></p>` : null}
    ${editing
      ? html`<${Form} submit=${write} send="Write it" label="Change the note" class="card">
          <${Field} label="The note" help="It becomes a new version; this one stays in its history."><textarea name="text" rows="10" dir="auto" required>${newest.text}</textarea><//>
          <button type="button" class="plain-button" onClick=${() => setEditing(false)}>Leave it as it is</button>
        <//>`
      : html`<div class="card note"><${Markdown} text=${newest.text} /></div>
          <p class="help"><${Origin} version=${newest} /> · <button class="plain-button" onClick=${() => setEditing(true)}>Change it</button>${removed ? null : html` · <${Action} class="plain-button" act=${() => remove(pathOf("notes", id))}>Remove it<//>`}</p>`}
    <h2>Earlier versions</h2>
    ${earlier.length === 0 ? html`<${Empty}>This is the first one.<//>` : null}
    <ol class="versions">${earlier.map((it) => html`<li key=${it.version}>
      <details><summary><${Badge}>version ${it.version}<//> <bdi>${drawn(oneLine(it.text, 80))}</bdi></summary><div class="card note"><${Markdown} text=${it.text} /></div></details>
      <p class="help"><${Origin} version=${it} /></p>
      <${Action} class="plain-button" act=${() => post(path, { request_id: requestId(), version: it.version, base: newest.version })}>Go back to this<//>
    </li>`)}</ol>
  <//>`;
}

/** Who wrote a version, when, and out of what. */
function Origin({ version }) {
  return html`Version ${version.version}, <${When} at=${version.at} />, written by ${version.run === null ? "you" : html`your agent in <${Link} to=${`/runs/${version.run}`}>this run<//>`} <${FromOutside} label=${version.label} />`;
}
