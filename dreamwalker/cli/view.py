"""What a chat shows of a conversation: each thing once, in its order, whatever comes twice, late or anew.

One rule: it shows only what the server says. What the owner typed is shown when it stands in the transcript, and as
waiting until then.
"""

from typing import Protocol

import attrs

from .calls import summary, working
from .questions import decision
from .telling import ENDED, asked, asks, waiting
from .terminal import Json, one_line
from .times import Times

HISTORY_LINES = 6
"""How much of each earlier text is shown when a chat opens."""

CallKey = tuple[int, int, int]


class Screen(Protocol):
    """Where it is shown. Text comes raw; the screen draws what a terminal would obey."""

    def write(self, text: str) -> None:
        """More of a text that is being written."""

    def line(self, text: str, style: str = "") -> None:
        """Whole lines. A text that was being written ends before them. Styles: owner, quiet, bad."""

    def aside(self, text: str, style: str = "") -> None:
        """Whole lines that a text which is being written goes on after."""


@attrs.define
class _Flight:
    """A reply that is being written as entry `seq`: what was heard of it since it began, and what was shown."""

    seq: int
    heard: str = ""
    shown: str = ""


class View:
    """One conversation as one client shows it.

    `no` is the newest commit that was shown; `run`, the run that is open or waiting; `times` tells when.
    """

    def __init__(self, screen: Screen, times: Times) -> None:
        self.no = 0
        self.run: Json | None = None
        self.times = times
        self.summing_up: int | None = None
        """The run that waits until the conversation is summed up for it."""
        self._screen = screen
        self._seq = 0
        self._flight: _Flight | None = None
        self._calls: dict[CallKey, Json] = {}
        self._turns: dict[tuple[int, int], int] = {}
        self._waiting: dict[int, Json] = {}
        self._questions: dict[int, str] = {}
        self._workers: dict[CallKey, Json] = {}
        self._settled: set[int] = set()
        self._ended: set[int] = set()
        self._cut: set[int] = set()  # the runs whose reply says already why it ends

    # -- what it knows

    @property
    def waiting(self) -> list[Json]:
        """The messages that are not placed yet, the oldest first."""
        return list(self._waiting.values())

    @property
    def asked(self) -> list[int]:
        """The numbers of the questions that are open, as far as they were shown."""
        return [number for number, state in self._questions.items() if state == "open"]

    @property
    def working(self) -> list[str]:
        """The calls under way, each in a line, with what their workers are at; also those a run went on without."""
        lines = []
        for key, call in self._calls.items():
            worker = self._workers.get(key)
            if call["state"] == "begun" or (call["state"] == "detached" and worker is not None):
                lines.append(summary(call) + (f" ({working(worker)})" if worker is not None else ""))
        return lines

    @property
    def under_way(self) -> bool:
        """Whether a run is being worked on. One that waits for the owner's decision may wait for days."""
        return self.run is not None and not asks(self.run)

    @property
    def writing(self) -> bool:
        """Whether a reply can be seen being written."""
        return self._flight is not None and self._flight.shown != ""

    # -- what comes

    def open(self, page: Json) -> None:
        """Show where the conversation stands: the end of its history, and what is under way."""
        under_way = page["run"]["id"] if page["run"] else None
        for row in self._in_order(page["entries"], page["calls"]):
            if "seq" in row or (row["run"], row["turn"]) in self._turns:
                self._show(row, brief=row["run"] != under_way)
        self.change({"no": page["no"], "messages": page["messages"], "entries": [], "calls": [],
                     "runs": [page["run"]] if page["run"] else [], "questions": page["questions"],
                     "workers": page["workers"]})  # fmt: skip

    def change(self, change: Json) -> None:
        """Show what was committed."""
        self.no = max(self.no, change["no"])
        for message in sorted(change["messages"], key=lambda message: message["id"]):
            self._message(message)
        for row in self._in_order(change["entries"], change["calls"]):
            self._show(row)
        for question in change["questions"]:
            self._question(question)
        for worker in change["workers"]:
            self._worker(worker)
        for run in change["runs"]:
            self._run(run)

    def lost(self) -> None:
        """The server is not heard any more: what is only told live is not known."""
        self.summing_up = None

    def summing(self, event: Json) -> None:
        """What was said so far is being summed up, or no more."""
        self.summing_up = None if event["over"] else event["run"]

    def text(self, event: Json) -> None:
        """Show more of the reply that is being written. Offset 0 begins it anew."""
        if event["seq"] <= self._seq:
            return  # it stands in the transcript already
        if self._flight is None or self._flight.seq != event["seq"]:
            self._break_off()
            self._flight = _Flight(event["seq"])
        flight = self._flight
        if event["offset"] == 0:
            flight.heard = event["text"]
        elif event["offset"] == len(flight.heard):
            flight.heard += event["text"]
        else:
            return  # a piece is missing: the entry will bring the whole
        if not flight.shown.startswith(flight.heard):
            self._go_on(flight, flight.heard)

    def accepted(self, message: Json) -> None:
        """A message of ours was accepted; it waits, unless it was shown meanwhile."""
        self._message(message)

    def say(self, text: str, style: str = "quiet") -> None:
        """Show a line of our own, which is no part of the conversation."""
        self._screen.aside(text, style)

    # -- rows

    def _in_order(self, entries: list[Json], calls: list[Json]) -> list[Json]:
        """Entries by seq, each reply followed by its calls."""
        for entry in entries:
            if entry["turn"] is not None:
                self._turns[entry["run"], entry["turn"]] = entry["seq"]

        def place(row: Json) -> tuple[int, int]:
            if "seq" in row:
                return row["seq"], 0
            return self._turns.get((row["run"], row["turn"]), 0), row["position"] + 1

        return sorted((*entries, *calls), key=place)

    def _show(self, row: Json, *, brief: bool = False) -> None:
        if "seq" not in row:
            self._call(row)
        elif row["seq"] > self._seq:
            self._seq = row["seq"]
            if row["kind"] == "reply":
                self._reply(row, brief=brief)
            else:
                self._break_off()
                self._entry(row, brief=brief)

    def _reply(self, entry: Json, *, brief: bool) -> None:
        flight, self._flight = self._flight, None
        if flight is None or flight.seq != entry["seq"]:
            flight = _Flight(entry["seq"])
        if not brief:
            self._go_on(flight, entry["text"])
        elif entry["text"].strip():
            self._screen.line(_beginning(entry["text"]))
        if entry["text"].strip() or flight.shown.strip():
            self._screen.line("")
        if entry["cut"]:
            self._cut.add(entry["run"])
            self._screen.line(f"  ■ cut short: {entry['cut']}\n", "quiet")

    def _entry(self, entry: Json, *, brief: bool) -> None:
        text = _beginning(entry["text"]) if brief else entry["text"]
        match entry["kind"], entry["source"]:
            case "fresh", _:
                self._screen.line("— a fresh start: nothing from before is sent any more —\n", "quiet")
            case "summary", _:
                self._screen.line("— what came before goes on as a summary —\n", "quiet")
            case _, "owner":
                self._screen.line(f"› {text}\n", "owner")
            case _, source:
                told = (entry["what"] or "from outside").lower() if source == "outside" else "from dreamwalker"
                self._screen.line(f"  ▸ {told}: {one_line(text, 600)}\n", "quiet")

    def _call(self, call: Json) -> None:
        key = (call["run"], call["turn"], call["position"])
        known, self._calls[key] = self._calls.get(key), {**call, "result": ""}
        if known is not None and known["state"] == call["state"]:
            return
        match call["state"]:
            case "finished" if call["failed"]:
                self._screen.line(f"  ✗ {summary(call)}: {one_line(call['result'], 200)}", "bad")
            case "finished":
                self._screen.line(f"  ✓ {summary(call)}", "quiet")
            case "detached":
                self._screen.line(f"  ↷ {summary(call)} (its outcome will come later)", "quiet")

    def _worker(self, worker: Json) -> None:
        key = (worker["run"], worker["turn"], worker["position"])
        if worker["over"]:
            self._workers.pop(key, None)
        else:
            self._workers[key] = worker

    def _question(self, question: Json) -> None:
        """Show a question whole, once; and once, what was decided."""
        known, self._questions[question["id"]] = self._questions.get(question["id"]), question["state"]
        if known == question["state"]:
            return
        if question["state"] == "open":
            self._break_off()
            self._screen.line(asked(question, self.times, "/") + "\n")
        elif known is not None:
            self._screen.line(f"— question {question['id']}: {decision(question, self.times)}", "quiet")

    def _message(self, message: Json) -> None:
        id = message["id"]
        if id in self._settled:
            return  # this is older news
        if message["state"] == "waiting":
            if message["kind"] in ("owner", "fresh"):
                self._waiting[id] = message
            return
        self._settled.add(id)
        if self._waiting.pop(id, None) is not None and message["state"] == "withdrawn":
            self._screen.aside(f"  taken back: {one_line(message['text'])}", "quiet")

    def _run(self, run: Json) -> None:
        if run["state"] not in ENDED:
            if run["id"] not in self._ended:
                self.run = run
            return
        if self.run is not None and self.run["id"] == run["id"]:
            self.run = None
        if run["id"] in self._ended:
            return
        self._ended.add(run["id"])
        self._break_off()
        if run["state"] == "failed":
            self._screen.line(f"  ✗ It failed: {run['reason']}\n", "bad")
        elif run["state"] == "stopped" and run["id"] not in self._cut:
            self._screen.line(f"  ■ {run['reason']}\n", "quiet")

    # -- a reply in flight

    def _go_on(self, flight: _Flight, text: str) -> None:
        """Show what of a text was not shown yet; all of it, if what was shown was something else."""
        rest = rest_of(flight.shown, text)
        if rest is None:
            self._screen.line("  (what was begun here was lost)", "quiet")
            rest = text
        if rest:
            self._screen.write(rest)
        flight.shown = text

    def _break_off(self) -> None:
        """What is in flight will never be an entry: it stays as it is."""
        flight, self._flight = self._flight, None
        if flight is not None and flight.shown.strip():
            self._screen.line("")


def status_of(view: View) -> str | None:
    """What is going on, in a line, unless it can be seen anyway."""
    run = view.run
    if run is None or view.writing or view.working:
        return None
    if view.summing_up == run["id"]:
        return "summing up what was said so far …"
    return waiting(run, view.times) if run["state"] == "waiting" else "thinking …"


def rest_of(shown: str, text: str) -> str | None:
    """What of a text follows after what was shown of it, white space aside; None if something else was shown."""
    if text.startswith(shown):
        return text[len(shown) :]
    at, end = 0, len(text)
    for char in shown:
        while at < end and text[at] != char and text[at].isspace():
            at += 1
        if at < end and text[at] == char:
            at += 1
        elif not char.isspace():
            return None
    return text[at:]


def _beginning(text: str) -> str:
    """The first lines of an earlier text."""
    lines = text.strip().splitlines()
    return text if len(lines) <= HISTORY_LINES else "\n".join([*lines[:HISTORY_LINES], "…"])
