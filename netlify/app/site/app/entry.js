/** One entry of a conversation, and the calls under it. One rule: whose words they are can always be seen. */

import { html, useLayoutEffect, useRef, useState } from "../vendor/ui.js";
import { Markdown, Plain } from "./markdown.js";
import { When } from "./parts.js";
import { QuestionCard } from "./question.js";
import { Link } from "./router.js";
import { keyOf } from "./rows.js";
import { drawn } from "./text.js";
import { argumentsOf, callWords, dayOf, oneLine, workerWords } from "./words.js";

export function Entry({ conversation, entry }) {
  const before = conversation.entries.get(entry.seq - 1);
  const day = dayOf(entry.at);
  const newDay = before ? dayOf(before.at) !== day : entry.seq === conversation.first;
  const said = html`${shown(conversation, entry)}${ending(conversation, entry)}`;
  return html`${newDay ? html`<p class="day"><time datetime=${entry.at}>${day}</time></p>` : null}${conversation.marked === entry.seq ? html`<${Found}>${said}<//>` : said}`;
}

/** What was looked for: it is brought into the window once, and can be seen to be it. */
function Found({ children }) {
  const ref = useRef(null);
  useLayoutEffect(() => {
    ref.current.scrollIntoView({ block: "center" });
    ref.current.focus({ preventScroll: true });
  }, []);
  return html`<div class="found" ref=${ref} tabindex="-1">${children}</div>`;
}

function shown(conversation, entry) {
  if (entry.kind === "fresh") return html`<p class="divider">New context: nothing from before is sent any more</p>`;
  if (entry.kind === "summary") {
    return html`<details class="divider"><summary>What came before goes on as a summary</summary><div class="summary"><${Plain} text=${entry.text} /></div></details>`;
  }
  if (entry.source === "owner") return html`<${Own} entry=${entry} />`;
  if (entry.source === "outside") return html`<${FromElsewhere} entry=${entry} />`;
  if (entry.kind === "reply") return html`<${Reply} conversation=${conversation} entry=${entry} />`;
  return html`<div class="house"><span class="tag">from dreamwalker</span> <${Plain} text=${entry.text} /></div>`;
}

function Own({ entry }) {
  const words = html`<${Plain} text=${entry.text} />`;
  return html`<article class="own" aria-label="You">${entry.text.length > LONG ? html`<${Clamped}>${words}<//>` : words}<footer><${When} at=${entry.at} /></footer></article>`;
}

/** Text from outside: what it is and where from, and its beginning; the whole of it when asked. */
function FromElsewhere({ entry }) {
  const { what, origin, text } = entry;
  return html`<article class="elsewhere" aria-label=${what || "From outside"}>
    <p class="tag">${drawn(what || "From outside")}${origin && !/^call:/.test(origin) ? html` · <bdi>${drawn(origin)}</bdi>` : null} · <${When} at=${entry.at} /></p>
    <${Clamped}><${Plain} text=${text} /><//>
  </article>`;
}

/** A long text, of which the beginning is shown until it is asked for. */
function Clamped({ children }) {
  const [open, setOpen] = useState(false);
  const [long, setLong] = useState(false);
  const ref = useRef(null);
  useLayoutEffect(() => {
    const node = ref.current;
    if (!open && node) setLong(node.scrollHeight > node.clientHeight + 4);
  });
  return html`<div class=${open ? "" : "clamped"} ref=${ref}>${children}</div>
    ${long || open ? html`<button class="plain-button" aria-expanded=${open} onClick=${() => setOpen(!open)}>${open ? "Show less" : "Show all"}</button>` : null}`;
}

