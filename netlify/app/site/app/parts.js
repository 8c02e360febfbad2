/** Small pieces that every page uses. One rule: each control has a name, and each failure is said where it happened. */

import { cloneElement, html, useEffect, useId, useRef, useState } from "../vendor/ui.js";
import { drawn } from "./text.js";
import { distance, exact, moment } from "./words.js";

const ICONS = {
  menu: "M4 7h16M4 12h16M4 17h16",
  chat: "M5 5h14a2 2 0 0 1 2 2v8a2 2 0 0 1-2 2h-7l-5 4v-4H5a2 2 0 0 1-2-2V7a2 2 0 0 1 2-2z",
  bell: "M6 16V11a6 6 0 0 1 12 0v5l2 2H4zM10 21h4",
  clock: "M12 3a9 9 0 1 0 0 18 9 9 0 0 0 0-18zM12 7v5l3 2",
  note: "M6 3h9l4 4v14H6zM15 3v4h4M9 12h7M9 16h7",
  run: "M4 12h4l2-7 4 14 2-7h4",
  money: "M12 3v18M16 7.5C16 6 14.5 5 12 5S8 6 8 8s1.5 3 4 3.5 4 1.5 4 3.5-1.5 3.5-4 3.5-4-1-4-2.5",
  gear: "M12 9a3 3 0 1 0 0 6 3 3 0 0 0 0-6zM4 12h2M18 12h2M12 4v2M12 18v2M6.3 6.3l1.5 1.5M16.2 16.2l1.5 1.5M6.3 17.7l1.5-1.5M16.2 7.8l1.5-1.5",
  ask: "M12 3a9 9 0 1 0 0 18 9 9 0 0 0 0-18zM9.5 9.5a2.5 2.5 0 1 1 3.5 2.3c-.7.3-1 .8-1 1.7M12 16.8v.2",
  phone: "M8 3h8a1 1 0 0 1 1 1v16a1 1 0 0 1-1 1H8a1 1 0 0 1-1-1V4a1 1 0 0 1 1-1zM11 18h2",
  send: "M5 12l14-7-5 14-3-5z",
  stop: "M7 7h10v10H7z",
  fresh: "M12 4H6a2 2 0 0 0-2 2v12a2 2 0 0 0 2 2h12a2 2 0 0 0 2-2v-6M18.5 3.5l2 2L12 14l-3 1 1-3z",
  down: "M6 10l6 6 6-6",
  back: "M14 6l-6 6 6 6",
  search: "M11 4a7 7 0 1 0 0 14 7 7 0 0 0 0-14zM16 16l4.5 4.5",
  quote: "M5 17V12a5 5 0 0 1 5-5M5 12h5v5H5zM14 17V12a5 5 0 0 1 5-5M14 12h5v5h-5z",
  people: "M9 5a3 3 0 1 0 0 6 3 3 0 0 0 0-6zM3 20c0-4 2.5-6 6-6s6 2 6 6M16 6a2.5 2.5 0 1 1 0 5M17 14c2.5.3 4 2 4 5",
};

/** A drawing beside words; what it means, the words say. */
export function Icon({ name }) {
  return html`<svg class="icon" viewBox="0 0 24 24" aria-hidden="true" focusable="false"><path d=${ICONS[name]} /></svg>`;
}

/** What went wrong, in words. */
export function Trouble({ problem }) {
  return problem ? html`<p class="trouble" role="alert">${drawn(problem.message ?? String(problem))}</p>` : null;
}

export function Empty({ children }) {
  return html`<p class="empty">${children}</p>`;
}

/** While nothing has come yet, and when nothing will. */
export function Loading({ of: resource }) {
  if (resource.problem?.status === 0) return html`<p class="loading">This is shown once dreamwalker is back.</p>`;
  if (resource.problem) return html`<div class="loading"><${Trouble} problem=${resource.problem} /><button class="plain-button" onClick=${resource.reload}>Try again</button></div>`;
  return html`<p class="loading" role="status">One moment …</p>`;
}

