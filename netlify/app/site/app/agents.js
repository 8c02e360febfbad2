/**
 * The agents. One rule: each has its own conversation and its own notes; one that is retired stays to be read.
 */

import { html } from "../vendor/ui.js";
import { patch, pathOf, post, useResource } from "./api.js";
import { Action, Badge, Field, Form, Loading, Page } from "./parts.js";
import { go, Link } from "./router.js";
import { drawn } from "./text.js";

export const MAIN = "dreamwalker";

export function AgentsPage() {
  const resource = useResource("/agents");
  if (!resource.data) return html`<${Page} title="Agents"><${Loading} of=${resource} /><//>`;
  const { agents, grants } = resource.data;
  const make = async (given) => {
    const made = await post("/agents", { name: given.name.trim(), ...chosen(given, grants) });
    go(`/agents/${made.name}`);
  };
  return html`<${Page} title="Agents">
    <ul class="rows">${agents.map((it) => html`<li key=${it.name}><${Link} to=${`/agents/${it.name}/about`} class="row">
      <span class="row-main"><bdi class="strong">${it.name}</bdi><span class="help" dir="auto">${drawn(it.job)}</span></span>
      <span class="row-end">${it.retired ? html`<${Badge}>retired<//>` : null}</span>
    <//></li>`)}</ul>
    <details class="card"><summary>New agent</summary>
      <${Form} submit=${make} send="Make the agent" label="New agent">
        <${Field} label="Name" help="Small letters, digits and hyphens. It can’t be changed later."><input name="name" required pattern="[a-z0-9][a-z0-9\\-]{0,31}" autocapitalize="off" spellcheck="false" /><//>
        <${Choices} grants=${grants} />
      <//>
    </details>
  <//>`;
}

export function AgentPage({ name }) {
  const resource = useResource("/agents");
  const back = html`<${Link} to="/agents" class="back">Agents<//>`;
  const agent = resource.data?.agents.find((it) => it.name === name);
  if (!agent) return html`<${Page} title=${name} back=${back}>${resource.data ? "There is no agent of that name." : html`<${Loading} of=${resource} />`}<//>`;
  const { grants } = resource.data;
  const path = pathOf("agents", name);
  const change = async (given) => (await patch(path, chosen(given, grants)), "Kept. Its next request goes by it.");
  return html`<${Page} title=${name} back=${back}>
    <p class="lead" dir="auto">${agent.retired ? html`<${Badge}>retired<//> ` : null}${drawn(agent.job)}</p>
    <p class="buttons"><${Link} to=${name === MAIN ? "/" : `/agents/${name}`} class="button">Open the conversation<//> <${Link} to=${`/notes/${name}`} class="button">Its notes<//></p>
    <${Form} submit=${change} send="Keep" label="Change the agent" class="card"><${Choices} agent=${agent} grants=${grants} /><//>
    ${agent.retired
      ? html`<${Action} key="restore" act=${() => post(`${path}/restore`)}>Take it back<//>`
      : name === MAIN ? null : html`<${Action} key="retire" confirm="Yes, retire it" act=${() => post(`${path}/retire`)}>Retire it<//>`}
  <//>`;
}

function Choices({ agent = { job: "", instructions: "", model: null, grants: [] }, grants }) {
  return html`
    <${Field} label="What it is for" help="In a line. The other agents read it too."><input name="job" required dir="auto" defaultValue=${agent.job} /><//>
    <${Field} label="Standing instructions"><textarea name="instructions" rows="5" dir="auto">${agent.instructions}</textarea><//>
    <${Field} label="Model" help="Left empty: the default one."><input name="model" autocapitalize="off" spellcheck="false" defaultValue=${agent.model ?? ""} /><//>
    ${grants.length > 0
      ? html`<fieldset class="choices"><legend class="label">It may use</legend>
          ${grants.map((grant) => html`<label class="check"><input type="checkbox" name=${`grant:${grant}`} defaultChecked=${agent.grants.includes(grant)} /> ${drawn(grant)}</label>`)}
        </fieldset>`
      : null}`;
}

function chosen(given, grants) {
  return {
    job: given.job,
    instructions: given.instructions,
    model: given.model.trim() || null,
    grants: grants.filter((grant) => given[`grant:${grant}`] === "on"),
  };
}
