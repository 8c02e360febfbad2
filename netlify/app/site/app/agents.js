/** The agents. One rule: each has its own conversation and its own notes. */

import { html } from "../vendor/ui.js";
import { useResource } from "./api.js";
import { Badge, Loading, Page } from "./parts.js";
import { Link } from "./router.js";
import { drawn } from "./text.js";

export function AgentsPage() {
  const resource = useResource("/agents");
  return html`<${Page} title="Agents">
    ${resource.data
      ? html`<ul class="rows">${resource.data.agents.map((it) => html`<li key=${it.name}><${Link} to=${`/agents/${it.name}/about`} class="row">
          <span class="row-main"><bdi class="strong">${it.name}</bdi><span class="help" dir="auto">${drawn(it.job)}</span></span>
          <span class="row-end">${it.retired ? html`<${Badge}>retired<//>` : null}</span>
        <//></li>`)}</ul>`
      : html`<${Loading} of=${resource} />`}
  <//>`;
}

export function AgentPage({ name }) {
  const resource = useResource("/agents");
  const back = html`<${Link} to="/agents" class="back">Agents<//>`;
  const agent = resource.data?.agents.find((it) => it.name === name);
  if (!agent) return html`<${Page} title=${name} back=${back}>${resource.data ? "There is no agent of that name." : html`<${Loading} of=${resource} />`}<//>`;
  return html`<${Page} title=${name} back=${back}>
    <p class="lead" dir="auto">${drawn(agent.job)}</p>
    <p class="buttons"><${Link} to=${`/agents/${name}`} class="button">Open the conversation<//> <${Link} to=${`/notes/${name}`} class="button">Its notes<//></p>
    <dl class="facts"><dt>model</dt><dd>${drawn(agent.model ?? "the default one")}</dd></dl>
  <//>`;
}
