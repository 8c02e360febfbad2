/**
 * The way from this site to dreamwalker: who is known as its owner is let through, with its token.
 *
 * One rule: the token never comes here from a browser and never leaves to one. Whoever is not signed in, is somebody
 * else or comes from another site is told so before dreamwalker is asked anything.
 */

import { getIdentityConfig, getUser, verifyRequestOrigin } from "@netlify/identity";

export const config = { path: "/api/*" };

/** A function is cut off after 60 seconds. A live stream is ended in good time before, and joined again. */
const STREAM_MS = Number(process.env.DREAMWALKER_STREAM_SECONDS ?? 45) * 1_000;
const TORN_MS = 5_000;
const IDENTITY_MS = 5_000;
const ANSWER_MS = Number(process.env.DREAMWALKER_ANSWER_SECONDS ?? 20) * 1_000;
/** As much as dreamwalker takes; coded as a function gets it, that is still below the platform's 6 MB. */
const BODY_BYTES_MAX = 4_000_000;

const PASSED_ON = ["accept", "content-type"];
const PASSED_BACK = ["content-type", "retry-after", "allow"];
const ENDED = new TextEncoder().encode('event: end\ndata: {"reason":"closed"}\n\n');

export default async function api(request) {
  const began = Date.now();
  const refused = await judge(request);
  if (refused) return refused;
  const body = await bodyOf(request);
  if (body === null) return problem(413, "too_large", "This is more than can be sent through this site.");
  const asking = new AbortController();
  let timer;
  let answer;
  try {
    const asked = fetch(addressOf(request), {
      method: request.method,
      headers: { ...chosen(request.headers, PASSED_ON), authorization: `Bearer ${process.env.DREAMWALKER_TOKEN}` },
      body,
      redirect: "manual",
      signal: asking.signal,
    });
    // Not by the signal alone: behind the platform's own fetch, it is followed only until memory is tidied up.
    answer = await Promise.race([asked, new Promise((_, reject) => (timer = setTimeout(reject, ANSWER_MS)))]);
  } catch {
    asking.abort();
    return problem(502, "unreachable", "dreamwalker can’t be reached from this site just now.", { "retry-after": "5" });
  } finally {
    clearTimeout(timer);
  }
  if (answer.status === 401) {
    await answer.body?.cancel();
    return problem(502, "site_token", "dreamwalker does not know this site’s token: DREAMWALKER_TOKEN has to be set anew.");
  }
  if (answer.status >= 300 && answer.status < 400) {
    await answer.body?.cancel();
    return problem(502, "unreachable", "What stands at DREAMWALKER_URL is not dreamwalker.");
  }
  const live = answer.headers.get("content-type")?.startsWith("text/event-stream");
  return new Response(live ? forAWhile(answer.body.getReader(), began + STREAM_MS) : answer.body, {
    status: answer.status,
    headers: { ...chosen(answer.headers, PASSED_BACK), "cache-control": "no-store", "x-content-type-options": "nosniff" },
  });
}

/** Where a request goes: whatever its path is, to dreamwalker. `//elsewhere/` resolved as a link would lead elsewhere. */
function addressOf(request) {
  const given = new URL(request.url);
  const address = new URL(process.env.DREAMWALKER_URL);
  address.pathname = given.pathname;
  address.search = given.search;
  return address;
}

/** @returns {Promise<Response | null>} why the request is not let through */
async function judge(request) {
  if (!new URL(request.url).pathname.startsWith("/api/")) return problem(404, "not_found", "There is nothing here.");
  const site = request.headers.get("sec-fetch-site");
  if (site !== null && site !== "same-origin") return problem(403, "origin", "This request comes from another site.");
  if (!["GET", "HEAD"].includes(request.method)) {
    try {
      verifyRequestOrigin(request);
    } catch {
      return problem(403, "origin", "This request comes from another site.");
    }
  }
  const user = (await getUser()) ?? (await userByCookie(request));
  if (user === null) return problem(401, "unauthorized", "Nobody is signed in.", { "www-authenticate": "Identity" });
  if (!isOwner(user)) return problem(403, "not_the_owner", "You are signed in, but this is somebody else’s dreamwalker.");
  return null;
}

