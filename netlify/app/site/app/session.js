/**
 * Who is here. Two hosts serve this app: `dreamwalker serve`, which wants the token, and a Netlify site, on which
 * Identity says who it is and a function adds the token.
 *
 * One rule: the host says which of the two it is, by the scheme of its 401; nothing of an address does.
 */

import { kept, Store } from "./store.js";

let token = kept.get("token");

/** "in"; or what is wanted: "token" (`wrong`: the one that was given is not right), "identity" (`who`: is not the owner). */
export const session = new Store({ state: "in" });

/** The headers that say who is asking. */
export function credentials() {
  return token === null ? {} : { Authorization: `Bearer ${token}` };
}

/** The server does not know us. */
export function refused(response) {
  const scheme = response.headers.get("WWW-Authenticate") ?? "";
  if (scheme.startsWith("Identity")) session.set({ state: "identity" });
  else session.set({ state: "token", wrong: token !== null });
}

/** Somebody signed in whom the site does not know as its owner. */
export function notTheOwner(message) {
  session.set({ state: "identity", problem: message });
}

/** Go on with this token; the next answer tells whether it is right. */
export function enter(given) {
  token = given.trim();
  kept.set("token", token);
  session.set({ state: "in" });
}

/** Forget who is here, and everything that this browser kept. */
export async function leave() {
  token = null;
  kept.clear();
  if (session.value.identity) {
    const { logout } = await import("../vendor/identity.js");
    await logout().catch(() => {});
  }
  location.assign("/");
}

/** Sign in with Google, on a site with Identity. The browser leaves, and comes back signed in. */
export async function signIn() {
  const { oauthLogin } = await import("../vendor/identity.js");
  oauthLogin("google");
}

/** What a sign-in that has just come back left in the address; it is taken out of it before anything else happens. */
export async function comeBack() {
  if (!/^#(?:access_token|error|invite_token|confirmation_token|recovery_token)=/.test(location.hash)) return;
  try {
    const { handleAuthCallback } = await import("../vendor/identity.js");
    await handleAuthCallback();
  } catch (error) {
    session.set({ state: "identity", problem: error.message });
  }
  history.replaceState(null, "", location.pathname);
}
