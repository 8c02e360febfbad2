/**
 * Searching what was said and noted. One rule: it answers as one types, and each answer leads to its place.
 */

import { html, useEffect, useRef, useState } from "../vendor/ui.js";
import { get } from "./api.js";
import { Badge, Empty, Page, Trouble, When } from "./parts.js";
import { Link } from "./router.js";
import { Store, useStore } from "./store.js";
import { drawn } from "./text.js";
import { dayOf, oneLine } from "./words.js";

/** After a key it is waited so long for another. */
const PAUSE_MS = 120;
const BEFORE_CHARACTERS = 40;
const SHOWN_CHARACTERS = 220;

/** What was found last, and by which words. The words stay with this page of the browser's history, and in no address. */
const last = new Store({ query: "", found: null });

export function SearchPage() {
  const { query, found } = useStore(last);
  const [problem, setProblem] = useState(null);
  const field = useRef(null);
  const asking = useRef(null);
  useEffect(() => {
    field.current.focus();
    const words = history.state?.search ?? "";
    if (words !== query) type(words);
  }, []);
  const ask = async (words, before) => {
    asking.current?.abort();
    asking.current = new AbortController();
    const { signal } = asking.current;
    try {
      if (!before) await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
      if (signal.aborted) return;
      const page = await get(`/search?query=${encodeURIComponent(words)}${before ? `&before=${before}` : ""}`, { signal });
      if (signal.aborted || last.value.query !== words) return;
      setProblem(null);
      last.set({ query: words, found: before ? { ...page, notes: last.value.found.notes, entries: [...last.value.found.entries, ...page.entries] } : page });
    } catch (error) {
      if (!signal.aborted) setProblem(error);
    }
  };
  const type = (words) => {
    history.replaceState({ search: words }, "");
    last.set({ query: words, found: /[\p{L}\p{N}]/u.test(words) ? found : null });
    if (/[\p{L}\p{N}]/u.test(words)) ask(words);
    else asking.current?.abort();
  };
  return html`<${Page} title="Search">
    <input ref=${field} type="search" class="search" aria-label="Search all that was said and noted" placeholder="What was said or noted" value=${query} autocapitalize="off" onInput=${(event) => type(event.currentTarget.value)} />
    <${Trouble} problem=${problem?.status === 0 ? null : problem} />
    ${found ? html`<${Found} query=${query} found=${found} more=${() => ask(query, found.entries.at(-1).no)} />` : html`<p class="help">Each word is found by its beginning, in every conversation and note, however long ago.</p>`}
  <//>`;
}

function Found({ query, found, more }) {
  const words = query.split(/[^\p{L}\p{N}]+/u).filter(Boolean);
  if (found.entries.length + found.notes.length === 0) return html`<${Empty}>Nothing that was said or noted holds all of these words.<//>`;
  return html`
    <p class="visually-hidden" role="status">${found.entries.length + found.notes.length} found</p>
    ${found.notes.length > 0 ? html`<h2>Notes</h2><ul class="rows">${found.notes.map(({ agent, note }) => html`<li key=${note.id}><${Link} to=${`/notes/${agent}/${note.id}`} class="row">
      <span class="row-main"><bdi class="strong"><${Marked} text=${note.title} words=${words} /></bdi><span class="help" dir="auto"><${Marked} text=${around(note.text, words)} words=${words} /></span></span>
      <span class="row-end">${drawn(agent)} <${When} at=${note.at} /></span><//></li>`)}</ul>` : null}
    ${byDay(found.entries).map(([day, hits]) => html`<h2>${day}</h2><ul class="rows">${hits.map((hit) => html`<li key=${`${hit.conversation}.${hit.seq}`}><${Hit} hit=${hit} words=${words} /></li>`)}</ul>`)}
    ${found.more ? html`<p><button onClick=${more}>Show earlier</button></p>` : null}`;
}

const WHERE = { home: "conversation", job: "a job’s run", worker: "a worker’s task", ask: "between agents" };

function Hit({ hit, words }) {
  const who = { owner: "You", model: hit.agent, house: "dreamwalker" }[hit.source];
  return html`<${Link} to=${`/conversations/${hit.conversation}/${hit.seq}`} class="row">
    <span class="row-main"><span class="tag">${who ? drawn(who) : html`<${Badge} kind="outside">from outside<//> ${drawn(hit.what)}${hit.origin ? html` · <bdi>${drawn(hit.origin)}</bdi>` : null}`}</span><span class="hit" dir="auto"><${Marked} text=${around(hit.text, words)} words=${words} /></span></span>
    <span class="row-end">${hit.kind === "home" ? drawn(hit.agent) : WHERE[hit.kind]} <${When} at=${hit.at} /></span>
  <//>`;
}

function byDay(entries) {
  const days = new Map();
  for (const entry of entries) {
    const day = dayOf(entry.at);
    days.set(day, [...(days.get(day) ?? []), entry]);
  }
  return [...days];
}

/** The part of a text where the first of the words stands. */
function around(text, words) {
  const line = text.replace(/\s+/g, " ").trim();
  const lower = line.toLowerCase();
  const places = words.map((word) => lower.indexOf(word.toLowerCase())).filter((at) => at >= 0);
  const from = Math.max(Math.min(...places, line.length) - BEFORE_CHARACTERS, 0);
  if (places.length === 0 || from === 0) return oneLine(line, SHOWN_CHARACTERS);
  const space = line.indexOf(" ", from);
  const start = space >= 0 && space < from + BEFORE_CHARACTERS ? space + 1 : from;
  return `…${oneLine(line.slice(start), SHOWN_CHARACTERS)}`;
}

/** A text in which the words that were looked for stand out. */
function Marked({ text, words }) {
  if (words.length === 0) return drawn(text);
  const any = new RegExp(`(${words.map((word) => word.replace(/[^\p{L}\p{N}]/gu, "")).join("|")})`, "giu");
  return text.split(any).map((piece, n) => (n % 2 === 1 ? html`<mark>${drawn(piece)}</mark>` : drawn(piece)));
}
