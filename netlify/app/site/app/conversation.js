/**
 * One agent's conversation, as this browser knows it.
 *
 * One rule: it shows only what the server says, each thing once, whatever comes twice, late or anew. What the owner
 * typed is shown as waiting until it stands in the transcript.
 */

import { get, pathOf, post, remove, requestId, touched } from "./api.js";
import { ENDED, Live } from "./live.js";
import { Outbox } from "./outbox.js";
import { PAGE } from "./rows.js";

export class Conversation extends Live {
  waiting = new Map();
  outbox;
  stopping = false;

  #settled = new Set();
  #seen = 0;
  #opened = false;
  #paging = null;

  constructor(agent) {
    super();
    this.agent = agent;
    this.outbox = new Outbox(agent, { accepted: (message) => this.#message(message), changed: () => this.changed() });
    this.follow(`${pathOf("agents", agent)}/stream`, () => this.#from(), () => (this.#opened = false));
    this.outbox.send();
  }

  // -- what is shown

  /** Questions that are open, wherever their call is. */
  get openQuestions() {
    return [...this.questions.values()].filter((it) => it.state === "open");
  }

  /** What is under way, in a word: "", "working", "asking" or "waiting". */
  get activity() {
    if (this.run === null) return "";
    if (this.run.state === "open") return "working";
    return this.openQuestions.some((it) => it.run === this.run.id) ? "asking" : "waiting";
  }

  /** The owner sees the end of it: what he sends now, he sends knowing this. */
  sawAll() {
    this.#seen = this.no;
  }

  // -- what the owner does

  /** Send a message; it is kept until it is accepted or taken back. */
  send(text, { quotes = [], interrupt = false } = {}) {
    this.outbox.add(text, { quotes, interrupt, seen: this.#seen });
  }

  /** Take back a message that waits. @throws {Problem} */
  async withdraw(message) {
    await remove(pathOf("messages", message.id));
    this.#message({ ...message, state: "withdrawn" });
    this.changed();
  }

  /** Begin a fresh context. @throws {Problem} */
  async fresh() {
    const { message } = await post(pathOf("agents", this.agent, "fresh"), { request_id: requestId() });
    this.#message(message);
    this.changed();
  }

  /** Stop what is under way. @throws {Problem} */
  async stop() {
    const run = this.run;
    if (run === null) return;
    this.stopping = true;
    this.changed();
    try {
      await post(`${pathOf("runs", run.id)}/stop`);
    } finally {
      this.stopping = false;
      this.changed();
    }
  }

  /** Read what stands before the oldest entry that is known. @throws {Problem} */
  async older() {
    if (!this.more || this.#paging) return this.#paging;
    this.#paging = get(`${pathOf("agents", this.agent, "entries")}?limit=${PAGE}&before=${this.first}`);
    try {
      const page = await this.#paging;
      this.more = page.more;
      this.take(page);
      this.changed();
    } finally {
      this.#paging = null;
    }
    return undefined;
  }

  // -- what comes

  became(state, problem) {
    super.became(state, problem);
    if (state === "live") this.outbox.now();
  }

  async #from() {
    if (!this.#opened) {
      const page = await get(`${pathOf("agents", this.agent, "entries")}?limit=${PAGE}`);
      this.#open(page);
    }
    return this.no;
  }

  #open(page) {
    this.clear();
    this.waiting.clear();
    this.no = page.no;
    this.more = page.more;
    this.run = page.run;
    this.flight = this.summing = null;
    for (const message of page.messages) this.#message(message);
    this.take(page);
    this.#opened = true;
    this.changed();
  }

  heard(change) {
    for (const message of change.messages) this.#message(message);
    super.heard(change);
    if (change.questions.length > 0 || change.runs.some((run) => ENDED.has(run.state))) touched();
  }

  #message(message) {
    if (message.state !== "waiting") {
      this.#settled.add(message.id);
      this.waiting.delete(message.id);
    } else if (!this.#settled.has(message.id) && (message.kind === "owner" || message.kind === "fresh"))
      this.waiting.set(message.id, message);
    this.outbox.accepted(message);
  }
}

const open = new Map();

/** The conversation with an agent; it is followed from when it is first asked for. */
export function conversationWith(agent) {
  for (const [name, conversation] of open) {
    if (name !== agent) {
      conversation.close();
      open.delete(name);
    }
  }
  if (!open.has(agent)) open.set(agent, new Conversation(agent));
  return open.get(agent);
}

/** Leave every conversation: nobody is signed in any more. */
export function leaveAll() {
  for (const conversation of open.values()) conversation.close();
  open.clear();
}
