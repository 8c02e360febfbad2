/**
 * A conversation on the screen.
 *
 * One rule: only what is near the window is drawn. The rest is empty space of the height that it had, so that a
 * conversation of years opens, and scrolls, like one of today.
 */

import { html, useEffect, useLayoutEffect, useMemo, useRef, useState } from "../vendor/ui.js";
import { conversationWith } from "./conversation.js";
import { Composer } from "./composer.js";
import { Entry } from "./entry.js";
import { Markdown, Plain } from "./markdown.js";
import { Action, Icon, Trouble } from "./parts.js";
import { QuestionCard } from "./question.js";
import { Link } from "./router.js";
import { useStore } from "./store.js";
import { drawn, unframed } from "./text.js";
import { callWords, oneLine, timeOf } from "./words.js";

/** Blocks are drawn so far beyond the window. */
const MARGIN = "1400px 0px";
const OLDER_WITHIN_PX = 1_600;
const AT_END_PX = 48;

export function Chat({ agent }) {
  const conversation = useMemo(() => conversationWith(agent), [agent]);
  useStore(conversation);
  const scroller = useRef(null);
  const [atEnd, setAtEnd] = useState(true);

  const hold = useStayWhereRead(scroller);
  const look = () => {
    hold();
    const { scrollTop, scrollHeight, clientHeight } = scroller.current; // scrollTop is 0 at the end, and negative above it
    setAtEnd(scrollTop > -AT_END_PX);
    if (scrollHeight - clientHeight + scrollTop < OLDER_WITHIN_PX) conversation.older().catch(() => {});
  };
  const toEnd = () => scroller.current.scrollTo({ top: 0 });
  useEffect(() => {
    if (atEnd && document.visibilityState === "visible") conversation.sawAll();
  });
  useEffect(() => {
    if (conversation.more && scroller.current.scrollHeight < scroller.current.clientHeight + OLDER_WITHIN_PX) look();
  }, [conversation.first]);

  return html`<div class="chat">
    <div class="transcript" ref=${scroller} onScroll=${look} tabindex="0" role="group" aria-label=${`Conversation with ${agent}`}>
      <div class="flow">
        ${conversation.more ? html`<p class="older"><button class="plain-button" onClick=${() => conversation.older()}>Show earlier</button></p>` : null}
        ${conversation.entries.size === 0 && conversation.state === "live" && conversation.outbox.items.length === 0 ? html`<${Welcome} agent=${agent} />` : null}
        ${conversation.blocks.map(({ block, version }) => html`<${Block} key=${block} conversation=${conversation} block=${block} version=${version} scroller=${scroller} />`)}
        ${conversation.flight?.text ? html`<article class="reply flight" aria-label=${`${agent} writes`} aria-busy="true"><${Markdown} text=${conversation.flight.text} /></article>` : null}
        <${Loose} conversation=${conversation} />
        <${Waiting} conversation=${conversation} />
        <${Status} conversation=${conversation} />
      </div>
    </div>
    ${atEnd ? null : html`<button class="round to-end" onClick=${toEnd} aria-label="To the newest"><${Icon} name="down" /></button>`}
    <${Composer} key=${agent} conversation=${conversation} sent=${toEnd} />
    <${Announcer} conversation=${conversation} />
  </div>`;
}

/** Whoever reads further up stays there, whatever comes or goes above and below. @returns what to call after scrolling */
function useStayWhereRead(scroller) {
  const anchor = useRef(null);
  const hold = () => {
    const { left, top, width, height } = scroller.current.getBoundingClientRect();
    const node = scroller.current.scrollTop < -AT_END_PX ? document.elementFromPoint(left + width / 2, top + height / 2)?.closest(".flow > *, .block > *") : null;
    anchor.current = node && !node.matches(".block") ? { node, top: node.getBoundingClientRect().top } : null;
  };
  useLayoutEffect(() => {
    const held = anchor.current;
    if (!held?.node.isConnected) return;
    const moved = held.node.getBoundingClientRect().top - held.top;
    if (Math.abs(moved) > 1) scroller.current.scrollTop += moved;
  });
  return hold;
}

