/**
 * A live stream, for as long as it is wanted.
 *
 * One rule: whoever reads it is told each thing that was committed once and in order; what became of the wire
 * (a proxy that cuts it, sleep, another network) is mended here, by joining again from the newest number.
 */

import { Problem, request } from "./api.js";

/** The server says something every 15 seconds; a wire that is silent for so long is dead. */
const SILENCE_MS = 40_000;
const LOOK_MS = 5_000;
const PAUSES_MS = [250, 1_000, 2_000, 4_000, 8_000, 15_000];
/** A conversation that has grown by more entries than this meanwhile is opened anew. */
const BEHIND_ENTRIES = 400;

/** The events of a body of server-sent events. `alive` is called for whatever comes. */
export async function* events(body, alive) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    alive();
    const blocks = (rest + value).split("\n\n");
    rest = blocks.pop();
    for (const block of blocks) {
      const fields = Object.fromEntries(block.split("\n").filter((line) => !line.startsWith(":")).map(field));
      if (fields.event) yield { name: fields.event, data: JSON.parse(fields.data) };
    }
  }
}

function field(line) {
  const colon = line.indexOf(": ");
  return colon < 0 ? [line, ""] : [line.slice(0, colon), line.slice(colon + 2)];
}

/** Follows one conversation. */
export class Follower {
  #path;
  #from;
  #told;
  #closed = false;
  #wire = null;
  #heardAt = 0;
  #wake = () => {};
  #watch = null;

  /**
   * @param {string} path of the stream
   * @param {() => Promise<number>} from the number to join from; it may have to be read first, or again
   * @param {{event: (name: string, data: object) => void, state: (state: "live" | "lost", problem?: Problem) => void, behind: () => void}} told
   */
  constructor(path, from, told) {
    this.#path = path;
    this.#from = from;
    this.#told = told;
  }

  /** Follow until closed. */
  async run() {
    this.#listen(addEventListener);
    this.#watch = setInterval(() => this.#look(), LOOK_MS);
    let failures = 0;
    while (!this.#closed) {
      try {
        await this.#follow(() => (failures = 0));
        if (!this.#closed) await this.#pause(PAUSES_MS[0]);
      } catch (problem) {
        if (this.#closed) break;
        if (problem instanceof Problem && [401, 403, 404].includes(problem.status)) return this.#told.state("lost", problem);
        if (problem instanceof Problem && problem.status === 409) this.#told.behind();
        else this.#told.state("lost", problem instanceof Problem ? problem : undefined);
        await this.#pause(PAUSES_MS[Math.min(failures++, PAUSES_MS.length - 1)]);
      }
    }
  }

  close() {
    this.#closed = true;
    this.#listen(removeEventListener);
    clearInterval(this.#watch);
    this.#wire?.abort();
    this.#wake();
  }

  async #follow(joined) {
    const from = await this.#from();
    if (this.#closed) return;
    const wire = (this.#wire = new AbortController());
    this.#heardAt = Date.now();
    const response = await request("GET", `${this.#path}?from=${from}&behind=${BEHIND_ENTRIES}`, undefined, { signal: wire.signal });
    joined();
    this.#told.state("live");
    for await (const event of events(response.body, () => (this.#heardAt = Date.now()))) {
      if (this.#closed || event.name === "end") break;
      this.#told.event(event.name, event.data);
    }
    wire.abort();
  }

  /** Whether the wire still speaks. After sleep the clock has leapt, and it is found out at once. */
  #look = () => {
    if (Date.now() - this.#heardAt > SILENCE_MS) this.#again();
  };

  /** Join again now. */
  #again = () => {
    this.#wire?.abort();
    this.#wake();
  };

  #seen = () => {
    if (document.visibilityState === "visible") this.#look();
    this.#wake();
  };

  #listen(how) {
    how.call(window, "online", this.#again);
    how.call(window, "visibilitychange", this.#seen);
    how.call(window, "pageshow", this.#seen);
  }

  #pause(milliseconds) {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, milliseconds * (0.75 + Math.random() / 2));
      this.#wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }
}
