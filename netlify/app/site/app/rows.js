/**
 * The rows of a conversation, as they are drawn: entries in blocks, and under each reply its calls, their workers and
 * their questions.
 *
 * One rule: each thing stands here once, as it was last heard of; a block that changed has another version.
 */

import { Store } from "./store.js";
import { known } from "./text.js";

/** Entries that are drawn, and left out where nobody looks, together. */
export const BLOCK = 20;
export const PAGE = 60;

export const keyOf = (row) => `${row.run}.${row.turn}.${row.position}`;
const turnOf = (row) => `${row.run}.${row.turn}`;

export class Rows extends Store {
  entries = new Map();
  calls = new Map();
  questions = new Map();
  workers = new Map();
  /** Runs that ended badly, and those that were heard of. */
  runs = new Map();
  /** The run that is open or waiting. */
  run = null;
  /** There are entries before the first one. */
  more = false;
  /** There are entries after the last one. */
  newer = false;
  /** The seq of the entry that was looked for, if one was. */
  marked = null;

  #seqs = { first: Infinity, last: 0 };
  #turns = new Map();
  #callsOf = new Map();
  #versions = new Map();

  constructor() {
    super(null);
  }

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

  /** Forget every row. */
  clear() {
    for (const rows of [this.entries, this.calls, this.questions, this.workers, this.#turns, this.#callsOf]) rows.clear();
    this.#seqs = { first: Infinity, last: 0 };
  }

  /** Take in rows, whatever of them is known already. */
  take({ entries, calls, ended = [], questions = [], workers = [] }) {
    let learnt = false;
    for (const run of ended) this.runs.set(run.id, run);
    for (const entry of entries) {
      this.entries.set(entry.seq, entry);
      this.#seqs = { first: Math.min(this.first, entry.seq), last: Math.max(this.last, entry.seq) };
      if (entry.turn !== null) this.#turns.set(turnOf(entry), entry.seq);
      if (entry.source === "owner" || entry.source === "outside") learnt = known.learn(entry.text) || learnt;
      this.touch(entry.seq);
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
    for (const question of questions) this.takeQuestion(question);
    for (const worker of workers) {
      this.workers.set(keyOf(worker), worker);
      this.#touchTurn(worker);
    }
    if (learnt) for (const { block } of this.blocks) this.touch(block * BLOCK); // what was dead before may be live now
  }

  takeQuestion(question) {
    const stood = this.questions.get(question.id);
    if (stood && stood.no > question.no) return;
    this.questions.set(question.id, question);
    this.#touchTurn(question);
  }

  /** A question was answered here: the answer is known before the server tells it to whoever listens. */
  decided(question) {
    this.takeQuestion(question);
    this.changed();
  }

  touch(seq) {
    const block = Math.floor(seq / BLOCK);
    this.#versions.set(block, (this.#versions.get(block) ?? 0) + 1);
  }

  #touchTurn(row) {
    const seq = this.#turns.get(turnOf(row));
    if (seq !== undefined) this.touch(seq);
  }
}
