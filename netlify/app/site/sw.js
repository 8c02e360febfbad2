/**
 * The service worker: keeps the files of one version of the app, and serves them with or without the server.
 *
 * One rule: files of two versions are never mixed. It touches nothing under /api, so nothing the owner wrote is here.
 */

import { FILES, VERSION } from "./app/files.js";

const SHELL = `dreamwalker-${VERSION}`;

addEventListener("install", (event) => {
  event.waitUntil(caches.open(SHELL).then((cache) => cache.addAll(FILES.map((path) => new Request(path, { cache: "reload" })))));
});

addEventListener("activate", (event) => {
  event.waitUntil(
    caches
      .keys()
      .then((names) => Promise.all(names.filter((name) => name !== SHELL).map((name) => caches.delete(name))))
      .then(() => clients.claim()),
  );
});

addEventListener("message", (event) => {
  if (event.data === "take over") skipWaiting();
});

addEventListener("fetch", (event) => {
  const { pathname, origin } = new URL(event.request.url);
  if (event.request.method !== "GET" || origin !== location.origin || pathname.startsWith("/api") || pathname.startsWith("/.netlify")) return;
  const wanted = event.request.mode === "navigate" ? "/" : pathname;
  event.respondWith(caches.open(SHELL).then(async (cache) => (await cache.match(wanted)) ?? fetch(event.request)));
});
