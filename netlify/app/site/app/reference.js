/** The API, as the server describes it. One rule: what is shown is the document that the server checks itself against. */

import { html } from "../vendor/ui.js";
import { useResource } from "./api.js";
import { Badge, Loading, Page } from "./parts.js";
import { drawn } from "./text.js";

const nameOf = (reference) => reference.split("/").at(-1);

/** A schema in a few words. */
function typeOf(schema) {
  if (schema.$ref) return nameOf(schema.$ref);
  if (schema.enum) return schema.enum.map((it) => JSON.stringify(it)).join(" | ");
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  if (schema.anyOf) return schema.anyOf.map(typeOf).join(" | ");
  if (schema.type === "array") return `${schema.items ? typeOf(schema.items) : "anything"}[]`;
  return `${schema.type ?? "anything"}${schema.format ? ` (${schema.format})` : ""}`;
}

export function ReferencePage() {
  const resource = useResource("/openapi.json");
  if (!resource.data) return html`<${Page} title="The API"><${Loading} of=${resource} /><//>`;
  const { paths, components, info } = resource.data;
  return html`<${Page} title="The API">
    <p class="lead">Version ${info.version}. Each request carries the header Authorization: Bearer TOKEN. The whole document is at /api/openapi.json.</p>
    ${Object.entries(paths).flatMap(([path, methods]) => Object.entries(methods).map(([method, operation]) => html`<${Operation} key=${`${method} ${path}`} path=${path} method=${method} operation=${operation} />`))}
    <h2>What is in them</h2>
    ${Object.entries(components.schemas).map(([name, schema]) => html`<${Schema} key=${name} name=${name} schema=${schema} />`)}
  <//>`;
}

function Operation({ path, method, operation }) {
  const body = operation.requestBody?.content["application/json"].schema;
  const answers = Object.entries(operation.responses);
  return html`<details class="card operation"><summary><${Badge}>${method.toUpperCase()}<//> <code>${path}</code> <span class="help">${drawn(operation.summary)}</span></summary>
    ${operation.parameters.length > 0 ? html`<${Fields} fields=${operation.parameters.map((it) => [it.name, it.schema, it.required])} />` : null}
    ${body ? html`<p>It takes: <code>${typeOf(body)}</code></p>` : null}
    <dl class="facts">${answers.map(([status, answer]) => {
      const [media] = Object.keys(answer.content ?? {});
      const schema = media && answer.content[media].schema;
      return html`<dt>${status}</dt><dd>${drawn(answer.description)} ${schema?.$ref ? html`<code>${typeOf(schema)}</code>` : null}</dd>`;
    })}</dl>
  </details>`;
}

function Schema({ name, schema }) {
  const required = new Set(schema.required ?? []);
  return html`<details class="card operation"><summary><code>${name}</code> <span class="help">${drawn((schema.description ?? "").split("\n")[0])}</span></summary>
    <${Fields} fields=${Object.entries(schema.properties ?? {}).map(([field, it]) => [field, it, required.has(field)])} />
  </details>`;
}

const Fields = ({ fields }) => html`<dl class="facts">${fields.map(([name, schema, required]) => html`<dt><code>${name}</code>${required ? "" : " (may be left out)"}</dt><dd><code>${typeOf(schema)}</code> ${drawn(schema.description ?? "")}</dd>`)}</dl>`;
