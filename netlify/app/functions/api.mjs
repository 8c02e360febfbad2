/**
 * The way from this site to dreamwalker: who is known as its owner is let through, with its token.
 *
 * One rule: the token never comes here from a browser and never leaves to one. Whoever is not signed in, is somebody
 * else or comes from another site is told so before dreamwalker is asked anything.
 */

import { getUser, verifyRequestOrigin } from "@netlify/identity";

export const config = { path: "/api/*" };

/** A function is cut off after 60 seconds. A live stream is ended in good time before, and joined again. */
const STREAM_MS = Number(process.env.DREAMWALKER_STREAM_SECONDS ?? 45) * 1_000;
const ANSWER_MS = 20_000;
const BODY_BYTES_MAX = 5_000_000;

const PASSED_ON = ["accept", "content-type"];
const PASSED_BACK = ["content-type", "retry-after", "allow"];
const ENDED = new TextEncoder().encode('event: end\ndata: {"reason":"closed"}\n\n');

export default async function api(request) {
  const refused = await judge(request);
  if (refused) return refused;
  const body = await bodyOf(request);
  if (body === null) return problem(413, "too_large", "This is more than can be sent through this site.");
  const given = new URL(request.url);
  const patience = new AbortController();
  const timer = setTimeout(() => patience.abort(), ANSWER_MS);
  let answer;
  try {
    answer = await fetch(new URL(given.pathname + given.search, process.env.DREAMWALKER_URL), {
      method: request.method,
      headers: { ...chosen(request.headers, PASSED_ON), authorization: `Bearer ${process.env.DREAMWALKER_TOKEN}` },
      body,
      redirect: "manual",
      signal: patience.signal,
    });
  } catch {
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
  return new Response(live ? forAWhile(answer.body, patience) : answer.body, {
    status: answer.status,
    headers: { ...chosen(answer.headers, PASSED_BACK), "cache-control": "no-store", "x-content-type-options": "nosniff" },
  });
}

/** @returns {Promise<Response | null>} why the request is not let through */
async function judge(request) {
  const site = request.headers.get("sec-fetch-site");
  if (site !== null && site !== "same-origin") return problem(403, "origin", "This request comes from another site.");
  if (!["GET", "HEAD"].includes(request.method)) {
    try {
      verifyRequestOrigin(request);
    } catch {
      return problem(403, "origin", "This request comes from another site.");
    }
  }
  const user = await getUser();
  if (user === null) return problem(401, "unauthorized", "Nobody is signed in.", { "www-authenticate": "Identity" });
  if (!isOwner(user)) return problem(403, "not_the_owner", "You are signed in, but this is somebody else’s dreamwalker.");
  return null;
}

/** Google has proved the address; one that somebody gave with a password of his own would prove nothing. */
function isOwner(user) {
  const owners = (process.env.DREAMWALKER_OWNERS ?? "").split(",").map((it) => it.trim().toLowerCase()).filter(Boolean);
  return user.provider === "google" && owners.includes((user.email ?? "").toLowerCase());
}

/** @returns {Promise<ArrayBuffer | undefined | null>} undefined: there is none; null: it is too large */
async function bodyOf(request) {
  if (["GET", "HEAD"].includes(request.method)) return undefined;
  if (Number(request.headers.get("content-length") ?? 0) > BODY_BYTES_MAX) return null;
  const body = await request.arrayBuffer();
  if (body.byteLength > BODY_BYTES_MAX) return null;
  return body.byteLength > 0 ? body : undefined;
}

function chosen(headers, names) {
  return Object.fromEntries(names.filter((name) => headers.has(name)).map((name) => [name, headers.get(name)]));
}

/** A live stream, ended properly when its time is over: between two events, so that none is torn. */
function forAWhile(body, source) {
  const reader = body.getReader();
  const until = Date.now() + STREAM_MS;
  let whole = true; // what was passed on so far ends with an event
  let timer;
  const over = new Promise((resolve) => (timer = setTimeout(resolve, STREAM_MS, "over")));
  const finish = (controller, last) => {
    clearTimeout(timer);
    if (last) controller.enqueue(last);
    controller.close();
    source.abort();
  };
  return new ReadableStream({
    async pull(controller) {
      const next = reader.read();
      next.catch(() => {}); // when it is aborted after its end
      const came = whole ? await Promise.race([next, over]).catch(() => ({ done: true })) : await next.catch(() => ({ done: true }));
      if (came === "over") return finish(controller, ENDED);
      if (came.done) return finish(controller);
      controller.enqueue(came.value);
      whole = came.value.at(-1) === 10 && came.value.at(-2) === 10;
      if (whole && Date.now() >= until) finish(controller, ENDED);
      return undefined;
    },
    cancel() {
      clearTimeout(timer);
      source.abort();
    },
  });
}

function problem(status, code, message, headers = {}) {
  return Response.json({ error: { code, message } }, { status, headers: { "cache-control": "no-store", ...headers } });
}