/** Some entries. Far from the window it is empty space. */
function Block({ conversation, block, version, scroller }) {
  const node = useRef(null);
  const height = useRef(0);
  const [near, setNear] = useState(true);
  useEffect(() => {
    const watch = new IntersectionObserver(
      ([it]) => {
        if (!it.isIntersecting && it.target.offsetHeight > 0) height.current = it.target.offsetHeight;
        setNear(it.isIntersecting);
      },
      { root: scroller.current, rootMargin: MARGIN },
    );
    watch.observe(node.current);
    return () => watch.disconnect();
  }, []);
  const drawnBlock = useMemo(
    () => (near ? conversation.entriesOf(block).map((entry) => html`<${Entry} key=${entry.seq} conversation=${conversation} entry=${entry} />`) : null),
    [near, version, conversation.first === block, conversation.runs.size],
  );
  return html`<div class="block" ref=${node} style=${near ? undefined : { height: `${height.current}px` }}>${drawnBlock}</div>`;
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
        : html`<article key=${message.id} class="own waiting" aria-label="You, waiting"><${Plain} text=${message.text} />
            <footer>waiting · <${Action} class="plain-button" act=${() => conversation.withdraw(message)}>take back<//></footer></article>`,
    )}
    ${conversation.outbox.items.map(
      (item) => html`<article key=${item.request_id} class="own waiting" aria-label="You, not sent yet"><${Plain} text=${item.text} />
        <footer>${item.refused ? html`<span class="trouble">${drawn(item.problem)}</span>` : item.problem ? `not sent yet: ${drawn(item.problem)}` : "sending …"}
          ${item.problem ? html` · <button class="plain-button" onClick=${() => conversation.outbox.drop(item)}>take back</button>` : null}</footer></article>`,
    )}`;
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
  return html`<p class="status"><span class="dots" aria-hidden="true"><i></i><i></i><i></i></span> ${busy.length > 0 ? drawn(callWords(busy.at(-1)).verb) : "Thinking"} …</p>`;
}

/** What a screen reader is told: each reply when it stands, and what waits for a decision. */
function Announcer({ conversation }) {
  const last = conversation.entries.get(conversation.last);
  const asks = conversation.openQuestions.at(-1);
  const told = asks ? `${asks.head} ${oneLine(asks.act, 300)}` : last?.kind === "reply" ? oneLine(last.text, 600) : last?.source === "outside" ? oneLine(unframed(last.text).words, 200) : "";
  return html`<div class="visually-hidden" role="status" aria-live="polite">${conversation.state === "live" ? drawn(told) : ""}</div>`;
}

function Welcome({ agent }) {
  return html`<div class="welcome">
    <h2>Hello.</h2>
    <p>Tell ${agent} something worth remembering, ask for something, or have yourself reminded. What you write is kept before it is answered, and nothing is forgotten.</p>
    <ul><li>“Remember that Anna’s birthday is on 14 May.”</li><li>“Remind me tomorrow at nine to call the bank.”</li><li>“Every morning at seven, look up the weather.”</li></ul>
  </div>`;
}

/** What stands above a conversation: who it is, how it is, and a new context. */
export function ChatHead({ agent }) {
  const conversation = conversationWith(agent);
  useStore(conversation);
  const lost = conversation.state === "lost";
  const said = lost ? (navigator.onLine ? "connecting again …" : "offline") : conversation.state === "opening" ? "opening …" : { "": "ready", working: "at work", asking: "waits for your answer", waiting: "waits" }[conversation.activity];
  return html`<div class="chat-head">
    <div class="who"><h1>${agent}</h1><p class=${`presence ${lost ? "lost" : conversation.activity}`}>${said}</p></div>
    <${Action} class="quiet-button" act=${() => conversation.fresh()} label="New context"><${Icon} name="fresh" /><span class="wide">New context</span><//>
    ${lost && conversation.problem ? html`<${Trouble} problem=${conversation.problem} />` : null}
  </div>`;
}
