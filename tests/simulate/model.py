"""The simulated model: it does for each message what the plan says, judging by nothing but the request before it.

One rule: it keeps no state of its own, as a real model has none: what it has done and answered, it reads in the
history. So a history that lost, doubled or reordered anything shows in what it answers.
"""

import json
import random
import re
from collections.abc import Callable, Mapping
from typing import Any, Literal

import attrs

from actors.window import SUM_UP
from tests.messages_api import Answer, Gate, use
from tests.messages_api.replies import Piece, Text, Use
from tools.jobs import NOTHING

Json = dict[str, Any]

MARK = re.compile(r"#m(\d+)#")
ANSWERED = re.compile(r"Answer to #m(\d+)#\.")
KEY = re.compile(r"m(\d+)\.(\d+)\.(\d+)")
WORKED_ON = re.compile(r"#m(\d+)\.(\d+)#")
SERIAL = re.compile(r"\A\[(\d+)\]")
SUMMED_UP, STILL_TO_DO = "This is still to be done:", re.compile(r"<(\d+):(\d+)>")
SILENT = "Nobody is to be disturbed."
"""What a job's task says whose runs have nothing to report."""
HANDS_ON = "Have it looked up."
"""What a job's task says whose runs delegate before they report."""
RING = {"amber": "birch", "birch": "cedar", "cedar": "amber"}
"""The agents, each with the one that it passes on to."""
PASS_ON = "Pass it on."
"""What a message says whose receiver writes to the next one, and so on."""
TRIES, DECLINES = "Try something first.", "It is nothing that one does."
"""What a task says whose worker calls a tool first, and what one says that a worker will have nothing to do with."""
PIECE_CHARACTERS = 24


@attrs.frozen(kw_only=True)
class Called:
    """A call that the plan makes. Its `key` (`m3.0.1`) stands in its arguments."""

    key: str
    tool: str
    arguments: Json


Rounds = tuple[tuple[Called, ...], ...]
"""What the model does for one message before it answers: rounds of calls, those of a round side by side."""

Maker = Callable[[random.Random, str], Called]
"""Makes the call that stands in a plan under a key."""

Asker = Literal["home", "job", "worker", "ask"]
_ASKERS: Mapping[str, Asker] = {
    "You are a worker": "worker",
    "You carry out one run of a scheduled job": "job",
    "another agent has written to you": "ask",
}
"""Who asks, by what only his system prompt says; else a home conversation does."""

NEWEST = "the newest"
"""Of an argument `id`: the newest number that the history names, of a reminder or a job as the tool's name says."""


