/**
 * One agent's conversation, as this browser knows it.
 *
 * One rule: it shows only what the server says, each thing once, whatever comes twice, late or anew. What the owner
 * typed is shown as waiting until it stands in the transcript.
 */

import { get, pathOf, post, remove, requestId, touched } from "./api.js";
import { Outbox } from "./outbox.js";
import { Store } from "./store.js";
import { Follower } from "./stream.js";
import { known } from "./text.js";

const PAGE = 60;
/** Entries that are drawn, and left out where nobody looks, together. */
export const BLOCK = 20;
const ENDED = new Set(["done", "failed", "stopped"]);

export const keyOf = (row) => `${row.run}.${row.turn}.${row.position}`;
const turnOf = (row) => `${row.run}.${row.turn}`;

export class Conversation extends Store {
  /** "opening", "live" or "lost"; then `problem` may say why. */
  state = "opening";
  problem = null;
  no = 0;
  more = false;
  /** The run that is open or waiting. */
  run = null;
  /** The reply that is being written: {seq, run, text}. */
  flight = null;
  entries = new Map();
  calls = new Map();
  questions = new Map();
  workers = new Map();
  runs = new Map();
  waiting = new Map();
  outbox;
  stopping = false;

  #seqs = { first: Infinity, last: 0 };
  #turns = new Map();
  #callsOf = new Map();
  #versions = new Map();
  #settled = new Set();
  #seen = 0;
  #opened = false;
  #paging = null;
  #follower;

  constructor(agent) {
    super(null);
    this.agent = agent;
    this.outbox = new Outbox(agent, { accepted: (message) => this.#message(message), changed: () => this.changed() });
    this.#follower = new Follower(agent, () => this.#from(), {
      event: (name, data) => (name === "change" ? this.#change(data) : name === "text" ? this.#text(data) : undefined),
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

  get first() {
    return this.#seqs.first;
  }

  get last() {
    return this.#seqs.last;
  }

  /** Where each block begins, and which version of it there is: the same version, the same picture. */
  get blocks() {
    if (this.entries.size === 0) return [];
    const from = Math.floor(this.first / BLOCK);
    const to = Math.floor(this.last / BLOCK);
    return Array.from({ length: to - from + 1 }, (_, n) => ({ block: from + n, version: this.#versions.get(from + n) ?? 0 }));
  }

  entriesOf(block) {
    const found = [];
    for (let seq = block * BLOCK; seq < (block + 1) * BLOCK; seq += 1) {
      const entry = this.entries.get(seq);
      if (entry) found.push(entry);
    }
    return found;
  }

  callsOf(entry) {
    if (entry.turn === null) return [];
    return [...(this.#callsOf.get(turnOf(entry)) ?? [])].map((key) => this.calls.get(key)).sort((a, b) => a.position - b.position);
  }

  questionOf(call) {
    return call.question === null ? null : this.questions.get(call.question) ?? null;
  }

  /** Questions that are open and whose call is nowhere to be seen. */
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
  send(text, { interrupt = false } = {}) {
    this.outbox.add(text, { interrupt, seen: this.#seen });
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
      this.#rows(page);
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
    if (state === "lost") this.flight = null;
    this.changed();
    if (state === "live") this.outbox.send();
  }

  async #from() {
    if (!this.#opened) {
      const page = await get(`${pathOf("agents", this.agent, "entries")}?limit=${PAGE}`);
      this.#open(page);
    }
    return this.no;
  }

  #open(page) {
    for (const rows of [this.entries, this.calls, this.questions, this.workers, this.waiting]) rows.clear();
    for (const rows of [this.#turns, this.#callsOf]) rows.clear();
    this.#seqs = { first: Infinity, last: 0 };
    this.no = page.no;
    this.more = page.more;
    this.run = page.run;
    this.flight = null;
    for (const message of page.messages) this.#message(message);
    for (const question of page.questions) this.#question(question);
    for (const worker of page.workers) this.#worker(worker);
    this.#rows(page);
    this.#opened = true;
    this.changed();
  }

  #change(change) {
    this.no = Math.max(this.no, change.no);
    for (const message of change.messages) this.#message(message);
    this.#rows(change);
    for (const question of change.questions) this.#question(question);
    for (const worker of change.workers) this.#worker(worker);
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

  #rows({ entries, calls, ended = [] }) {
    let learnt = false;
    for (const run of ended) this.runs.set(run.id, run);
    for (const entry of entries) {
      this.entries.set(entry.seq, entry);
      this.#seqs = { first: Math.min(this.first, entry.seq), last: Math.max(this.last, entry.seq) };
      if (entry.turn !== null) this.#turns.set(turnOf(entry), entry.seq);
      if (entry.source === "owner" || entry.source === "outside") learnt = known.learn(entry.text) || learnt;
      if (this.flight && entry.seq >= this.flight.seq) this.flight = null;
      this.#touch(entry.seq);
    }
    for (const call of calls) {
      const stood = this.calls.get(keyOf(call));
      if (stood && stood.no > call.no) continue;
      this.calls.set(keyOf(call), call);
      if (!this.#callsOf.has(turnOf(call))) this.#callsOf.set(turnOf(call), new Set());
      this.#callsOf.get(turnOf(call)).add(keyOf(call));
      if (call.label > 0) learnt = known.learn(call.result) || learnt;
      this.#touchTurn(call);
    }
    if (learnt) for (const { block } of this.blocks) this.#touch(block * BLOCK); // what was dead before may be live now
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

  #question(question) {
    const stood = this.questions.get(question.id);
    if (stood && stood.no > question.no) return;
    this.questions.set(question.id, question);
    this.#touchTurn(question);
  }

  /** A question was answered here: the answer is known before the stream brings it. */
  decided(question) {
    this.#question(question);
    this.changed();
  }

  #worker(worker) {
    this.workers.set(keyOf(worker), worker);
    this.#touchTurn(worker);
  }

  #run(run) {
    const stood = this.runs.get(run.id);
    if (stood && stood.no > run.no) return;
    this.runs.set(run.id, run);
    if (!ENDED.has(run.state)) this.run = run;
    else {
      if (this.run?.id === run.id) this.run = null;
      if (this.flight?.run === run.id) this.flight = null;
    }
    for (let seq = this.last; this.entries.get(seq)?.run === run.id; seq -= 1) this.#touch(seq); // how it ended stands there
  }

  #touchTurn(row) {
    const seq = this.#turns.get(turnOf(row));
    if (seq !== undefined) this.#touch(seq);
  }

  #touch(seq) {
    const block = Math.floor(seq / BLOCK);
    this.#versions.set(block, (this.#versions.get(block) ?? 0) + 1);
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
