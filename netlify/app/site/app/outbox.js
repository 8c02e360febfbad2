/** What was typed and is not accepted yet. One rule: it is kept, in the order typed, until it is accepted or taken back. */

import { pathOf, post, requestId } from "./api.js";
import { kept } from "./store.js";

/** Between two tries of what could not be sent. */
const PAUSE_MS = 3_000;

export class Outbox {
  /** {request_id, text, quotes, interrupt, seen, problem, refused}: `problem` in words, once it could not be sent. */
  items;
  #agent;
  #told;
  #sending = false;
  #wake = () => {};

  /** @param {{accepted: (message: object) => void, changed: () => void}} told */
  constructor(agent, told) {
    this.#agent = agent;
    this.#told = told;
    this.items = kept.get(`outbox.${agent}`) ?? [];
  }

  /** Add a message. `seen`: the newest commit that the owner had seen when he wrote it. */
  add(text, { quotes = [], interrupt, seen }) {
    this.items.push({ request_id: requestId(), text, quotes, interrupt, seen, problem: null });
    this.#keep();
    this.send();
  }

  /** Take back what was not accepted yet. */
  drop(item) {
    this.items = this.items.filter((it) => it !== item);
    this.#keep();
  }

  /** A message is known to be accepted: the stream tells so too, often before the answer comes, which may be lost. */
  accepted(message) {
    const item = this.items.find((it) => it.request_id === message.request_id);
    if (item) this.drop(item);
  }

  /** Send what is there, each until it is accepted or refused; it has one request id for all tries. */
  async send() {
    if (this.#sending) return;
    this.#sending = true;
    try {
      for (let item; (item = this.items.find((it) => !it.refused)); ) if (!(await this.#try(item))) return;
    } finally {
      this.#sending = false;
    }
  }

  /** Try again at once what waits for its next try. */
  now() {
    this.#wake();
    this.send();
  }

  /** @returns {Promise<boolean>} whether to go on: not when nobody is signed in any more */
  async #try(item) {
    const { request_id, text, quotes = [], interrupt, seen } = item;
    try {
      const { message } = await post(pathOf("agents", this.#agent, "messages"), { request_id, text, quotes, interrupt, seen });
      this.#told.accepted(message);
      return true;
    } catch (problem) {
      if (problem.status === 401) return false;
      if (!this.items.includes(item)) return true;
      item.problem = problem.message;
      item.refused = !problem.passing;
      this.#keep();
      if (!item.refused) await this.#pause(Math.max(PAUSE_MS, problem.retrySeconds * 1_000));
      return true;
    }
  }

  #pause(milliseconds) {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, milliseconds);
      this.#wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }

  #keep() {
    kept.set(`outbox.${this.#agent}`, this.items.length > 0 ? this.items : null);
    this.#told.changed();
  }
}
