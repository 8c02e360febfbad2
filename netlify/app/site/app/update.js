/**
 * The service worker: the app opens without the server, and a newer version is taken up when the owner says so.
 */

import { Store } from "./store.js";

/** What takes up the newer version, or null while there is none. */
export const updated = new Store(null);

export async function keepShell() {
  if (!("serviceWorker" in navigator)) return;
  try {
    const registration = await navigator.serviceWorker.register(ours("/sw.js"), { type: "module" });
    const offer = () => {
      if (registration.waiting && navigator.serviceWorker.controller) updated.set(() => registration.waiting.postMessage("take over"));
    };
    offer();
    registration.addEventListener("updatefound", () => registration.installing?.addEventListener("statechange", offer));
    let taken = navigator.serviceWorker.controller !== null;
    navigator.serviceWorker.addEventListener("controllerchange", () => {
      if (taken) location.reload();
      taken = true;
    });
  } catch {
    // then there is no shell without the server; everything else works
  }
}

/** The policy of the page lets a script be named only through here, and here only this one. */
function ours(path) {
  const policy = globalThis.trustedTypes?.createPolicy("dreamwalker", {
    createScriptURL(given) {
      if (given !== "/sw.js") throw new TypeError("no such script");
      return given;
    },
  });
  return policy ? policy.createScriptURL(path) : path;
}
