/**
 * An agent's conversation, live: what was said, what goes on, and where the owner writes.
 *
 * One rule: what is shown as said stands in the transcript; everything else says that it waits, or is under way.
 */

import { html, useEffect, useMemo, useRef, useState } from "../vendor/ui.js";
import { reached } from "./api.js";
import { Composer } from "./composer.js";
import { conversationWith } from "./conversation.js";
import { Markdown, Plain } from "./markdown.js";
import { Action, Icon, Trouble } from "./parts.js";
import { QuestionCard } from "./question.js";
import { Link } from "./router.js";
import { useStore } from "./store.js";
import { drawn } from "./text.js";
import { Transcript } from "./transcript.js";
import { callWords, oneLine, timeOf } from "./words.js";

export function Chat({ agent }) {
  const conversation = useMemo(() => conversationWith(agent), [agent]);
  useStore(conversation);
  const scroller = useRef(null);
  const [atEnd, setAtEnd] = useState(true);
  const toEnd = () => scroller.current.scrollTo({ top: 0 });
  useEffect(() => {
    if (atEnd && document.visibilityState === "visible") conversation.sawAll();
  });
  const before = html`
    ${conversation.more ? html`<p class="older"><button class="plain-button" onClick=${() => conversation.older()}>Show earlier</button></p>` : null}
    ${conversation.entries.size === 0 ? html`<${Bare} conversation=${conversation} />` : null}`;
  return html`<div class="chat">
    <${Transcript} rows=${conversation} label=${`Conversation with ${agent}`} scroller=${scroller} atEnd=${setAtEnd} before=${before}>
      ${conversation.flight?.text ? html`<article class="reply flight" aria-label=${`${agent} writes`} aria-busy="true"><${Markdown} text=${conversation.flight.text} /></article>` : null}
      <${Loose} conversation=${conversation} />
      <${Waiting} conversation=${conversation} />
      <${Status} conversation=${conversation} />
    <//>
    ${atEnd ? null : html`<button class="round to-end" onClick=${toEnd} aria-label="To the newest"><${Icon} name="down" /></button>`}
    <${Composer} key=${agent} conversation=${conversation} sent=${toEnd} />
    <${Announcer} conversation=${conversation} />
  </div>`;
}

/** Open questions whose call is not on the screen, such as those of a job. */
function Loose({ conversation }) {
  const loose = conversation.openQuestions.filter((question) => !conversation.calls.has(`${question.run}.${question.turn}.${question.position}`));
  return loose.map((question) => html`<${QuestionCard} key=${question.id} question=${question} decided=${(it) => conversation.decided(it)} />`);
}

