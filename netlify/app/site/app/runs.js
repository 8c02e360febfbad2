/** Runs: what was done, why it is as it is, and what it cost. One rule: nothing that was done is left out. */

import { html, useState } from "../vendor/ui.js";
import { get, pathOf, post, touched, useResource } from "./api.js";
import { Call } from "./entry.js";
import { Action, Badge, Empty, Loading, Page, Trouble, When } from "./parts.js";
import { QuestionCard } from "./question.js";
import { Link } from "./router.js";
import { drawn } from "./text.js";
import { counted, dollars, workerWords } from "./words.js";

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
      <span class="row-main"><span class="strong">${drawn(run.agent)}</span><span class="help">${KINDS[run.kind] ?? run.kind}, ${counted(run.turn, "reply", "replies")}${run.reason ? `: ${drawn(run.reason)}` : ""}</span></span>
      <span class="row-end"><${Badge} kind=${run.state}>${run.state}<//> <span>${dollars(run.cost_dollars)}</span> <${When} at=${run.opened_at} /></span>
    <//></li>`)}</ul>
    ${more ? html`<button onClick=${read}>Show earlier</button>` : null}<${Trouble} problem=${problem} />
  <//>`;
}

export function RunPage({ id }) {
  const path = pathOf("runs", id);
  const resource = useResource(path);
  const back = html`<${Link} to="/runs" class="back">Runs<//>`;
  if (!resource.data) return html`<${Page} title=${`Run ${id}`} back=${back}><${Loading} of=${resource} /><//>`;
  const { run, calls, workers, questions, cost } = resource.data;
  const over = run.closed_at !== null;
  return html`<${Page} title=${`Run ${run.id}`} back=${back}>
    <p class="lead"><${Badge} kind=${run.state}>${run.state}<//> ${drawn(run.agent)}, ${KINDS[run.kind] ?? run.kind} · <${When} at=${run.opened_at} />${over ? html` to <${When} at=${run.closed_at} />` : null}</p>
    ${run.reason ? html`<p class=${run.state === "failed" ? "failed" : "cut"}>${drawn(run.reason)}</p>` : null}
    ${run.works_for !== null ? html`<p>It works for <${Link} to=${`/runs/${run.works_for}`}>run ${run.works_for}<//>.</p>` : null}
    ${over ? null : html`<${Action} act=${async () => (await post(`${path}/stop`), touched())}>Stop it<//>`}
    <h2>What it did</h2>
    ${calls.length === 0 ? html`<${Empty}>It answered without using anything.<//>` : calls.map((call) => html`<${Call} key=${`${call.turn}.${call.position}`} call=${call} />`)}
    ${workers.length > 0 ? html`<h2>Who worked for it</h2><ul class="rows">${workers.map((it) => html`<li key=${it.conversation}><${Maybe} to=${it.worker_run === null ? null : `/runs/${it.worker_run}`}>
      <span class="row-main">${drawn(workerWords(it))}${it.reason ? html`<span class="help">${drawn(it.reason)}</span>` : null}</span><span class="row-end">${dollars(it.cost_dollars)}</span>
    <//></li>`)}</ul>` : null}
    ${questions.length > 0 ? html`<h2>What you were asked</h2>${questions.map((it) => html`<${QuestionCard} key=${it.id} question=${it} decided=${touched} />`)}` : null}
    <h2>What it cost</h2>
    <${Costs} sums=${cost} total=${run.cost_dollars} what="for" name=${(sum) => sum.kind} />
  <//>`;
}

const Maybe = ({ to, children }) => (to === null ? html`<div class="row">${children}</div>` : html`<${Link} to=${to} class="row">${children}<//>`);

/** What requests cost, in a table. */
export function Costs({ sums, total, what, name }) {
  if (sums.length === 0) return html`<${Empty}>Nothing yet.<//>`;
  const numbers = (value) => html`<td class="number">${value.toLocaleString()}</td>`;
  return html`<div class="scrolls" tabindex="0" role="group" aria-label="Costs"><table>
    <thead><tr><th>${what}</th><th class="number">cost</th><th class="number">requests</th><th class="number">input</th><th class="number">from the cache</th><th class="number">output</th></tr></thead>
    <tbody>${sums.map((sum) => html`<tr><td><bdi>${drawn(name(sum))}</bdi></td><td class="number">${dollars(sum.cost_dollars + sum.unsettled_dollars)}</td>${numbers(sum.requests)}${numbers(sum.input_tokens + sum.cache_write_tokens)}${numbers(sum.cache_read_tokens)}${numbers(sum.output_tokens)}</tr>`)}</tbody>
    ${total === undefined ? null : html`<tfoot><tr><th>together</th><td class="number">${dollars(total)}</td><td colspan="4"></td></tr></tfoot>`}
  </table></div>`;
}