/**
 * Whose the browser's own token is, by Identity itself. The package asks with the token that the platform lends if there is
 * one, and where that is an operator's, as the package says elsewhere, it knows nobody.
 */
async function userByCookie(request) {
  const jwt = /(?:^|;\s*)nf_jwt=([\w.-]+)/.exec(request.headers.get("cookie") ?? "")?.[1];
  const url = getIdentityConfig()?.url;
  if (!jwt || !url) return null;
  try {
    const headers = { authorization: `Bearer ${jwt}` };
    const answer = await fetch(`${url}/user`, { headers, redirect: "error", signal: AbortSignal.timeout(IDENTITY_MS) });
    if (!answer.ok) return null;
    const { email, app_metadata: by } = await answer.json();
    return { email, provider: by?.provider };
  } catch {
    return null;
  }
}

/** Google has proved the address; one that somebody gave with a password of his own would prove nothing. */
function isOwner(user) {
  const owners = (process.env.DREAMWALKER_OWNERS ?? "").split(",").map((it) => folded(it.trim())).filter(Boolean);
  return user.provider === "google" && owners.includes(folded(user.email ?? ""));
}

/** An address without the difference between A and a. Beyond ASCII, other letters would be folded into these. */
const folded = (address) => address.replace(/[A-Z]/g, (letter) => letter.toLowerCase());

/** @returns {Promise<Buffer | undefined | null>} undefined: there is none; null: it is too large */
async function bodyOf(request) {
  if (["GET", "HEAD"].includes(request.method)) return undefined;
  if (Number(request.headers.get("content-length") ?? 0) > BODY_BYTES_MAX) return null;
  const chunks = [];
  let bytes = 0;
  for await (const chunk of request.body ?? []) {
    bytes += chunk.byteLength;
    if (bytes > BODY_BYTES_MAX) return null;
    chunks.push(chunk);
  }
  return bytes > 0 ? Buffer.concat(chunks) : undefined;
}

function chosen(headers, names) {
  return Object.fromEntries(names.filter((name) => headers.has(name)).map((name) => [name, headers.get(name)]));
}

/**
 * A live stream, ended properly when its time is over: between two events, so that none is torn. One that does not get
 * on in the middle of an event breaks off soon after. The time counts from when the request came, as the platform counts
 * it: a server that woke up first has used some of it.
 */
function forAWhile(reader, until) {
  const timers = [];
  const at = (ms) => new Promise((resolve) => timers.push(setTimeout(resolve, ms - Date.now(), "over")));
  const [over, late] = [at(until), at(until + TORN_MS)];
  let tail = "\n\n"; // how what was passed on so far ends: with a whole event, if with these
  const stop = () => {
    timers.forEach(clearTimeout);
    reader.cancel().catch(() => {});
  };
  return new ReadableStream({
    async pull(controller) {
      const whole = tail === "\n\n";
      const next = reader.read().catch(() => ({ done: true }));
      const came = whole && Date.now() >= until ? "over" : await Promise.race([next, whole ? over : late]);
      if (came !== "over" && !came.done) {
        tail = (tail + String.fromCharCode(...came.value.slice(-2))).slice(-2);
        return controller.enqueue(came.value);
      }
      if (came === "over" && !whole) controller.error(new Error("dreamwalker stopped in the middle of an event"));
      else {
        if (came === "over") controller.enqueue(ENDED);
        controller.close();
      }
      return stop();
    },
    cancel: stop,
  });
}

function problem(status, code, message, headers = {}) {
  return Response.json({ error: { code, message } }, { status, headers: { "cache-control": "no-store", ...headers } });
}
