/**
 * Markdown as the page's own elements.
 *
 * One rule: tokens in, elements out. Raw HTML is shown as the text it is, an image is a mention of its address, and an
 * address is live only if `text.js` says so.
 */

import { html } from "../vendor/ui.js";
import { Lexer } from "../vendor/markdown.js";
import { Table } from "./parts.js";
import { drawn, live, pieces } from "./text.js";

/** Text that a model wrote. */
export function Markdown({ text }) {
  return html`<div class="prose" dir="auto">${blocks(tokensOf(text))}</div>`;
}

function tokensOf(text) {
  try {
    return new Lexer({ gfm: true, breaks: true }).lex(text);
  } catch {
    return [{ type: "code", text }]; // it is too deep or too strange to be taken apart
  }
}

const blocks = (tokens) => tokens.map(block);

function block(token) {
  switch (token.type) {
    case "space":
    case "def":
      return null;
    case "paragraph":
      return html`<p>${inlines(token.tokens)}</p>`;
    case "text":
      return token.tokens ? inlines(token.tokens) : plain(token.text);
    case "heading":
      return html`<p class="heading" role="heading" aria-level=${Math.min(6, token.depth + 2)}>${inlines(token.tokens)}</p>`;
    case "code":
      return html`<pre tabindex="0"><code>${drawn(token.text)}</code></pre>`;
    case "blockquote":
      return html`<blockquote>${blocks(token.tokens)}</blockquote>`;
    case "hr":
      return html`<hr />`;
    case "list":
      return list(token);
    case "table":
      return table(token);
    default:
      return html`<p>${drawn(token.raw ?? "")}</p>`; // raw HTML, and whatever there may be one day
  }
}

function list(token) {
  const items = token.items.map(
    (item) => html`<li class=${item.task ? "task" : undefined}>${item.task ? (item.checked ? "☑ " : "☐ ") : null}${blocks(item.tokens.filter((it) => it.type !== "checkbox"))}</li>`,
  );
  return token.ordered ? html`<ol start=${token.start || 1}>${items}</ol>` : html`<ul>${items}</ul>`;
}

function table(token) {
  const side = (cell) => (cell.align ? `to-${cell.align}` : undefined);
  return html`<${Table} label="Table"
    head=${token.header.map((cell) => html`<th role="columnheader" class=${side(cell)}>${inlines(cell.tokens)}</th>`)}
    rows=${token.rows.map((row) => row.map((cell, n) => html`<td role="cell" class=${side(cell)} data-of=${drawn(token.header[n]?.text ?? "")}>${inlines(cell.tokens)}</td>`))} />`;
}

const inlines = (tokens) => (tokens ?? []).map(inline);

function inline(token) {
  switch (token.type) {
    case "text":
      return token.tokens ? inlines(token.tokens) : plain(token.text);
    case "escape":
      return drawn(token.text);
    case "strong":
      return html`<strong>${inlines(token.tokens)}</strong>`;
    case "em":
      return html`<em>${inlines(token.tokens)}</em>`;
    case "del":
      return html`<del>${inlines(token.tokens)}</del>`;
    case "codespan":
      return html`<code>${drawn(token.text)}</code>`;
    case "br":
      return html`<br />`;
    case "link":
      return html`<${Address} address=${token.href}>${token.text === token.href ? null : inlines(token.tokens)}<//>`;
    case "image":
      return html`<${Address} address=${token.href}>Picture: ${drawn(token.text || "untitled")}<//>`;
    default:
      return drawn(token.raw ?? "");
  }
}

const plain = (text) => drawn(text);

/** An address, perhaps under other words: live if it may be, and else shown in full. */
export function Address({ address, children }) {
  const link = live(address);
  const words = children && (!Array.isArray(children) || children.length > 0) ? children : null;
  if (link === null) {
    return html`<span class="dead">${words}${words ? " " : null}<bdi class="address">${drawn(address)}</bdi></span>`;
  }
  return html`<a class="outward" href=${link.href} target="_blank" rel="noopener noreferrer nofollow">${words ?? drawn(address)}</a>
    ${" "}<bdi class="host" title="where this link leads">${link.host}</bdi>`;
}

/** Plain text in which known addresses are live. */
export function Plain({ text }) {
  return html`<div class="plain" dir="auto">${pieces(text).map((it) => (it.address ? html`<${Address} address=${it.text} />` : drawn(it.text)))}</div>`;
}
