/**
 * Asking the server. One rule: whatever goes wrong becomes a Problem in words that can be shown.
 */

import { useEffect, useState } from "../vendor/ui.js";
import { credentials, notTheOwner, refused } from "./session.js";
import { Store, useStore } from "./store.js";

/** Something that was not done. `status` 0: the server was not reached. */
export class Problem extends Error {
  constructor(message, { status = 0, code = "", retrySeconds = 0 } = {}) {
    super(message);
    Object.assign(this, { status, code, retrySeconds });
  }

  /** Whether the same may work later. */
  get passing() {
    return this.status === 0 || this.status === 429 || this.status === 502 || this.status === 503 || this.status === 504;
  }
}

/** Whether the server was reached when it was last asked. */
export const reached = new Store(true);

const BETWEEN = new Set([502, 503, 504]);

function away() {
  if (reached.value) reached.set(false);
  return new Problem("dreamwalker can’t be reached just now.");
}

/** Ask, and return the response as it is; once more, if only the sign-in had run out. @throws {Problem} */
export async function request(method, path, body, { signal, again = false } = {}) {
  const asked = Date.now();
  let response;
  try {
    response = await fetch(`/api${path}`, {
      method,
      signal,
      cache: "no-store",
      headers: { ...credentials(), ...(body === undefined ? {} : { "Content-Type": "application/json" }) },
      body: body === undefined ? undefined : JSON.stringify(body),
    });
  } catch (error) {
    if (signal?.aborted) throw error;
    throw away();
  }
  const said = response.ok ? null : (await response.json().catch(() => null))?.error;
  if (BETWEEN.has(response.status) && (!said || said.code === "unreachable")) throw away(); // what stands between us and it says so
  if (!reached.value) {
    reached.set(true);
    touched();
  }
  if (response.ok) return response;
  if (response.status === 401 && (await refused(response, asked)) && !again) return request(method, path, body, { signal, again: true });
  if (response.status === 403) notTheOwner(said?.message ?? "This site does not know you.");
  throw new Problem(said?.message ?? `dreamwalker answered ${response.status}.`, {
    status: response.status,
    code: said?.code ?? "",
    retrySeconds: Number(response.headers.get("Retry-After")) || 0,
  });
}

async function json(method, path, body, options) {
  const response = await request(method, path, body, options);
  const answer = await response.json();
  if (method !== "GET") touched(); // what was read before may be otherwise now
  return answer;
}

export const get = (path, options) => json("GET", path, undefined, options);
export const post = (path, body = undefined) => json("POST", path, body);
export const patch = (path, body) => json("PATCH", path, body);
export const remove = (path) => json("DELETE", path);

/** A request id of a submission: sent again, it is still one. */
export const requestId = () => crypto.randomUUID();

/** A path of parts, each of them quoted. */
export const pathOf = (...parts) => parts.map((part) => `/${encodeURIComponent(part)}`).join("");

const read = new Map();
const resources = new Store(0);

/** Everything that is shown of the server is read again. */
export function touched() {
  resources.set(resources.value + 1);
}

const asking = new Map();

/** Read a path; whoever asks the same meanwhile gets the same answer, unless something was changed in between. */
function shared(path) {
  const key = `${resources.value} ${path}`;
  if (!asking.has(key)) asking.set(key, get(path).finally(() => asking.delete(key)));
  return asking.get(key);
}

/**
 * What stands at a path, read when it is shown and whenever something may have changed.
 * What was read before is shown meanwhile.
 * @returns {{data: any, problem: Problem | null, reload: () => void}}
 */
export function useResource(path) {
  const [state, setState] = useState({ path: null, data: null, problem: null });
  const round = useStore(resources);
  useEffect(() => {
    let here = true;
    shared(path).then(
      (data) => {
        read.set(path, data);
        if (here) setState({ path, data, problem: null });
      },
      (problem) => here && setState({ path, data: read.get(path) ?? null, problem }),
    );
    return () => (here = false);
  }, [path, round]);
  const current = state.path === path ? state : { data: read.get(path) ?? null, problem: null };
  return { data: current.data, problem: current.problem, reload: touched };
}