/** What was typed and is not in the transcript yet. */
function Waiting({ conversation }) {
  return html`
    ${[...conversation.waiting.values()].map((message) =>
      message.kind === "fresh"
        ? html`<p key=${message.id} class="divider">A new context waits for the end of this</p>`
        : html`<article key=${message.id} class="own waiting" aria-label="You, waiting"><${Typed} message=${message} />
            <footer>waiting · <${Action} class="plain-button" act=${() => conversation.withdraw(message)}>take back<//></footer></article>`,
    )}
    ${conversation.outbox.items.map((item) => html`<${Unsent} key=${item.request_id} item=${item} outbox=${conversation.outbox} />`)}`;
}

function Unsent({ item, outbox }) {
  const there = useStore(reached);
  const said = item.refused ? html`<span class="trouble">${drawn(item.problem)}</span>` : !item.problem ? "sending …" : there ? `not sent yet: ${drawn(item.problem)}` : "not sent yet";
  return html`<article class="own waiting" aria-label="You, not sent yet"><${Typed} message=${item} />
    <footer>${said}
      ${item.problem && !item.refused ? html` · <button class="plain-button" onClick=${() => outbox.now()}>send now</button>` : null}
      ${item.problem ? html` · <button class="plain-button" onClick=${() => outbox.drop(item)}>take back</button>` : null}</footer></article>`;
}

/** The words of a message that waits, and apart from them what it quotes. */
function Typed({ message }) {
  return html`${(message.quotes ?? []).map((quote) => html`<blockquote class="quoted" dir="auto"><span class="tag">${quote.from ? drawn(quote.from) : "Others wrote"}</span> ${drawn(oneLine(quote.text, 160))}</blockquote>`)}
    ${message.text ? html`<${Plain} text=${message.text} />` : null}`;
}

/** What is going on, in a line, unless it can be seen anyway. */
function Status({ conversation }) {
  const { run, flight } = conversation;
  if (conversation.stopping) return html`<p class="status">Stopping …</p>`;
  if (run === null) return null;
  if (run.state === "waiting") {
    if (conversation.activity === "asking") return null;
    const money = /limit of the (?:day|month)/.test(run.reason ?? "");
    const later = run.retry_at && !money ? `It is tried again at ${timeOf(run.retry_at)}.` : null;
    return html`<p class="status waits">${drawn(run.reason ?? "It waits.")} ${money ? html`<${Link} to="/spend">Raise the limit<//>` : later}</p>`;
  }
  const busy = [...conversation.calls.values()].filter((call) => call.run === run.id && call.state === "begun");
  if (flight?.text) return null;
  const doing = conversation.summing === run.id ? "Summing up what was said so far" : busy.length > 0 ? drawn(callWords(busy.at(-1)).verb) : "Thinking";
  return html`<p class="status"><span class="dots" aria-hidden="true"><i></i><i></i><i></i></span> ${doing} …</p>`;
}

/** What a screen reader is told: each reply when it stands, and what waits for a decision. */
function Announcer({ conversation }) {
  const last = conversation.entries.get(conversation.last);
  const asks = conversation.openQuestions.at(-1);
  const told = asks ? `${asks.head} ${oneLine(asks.act, 300)}` : last?.kind === "reply" ? oneLine(last.text, 600) : last?.source === "outside" ? oneLine(`${last.what}: ${last.text}`, 200) : "";
  return html`<div class="visually-hidden" role="status" aria-live="polite">${conversation.state === "live" ? drawn(told) : ""}</div>`;
}

/** What stands there while there is nothing else: a welcome to who is new, a word to who has to wait. */
function Bare({ conversation }) {
  const there = useStore(reached);
  if (!there) return html`<p class="bare">What was said before is shown here again once dreamwalker is back. You can write already.</p>`;
  if (conversation.state !== "live" || conversation.outbox.items.length > 0) return null;
  return html`<div class="welcome">
    <h2>Hello.</h2>
    <p>Tell ${conversation.agent} something worth remembering, ask for something, or have yourself reminded. What you write is kept before it is answered, and nothing is forgotten.</p>
    <ul><li>“Remember that Anna’s birthday is on 14 May.”</li><li>“Remind me tomorrow at nine to call the bank.”</li><li>“Every morning at seven, look up the weather.”</li></ul>
  </div>`;
}

/** What stands above a conversation: who it is, how it is, and a new context. */
export function ChatHead({ agent }) {
  const conversation = conversationWith(agent);
  useStore(conversation);
  const there = useStore(reached);
  const lost = conversation.state === "lost";
  const said = !there ? "\u00a0" : lost ? "connecting again …" : conversation.state === "opening" ? "opening …" : { "": "ready", working: "at work", asking: "waits for your answer", waiting: "waits" }[conversation.activity];
  return html`<div class="chat-head">
    <div class="who"><h1>${agent}</h1><p class=${`presence ${lost ? "lost" : conversation.activity}`}>${said}</p></div>
    <${Action} class="quiet-button" act=${() => conversation.fresh()} label="New context"><${Icon} name="fresh" /><span class="wide">New context</span><//>
    ${lost && conversation.problem?.status ? html`<${Trouble} problem=${conversation.problem} />` : null}
  </div>`;
}
