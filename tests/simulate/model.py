"""The simulated model: it does for each message what the plan says, judging by nothing but the request before it.

One rule: it keeps no state of its own, as a real model has none: what it has done and answered, it reads in the
history. So a history that lost, doubled or reordered anything shows in what it answers.
"""

import re
from collections.abc import Mapping
from typing import Any

import attrs

from tests.messages_api import Answer, Gate, use
from tests.messages_api.replies import Piece, Text, Use

Json = dict[str, Any]

MARK = re.compile(r"#m(\d+)#")
ANSWERED = re.compile(r"Answer to #m(\d+)#\.")
KEY = re.compile(r"m(\d+)\.(\d+)\.(\d+)")
SERIAL = re.compile(r"\A\[(\d+)\]")
PIECE_CHARACTERS = 24


@attrs.frozen(kw_only=True)
class Called:
    """A call that the plan makes. Its `key` (`m3.0.1`) stands in its arguments."""

    key: str
    tool: str
    arguments: Json


Rounds = tuple[tuple[Called, ...], ...]
"""What the model does for one message before it answers: rounds of calls, those of a round side by side."""


@attrs.frozen(kw_only=True)
class Turn:
    """What the model would honestly answer. `serial` makes every answer a different one."""

    serial: int
    text: str
    calls: tuple[Called, ...]

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
        return Answer(blocks=blocks, stop_reason=stop or ("tool_use" if uses_any else "end_turn"))


def honest(request: Json, plans: Mapping[int, Rounds], serial: int) -> Turn:
    """The next turn that the plan asks for, by the history in the request."""
    pending = _pending(request["messages"])
    due = {mark: plans[mark][done] for mark, done in pending.items() if done < len(plans.get(mark, ()))}
    if due:
        calls = tuple(call for planned in due.values() for call in planned)
        marks = " ".join(f"#m{mark}#" for mark in due)
        return Turn(serial=serial, text=f"[{serial}] Working on {marks} with {len(calls)} calls.", calls=calls)
    answers = " ".join(f"Answer to #m{mark}#." for mark in pending) or "There is nothing to answer."
    return Turn(serial=serial, text=f"[{serial}] {answers}", calls=())


def _pending(messages: list[Json]) -> dict[int, int]:
    """The messages without an answer yet, in their order, and how many rounds were done for each."""
    pending: dict[int, int] = {}
    for message in messages:
        for block in message["content"]:
            match block:
                case {"type": "text", "text": text} if message["role"] == "user":
                    pending.update({int(mark): 0 for mark in MARK.findall(text)})
                case {"type": "text", "text": text}:
                    for mark in ANSWERED.findall(text):
                        pending.pop(int(mark), None)
                case {"type": "tool_use", "input": arguments}:
                    for mark, round_, _ in KEY.findall(str(arguments)):
                        if int(mark) in pending:
                            pending[int(mark)] = max(pending[int(mark)], int(round_) + 1)
    return pending
