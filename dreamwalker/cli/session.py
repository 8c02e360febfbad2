"""A chat on a terminal: what is typed goes out, what is committed comes in, and neither waits for the other.

One rule: the view belongs to the screen's thread. One thread follows the conversation, one sends in the order typed;
both hand over what they learn.
"""

import os
import queue
import signal
import threading
import time
from collections import deque
from collections.abc import Callable

from . import local
from .client import quoted
from .options import MAIN_AGENT
from .problems import Misused, Problem, Unready
from .reach import Lost, Server, follow, patiently
from .screen import TerminalScreen
from .slash import Doubt, Typed, carry_out, read
from .telling import PRACTICE, PREVIEW, body_of
from .terminal import Json, one_line, remark, sendable
from .times import Times
from .view import View, status_of

_HISTORY_ENTRIES = 6
_LOOK_AGAIN_SECONDS = 2.0
_LEAVE_SECONDS = 5.0
"""How long leaving may take beside the stop of a server of our own, once a signal asked for it."""
_FOR_EVER = float("inf")
_UP = "Up brings it back."
"""What was refused is not left in the editor, where it would be glued to what is typed next."""


class Session:
    """One chat. Raises Problem if the server can't be reached or there is no such agent."""

    def __init__(self, server: Server, agent: str) -> None:
        self._server, self._agent = server, agent
        self._path = f"/agents/{quoted(agent)}"
        self._status = server.api.get("/status")
        self._page = server.api.get(f"{self._path}/entries", limit=_HISTORY_ENTRIES)
        self._screen = TerminalScreen(
            typed=self._typed, interrupted=self._interrupted, left=self._left, under_way=self._under_way
        )
        self._view = View(self._screen, Times.of(self._status["zone"]))
        self._outbox: deque[Json] = deque()
        """Messages that were typed and not accepted yet."""
        self._jobs: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        self._doubted = ""
        """What was asked back about: Enter on the empty line, or the same once more, sends it as a message."""
        self._stopping = False
        self._leaving = False

    def run(self) -> None:
        """Chat until the owner leaves. Raises Problem if the conversation can't be followed any more."""
        try:
            self._screen.run(self._began)
        finally:
            for body in self._outbox:
                remark(f"Not sent: {body['text']}")
        if self._server.started and not self._idle:
            remark("What is under way goes on when dreamwalker runs again.")

    @property
    def _idle(self) -> bool:
        return not self._view.under_way and not self._view.waiting and not self._outbox

    def _began(self) -> None:
        self._screen.on_signals((signal.SIGTERM, signal.SIGHUP), self._told_to_end)
        self._greet()
        for work in (self._follow, self._send):
            threading.Thread(target=work, daemon=True).start()

    def _told_to_end(self) -> None:
        """Leave; what hangs, such as a write to a terminal that is going, doesn't keep the process."""
        deadline = threading.Timer(local.STOP_SECONDS + _LEAVE_SECONDS, os._exit, [1])
        deadline.daemon = True
        deadline.start()
        self._screen.leave()

    def _greet(self) -> None:
        """Say who answers, and show where the conversation stands."""
        model, whose = self._status["model"], ""
        if self._agent != MAIN_AGENT:
            model, whose = self._server.api.get(self._path)["model"] or model, f"{self._agent} · "
        model = "practice model" if self._status["practice"] else model
        self._view.say(f"{whose}dreamwalker {self._status['version']} · {model} · /help\n")
        if self._status["practice"]:
            self._view.say(PRACTICE + "\n")
        if self._status["preview"]:
            self._view.say(PREVIEW + "\n")
        entries = self._page["entries"]
        self._screen.remember(entry["text"] for entry in entries if entry["source"] == "owner" and entry["text"])
        self._view.open(self._page)

    # -- what comes in; in a thread of its own

    def _follow(self) -> None:
        try:
            lost = False
            for event in follow(self._server, self._agent, self._page["no"], patience_seconds=_FOR_EVER):
                if isinstance(event, Lost):
                    if not lost:
                        self._say("  (the connection was lost; looking for the server …)")
                        self._screen.soon(self._view.lost)
                    lost = True
                    continue
                lost = False
                if event.name == "change":
                    self._screen.soon(self._change, event.data)
                elif event.name == "text":
                    self._screen.soon(self._view.text, event.data)
                elif event.name == "summing":
                    self._screen.soon(self._view.summing, event.data)
        except Exception as error:
            self._screen.soon(self._screen.fail, error)

    def _change(self, change: Json) -> None:
        self._view.change(change)
        if self._view.run is None:
            self._stopping = False
        if self._leaving and self._idle:
            self._screen.leave()

    def _say(self, text: str, style: str = "quiet") -> None:
        self._screen.soon(self._view.say, text, style)

    # -- what goes out; in a thread of its own

    def _send(self) -> None:
        while True:
            job = self._jobs.get()
            try:
                job()
            except Problem as error:
                self._say(f"  {error.message}", "bad")
            except Exception as error:
                self._screen.soon(self._screen.fail, error)

    def _message(self, body: Json) -> None:
        """Send a message until it is accepted or refused. It has one request id for all tries."""
        path, told = f"{self._path}/messages", False
        while True:
            try:
                sent = patiently(self._server, lambda api: api.post(path, body), patience_seconds=_FOR_EVER)
                break
            except Unready as error:
                if not told:
                    self._say(f"  {error.message}")
                told = True
                time.sleep(_LOOK_AGAIN_SECONDS)
            except Problem as error:
                self._screen.soon(self._outbox.remove, body)
                self._say(f"  {error.message} {_UP}", "bad")
                return
        self._screen.soon(self._accepted, body, sent["message"])

    def _accepted(self, body: Json, message: Json) -> None:
        self._outbox.remove(body)
        self._view.accepted(message)

    def _slash(self, typed: Typed) -> None:
        try:
            shown = carry_out(self._server.api, self._agent, typed.word, typed.rest)
        except Misused as error:
            self._say(f"  {error.message} {_UP}", "bad")
            return
        if shown:
            self._say(shown + "\n")

    def _withdraw(self) -> None:
        """Take back the newest message that waits; what was typed before this was accepted by now."""
        api = self._server.api
        waiting = [message for message in self._now()["messages"] if message["kind"] == "owner"]
        if not waiting:
            self._say("  No message waits.")
            return
        api.delete(f"/messages/{waiting[-1]['id']}")
        self._screen.soon(self._screen.put_back, waiting[-1]["text"])

    def _stop_run(self, run: Json) -> None:
        try:
            self._server.api.post(f"/runs/{run['id']}/stop")
        except Problem as error:
            self._say(f"  {error.message}", "bad")

    def _stop_whatever(self) -> None:
        """Stop what the message that was just sent has come to."""
        if run := self._now()["run"]:
            self._stop_run(run)
        else:
            self._withdraw()

    def _now(self) -> Json:
        """Where the conversation stands."""
        return self._server.api.get(f"{self._path}/entries", limit=1)

    # -- the keyboard; in the screen's thread

    def _typed(self, text: str) -> None:
        """Do or send what was entered. An empty line sends what was asked back about just before."""
        sent, self._doubted = self._doubted, ""
        if not text.strip() and not sent:
            return
        typed = None if text.strip() in ("", sent.strip()) else read(text, self._view.asked)
        text = text if text.strip() else sent
        match typed:
            case None:
                body = body_of(sendable(text), seen=self._view.no)
                self._outbox.append(body)
                self._jobs.put(lambda: self._message(body))
            case Doubt():
                self._doubted = text
                self._view.say(f"  {typed.says} Enter sends it as a message. {_UP}")
            case Typed(word="quit"):
                self._screen.leave()
            case Typed(word="stop"):
                if not self._stop():
                    self._view.say("  Nothing is under way.")
            case Typed(word="withdraw"):
                self._jobs.put(self._withdraw)
            case Typed():
                self._jobs.put(lambda: self._slash(typed))

    def _interrupted(self) -> None:
        if self._idle and self._screen.typing:
            self._screen.clear()
        elif self._idle or self._stopping or not self._stop():
            self._screen.leave()

    def _stop(self) -> bool:
        """Begin to stop what is under way, at once if it is a run. False if nothing is."""
        if self._idle:
            return False
        self._stopping = True
        if run := self._view.run:
            threading.Thread(target=self._stop_run, args=(run,), daemon=True).start()
        else:
            self._jobs.put(self._stop_whatever)
        return True

    def _left(self) -> None:
        self._leaving = True
        if self._idle:
            self._screen.leave()

    def _under_way(self) -> list[str]:
        lines = [f"  ⋯ {call}" for call in self._view.working]
        if self._stopping:
            lines.append("  stopping …")
        elif status := status_of(self._view):
            lines.append(f"  {status}")
        sending = [body["text"] for body in self._outbox]
        waiting = [message["text"] for message in self._view.waiting if message["kind"] == "owner"]
        if len(waiting) < len(self._view.waiting):
            lines.append("  a fresh start waits for the end of this")
        waiting = [text for text in waiting if text not in sending] + sending
        lines.extend(f"› {one_line(text)} (waiting)" for text in waiting)
        if self._leaving:
            lines.append("  leaving after the answer")
        return lines
