/** Values that the page watches. One rule: whoever changes one says so, and only then is anything drawn anew. */

import { useEffect, useState } from "../vendor/ui.js";

/** A value that can be watched. */
export class Store {
  #value;
  #watchers = new Set();

  constructor(value) {
    this.#value = value;
  }

  get value() {
    return this.#value;
  }

  set(value) {
    this.#value = value;
    this.changed();
  }

  /** Say that what is in it has changed. */
  changed() {
    for (const watcher of [...this.#watchers]) watcher();
  }

  /** Be told of each change. @returns {() => void} ends it */
  watch(watcher) {
    this.#watchers.add(watcher);
    return () => this.#watchers.delete(watcher);
  }
}

/** A store's value, in a component that is drawn anew when it changes. */
export function useStore(store) {
  const [, redraw] = useState(0);
  useEffect(() => {
    redraw((n) => n + 1); // it may have changed between the drawing and now
    return store.watch(() => redraw((n) => n + 1));
  }, [store]);
  return store.value;
}

/** Something kept in this browser, which may forget it or refuse to keep it. */
export const kept = {
  get(name) {
    try {
      return JSON.parse(localStorage.getItem(`dreamwalker.${name}`));
    } catch {
      return null;
    }
  },
  set(name, value) {
    try {
      if (value === null) localStorage.removeItem(`dreamwalker.${name}`);
      else localStorage.setItem(`dreamwalker.${name}`, JSON.stringify(value));
    } catch {
      // then it lasts as long as the page
    }
  },
  clear() {
    try {
      for (const name of Object.keys(localStorage)) if (name.startsWith("dreamwalker.")) localStorage.removeItem(name);
    } catch {
      // there is nothing to forget
    }
  },
};
