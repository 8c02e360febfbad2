"""Logs: one line an event, for machines as JSON, for a terminal as text.

One rule: a line holds no secret and nothing of what was written or said. Secrets are taken out of the whole line; of
an error that is not one of ours only the kind and the place are told, since its words may quote what it met.
"""

import json
import logging
import traceback
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TextIO

OUR_ROOMS = ("dreamwalker", "actors", "tools", "storage", "netlify")

FIELDS = ("run", "call", "conversation", "agent", "method", "path", "status", "seconds", "push", "tries")
"""What a line may carry beside its event: `log.info("…", extra={"run": 7})`."""

LINE_CHARACTERS = 4_000
"""The longest event text; what is longer is cut."""

FRAMES = 8
"""Places of an error that are told, the innermost last."""

_QUIET = ("httpx2", "httpcore2", "anthropic", "hypercorn")
"""Libraries that would log every request."""


def set_up(stream: TextIO, *, redact: Callable[[str], str] = str, level: int = logging.INFO) -> logging.Handler:
    """Log everything to a stream, and nowhere else: plain lines if it is a terminal, else JSON lines."""
    handler = logging.StreamHandler(stream)
    handler.setFormatter(Lines(redact, plain=stream.isatty()))
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level)
    for name in _QUIET:
        logging.getLogger(name).setLevel(logging.WARNING)
    return handler


class Lines(logging.Formatter):
    """Makes one line of a record."""

    def __init__(self, redact: Callable[[str], str], *, plain: bool) -> None:
        super().__init__()
        self._redact, self._plain = redact, plain

    def format(self, record: logging.LogRecord) -> str:
        """The line of a record. Control characters in it are escaped."""
        facts: dict[str, Any] = {
            "at": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "event": self._redact(_event(record)),
        }
        facts |= {name: _fact(self._redact, getattr(record, name)) for name in FIELDS if hasattr(record, name)}
        if record.exc_info and (error := record.exc_info[1]) is not None:
            facts |= {"error": self._redact(told(error)), "places": _places(error)}
        if not self._plain:
            return json.dumps(facts, ensure_ascii=True)
        return _plain(facts)


def _event(record: logging.LogRecord) -> str:
    args = record.args
    if isinstance(args, tuple):
        args = tuple(told(arg) if isinstance(arg, BaseException) else arg for arg in args)
    message = str(record.msg) % args if args else str(record.msg)
    return message if len(message) <= LINE_CHARACTERS else f"{message[:LINE_CHARACTERS]}… cut"


def _fact(redact: Callable[[str], str], value: object) -> object:
    return value if isinstance(value, int | float | None) else redact(str(value))


def told(error: BaseException) -> str:
    """What may be told of an error: the words of ours and of the operating system's, the kind of others."""
    if isinstance(error, BaseExceptionGroup):
        return "; ".join(told(inner) for inner in error.exceptions)
    kind = type(error)
    if kind.__module__.partition(".")[0] in OUR_ROOMS:
        return f"{kind.__name__}: {error}"
    if isinstance(error, OSError) and error.strerror:
        return f"{kind.__name__}: {error.strerror}"
    return kind.__name__


def _places(error: BaseException) -> list[str]:
    """Where an error arose: file, line and function of its innermost frames. Lines of code hold no values."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    frames = traceback.extract_tb(error.__traceback__)[-FRAMES:]
    return [f"{Path(frame.filename).name}:{frame.lineno} {frame.name}" for frame in frames]


def _plain(facts: dict[str, Any]) -> str:
    at, level, logger, event, *rest = facts.items()
    line = f"{at[1][11:19]} {level[1]:7} {logger[1].rpartition('.')[2]}: {event[1]}"
    line += "".join(f" {name}={value}" for name, value in rest)
    return "".join(char if char.isprintable() else ascii(char)[1:-1] for char in line)
