"""What all who drive conversations have in common: which failures are about the house, and how a run is stopped.

One rule: a failure of one conversation is answered by reading it anew; only what is about the house goes up.
"""

import logging
from collections.abc import Callable
from contextlib import AbstractContextManager

import attrs

from storage import runs
from storage.errors import NotAsExpected, StoreBusy, StoreClosed
from storage.records import Run
from storage.text import dumps

from . import journal
from .about import Ids, about
from .converse import Conversing
from .live import InFlight
from .mailbox import Reply
from .steps import Means
from .store import FATAL
from .supervisor import first_of

log = logging.getLogger("dreamwalker.agent")


@attrs.frozen
class StopRun:
    """End a run now; the reply is the run as it stands then, None if there is no such run."""

    run: int
    conversation: int
    reason: str
    reply: Reply[Run | None]


def judge(conversation: int, error: Exception) -> int:
    """Raise what is about the house; else log it and say whether it counts as a failure of the conversation."""
    if (about_house := first_of(error, (*FATAL, StoreBusy, StoreClosed))) is not None:
        raise about_house
    if isinstance(error, NotAsExpected) or (
        isinstance(error, ExceptionGroup) and error.split(NotAsExpected)[1] is None
    ):  # calls side by side meet it together
        log.info("conversation.changed", {"conversation": conversation, "why": error})
        return 0
    log.error("conversation.failed", {"conversation": conversation}, exc_info=error)
    return 1


def at_work(conversation: int, there: Callable[[], Conversing | None]) -> AbstractContextManager[None]:
    """While the block lasts, lines of the log say whose work they are about."""

    def ids() -> Ids:
        conversing = there()
        run = None if conversing is None else conversing.transcript.run
        return {"conversation": conversation, "run": None if run is None else run.id}

    return about(ids)


def ending(means: Means, agent: str, stop: StopRun, flight: InFlight | None, label: int) -> runs.End:
    """What ends a run as the owner wants it. The text that was being written, `flight`, is kept, with its label."""
    return runs.End(
        run=stop.run,
        agent=agent,
        state="stopped",
        reason=stop.reason,
        cut_off=journal.cut_off(means.toolbox("home", agent), journal.STOPPED),
        now=means.clock.now(),
        partial=_partial(flight, stop.run),
        partial_seq=0 if flight is None else flight.seq,
        label=label,
    )


def _partial(flight: InFlight | None, run: int) -> str | None:
    """The text that was being written, as content blocks, if there is any to keep."""
    if flight is None or flight.run != run or not flight.text.strip():
        return None
    return dumps([{"type": "text", "text": flight.text}])
