/** The frame around every page: where one can go, and whether the server is there. */

import { html, useEffect, useRef, useState } from "../vendor/ui.js";
import { AgentPage, AgentsPage, MAIN } from "./agents.js";
import { get, reached, useResource } from "./api.js";
import { Chat, ChatHead } from "./chat.js";
import { JobPage, JobsPage } from "./jobs.js";
import { NotePage, NotesPage } from "./notes.js";
import { Empty, Icon, Page } from "./parts.js";
import { PushesPage } from "./pushes.js";
import { QuestionPage, QuestionsPage } from "./question.js";
import { ReferencePage } from "./reference.js";
import { ReminderPage, RemindersPage } from "./reminders.js";
import { go, Link, place } from "./router.js";
import { ReadingPage } from "./reading.js";
import { RunPage, RunsPage } from "./runs.js";
import { SearchPage } from "./search.js";
import { SettingsPage } from "./settings.js";
import { SpendPage } from "./spend.js";
import { useStore } from "./store.js";
import { updated } from "./update.js";

/** The page of a place, and what the browser calls it. dreamwalker/api/web.py knows the same places. */
function pageOf([first, second, third]) {
  const one = second !== undefined;
  switch (first) {
    case undefined:
      return { title: MAIN, chat: MAIN };
    case "agents":
      if (!one) return { title: "Agents", page: html`<${AgentsPage} />` };
      if (third === "about") return { title: second, page: html`<${AgentPage} key=${second} name=${second} />` };
      return { title: second, chat: second };
    case "questions":
      return { title: "Questions", page: one ? html`<${QuestionPage} key=${second} id=${second} />` : html`<${QuestionsPage} />` };
    case "reminders":
      return { title: "Reminders", page: one ? html`<${ReminderPage} key=${second} id=${second} />` : html`<${RemindersPage} />` };
    case "jobs":
      return { title: "Jobs", page: one ? html`<${JobPage} key=${second} id=${second} />` : html`<${JobsPage} />` };
    case "notes":
      return { title: "Notes", page: third ? html`<${NotePage} key=${third} agent=${second} id=${third} />` : html`<${NotesPage} key=${second} agent=${second ?? MAIN} />` };
    case "runs":
      return { title: "Runs", page: one ? html`<${RunPage} key=${second} id=${second} />` : html`<${RunsPage} />` };
    case "search":
      return { title: "Search", page: html`<${SearchPage} />` };
    case "conversations":
      return { title: "Transcript", page: html`<${ReadingPage} key=${`${second} ${third}`} id=${second} at=${third} />`, whole: true };
    case "pushes":
      return { title: "On the phone", page: html`<${PushesPage} />` };
    case "spend":
      return { title: "Spend", page: html`<${SpendPage} />` };
    case "reference":
      return { title: "The API", page: html`<${ReferencePage} />` };
    case "settings":
      return { title: "Settings", page: html`<${SettingsPage} />` };
    default:
      return { title: "Nothing here", page: html`<${Page} title="Nothing here"><${Empty}><${Link} to="/">To the conversation<//><//><//>` };
  }
}

export function Shell() {
  const parts = useStore(place);
  const [menu, setMenu] = useState(false);
  const main = useRef(null);
  const { title, chat, page, whole } = pageOf(parts);
  const asked = useResource(openQuestions).data?.questions.length ?? 0;
  const path = parts.join("/");
  useEffect(() => {
    document.title = `${asked > 0 ? `(${asked}) ` : ""}${title === MAIN ? MAIN : `${title} · dreamwalker`}`;
  }, [title, asked]);
  useEffect(() => setMenu(false), [path]);
  const first = useRef(true);
  useEffect(() => {
    const there = main.current?.contains(document.activeElement) && main.current !== document.activeElement; // the page chose a field
    if (!first.current && !chat && !there) main.current?.focus({ preventScroll: true });
    first.current = false;
  }, [path]);
  useEffect(() => {
    const press = (event) => {
      if (event.key === "Escape") setMenu(false);
      if (event.key === "k" && (event.ctrlKey || event.metaKey) && !event.shiftKey && !event.altKey) {
        event.preventDefault();
        go("/search");
      }
    };
    addEventListener("keydown", press);
    return () => removeEventListener("keydown", press);
  }, []);
  return html`<div class=${`shell ${menu ? "menu-open" : ""}`}>
    <a class="skip" href="#main" onClick=${(event) => (event.preventDefault(), main.current?.focus())}>To the content</a>
    <${Side} here=${parts} open=${menu} close=${() => setMenu(false)} />
    <div class="stage">
      <header class="top">
        <button class="quiet-button menu-button" aria-label="Menu" aria-expanded=${menu} aria-controls="side" onClick=${() => setMenu(!menu)}><${Icon} name="menu" /><${Dot} /></button>
        ${chat ? html`<${ChatHead} key=${chat} agent=${chat} />` : html`<p class="top-title" aria-hidden="true">${title}</p>`}
      </header>
      <${Notices} />
      <main id="main" ref=${main} tabindex="-1" class=${chat || whole ? "with-chat" : ""}>${chat ? html`<${Chat} key=${chat} agent=${chat} />` : page}</main>
    </div>
    ${menu ? html`<div class="veil" onClick=${() => setMenu(false)}></div>` : null}
  </div>`;
}

