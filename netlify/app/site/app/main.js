/** Where it begins. One rule: nothing of an address is an order; it only says what to look at. */

import { html, render, useEffect, useErrorBoundary } from "../vendor/ui.js";
import { get, touched } from "./api.js";
import { leaveAll } from "./conversation.js";
import { comeBack, hasCredentials, session } from "./session.js";
import { Shell } from "./shell.js";
import { SignIn } from "./signin.js";
import { useStore } from "./store.js";
import { keepShell } from "./update.js";

const LOOK_MS = 60_000;

function App() {
  const { state } = useStore(session);
  const [failure, again] = useErrorBoundary();
  useEffect(() => {
    if (state !== "in") return leaveAll();
    const look = () => document.visibilityState === "visible" && touched();
    const timer = setInterval(look, LOOK_MS);
    addEventListener("visibilitychange", look);
    return () => {
      clearInterval(timer);
      removeEventListener("visibilitychange", look);
    };
  }, [state]);
  if (failure) {
    return html`<main class="door"><h1>Something went wrong in this app</h1><p>${String(failure.message)}</p><button class="main-button" onClick=${again}>Go on</button></main>`;
  }
  return state === "in" ? html`<${Shell} />` : html`<${SignIn} />`;
}

await comeBack();
if (!hasCredentials()) await get("/status").catch(() => {}); // then the door is shown before anything else
render(html`<${App} />`, document.getElementById("app"));
keepShell();
