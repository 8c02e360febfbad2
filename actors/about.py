"""What is being worked on just here: the ids that every line of the log carries without being told them.

One rule: it is for logs alone. Nothing is decided by it, and what is not known is left out.
"""

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar

from storage.records import Call, Message, Run

log = logging.getLogger("dreamwalker.run")

Ids = Mapping[str, object]

_ABOUT: ContextVar[Callable[[], Ids] | None] = ContextVar("about", default=None)


@contextmanager
def about(ids: Callable[[], Ids]) -> Iterator[None]:
    """While the block lasts, in this task and in those that it starts. `ids` is asked at each line."""
    token = _ABOUT.set(ids)
    try:
        yield
    finally:
        _ABOUT.reset(token)


def ids() -> Ids:
    """The ids of what is being worked on here; none if it is nothing in particular."""
    known = _ABOUT.get()
    return {} if known is None else known()


def tell_of(run: Run, *, asked: Iterable[Call] = ()) -> None:
    """One line of a run that waits or is over, once that is committed; and one for each call that it asks about."""
    for call in asked:
        if call.state == "asked":
            facts = {"conversation": call.conversation, "run": call.run, "call": call.key, "question": call.question}
            log.info("question.asked", facts)
    told: Ids = {"conversation": run.conversation, "run": run.id, "act": run.act, "state": run.state}
    if run.closed_at is not None:
        seconds = (run.closed_at - run.opened_at).total_seconds()
        log.info("run.ended", {**told, "turns": run.turn, "seconds": seconds})
    elif run.state == "waiting":
        log.info("run.waits", {**told, "tries": run.retries or None, "until": run.retry_at})


def tell_of_placed(message: Message, run: Run | None) -> None:
    """One line of a message that has entered its conversation, once that is committed."""
    log.info(
        "message.placed",
        {
            "message": message.id,
            "conversation": message.conversation,
            "run": None if run is None else run.id,
            "act": message.act,
            "kind": message.kind,
        },
    )