const PLACES = [
  ["/search", "Search", "search"],
  ["/questions", "Questions", "ask"],
  ["/reminders", "Reminders", "bell"],
  ["/jobs", "Jobs", "clock"],
  [`/notes/${MAIN}`, "Notes", "note"],
  ["/runs", "Runs", "run"],
  ["/spend", "Spend", "money"],
  ["/settings", "Settings", "gear"],
];

const openQuestions = "/questions?state=open";

function Side({ here, close }) {
  const agents = useResource("/agents");
  const questions = useResource(openQuestions);
  const open = questions.data?.questions ?? [];
  const current = (path) => (`/${here.join("/")}`.startsWith(path) ? "page" : undefined);
  const named = (agents.data?.agents ?? [{ name: MAIN, job: "", retired: false }]).filter((it) => !it.retired);
  const chatting = here.length === 0 ? MAIN : here[0] === "agents" ? here[1] : null;
  return html`<nav id="side" class="side" aria-label="Everything">
    <p class="brand"><img src="/icons/icon.svg" alt="" width="28" height="28" /> dreamwalker</p>
    <ul>
      ${named.map((agent) => {
        const asks = open.filter((it) => it.agent === agent.name).length;
        return html`<li key=${agent.name}><${Link} to=${agent.name === MAIN ? "/" : `/agents/${agent.name}`} aria-current=${chatting === agent.name && here[2] !== "about" ? "page" : undefined} onFocus=${null}>
          <${Icon} name="chat" /> <bdi>${agent.name}</bdi> ${asks > 0 ? html`<span class="count" aria-label=${`asks ${asks}`}>${asks}</span>` : null}<//></li>`;
      })}
      <li><${Link} to="/agents" aria-current=${here[0] === "agents" && (here.length === 1 || here[2] === "about") ? "page" : undefined}><${Icon} name="people" /> Agents<//></li>
    </ul>
    <ul>${PLACES.map(([path, name, icon]) => html`<li key=${path}><${Link} to=${path} aria-current=${current(path.split("/").slice(0, 2).join("/"))}><${Icon} name=${icon} /> ${name} ${path === "/questions" && open.length > 0 ? html`<span class="count" aria-label=${`${open.length} open`}>${open.length}</span>` : null}<//></li>`)}</ul>
    <button class="plain-button close-menu" onClick=${close}>Close the menu</button>
  </nav>`;
}

/** Something waits for a decision, also where the menu is closed. */
function Dot() {
  const questions = useResource(openQuestions);
  return questions.data?.questions.length ? html`<span class="dot" aria-hidden="true"></span>` : null;
}

/** A server that was lost is looked for so often. */
const LOOK_MS = 5_000;
const look = () => get("/status").catch(() => {});

/** What holds for the whole app. */
function Notices() {
  const there = useStore(reached);
  const newer = useStore(updated);
  const status = useResource("/status");
  useEffect(() => {
    if (there) return undefined;
    const timer = setInterval(look, LOOK_MS);
    addEventListener("online", look);
    return () => {
      clearInterval(timer);
      removeEventListener("online", look);
    };
  }, [there]);
  return html`
    ${there ? null : html`<p class="notice offline" role="status">${navigator.onLine ? "dreamwalker can’t be reached just now." : "You are offline."} What you write is kept, and sent when it is back. <button class="plain-button" onClick=${look}>Try now</button></p>`}
    ${newer ? html`<p class="notice" role="status">There is a newer version of this app. <button class="plain-button" onClick=${newer}>Use it</button></p>` : null}
    ${status.data?.practice ? html`<p class="notice practice">The practice model answers: rules, not an AI.</p>` : null}`;
}
