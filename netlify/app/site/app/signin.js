/** The door. One rule: the token is typed here and nowhere else; it is never part of an address. */

import { html } from "../vendor/ui.js";
import { Action, Field, Form, Trouble } from "./parts.js";
import { enter, leave, session, signIn } from "./session.js";
import { useStore } from "./store.js";

export function SignIn() {
  const { state, wrong, problem } = useStore(session);
  return html`<main class="door" id="main">
    <img src="/icons/icon.svg" alt="" width="72" height="72" />
    <h1>dreamwalker</h1>
    ${state === "identity"
      ? html`<p>This is somebody’s own agent. Whoever it belongs to signs in here.</p>
          <${Trouble} problem=${problem} />
          <${Action} class="main-button" act=${signIn}>Sign in with Google<//>
          ${problem ? html`<p><button class="plain-button" onClick=${leave}>Sign out</button></p>` : null}`
      : html`<${Form} submit=${({ token }) => enter(token)} send="Open" label="Sign in">
          <${Field} label="The token of your server" help="It stands in ~/.dreamwalker/token on the machine that runs dreamwalker. This browser keeps it."><input name="token" type="password" autocomplete="current-password" required autofocus spellcheck="false" autocapitalize="off" /><//>
          ${wrong ? html`<${Trouble} problem="This token is not the right one." />` : null}
        <//>`}
  </main>`;
}
