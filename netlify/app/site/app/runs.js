/** Runs: what was done, why it is as it is, and what it cost. One rule: nothing that was done is left out. */

import { html, useState } from "../vendor/ui.js";
import { get, pathOf, post, touched, useResource } from "./api.js";
import { Call } from "./entry.js";
import { Action, Badge, Empty, Loading, Page, Table, Trouble, When } from "./parts.js";
import { QuestionCard } from "./question.js";
import { Link } from "./router.js";
import { drawn } from "./text.js";
import { counted, dollars, oneLine, workerWords } from "./words.js";

const KINDS = { home: "your conversation", ask: "another agent’s message", job: "a job", worker: "a worker’s task" };

export function RunsPage() {
  const resource = useResource("/runs?limit=50");
  const [older, setOlder] = useState({ runs: [], more: null });
  const [problem, setProblem] = useState(null);
  if (!resource.data) return html`<${Page} title="Runs"><${Loading} of=${resource} /><//>`;
  const runs = [...resource.data.runs, ...older.runs];
  const more = older.more ?? resource.data.more;
  const read = async () => {
    try {
      const page = await get(`/runs?limit=50&before=${runs.at(-1).id}`);
      setOlder({ runs: [...older.runs, ...page.runs], more: page.more });
    } catch (error) {
      setProblem(error);
    }
  };
  return html`<${Page} title="Runs">
    ${runs.length === 0 ? html`<${Empty}>Nothing has been done yet.<//>` : null}
    <ul class="rows">${runs.map((run) => html`<li key=${run.id}><${Link} to=${`/runs/${run.id}`} class="row">
      <span class="row-main"><span dir="auto"><${Opening} run=${run} /></span><span class="help">${drawn(run.agent)}, ${KINDS[run.kind] ?? run.kind}, ${counted(run.turn, "reply", "replies")}${run.reason ? `: ${drawn(run.reason)}` : ""}</span></span>
      <span class="row-end"><${Badge} kind=${run.state}>${run.state}<//> <span>${dollars(run.cost_dollars)}${run.unsettled_dollars > 0 ? ` + ${dollars(run.unsettled_dollars)} set aside` : ""}</span> <${When} at=${run.opened_at} /></span>
    <//></li>`)}</ul>
    ${more ? html`<button onClick=${read}>Show earlier</button>` : null}<${Trouble} problem=${problem} />
  <//>`;
}

const OPENED = { task: "Task", agent: "Message", job: "Job", reminder: "Reminder", outcome: "Outcome of a question" };

/** What opened a run; where others may have written it, that is said. */
function Opening({ run }) {
  if (run.opening === null) return html`<span class="strong">Run ${run.id}</span>`;
  const { kind, text, outside } = run.opening;
  return html`${OPENED[kind] ? html`<span class="tag">${OPENED[kind]}</span> ` : null}${outside ? html`<${Badge} kind="outside">from outside<//> ` : null}<bdi class="strong">${drawn(text)}</bdi>`;
}

/** One run: the account of it, and what led to it, back to what the owner did. */
export function RunPage({ id }) {
  const resource = useResource(pathOf("why", "run", id));
  const back = html`<${Link} to="/runs" class="back">Runs<//>`;
  if (!resource.data) return html`<${Page} title=${`Run ${id}`} back=${back}><${Loading} of=${resource} /><//>`;
  const { runs: [account, ...causes], things, act_cost } = resource.data;
  const { run } = account;
  return html`<${Page} title=${`Run ${run.id}`} back=${back}>
    <${Head} run=${run} />
    <p><${Link} to=${placeOf(account)}>Read the conversation it ran in<//></p>
    ${run.closed_at === null ? html`<${Action} act=${async () => (await post(`${pathOf("runs", run.id)}/stop`), touched())}>Stop it<//>` : null}
    <h2>What came in</h2>
    <${CameIn} account=${account} />
    <h2>What it did</h2>
    <${Did} account=${account} />
    ${account.asked.length > 0 ? html`<h2>What you were asked</h2>${account.asked.map(({ question, answered_by }) => html`<${QuestionCard} key=${question.id} question=${question} decided=${touched} />${answered_by === "the phone" ? html`<p class="help">Answered on the phone.</p>` : null}`)}` : null}
    ${causes.length > 0 || things.length > 0 ? html`<h2>What led to it</h2><${Causes} causes=${causes} things=${things} />` : null}
    ${account.resumptions.length > 0 ? html`<h2>What it lived through</h2><ul class="slots">${account.resumptions.map((it) => html`<li><${When} at=${it.at} />: taken up again after ${counted(it.turn, "reply", "replies")}${it.attempt > 1 ? html`, for the ${it.attempt}. time` : null}</li>`)}</ul>` : null}
    <h2>What it cost</h2>
    <${Costs} sums=${account.cost} total=${run} what="for" name=${(sum) => sum.kind} />
    ${causes.length > 0 ? html`<h2>All that followed from the same act</h2><${Costs} sums=${act_cost} what="for" name=${(sum) => sum.kind} />` : null}
  <//>`;
}

/** Where a run stands in its conversation: one of its own is shown from the end, another where the run replied. */
function placeOf({ run, said }) {
  return `/conversations/${run.conversation}${run.kind === "home" && said.length > 0 ? `/${said[0].seq}` : ""}`;
}

