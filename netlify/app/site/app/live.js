/**
 * Rows that are followed as they change, and the reply that is being written.
 *
 * One rule: it shows only what the server says, each thing once, whatever comes twice, late or anew.
 */

import { Rows } from "./rows.js";
import { Follower } from "./stream.js";

export const ENDED = new Set(["done", "failed", "stopped"]);

export class Live extends Rows {
  /** "opening", "live" or "lost"; then `problem` may say why. */
  state = "opening";
  problem = null;
  /** The newest commit that was heard of. */
  no = 0;
  /** The reply that is being written: {seq, run, text}. */
  flight = null;
  /** The run that waits until what was said is summed up for it. */
  summing = null;
  #follower = null;

  /**
   * Follow the stream at a path, until closed.
   * @param {() => Promise<number>} from the number to join from
   * @param {() => void} behind called when too much is above it
   */
  follow(path, from, behind) {
    this.#follower = new Follower(path, from, { event: (name, data) => this.#event(name, data), state: (state, problem) => this.became(state, problem), behind });
    this.#follower.run();
  }

  close() {
    this.#follower?.close();
    this.#follower = null;
  }

  became(state, problem = null) {
    this.state = state;
    this.problem = problem;
    if (state === "lost") this.flight = this.summing = null;
    this.changed();
  }

  /** Take in a change. */
  heard(change) {
    this.no = Math.max(this.no, change.no);
    this.take(change);
    for (const run of change.runs) this.#run(run);
    this.changed();
  }

  take(rows) {
    super.take(rows);
    if (this.flight && this.flight.seq <= this.last) this.flight = null; // its entry stands
  }

  #event(name, data) {
    if (name === "change") this.heard(data);
    else if (name === "text") this.#text(data);
    else if (name === "summing") {
      this.summing = data.over ? null : data.run;
      this.changed();
    }
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
