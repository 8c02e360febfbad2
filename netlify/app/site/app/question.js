/**
 * Questions as cards. One rule: the owner sees the whole act as it will run, and why he is asked, before the buttons.
 */

import { html, useState } from "../vendor/ui.js";
import { get, pathOf, post, touched, useResource } from "./api.js";
import { Badge, Empty, Loading, Page, Trouble, When } from "./parts.js";
import { Link } from "./router.js";
import { drawn } from "./text.js";
import { oneLine } from "./words.js";

const OVER = {
  expired: "It has expired; that means no.",
  stopped: "It was stopped; that means no.",
  changed: "What it would have changed has changed meanwhile; so it was not done.",
  superseded: "It was asked anew.",
};

const behind = (text) => text.split("\n").map((line) => `│ ${line}`).join("\n");
const inFront = (text) => text.split("\n").map((line) => line.replace(/^│ ?/, "")).join("\n");

/** The question of a choice without its options, which stand on their buttons. */
function wordsOf(question) {
  if (question.kind !== "choice") return question.act;
  const options = question.options.map((option, n) => `${n + 1} ${behind(option)}`).join("\n");
  return inFront(options && question.act.endsWith(`\n${options}`) ? question.act.slice(0, -options.length - 1) : question.act);
}

/** One question. `decided` is told of it as it stands after an answer. */
export function QuestionCard({ question: given, decided }) {
  const [answered, setAnswered] = useState(null);
  const [busy, setBusy] = useState("");
  const [problem, setProblem] = useState(null);
  const [words, setWords] = useState("");
  const question = answered && answered.id === given.id && answered.no >= given.no ? answered : given;
  const tell = (it) => {
    setAnswered(it);
    decided?.(it);
  };
  const answer = async (said) => {
    setBusy(said);
    setProblem(null);
    try {
      tell((await post(`${pathOf("questions", question.id)}/answer`, { answer: said })).question);
    } catch (error) {
      setProblem(error);
      if (error.status === 409) get(pathOf("questions", question.id)).then((it) => tell(it.question), () => {});
    }
    setBusy("");
  };
  const open = question.state === "open";
  return html`<section class=${`card question ${open ? "open" : "closed"}`} aria-label=${`Question ${question.id}`}>
    <h2 class="question-head">${drawn(question.head)}</h2>
    ${question.asks ? html`<p class="help">${drawn(question.asks)}</p>` : null}
    <pre class=${question.kind === "act" ? "act" : "act words"} dir="auto" tabindex="0" aria-label="The whole act">${drawn(wordsOf(question))}</pre>
    ${question.bound ? html`<p class="bound">${drawn(question.bound)}</p>` : null}
    ${question.why ? html`<p class="why">${drawn(question.why)}</p>` : null}
    ${question.reason ? html`<details class="reason"><summary>The agent’s own words</summary><p class="help">Text from outside may have put them into its mouth.</p><p class="plain" dir="auto">${drawn(question.reason)}</p></details>` : null}
    ${open
      ? html`<div class="answers">
          ${question.kind === "act"
            ? html`<button class="main-button" disabled=${busy !== ""} onClick=${() => answer("yes")}>Yes, do it</button>
                <button disabled=${busy !== ""} onClick=${() => answer("no")}>No</button>`
            : html`${question.options.map((option) => html`<button dir="auto" disabled=${busy !== ""} onClick=${() => answer(option)}>${drawn(option)}</button>`)}
                <form class="own-answer" onSubmit=${(event) => (event.preventDefault(), words.trim() && answer(words.trim()))}>
                  <input aria-label="An answer of your own" placeholder="Or in your own words" value=${words} onInput=${(event) => setWords(event.currentTarget.value)} />
                  <button disabled=${busy !== "" || !words.trim()}>Answer</button>
                </form>`}
        </div>
        <p class="help">Open until <${When} at=${question.expires_at} />. No answer means no.</p>`
      : html`<p class="decided" role="status">${decision(question)}</p>`}
    <${Trouble} problem=${problem} />
  </section>`;
}

function decision(question) {
  if (question.state !== "answered") return OVER[question.state] ?? question.state;
  return html`You answered <strong>${drawn(question.answer ?? "")}</strong>${question.closed_at ? html`, <${When} at=${question.closed_at} />` : null}.`;
}

/** Every question: the open ones, then what was decided. */
export function QuestionsPage() {
  const resource = useResource("/questions?state=all");
  if (!resource.data) return html`<${Page} title="Questions"><${Loading} of=${resource} /><//>`;
  const open = resource.data.questions.filter((it) => it.state === "open");
  const closed = resource.data.questions.filter((it) => it.state !== "open");
  return html`<${Page} title="Questions">
    ${open.length === 0 ? html`<${Empty}>Nothing waits for your decision.<//>` : open.map((it) => html`<${QuestionCard} key=${it.id} question=${it} decided=${touched} />`)}
    ${closed.length > 0
      ? html`<h2>Decided</h2><ul class="rows">${closed.map(
          (it) => html`<li key=${it.id}><${Link} to=${`/questions/${it.id}`} class="row">
            <span class="row-main"><bdi>${drawn(it.kind === "choice" ? oneLine(wordsOf(it), 80) : it.head)}</bdi></span>
            <span class="row-end"><${Badge}>${it.state === "answered" ? drawn(it.answer.slice(0, 40)) : it.state}<//> <${When} at=${it.closed_at ?? it.expires_at} /></span>
          <//></li>`,
        )}</ul>`
      : null}
  <//>`;
}

export function QuestionPage({ id }) {
  const resource = useResource(pathOf("questions", id));
  return html`<${Page} title="Question" back=${html`<${Link} to="/questions" class="back">Questions<//>`}>
    ${resource.data
      ? html`<${QuestionCard} question=${resource.data.question} decided=${touched} />
          <p><${Link} to=${`/agents/${resource.data.question.agent}`}>Open the conversation<//> · <${Link} to=${`/runs/${resource.data.question.run}`}>The run it belongs to<//></p>`
      : html`<${Loading} of=${resource} />`}
  <//>`;
}