function Head({ run }) {
  return html`<p class="lead"><${Badge} kind=${run.state}>${run.state}<//> ${drawn(run.agent)}, ${KINDS[run.kind] ?? run.kind} · <${When} at=${run.opened_at} />${run.closed_at === null ? null : html` to <${When} at=${run.closed_at} />`}</p>
    ${run.reason ? html`<p class=${run.state === "failed" ? "failed" : "cut"}>${drawn(run.reason)}</p>` : null}`;
}

function CameIn({ account }) {
  return html`<ul class="slots">
    ${account.came_in.map((it) => html`<li><span class="tag">${drawn(it.source || it.kind)} · <${When} at=${it.at} /></span> ${it.outside ? html`<${Badge} kind="outside">from outside<//>` : null}<div dir="auto">${drawn(oneLine(it.text, 400))}</div>
      ${it.quotes.map((quote) => html`<p class="help" dir="auto">with a text from ${drawn(quote.from || "elsewhere")}: ${drawn(oneLine(quote.text, 200))}</p>`)}</li>`)}
    ${account.outside.map((it) => html`<li><${Badge} kind="outside">from outside<//> ${drawn(it.what)}${it.origin ? html`, <bdi>${drawn(it.origin)}</bdi>` : null} · <${When} at=${it.at} /></li>`)}
  </ul>`;
}

function Did({ account: { calls, workers, wrote, made, run } }) {
  return html`
    ${calls.length === 0 ? html`<${Empty}>It answered without using anything.<//>` : calls.map((call) => html`<${Call} key=${`${call.turn}.${call.position}`} call=${call} />`)}
    ${wrote.length + made.length > 0
      ? html`<ul class="slots">
          ${wrote.map((it) => html`<li><${Link} to=${`/notes/${run.agent}/${it.note}`}><bdi>${drawn(it.title)}</bdi><//> <span class="help">version ${it.version} of this note</span></li>`)}
          ${made.map((it) => html`<li><${Thing} it=${it} /></li>`)}
        </ul>`
      : null}
    ${workers.length > 0 ? html`<h2>Who worked for it</h2><ul class="rows">${workers.map((it) => html`<li key=${it.conversation}><${Maybe} to=${it.worker_run === null ? null : `/runs/${it.worker_run}`}>
      <span class="row-main">${drawn(it.agent ?? "worker")}: ${drawn(workerWords(it))}${it.reason ? html`<span class="help">${drawn(it.reason)}</span>` : null}</span><span class="row-end">${dollars(it.cost_dollars)}</span>
    <//></li>`)}</ul>` : null}`;
}

const Thing = ({ it }) => html`<${Link} to=${`/${it.kind}s/${it.id}`}><bdi>${drawn(oneLine(it.title || it.text, 80))}</bdi><//> <span class="help">${it.kind}: ${drawn(it.said)}</span>`;

function Causes({ causes, things }) {
  return html`<ol class="slots">
    ${causes.map(({ run, came_in }) => html`<li key=${run.id}><${Link} to=${`/runs/${run.id}`}>Run ${run.id}<//> of ${drawn(run.agent)}${came_in[0] ? html`<span class="help" dir="auto">${drawn(came_in[0].source || came_in[0].kind)}: ${drawn(oneLine(came_in[0].text, 200))}</span>` : null}</li>`)}
    ${things.map((it) => html`<li><${Thing} it=${it} /></li>`)}
  </ol>`;
}

const Maybe = ({ to, children }) => (to === null ? html`<div class="row">${children}</div>` : html`<${Link} to=${to} class="row">${children}<//>`);

/** What requests cost, in a table: what was spent, and apart from it what is set aside, and why that stays. */
export function Costs({ sums, total, what, name, why = true }) {
  if (sums.length === 0) return html`<${Empty}>Nothing yet.<//>`;
  const columns = ["spent", "set aside", "requests", "input", "from the cache", "output"];
  const numbers = (values) => values.map((value, n) => html`<td role="cell" class="number" data-of=${columns[n]}>${value}</td>`);
  const money = (it) => [dollars(it.cost_dollars), it.unsettled_dollars > 0 ? dollars(it.unsettled_dollars) : "–"];
  const tokens = (sum) => [sum.requests, sum.input_tokens + sum.cache_write_tokens, sum.cache_read_tokens, sum.output_tokens].map((it) => it.toLocaleString());
  return html`<${Table} label="Costs"
      head=${html`<th role="columnheader">${what}</th>${columns.map((it) => html`<th role="columnheader" class="number">${it}</th>`)}`}
      rows=${sums.map((sum) => html`<th role="rowheader" scope="row"><bdi>${drawn(name(sum))}</bdi></th>${numbers([...money(sum), ...tokens(sum)])}`)}
      foot=${total === undefined || sums.length < 2 ? null : html`<th role="rowheader" scope="row">together</th>${numbers(money(total))}<td role="cell" colspan="4"></td>`} />
    ${why ? html`<${Aside} of=${sums} />` : null}`;
}

/** Why something is set aside, in a line; nothing if nothing is. */
export function Aside({ of: sums }) {
  const lost = sums.reduce((sum, it) => sum + it.lost_dollars, 0);
  const underWay = sums.reduce((sum, it) => sum + it.unsettled_dollars, 0) - lost;
  if (lost + underWay < 1e-9) return null;
  const parts = [
    underWay > 1e-9 ? `${dollars(underWay)} is set aside for what is under way; what is not used of it comes back.` : "",
    lost > 1e-9 ? `${dollars(lost)} stays set aside: an answer that is cut off is billed to an end that nobody sees, so the most that it can have cost is counted.` : "",
  ];
  return html`<p class="help aside">${parts.join(" ").trim()}</p>`;
}
