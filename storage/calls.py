"""Calls: one tool use of a run, from begun to a result.

One rule: a call gets exactly one result, and the result says what every later request will show.
"""

from datetime import datetime
from typing import Any

from .operation import Write
from .records import Call
from .text import dumps

_BEGIN = """
INSERT INTO calls (run, turn, position, conversation, tool, arguments, state, label, began_at, question, no)
VALUES (?, ?, ?, ?, ?, ?, ?, 0, ?, ?, :no)
"""


def begin(call: Call) -> Write:
    """Commit that a call has begun (or is asked about), before any effect of it starts."""
    return Write(
        _BEGIN,
        (
            call.run, call.turn, call.position, call.conversation, call.tool, call.arguments, call.state,
            call.began_at, call.question,
        ),
        what="begin the call",
    )  # fmt: skip


_DONE = """
INSERT INTO calls (run, turn, position, conversation, tool, arguments, state, result, failed, label, outside, began_at,
                   finished_at, no)
VALUES (?, ?, ?, ?, ?, ?, 'finished', ?, ?, CASE WHEN ? THEN :no ELSE 0 END, ?, ?, ?, :no)
"""


def done(call: Call, *, brings_outside: bool) -> Write:
    """Commit a call with its result, for one whose whole effect is in the same commit."""
    return Write(
        _DONE,
        (
            call.run, call.turn, call.position, call.conversation, call.tool, call.arguments, call.result, call.failed,
            brings_outside, call.outside, call.began_at, call.finished_at,
        ),
        what="the call with its result",
    )  # fmt: skip


def tool_use_id(run: int, turn: int, position: int) -> str:
    """The id by which a request pairs a use with its result. Ours, since a model's own may repeat."""
    return f"call_{run}_{turn}_{position}"


def result_block(call: Call, content: list[dict[str, Any]], *, failed: bool) -> str:
    """The tool_result block of a call, as JSON text. `content` holds content blocks, none of them empty."""
    block: dict[str, Any] = {
        "type": "tool_result",
        "tool_use_id": tool_use_id(call.run, call.turn, call.position),
        "content": content,
    }
    if failed:
        block["is_error"] = True
    return dumps(block)


_FINISH = """
UPDATE calls SET state = 'finished', result = ?, failed = ?, label = CASE WHEN ? THEN :no ELSE ? END,
    outside = ?, finished_at = ?, no = :no
WHERE run = ? AND turn = ? AND position = ? AND state IN ('begun', 'asked')
"""


def finish_with(
    call: Call, result: str, *, failed: bool, outside: bool, label: int, now: datetime, parts: str | None = None
) -> Write:
    """Give a call its result. `outside`: the result brings in text from outside, so its label is this commit.

    `parts`: which parts of its content are that text, as a JSON list.
    """
    return Write(
        _FINISH,
        (result, failed, outside, label, parts, now, call.run, call.turn, call.position),
        what="finish the call",
    )


def finish(call: Call, *, text: str, failed: bool, now: datetime) -> Write:
    """Give a call a result that is one of our own fixed texts."""
    shown = result_block(call, [{"type": "text", "text": text}], failed=failed)
    return finish_with(call, shown, failed=failed, outside=False, label=0, now=now)


_DETACH = """
UPDATE calls SET state = 'detached', result = ?, no = :no
WHERE run = ? AND turn = ? AND position = ? AND state = 'asked'
"""


def detach(call: Call, shown: str) -> Write:
    """Let a run go on without the outcome of a call: `shown` stands in its place, and a message will bring it."""
    return Write(_DETACH, (shown, call.run, call.turn, call.position), what="the call is still asked about")


_APPROVE = """
UPDATE calls SET state = 'begun', began_at = ?, no = :no
WHERE run = ? AND turn = ? AND position = ? AND state = 'asked'
"""


def approve(call: Call, now: datetime) -> Write:
    """Begin a call that was asked about."""
    return Write(_APPROVE, (now, call.run, call.turn, call.position), what="begin the call that was asked about")
