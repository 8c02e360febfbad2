"""The log, taken apart again: each line as what it says."""

import io
import json
import logging
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from dreamwalker import logs
from dreamwalker.events import EVENTS, FACTS

_LINE = re.compile(
    r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z) (debug|info|warning|error) (\S+)"
    r'((?: [a-z_]+=(?:"(?:[^"\\]|\\.)*"|[^\s"=]+))*)',
    re.ASCII,
)
_FACT = re.compile(r' ([a-z_]+)=("(?:[^"\\]|\\.)*"|\S+)', re.ASCII)


def parse(line: str) -> dict[str, Any]:
    """A line as a program reads it. Raises AssertionError for what is no line of the log, or not of its words."""
    assert line.isascii() and line.isprintable(), repr(line)
    found = _LINE.fullmatch(line)
    assert found is not None, repr(line)
    at, level, event, rest = found.groups()
    facts = _FACT.findall(rest)
    assert event in EVENTS, event
    assert {name for name, _ in facts} <= FACTS.keys() and len(dict(facts)) == len(facts), line
    return {"at": at, "level": level, "event": event} | {name: _value(text) for name, text in facts}


def _value(text: str) -> Any:
    if text.startswith('"'):
        return json.loads(text)
    return int(text) if re.fullmatch(r"-?\d+", text) else text


def lines_of(text: str) -> list[dict[str, Any]]:
    """The lines of the log in what a server printed; what it said to people is passed over."""
    return [parse(line) for line in text.splitlines() if re.match(r"\d{4}-\d\d-\d\dT", line)]


@contextmanager
def logged(redact: Callable[[str], str] = str, level: int = logging.INFO) -> Iterator[io.StringIO]:
    """What is logged while the block lasts, as the server would."""
    root, stream = logging.getLogger(), io.StringIO()
    before, level_before = list(root.handlers), root.level
    logs.set_up(stream, redact=redact, level=level)
    try:
        yield stream
    finally:
        root.handlers[:] = before
        root.setLevel(level_before)
