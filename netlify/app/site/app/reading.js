/**
 * Any conversation, to be read: from its end, or around a place in it.
 *
 * One rule: nothing is written here. Where something could be said instead, is said.
 */

import { html, useEffect, useMemo, useRef, useState } from "../vendor/ui.js";
import { get, pathOf } from "./api.js";
import { Live } from "./live.js";
import { Markdown } from "./markdown.js";
import { Icon, Loading } from "./parts.js";
import { Link } from "./router.js";
import { PAGE } from "./rows.js";
import { useStore } from "./store.js";
import { drawn } from "./text.js";
import { Transcript } from "./transcript.js";

class Reading extends Live {
  /** What conversation it is; null until it is known. */
  conversation = null;
  #path;
  #followed = false;
  #paging = null;

  constructor(id, at) {
    super();
    this.marked = at;
    this.#path = pathOf("conversations", id);
    this.begin();
  }

  get agent() {
    return this.conversation?.agent ?? "";
  }

  async begin() {
    this.problem = null;
    try {
      const read = await get(`${this.#path}?limit=${PAGE}${this.marked === null ? "" : `&around=${this.marked}`}`);
      this.more = read.more;
      this.#toTheEnd(read);
      this.#took(read);
    } catch (problem) {
      this.problem = problem;
      this.changed();
    }
  }

  /** Read what stands before the first entry. */
  older = () => this.#page(`before=${this.first}`, (read) => (this.more = read.more));

  /** Read what stands after the last one. */
  later = () => this.#page(`after=${this.last}`, (read) => this.#toTheEnd(read));

  /** What is after the end is not there yet: it is followed from here. */
  #toTheEnd(read) {
    this.newer = read.newer;
    if (read.newer || this.#followed) return;
    this.#followed = true;
    this.no = read.no;
    this.run = read.run;
    this.follow(`${this.#path}/stream`, async () => this.no, () => {
      this.close(); // so much has come that it is read on from here instead
      this.#followed = false;
      this.newer = true;
    });
  }

  async #page(where, took) {
    if (this.#paging) return this.#paging;
    this.#paging = get(`${this.#path}?limit=${PAGE}&${where}`);
    try {
      const read = await this.#paging;
      took(read);
      this.#took(read);
    } finally {
      this.#paging = null;
    }
    return undefined;
  }

  #took(read) {
    this.conversation = read.conversation;
    this.take(read);
    this.changed();
  }
}

export function ReadingPage({ id, at }) {
  const reading = useMemo(() => new Reading(id, /^\d{1,15}$/.test(at ?? "") ? Number(at) : null), [id, at]);
  useStore(reading);
  const scroller = useRef(null);
  const [atEnd, setAtEnd] = useState(true);
  useEffect(() => () => reading.close(), [reading]);
  const working = reading.run !== null && !reading.newer;
  const { conversation } = reading;
  if (conversation === null) return html`<div class="sheet"><h1 tabindex="-1">Transcript</h1><${Loading} of=${{ problem: reading.problem, reload: () => reading.begin() }} /></div>`;
  const before = html`<div class="reading-head"><h1 tabindex="-1">${titleOf(conversation)}</h1><${Whence} conversation=${conversation} /></div>
    ${reading.more ? html`<p class="older"><button class="plain-button" onClick=${() => reading.older()}>Show earlier</button></p>` : null}`;
  return html`<div class="chat">
    <${Transcript} rows=${reading} label=${titleOf(conversation)} scroller=${scroller} atEnd=${setAtEnd} before=${before}>
      ${reading.flight?.text && !reading.newer ? html`<article class="reply flight" aria-label=${`${reading.agent} writes`} aria-busy="true"><${Markdown} text=${reading.flight.text} /></article>` : null}
      ${working && !reading.flight?.text ? html`<p class="status"><span class="dots" aria-hidden="true"><i></i><i></i><i></i></span> ${reading.run.state === "waiting" ? drawn(reading.run.reason ?? "It waits.") : "at work …"}</p>` : null}
    <//>
    ${atEnd && !reading.newer ? null : html`<${Onward} reading=${reading} toEnd=${() => scroller.current.scrollTo({ top: 0 })} />`}
    <${Instead} conversation=${conversation} />
  </div>`;
}

/** To the end: of a home, that is where it goes on live. */
function Onward({ reading, toEnd }) {
  const { conversation } = reading;
  if (conversation.takes_messages) return html`<${Link} to=${homeOf(conversation.agent)} class="button round to-end" aria-label="To the newest"><${Icon} name="down" /><//>`;
  if (reading.newer) return html`<${Link} to=${`/conversations/${conversation.id}`} class="button round to-end" aria-label="To the newest"><${Icon} name="down" /><//>`;
  return html`<button class="round to-end" onClick=${toEnd} aria-label="To the newest"><${Icon} name="down" /></button>`;
}

const homeOf = (agent) => (agent === "dreamwalker" ? "/" : `/agents/${agent}`);

function titleOf({ kind, agent }) {
  return { home: `Conversation with ${agent}`, job: "A run of a job", worker: "A worker’s task", ask: `What ${agent} was asked` }[kind];
}

/** What made this conversation. */
function Whence({ conversation: { run, job } }) {
  if (job !== null) return html`<p class="help"><${Link} to=${`/jobs/${job}`}>The job it is of<//></p>`;
  return run === null ? null : html`<p class="help"><${Link} to=${`/runs/${run}`}>The run that set it to work<//></p>`;
}

const READ_ONLY = {
  job: "A run of a job takes no messages: it knows its prompt and nothing else.",
  worker: "A worker takes no messages: it knows its task and nothing else.",
  ask: "This is between agents; nobody else writes here.",
};

/** What stands where one would write. */
function Instead({ conversation: { kind, agent } }) {
  const home = html`<${Link} to=${homeOf(agent)}>the conversation with ${agent}<//>`;
  if (kind === "home") return html`<p class="instead">You are reading. To write, go to ${home}.</p>`;
  return html`<p class="instead">${READ_ONLY[kind]} What you want to say, say in ${home}.</p>`;
}