/** A moment, exact when asked. */
export function When({ at, near = false }) {
  return html`<time datetime=${at} title=${exact(at)}>${near ? `${moment(at)} (${distance(at)})` : moment(at)}</time>`;
}

/** A button whose work may take a while or fail. */
export function Action({ act, children, class: style = "", confirm = null, disabled = false, label }) {
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState(null);
  const [asked, setAsked] = useState(false);
  const there = useRef(true);
  useEffect(() => () => (there.current = false), []);
  const press = async () => {
    if (confirm !== null && !asked) return setAsked(true);
    setBusy(true);
    setAsked(false);
    setProblem(null);
    try {
      await act();
    } catch (error) {
      if (there.current) setProblem(error);
    }
    if (there.current) setBusy(false);
    return undefined;
  };
  return html`<span class="action">
    <button type="button" class=${style} onClick=${press} disabled=${busy || disabled} aria-label=${label}>${asked ? confirm : children}</button>
    ${asked ? html`<button type="button" class="plain-button" onClick=${() => setAsked(false)}>No, leave it</button>` : null}
    <${Trouble} problem=${problem} />
  </span>`;
}

/**
 * A form of named fields. `submit` gets their values; what it throws is shown; what it returns, in words, too.
 */
export function Form({ submit, children, send, label, class: style = "" }) {
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState(null);
  const [said, setSaid] = useState("");
  const onSubmit = async (event) => {
    event.preventDefault();
    const form = event.currentTarget;
    setBusy(true);
    setProblem(null);
    setSaid("");
    try {
      const answer = await submit(Object.fromEntries(new FormData(form)), form);
      if (typeof answer === "string") setSaid(answer);
    } catch (error) {
      setProblem(error);
    }
    setBusy(false);
  };
  return html`<form class=${`form ${style}`} onSubmit=${onSubmit} aria-label=${label}>
    ${children}
    <div class="form-end">
      <button class="main-button" disabled=${busy}>${send}</button>
      ${said ? html`<p class="said" role="status">${drawn(said)}</p>` : null}
      <${Trouble} problem=${problem} />
    </div>
  </form>`;
}

/** A labelled field. */
export function Field({ label, help, children }) {
  const id = useId();
  const [control, ...beside] = [children].flat();
  const described = help ? { "aria-describedby": `${id}-help` } : {};
  return html`<div class="field">
    <label class="label" for=${id}>${label}</label>
    ${cloneElement(control, { id, ...described })}${beside}
    ${help ? html`<span class="help" id=${`${id}-help`}>${help}</span>` : null}
  </div>`;
}

/** A page beside the conversations: its title, and what it holds. */
export function Page({ title, back, children, aside }) {
  return html`<div class="sheet">
    <div class="sheet-head">${back ?? null}<h1 tabindex="-1">${drawn(title)}</h1>${aside ?? null}</div>
    ${children}
  </div>`;
}

/**
 * A table; where there is little room each row is a list, each cell with the name of its column (`data-of`) before it.
 * The roles stay what they are, however it is laid out.
 */
export function Table({ label, head, rows, foot = null }) {
  return html`<div class="scrolls" tabindex="0" role="group" aria-label=${label}><table role="table">
    <thead role="rowgroup"><tr role="row">${head}</tr></thead>
    <tbody role="rowgroup">${rows.map((cells) => html`<tr role="row">${cells}</tr>`)}</tbody>
    ${foot ? html`<tfoot role="rowgroup"><tr role="row">${foot}</tr></tfoot>` : null}
  </table></div>`;
}

/** A quiet mark of a state. */
export function Badge({ children, kind = "" }) {
  return html`<span class=${`badge ${kind}`}>${children}</span>`;
}

/** What was written while text from outside was about. */
export function FromOutside({ label }) {
  return label > 0 ? html`<span class="badge outside" title="It was written while text from outside was about">may derive from outside</span>` : null;
}
