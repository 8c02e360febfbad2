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

/** Whether there is something to be known by; whether it is right, the server tells. */
export const hasCredentials = () => token !== null || signedIn();

/**
 * The server does not know us.
 * @param {number} asked when it was asked
 * @returns {Promise<boolean>} whether it knows us now
 */
export async function refused(response, asked) {
  const scheme = response.headers.get("WWW-Authenticate") ?? "";
  if (!scheme.startsWith("Identity")) session.set({ state: "token", wrong: token !== null });
  else if (await renewed(asked)) return true;
  else session.set({ state: "identity" });
  return false;
}

/** Somebody signed in whom the site does not know as its owner. */
export function notTheOwner(message) {
  session.set({ state: "identity", problem: message });
}

const identity = () => import("../vendor/identity.js");
const signedIn = () => /(?:^|; )nf_(?:jwt|refresh)=/.test(document.cookie);
let renewing = null;
let renewedAt = 0;

/** Whether a sign-in that has run out, as each does within an hour, could be renewed, or was since that was asked. */
function renewed(asked) {
  if (asked < renewedAt) return true;
  if (!signedIn() || Date.now() - renewedAt < 10_000) return false;
  renewing ??= identity()
    .then((it) => it.refreshSession())
    .then((fresh) => ((renewedAt = Date.now()), Boolean(fresh)), () => false)
    .finally(() => (renewing = null));
  return renewing;
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
  if (signedIn()) await (await identity()).logout().catch(() => {});
  location.assign("/");
}

/** Sign in with Google, on a site with Identity. The browser leaves, and comes back signed in. */
export async function signIn() {
  const { oauthLogin } = await identity();
  try {
    oauthLogin("google");
  } catch {
    // that it leaves is told by an error
  }
}

/** What a sign-in that has just come back left in the address; it is taken out of it before anything else happens. */
export async function comeBack() {
  const returning = /^#(?:access_token|error|invite_token|confirmation_token|recovery_token)=/.test(location.hash);
  try {
    if (returning) await (await identity()).handleAuthCallback();
  } catch (error) {
    session.set({ state: "identity", problem: error.message });
  }
  if (!returning && signedIn()) {
    await identity().then((it) => it.getUser()).catch(() => {}); // which goes on renewing it; without a network, the next 401 does
  }
  if (returning) history.replaceState(null, "", location.pathname);
}
