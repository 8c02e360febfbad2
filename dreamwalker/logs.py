"""Logs: one line an event, which people read, grep finds and a program takes apart again.

    2026-11-30T11:25:09.123Z info call.ended conversation=3 run=17 call=call:17.1.0 tool=delegate failed=no ms=812

One rule: a line holds nothing that somebody wrote or a model said. It names an event of dreamwalker/events.py and the
facts that are listed there, `log.info("push.sent", {"push": push.id})`; whatever else a record brings is left out. Of
an error the kind and the place are told, its words only if it is one of those whose words are all ours.
"""

import json
import logging
import re
import time
import traceback
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import TextIO

from actors.about import ids
from actors.mailbox import MailboxError
from storage import errors
from tools.sandbox import SandboxFailed

from .events import EVENTS, FACTS
from .not_ready import NotReady

WORDS_MAX = 300
"""Characters of one fact; what is longer is cut."""

FRAMES = 8
"""Places of an error that are told, the innermost last."""

_OURS = (
    errors.Unavailable,
    errors.CommitUnknown,
    errors.LeaseLost,
    errors.LeaseHeld,
    errors.NotAsExpected,
    errors.TookTooLong,
    errors.RollbackFailed,
    errors.StoreClosed,
    errors.StoreBusy,
    MailboxError,
    NotReady,
    SandboxFailed,
)
"""Errors whose words are all ours. A `Duplicate`, for one, quotes the row that it met."""

_QUIET = ("httpx2", "httpcore2", "anthropic", "hypercorn")
"""Libraries that would log every request."""

_CLOSED = frozenset({"act", "call", "fate", "kind", "method", "route", "slot", "state", "tool"})
"""Facts whose every value stands in our source or is made of numbers: there is nothing in them to redact."""

_BARE = re.compile(r"[\w.:/{}+@*-]+", re.ASCII)


def set_up(stream: TextIO, *, redact: Callable[[str], str] = str, level: int = logging.INFO) -> logging.Handler:
    """Log everything of at least this level to a stream, and nowhere else."""
    handler = _Handler(stream)
    handler.setFormatter(Lines(redact))
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level)
    for name in _QUIET:
        logging.getLogger(name).setLevel(max(level, logging.WARNING))
    return handler


class _Handler(logging.StreamHandler[TextIO]):
    def handleError(self, record: logging.LogRecord) -> None:
        """A line that can't be made or written is lost: what Python would print of it instead quotes its facts."""


class Lines(logging.Formatter):
    """Makes one line of a record. `redact` takes the server's secrets out of every word."""

    def __init__(self, redact: Callable[[str], str]) -> None:
        super().__init__()
        self._redact = redact

    def format(self, record: logging.LogRecord) -> str:
        """The line of a record: the time in UTC, the level, the event, and its facts as `name=value`.

        A value of more than letters, digits and a few signs is a JSON text in ASCII, so no value can begin a line, a
        fact or an escape of a terminal.
        """
        event, facts = str(record.msg), dict(ids())
        if event in EVENTS:
            facts |= record.args if isinstance(record.args, Mapping) else {}
        else:
            event = "library"
            facts |= {"library": record.name, "places": f"{record.filename}:{record.lineno}"}
        if record.exc_info and (error := record.exc_info[1]) is not None:
            facts |= {"error": error, "places": _places(error)}
        at = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created))
        shown = [
            f" {name}={value if type(value) is int else self._word(name, value)}"
            for name, value in facts.items()
            if value is not None and name in FACTS
        ]
        return f"{at}.{int(record.msecs):03}Z {record.levelname.lower()} {event}{''.join(shown)}"

    def _word(self, name: str, value: object) -> str:
        match value:
            case str():
                pass
            case bool():
                return "yes" if value else "no"
            case float():
                return f"{value:.3f}".rstrip("0").rstrip(".")
            case datetime():
                return value.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
            case BaseException():
                value = told(value)
        text = f"{value}" if name in _CLOSED else self._redact(f"{value}")
        if len(text) > WORDS_MAX:
            text = f"{text[:WORDS_MAX]}… cut"
        return text if _BARE.fullmatch(text) else json.dumps(text)


def told(error: BaseException) -> str:
    """What may be told of an error: the words of some of ours and of the operating system's, the kind of all others."""
    if isinstance(error, BaseExceptionGroup):
        return "; ".join(dict.fromkeys(told(inner) for inner in error.exceptions))
    kind = type(error).__name__
    if isinstance(error, _OURS) and str(error):
        return f"{kind}: {error}"
    if isinstance(error, OSError) and error.strerror:
        return f"{kind}: {error.strerror}"
    return kind


def _places(error: BaseException) -> str:
    """Where an error arose. Names of files and functions hold no values."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    frames = traceback.extract_tb(error.__traceback__)[-FRAMES:]
    return ", ".join(f"{Path(frame.filename).name}:{frame.lineno} {frame.name}" for frame in frames)
