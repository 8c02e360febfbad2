/**
 * The app's own Netlify site, stood up for tests: its files with the headers of netlify.toml, its function with
 * Netlify's own identity package, and an Identity endpoint that signs in whoever the test says.
 *
 * It is told by environment where dreamwalker is, and prints its address. POST /test/user sets who signs in next
 * ({email, provider}); POST /test/expire makes every sign-in so far run out.
 */

import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { extname, join } from "node:path";

const app = new URL("../../netlify/app/", import.meta.url);
const { default: api } = await import(new URL("functions/api.mjs", app));

const TYPES = { ".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml", ".png": "image/png", ".webmanifest": "application/manifest+json", ".html": "text/html; charset=utf-8" };
const toml = readFileSync(new URL("netlify.toml", app), "utf8");
const headers = Object.fromEntries([...toml.split("[headers.values]")[1].matchAll(/^\s*([\w-]+) = "(.*)"$/gm)].map((it) => [it[1], it[2]]));

let signsIn = { email: "owner@home.example", provider: "google" };
const tokens = new Map();
let count = 0;

function token() {
  count += 1;
  const part = (value) => Buffer.from(JSON.stringify(value)).toString("base64url");
  const made = `${part({ alg: "HS256", typ: "JWT" })}.${part({ sub: String(count), email: signsIn.email, exp: Math.floor(Date.now() / 1000) + 3600 })}.${part(count)}`;
  tokens.set(made, signsIn);
  return made;
}

const userOf = (known) => ({ id: "1", email: known.email, app_metadata: { provider: known.provider }, user_metadata: {}, created_at: "2026-01-01T00:00:00Z", confirmed_at: "2026-01-01T00:00:00Z" });

function identity(path, request, body, response) {
  const say = (status, value) => response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(value));
  const known = tokens.get((request.headers.authorization ?? "").replace("Bearer ", ""));
  if (path.startsWith("/authorize")) {
    const hash = new URLSearchParams({ access_token: token(), refresh_token: "refresh-me", expires_in: "3600", token_type: "bearer" });
    return response.writeHead(302, { location: `/#${hash}` }).end();
  }
  if (path.startsWith("/token")) return body.includes("refresh-me") ? say(200, { access_token: token(), refresh_token: "refresh-me", expires_in: 3600, token_type: "bearer" }) : say(401, {});
  if (path === "/user") return known ? say(200, userOf(known)) : say(401, { msg: "no such token" });
  if (path === "/settings") return say(200, { external: { google: true }, disable_signup: true });
  if (path === "/logout") return tokens.clear(), response.writeHead(204).end();
  return say(404, {});
}

function cookie(request, name) {
  const found = (request.headers.cookie ?? "").split("; ").find((it) => it.startsWith(`${name}=`));
  return found && decodeURIComponent(found.slice(name.length + 1));
}

const server = createServer(async (request, response) => {
  const origin = `http://localhost:${server.address().port}`;
  const { pathname } = new URL(request.url, origin);
  const chunks = [];
  for await (const chunk of request) chunks.push(chunk);
  const body = Buffer.concat(chunks);
  if (pathname === "/test/user") return (signsIn = JSON.parse(body)), response.end();
  if (pathname === "/test/expire") return tokens.clear(), response.end();
  if (pathname.startsWith("/.netlify/identity")) return identity(pathname.replace("/.netlify/identity", ""), request, body.toString(), response);
  if (pathname.startsWith("/api/")) {
    globalThis.netlifyIdentityContext = { url: `${origin}/.netlify/identity`, token: cookie(request, "nf_jwt") };
    const leaving = new AbortController();
    response.on("close", () => leaving.abort());
    const asked = new Request(origin + request.url, { method: request.method, headers: request.headers, body: body.length ? body : undefined, signal: leaving.signal });
    const answer = await api(asked, {});
    response.writeHead(answer.status, Object.fromEntries(answer.headers));
    response.flushHeaders();
    const reader = answer.body?.getReader();
    leaving.signal.addEventListener("abort", () => reader?.cancel().catch(() => {}));
    for (let next; reader && !(next = await reader.read()).done; ) response.write(next.value);
    return response.end();
  }
  const name = extname(pathname) ? pathname : "/index.html";
  try {
    const file = readFileSync(join(new URL("site", app).pathname, name));
    response.writeHead(200, { ...headers, "content-type": TYPES[extname(name)] ?? "text/plain" }).end(file);
  } catch {
    response.writeHead(404).end();
  }
  return undefined;
});
server.listen(0, "localhost", () => console.log(`http://localhost:${server.address().port}`));
