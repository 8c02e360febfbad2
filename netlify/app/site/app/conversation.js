/**
 * One agent's conversation, as this browser knows it.
 *
 * One rule: it shows only what the server says, each thing once, whatever comes twice, late or anew. What the owner
 * typed is shown as waiting until it stands in the transcript.
 */

import { get, pathOf, post, remove, requestId, touched } from "./api.js";
import { Outbox } from "./outbox.js";
import { PAGE, Rows } from "./rows.js";
import { Follower } from "./stream.js";

const ENDED = new Set(["done", "failed", "stopped"]);

export class Conversation extends Rows {
  /** "opening", "live" or "lost"; then `problem` may say why. */
  state = "opening";
  problem = null;
  no = 0;
  /** The reply that is being written: {seq, run, text}. */
  flight = null;
  /** The run that waits until what was said is summed up for it. */
  summing = null;
  waiting = new Map();
  outbox;
  stopping = false;

  #settled = new Set();
  #seen = 0;
  #opened = false;
  #paging = null;
  #follower;

  constructor(agent) {
    super();
    this.agent = agent;
    this.outbox = new Outbox(agent, { accepted: (message) => this.#message(message), changed: () => this.changed() });
    this.#follower = new Follower(agent, () => this.#from(), {
      event: (name, data) => this.#event(name, data),
      state: (state, problem) => this.#become(state, problem),
      behind: () => (this.#opened = false),
    });
    this.#follower.run();
    this.outbox.send();
  }

  close() {
    this.#follower.close();
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

  #become(state, problem = null) {
    this.state = state;
    this.problem = problem;
    if (state === "lost") this.flight = this.summing = null;
    this.changed();
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

  #event(name, data) {
    if (name === "change") this.#change(data);
    else if (name === "text") this.#text(data);
    else if (name === "summing") {
      this.summing = data.over ? null : data.run;
      this.changed();
    }
  }

  #change(change) {
    this.no = Math.max(this.no, change.no);
    for (const message of change.messages) this.#message(message);
    this.take(change);
    for (const run of change.runs) this.#run(run);
    this.changed();
    if (change.questions.length > 0 || change.runs.some((run) => ENDED.has(run.state))) touched();
  }

  /** More of the reply that is being written. Offset 0 begins it anew; offsets count characters, not UTF-16 units. */
  #text(event) {
    if (event.seq <= this.last) return; // its entry stands already
    if (event.offset === 0) this.flight = { seq: event.seq, run: event.run, text: event.text, length: [...event.text].length };
    else if (this.flight?.seq === event.seq && this.flight.length === event.offset) {
      this.flight.text += event.text;
      this.flight.length += [...event.text].length;
    } else return; // a piece is missing: the entry will bring the whole
    this.changed();
  }

  take(rows) {
    super.take(rows);
    if (this.flight && this.flight.seq <= this.last) this.flight = null; // its entry stands
  }

  #message(message) {
    if (this.#settled.has(message.id)) return;
    if (message.state === "waiting") {
      if (message.kind === "owner" || message.kind === "fresh") this.waiting.set(message.id, message);
      return;
    }
    this.#settled.add(message.id);
    this.waiting.delete(message.id);
  }

  #run(run) {
    const stood = this.runs.get(run.id);
    if (stood && stood.no > run.no) return;
    this.runs.set(run.id, run);
    if (!ENDED.has(run.state)) this.run = run;
    else {
      if (this.run?.id === run.id) this.run = null;
      if (this.flight?.run === run.id) this.flight = null;
      if (this.summing === run.id) this.summing = null;
    }
    for (let seq = this.last; this.entries.get(seq)?.run === run.id; seq -= 1) this.touch(seq); // how it ended stands there
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
