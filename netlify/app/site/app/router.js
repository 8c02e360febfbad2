/** Where in the app we are. One rule: an address names a page; its query and fragment mean nothing. */

import { html } from "../vendor/ui.js";
import { Store } from "./store.js";

const parts = () => location.pathname.split("/").filter(Boolean).map(decoded);

function decoded(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

/** The parts of the path, such as ["runs", "12"]. */
export const place = new Store(parts());

addEventListener("popstate", () => place.set(parts()));

export function go(path, { instead = false } = {}) {
  history[instead ? "replaceState" : "pushState"](null, "", path);
  place.set(parts());
}

/** A link inside the app. */
export function Link({ to, children, ...rest }) {
  const follow = (event) => {
    if (event.metaKey || event.ctrlKey || event.shiftKey || event.button !== 0) return;
    event.preventDefault();
    go(to);
  };
  return html`<a href=${to} onClick=${follow} ...${rest}>${children}</a>`;
}