@attrs.frozen(kw_only=True)
class Turn:
    """What the model would honestly answer. `serial` makes every answer a different one."""

    serial: int
    text: str
    calls: tuple[Called, ...] = ()
    stop: str = ""
    """Why it stops, if not because there is nothing more to say or to call."""
    asker: Asker = "home"

    def answer(self, *extra: Piece, same_ids: bool = False, gate: Gate | None = None, stop: str = "") -> Answer:
        """It as an answer to be streamed. `gate` halts it in the middle of its text."""
        pieces: list[str | Gate] = [
            self.text[i : i + PIECE_CHARACTERS] for i in range(0, len(self.text), PIECE_CHARACTERS)
        ]
        if gate is not None:
            pieces.insert(len(pieces) // 2, gate)
        uses = [use(call.tool, call.arguments, chunk=40) for call in self.calls]
        blocks: tuple[Piece, ...] = (Text(pieces=tuple(pieces)), *uses, *extra)
        if same_ids:
            blocks = tuple(
                attrs.evolve(block, id="toolu_same") if isinstance(block, Use) else block for block in blocks
            )
        uses_any = any(isinstance(block, Use) for block in blocks)
        return Answer(blocks=blocks, stop_reason=stop or self.stop or ("tool_use" if uses_any else "end_turn"))


def honest(request: Json, plans: Mapping[int, Rounds], serial: int) -> Turn:
    """The next turn that the plan asks for, by the history in the request."""
    if SUM_UP in json.dumps(request["messages"][-1]):
        return attrs.evolve(_sum_up(request["messages"], serial), asker=asker_of(request))
    match asker_of(request):
        case "worker":
            return _work(request["messages"], serial)
        case "job":
            return _report(request["messages"], serial)
        case "ask":
            return _answer_agent(request, serial)
    pending = _pending(request["messages"])
    due = {mark: plans[mark][done] for mark, done in pending.items() if done < len(plans.get(mark, ()))}
    if due:
        calls = tuple(_named(call, request["messages"]) for planned in due.values() for call in planned)
        marks = " ".join(f"#m{mark}.{pending[mark]}#" for mark in due)
        return Turn(serial=serial, text=f"[{serial}] Working on {marks} with {len(calls)} calls.", calls=calls)
    answers = " ".join(f"Answer to #m{mark}#." for mark in pending) or "There is nothing to answer."
    return Turn(serial=serial, text=f"[{serial}] {answers}")


def _pending(messages: list[Json]) -> dict[int, int]:
    """The messages without an answer yet, in their order, and how many rounds were done for each."""
    pending: dict[int, int] = {}

    def done(mark: int, round_: int) -> None:
        if mark in pending:
            pending[mark] = max(pending[mark], round_ + 1)

    for message in messages:
        calls = message["role"] == "assistant" and any(block["type"] == "tool_use" for block in message["content"])
        for block in message["content"]:
            match block:
                case {"type": "text", "text": text} if message["role"] == "user" and SUMMED_UP in text:
                    pending = {int(mark): int(done) for mark, done in STILL_TO_DO.findall(text)}
                case {"type": "text", "text": text} if message["role"] == "user":
                    pending.update({int(mark): 0 for mark in MARK.findall(text)})
                case {"type": "text", "text": text}:
                    for mark in ANSWERED.findall(text):
                        pending.pop(int(mark), None)
                    for mark, round_ in WORKED_ON.findall(text) if calls else ():
                        done(int(mark), int(round_))
                case {"type": "tool_use", "input": arguments}:
                    for mark, round_, _ in KEY.findall(str(arguments)):
                        done(int(mark), int(round_))
    return pending


def _sum_up(messages: list[Json], serial: int) -> Turn:
    """What of a history it takes to go on: what is still to be answered, and the newest numbers of things."""
    there = " ".join(f"<{mark}:{done}>" for mark, done in _pending(messages).items())
    named = " ".join(
        f"{kind} {found[-1]}"
        for kind in ("reminder", "job")
        if (found := re.findall(rf"\b{kind} (\d+)", json.dumps(messages)))
    )
    return Turn(serial=serial, text=f"[{serial}] {SUMMED_UP} {there} {named}".strip())


def _named(call: Called, messages: list[Json]) -> Called:
    """A call with the number of what it is about, as a model would take it from what it has read."""
    if call.arguments.get("id") != NEWEST:
        return call
    kind = call.tool.rpartition("_")[2]
    found = re.findall(rf"\b{kind} (\d+)", json.dumps(messages))
    return attrs.evolve(call, arguments=call.arguments | {"id": int(found[-1]) if found else 1})


def asker_of(request: Json) -> Asker:
    """What kind of conversation asks."""
    system = json.dumps(request["system"])
    return next((asker for begins, asker in _ASKERS.items() if begins in system), "home")


def _report(messages: list[Json], serial: int) -> Turn:
    """What a job's run does, by its task: it delegates once, if it shall, and reports."""
    task = json.dumps(messages[0])
    if HANDS_ON in task and len(messages) == 1:
        calls = tuple(
            delegated(f"t{serial}.{at}", words) for at, words in enumerate((TRIES, "", DECLINES)[: 1 + serial % 3])
        )
        return Turn(serial=serial, text=f"[{serial}] I have it looked up.", calls=calls, asker="job")
    return Turn(
        serial=serial, text=NOTHING if SILENT in task else f"[{serial}] There is something to tell.", asker="job"
    )


def delegated(key: str, words: str) -> Called:
    """A call that has a worker do something."""
    return Called(key=key, tool="delegate", arguments={"task": f"Look up {key}. {words}".strip()})


def messaged(key: str, agent: str, words: str, mode: str) -> Called:
    """A call that writes to another agent."""
    arguments = {"agent": agent, "text": f"Tell me about {key}. {words}".strip(), "mode": mode}
    return Called(key=key, tool="message_agent", arguments=arguments)


def _answer_agent(request: Json, serial: int) -> Turn:
    """What an agent does that another has written to: it passes on what it shall, once, and answers."""
    messages, system = request["messages"], json.dumps(request["system"])
    asked = messages[-1]["content"][-1].get("text", "")
    name = next((name for name in RING if f"You are {name}:" in system), "amber")
    if PASS_ON in asked and all(message["role"] == "user" for message in messages):
        arguments = {"agent": RING[name], "text": f"{name} passes on {serial}. {PASS_ON}"}
        call = Called(key="", tool="message_agent", arguments=arguments)
        return Turn(serial=serial, text=f"[{serial}] I pass it on.", calls=(call,), asker="ask")
    return Turn(serial=serial, text=f"[{serial}] This is what I know.", asker="ask")


def _work(messages: list[Json], serial: int) -> Turn:
    """What a worker does, by its task."""
    task = json.dumps(messages[0])
    if DECLINES in task:
        return Turn(serial=serial, text=f"[{serial}] No.", stop="refusal", asker="worker")
    if TRIES in task and len(messages) == 1:
        call = Called(key="", tool="look_around", arguments={})
        return Turn(serial=serial, text=f"[{serial}] I look around.", calls=(call,), asker="worker")
    return Turn(serial=serial, text=f"[{serial}] This is what I found.", asker="worker")
