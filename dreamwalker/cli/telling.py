"""Telling an agent something and waiting until it is answered.

One rule: a message has one request id for all its tries, so that it is accepted once whatever breaks.
"""

import secrets
from collections.abc import Callable, Sequence

import attrs

from .client import Api, quoted
from .problems import Conflict, Problem
from .reach import Lost, Server, follow, patiently
from .terminal import Json
from .times import Times

PATIENCE_SECONDS = 60.0
"""How long a lost server is looked for while an answer is waited for."""

PRACTICE = (
    "No key for Claude is set, so the practice model answers: rules, not an AI.\n"
    "Set ANTHROPIC_API_KEY to talk with Claude."
)

PREVIEW = "This is a preview: it works on a copy of your data, which is thrown away with it."

ENDED = ("done", "failed", "stopped")
"""The states that a run ends in."""


def new_request_id() -> str:
    """An id that no other request has."""
    return secrets.token_urlsafe(16)


def body_of(text: str, *, seen: int, quotes: Sequence[Json] = ()) -> Json:
    """A message as the API takes it. `seen`: the newest commit that he was shown; `quotes`: what others wrote."""
    return {"request_id": new_request_id(), "text": text, "quotes": list(quotes), "seen": seen}


@attrs.define(kw_only=True)
class Telling:
    """One message on its way to its answer. `tell` is called once; the other fields say how far it has come."""

    server: Server
    agent: str
    on_reply: Callable[[str], None]
    """Called with the text of each reply."""
    on_wait: Callable[[str], None]
    """Called with the reason whenever the run, or the connection, has to wait."""
    typed: str = "dreamwalker "
    """What stands before "yes" and "no" where he answers a question: the command, or the slash of a chat."""
    message: Json | None = None
    run: Json | None = None
    """The run that answers, as it was last seen."""
    no: int = 0
    """The newest commit that was seen."""
    _body: Json | None = None
    _replies: set[int] = attrs.Factory(set)
    _reason: str | None = None

    def tell(self, text: str, *, seen: int = 0, quotes: Sequence[Json] = ()) -> Json:
        """Send a message and wait until the run that answers it has ended, or only the owner can let it go on.

        Returns the run. Raises Problem.
        """
        self._body = body_of(text, seen=seen, quotes=quotes)
        self.message = patiently(self.server, self._post, patience_seconds=PATIENCE_SECONDS)
        after = self.message["accepted_no"] - 1
        for event in follow(self.server, self.agent, after, patience_seconds=PATIENCE_SECONDS):
            match event:
                case Lost(why=why):
                    self._wait_for(why)
                case _ if event.name == "change" and (run := self._change(event.data)) is not None:
                    return run
        raise AssertionError("a conversation is followed for ever")

    def stop(self) -> None:
        """Stop the answer, or take the message back if it isn't placed yet. Raises Problem."""
        if self._body is None:
            return
        api, run = self.server.api, self.run
        if self.message is None:  # it may have been accepted all the same; sent again, it is the same one
            self.message = self._post(api)
        if run is None:
            try:
                api.delete(f"/messages/{self.message['id']}")
                return
            except Conflict:  # it was placed meanwhile, into the one run that this conversation can have
                run = api.get(f"/agents/{quoted(self.agent)}/entries", limit=1)["run"]
        if run is not None:
            api.post(f"/runs/{run['id']}/stop")

    def _post(self, api: Api) -> Json:
        message: Json = api.post(f"/agents/{quoted(self.agent)}/messages", self._body)["message"]
        return message

    def _change(self, change: Json) -> Json | None:
        """Take in what changed; the run, if it has ended."""
        assert self.message is not None
        self.no = max(self.no, change["no"])
        for message in change["messages"]:
            if message["id"] == self.message["id"]:
                self.message = message
        if self.message["state"] == "withdrawn":
            raise Problem("The message was taken back before it was answered.")
        if self.message["run"] is None:
            return None
        for entry in change["entries"]:
            self._entry(entry)
        for run in change["runs"]:
            if run["id"] == self.message["run"]:
                self.run = run
        for question in change["questions"]:
            if question["state"] == "open" and question["run"] == self.message["run"]:
                self.on_wait(asked(question, self._times(), self.typed))
        if self.run is None:
            return None
        if self.run["state"] == "waiting" and self.run["retry_at"] is not None:
            self._wait_for(waiting(self.run, self._times()))
        return self.run if self.run["state"] in ENDED or asks(self.run) else None

    def _entry(self, entry: Json) -> None:
        assert self.message is not None
        answers = entry["run"] == self.message["run"] and entry["seq"] > self.message["placed_seq"]
        if answers and entry["kind"] == "reply" and entry["seq"] not in self._replies:
            self._replies.add(entry["seq"])
            if entry["text"].strip():
                self.on_reply(entry["text"])

    def _times(self) -> Times:
        return patiently(self.server, lambda api: api.times, patience_seconds=PATIENCE_SECONDS)

    def _wait_for(self, reason: str) -> None:
        if reason != self._reason:
            self._reason = reason
            self.on_wait(reason)


def asks(run: Json) -> bool:
    """Whether a run waits for the owner's answer to a question."""
    return bool(run["state"] == "waiting" and run["retry_at"] is None)


def asked(question: Json, times: Times, typed: str) -> str:
    """A question as it is shown, whole, and how to answer it; `typed` stands before the word that does."""
    number, choice = question["id"], question["kind"] == "choice"
    how = f"{typed}answer {number} TEXT" if choice else f"{typed}yes {number} · {typed}no {number}"
    until = times.clock(question["expires_at"])
    return f"— question {number}: {question['text']}\n— {how} (until {until})"


def waiting(run: Json, times: Times) -> str:
    """Why a run waits, and until when."""
    until = f" Next try at {times.clock(run['retry_at'])}." if run["retry_at"] else ""
    return f"It waits: {run['reason']}{until}"