function Reply({ conversation, entry }) {
  const calls = conversation.callsOf(entry);
  const last = conversation.entries.get(entry.seq + 1)?.run !== entry.run && conversation.run?.id !== entry.run;
  return html`<article class="reply" aria-label=${conversation.agent}>
    ${entry.text.trim() ? html`<${Markdown} text=${entry.text} />` : null}
    ${entry.cut ? html`<p class="cut">Cut short: ${drawn(entry.cut)}</p>` : null}
    ${calls.map((call) => html`<${Call} key=${keyOf(call)} conversation=${conversation} call=${call} />`)}
    ${last ? html`<footer><${When} at=${entry.at} /> · <${Link} to=${`/runs/${entry.run}`}>how it came about<//></footer>` : null}
  </article>`;
}

/** How a run ended, if not as it should. */
function ending(conversation, entry) {
  const run = conversation.runs.get(entry.run);
  if (!run || conversation.entries.get(entry.seq + 1)?.run === run.id) return null;
  if (run.state === "failed") return html`<p class="failed" role="status">It failed: ${drawn(run.reason ?? "")}</p>`;
  if (run.state === "stopped" && !entry.cut) return html`<p class="cut">${drawn(run.reason ?? "Stopped.")}</p>`;
  return null;
}

/** A message of his own that is longer is shown whole only when asked. */
const LONG = 4_000;

const AT_WORK = new Set(["queued", "open", "waiting"]);
const MARKS = { begun: "…", asked: "?", detached: "↷", finished: "✓", failed: "✗" };
const STATES = { begun: "under way", asked: "waits for your answer", detached: "its outcome comes later", finished: "done", failed: "failed" };

/** A call as one quiet line that opens; its worker and its question under it. */
export function Call({ conversation, call }) {
  const [open, setOpen] = useState(false);
  const { verb, about } = callWords(call);
  const state = call.state === "finished" && call.failed ? "failed" : call.state;
  const worker = conversation?.workers.get(keyOf(call));
  const question = conversation?.questionOf(call);
  return html`<div class="call-group">
    <details class=${`call ${state}`} onToggle=${(event) => setOpen(event.currentTarget.open)}>
      <summary><span class="mark" title=${STATES[state]}>${MARKS[state]}</span><span class="visually-hidden">${STATES[state]}: </span><span class="verb">${drawn(verb)}</span>${about ? html` <bdi class="about">${drawn(about)}</bdi>` : null}</summary>
      ${open ? html`<${CallBody} call=${call} />` : null}
    </details>
    ${worker ? html`<${Worker} worker=${worker} />` : null}
    ${question && question.state === "open" ? html`<${QuestionCard} question=${question} decided=${(it) => conversation.decided(it)} />` : null}
    ${question && question.state !== "open" ? html`<p class="worker"><${Link} to=${`/questions/${question.id}`}>${question.state === "answered" ? `You answered: ${drawn(oneLine(question.answer ?? "", 80))}` : `Question ${question.id}: ${question.state}`}<//></p>` : null}
    ${call.question !== null && conversation && !question ? html`<p class="worker"><${Link} to=${`/questions/${call.question}`}>What you were asked about it<//></p>` : null}
  </div>`;
}

/** Who works for a call, what he is at, and the way to all that he did. */
function Worker({ worker }) {
  const who = worker.agent ?? "worker";
  const at = !worker.over && AT_WORK.has(worker.state) ? workerWords(worker) : null;
  return html`<p class="worker"><${Link} to=${`/conversations/${worker.conversation}`}><span class="tag">${drawn(who)}</span> ${at ? drawn(at) : "what was done for it"}<//></p>`;
}

function CallBody({ call }) {
  const given = argumentsOf(call);
  return html`<div class="call-body">
    ${given
      ? html`<dl>${Object.entries(given).map(([name, value]) => html`<dt>${drawn(name)}</dt><dd dir="auto">${drawn(typeof value === "string" ? value : JSON.stringify(value))}</dd>`)}</dl>`
      : html`<pre tabindex="0">${drawn(call.arguments)}</pre>`}
    ${call.result ? html`<p class="tag">${drawn(call.what || (call.failed ? "It failed" : "Result"))}</p><div class="result"><${Plain} text=${call.result} /></div>` : null}
  </div>`;
}
