/**
 * Text of whatever origin, made fit to be shown.
 *
 * One rule: text becomes text. It never becomes markup, an address that is asked for anything, or an order of
 * characters other than the one it is written in.
 */

const UNSEEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069\u200b\u2060\ufeff]/g;

/** What would turn the text around or hide in it is drawn, as ⟨U+202E⟩. */
export function drawn(text) {
  return text.replace(UNSEEN, (char) => `⟨U+${char.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}⟩`);
}

const ADDRESS = /https?:\/\/[^\s<>"'`⟦⟧{}|\\^]+/gi;
const TAIL = /[.,;:!?)\]}*_~]+$/;

/** Addresses that stand in text from outside, or in the owner's own. Only these may be live. */
class Known {
  #addresses = new Set();
  #size = 0;

  /** Learn the addresses of a text that is the owner's, or from outside. */
  learn(text) {
    for (const [found] of text.matchAll(ADDRESS)) {
      this.#addresses.add(found);
      for (let rest = found, tail; (tail = TAIL.exec(rest)); ) {
        rest = rest.slice(0, -1);
        this.#addresses.add(rest);
        if (tail[0].length === 1) break;
      }
    }
    const grown = this.#addresses.size > this.#size;
    this.#size = this.#addresses.size;
    return grown;
  }

  has(address) {
    return this.#addresses.has(address);
  }
}

export const known = new Known();

/**
 * An address that may be followed: it is known byte for byte, is http or https and holds no name or password.
 * @returns {{href: string, host: string} | null} the host as it is really asked, in ASCII
 */
export function live(address) {
  if (!known.has(address)) return null;
  let url;
  try {
    url = new URL(address);
  } catch {
    return null;
  }
  if (!/^https?:$/.test(url.protocol) || url.username || url.password || !url.hostname) return null;
  return { href: address, host: url.port ? `${url.hostname}:${url.port}` : url.hostname };
}

/** Text in pieces: plain ones and addresses. @returns {{text: string, address: boolean}[]} */
export function pieces(text) {
  const made = [];
  let at = 0;
  for (const match of text.matchAll(ADDRESS)) {
    const address = match[0].replace(TAIL, "");
    if (match.index > at) made.push({ text: text.slice(at, match.index), address: false });
    made.push({ text: address, address: true });
    at = match.index + address.length;
  }
  if (at < text.length) made.push({ text: text.slice(at), address: false });
  return made;
}
