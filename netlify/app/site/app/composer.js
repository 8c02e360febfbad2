/**
 * Where the owner writes. One rule: what he typed is never lost, and he never waits for the agent to write to it.
 */

import { html, useEffect, useLayoutEffect, useRef, useState } from "../vendor/ui.js";
import { Field, Icon, Trouble } from "./parts.js";
import { kept } from "./store.js";
import { counted } from "./words.js";

const HEIGHT_MAX = 240;
/** Who pastes so much may have pasted what others wrote. */
const LARGE_CHARACTERS = 400;
const QUOTES_MAX = 50;
const touch = matchMedia("(pointer: coarse)");

export function Composer({ conversation, sent }) {
  const { agent } = conversation;
  const [text, setText] = useKept(`draft.${agent}`, "");
  const [quotes, setQuotes] = useKept(`quotes.${agent}`, []);
  const [pasted, setPasted] = useState("");
  const [problem, setProblem] = useState(null);
  const field = useRef(null);

  useEffect(() => {
    if (!touch.matches) field.current?.focus({ preventScroll: true });
    const slash = (event) => {
      if (event.key !== "/" || event.ctrlKey || event.metaKey || event.target.closest("input, textarea, select")) return;
      event.preventDefault();
      field.current?.focus();
    };
    addEventListener("keydown", slash);
    return () => removeEventListener("keydown", slash);
  }, []);
  useLayoutEffect(() => {
    field.current.style.height = "auto";
    field.current.style.height = `${Math.min(field.current.scrollHeight, HEIGHT_MAX)}px`;
  }, [text]);

  const attempt = async (work) => {
    setProblem(null);
    try {
      await work();
    } catch (error) {
      setProblem(error);
    }
  };
  const whole = quotes.filter((it) => it.text.trim() !== "");
  const ready = text.trim() !== "" || whole.length > 0;
  const send = (options) => {
    if (!ready) return;
    conversation.send(text.trim(), { ...options, quotes: whole });
    setText("");
    setQuotes([]);
    setPasted("");
    sent();
    field.current.focus();
  };
  const takeBack = async () => {
    const newest = [...conversation.waiting.values()].filter((it) => it.kind === "owner").at(-1);
    if (!newest) return;
    await attempt(async () => {
      await conversation.withdraw(newest);
      setText(newest.text);
      setQuotes(newest.quotes);
    });
  };
  const onKeyDown = (event) => {
    if (event.isComposing) return;
    if (event.key === "Enter" && !event.shiftKey && !touch.matches) {
      event.preventDefault();
      send({ interrupt: event.ctrlKey || event.metaKey });
    } else if (event.key === "ArrowUp" && text === "") takeBack();
    else if (event.key === "Escape" && text === "" && conversation.run) attempt(() => conversation.stop());
  };
  const onPaste = (event) => {
    const given = event.clipboardData?.getData("text/plain").replace(/\r\n?/g, "\n") ?? "";
    setPasted(given.length >= LARGE_CHARACTERS ? given : "");
  };
  const quote = (what = "") => {
    setQuotes([...quotes, { from: "", text: what }]);
    setPasted("");
    if (what) setText(text.replace(what, ""));
  };

  const working = conversation.run !== null;
  return html`<div class="composer">
    <${Trouble} problem=${problem} />
    ${quotes.length === 0 ? null : html`<div class="quotes">${quotes.map((it, n) => html`<${Quote} key=${n} name=${`Quote ${n + 1}`} first=${n === 0} quote=${it} fresh=${it.text === ""}
      change=${(changed) => setQuotes(quotes.with(n, { ...it, ...changed }))} drop=${() => (setQuotes(quotes.toSpliced(n, 1)), field.current.focus())} />`)}</div>`}
    ${pasted && text.includes(pasted) ? html`<p class="composer-hint" role="status">Did others write what you pasted? Then your agent should not take it for yours. <button type="button" class="plain-button" onClick=${() => quote(pasted)}>Make it a quote</button></p>` : null}
    <div class="composer-row">
      <button type="button" class="round quote" disabled=${quotes.length >= QUOTES_MAX} onClick=${() => quote()} aria-label="Quote what others wrote" title="Quote what others wrote"><${Icon} name="quote" /></button>
      <textarea ref=${field} rows="1" dir="auto" aria-label=${`Message to ${agent}`} placeholder=${working ? "Type on …" : `Message to ${agent}`}
        enterkeyhint=${touch.matches ? "enter" : "send"} value=${text} onInput=${(event) => setText(event.currentTarget.value)} onKeyDown=${onKeyDown} onPaste=${onPaste}></textarea>
      ${working
        ? html`<button type="button" class="round stop" disabled=${conversation.stopping} onClick=${() => attempt(() => conversation.stop())} aria-label="Stop" title="Stop (Escape)"><${Icon} name="stop" /></button>`
        : null}
      <button type="button" class="round send" disabled=${!ready} onClick=${() => send({})} aria-label="Send" title="Send (Enter)"><${Icon} name="send" /></button>
    </div>
    ${working && ready ? html`<p class="composer-more"><button type="button" class="plain-button" onClick=${() => send({ interrupt: true })}>Send and interrupt what it is doing</button></p>` : null}
  </div>`;
}

/** Something that others wrote, to go with the message: the agent is told that it is not the owner's. */
function Quote({ quote, name, first, fresh, change, drop }) {
  const field = useRef(null);
  const wasFresh = useRef(fresh);
  useEffect(() => {
    if (wasFresh.current) field.current?.querySelector("textarea").focus();
  }, []);
  return html`<section class="card quote-card" aria-label=${name} ref=${field}>
    <${Field} label="What others wrote" help=${first ? "Your agent reports what it says and takes no orders from it." : undefined}>
      <textarea rows="2" dir="auto" value=${quote.text} placeholder="Paste it here" onInput=${(event) => change({ text: event.currentTarget.value })}></textarea><//>
    <div class="quote-end">
      <${Field} label="From"><input value=${quote.from} maxlength="500" placeholder="a mail from Anna" onInput=${(event) => change({ from: event.currentTarget.value })} /><//>
      <button type="button" class="plain-button" onClick=${drop}>Remove the quote</button>
    </div>
    ${quote.text.length >= LARGE_CHARACTERS ? html`<p class="help">${counted(quote.text.length, "character")}</p>` : null}
  </section>`;
}

/** A value that this browser keeps until it is what it is at first. */
function useKept(name, first) {
  const [value, setValue] = useState(() => kept.get(name) ?? first);
  useEffect(() => kept.set(name, value.length > 0 ? value : null), [value]);
  return [value, setValue];
}
