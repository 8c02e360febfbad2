/**
 * Where the owner writes. One rule: what he typed is never lost, and he never waits for the agent to write to it.
 */

import { html, useEffect, useLayoutEffect, useRef, useState } from "../vendor/ui.js";
import { Icon, Trouble } from "./parts.js";
import { kept } from "./store.js";

const HEIGHT_MAX = 240;
const touch = matchMedia("(pointer: coarse)");

export function Composer({ conversation, sent }) {
  const [text, setText] = useState(() => kept.get(`draft.${conversation.agent}`) ?? "");
  const [problem, setProblem] = useState(null);
  const field = useRef(null);

  useEffect(() => kept.set(`draft.${conversation.agent}`, text || null), [text]);
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
  const send = (options) => {
    if (!text.trim()) return;
    conversation.send(text.trim(), options);
    setText("");
    sent();
    field.current.focus();
  };
  const takeBack = async () => {
    const newest = [...conversation.waiting.values()].filter((it) => it.kind === "owner").at(-1);
    if (!newest) return;
    await attempt(async () => {
      await conversation.withdraw(newest);
      setText(newest.text);
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

  const working = conversation.run !== null;
  return html`<div class="composer">
    <${Trouble} problem=${problem} />
    <div class="composer-row">
      <textarea ref=${field} rows="1" dir="auto" aria-label=${`Message to ${conversation.agent}`} placeholder=${working ? "Type on …" : `Message to ${conversation.agent}`}
        enterkeyhint=${touch.matches ? "enter" : "send"} value=${text} onInput=${(event) => setText(event.currentTarget.value)} onKeyDown=${onKeyDown}></textarea>
      ${working
        ? html`<button type="button" class="round stop" disabled=${conversation.stopping} onClick=${() => attempt(() => conversation.stop())} aria-label="Stop" title="Stop (Escape)"><${Icon} name="stop" /></button>`
        : null}
      <button type="button" class="round send" disabled=${!text.trim()} onClick=${() => send({})} aria-label="Send" title="Send (Enter)"><${Icon} name="send" /></button>
    </div>
    ${working && text.trim() ? html`<p class="composer-more"><button type="button" class="plain-button" onClick=${() => send({ interrupt: true })}>Send and interrupt what it is doing</button></p>` : null}
  </div>`;
}
