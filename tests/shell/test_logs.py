"""Logs: one line an event, with what helps and without what is private."""

import io
import json
import logging
from collections.abc import Iterator
from typing import Any

import pytest

from dreamwalker import logs
from storage.errors import Unavailable
from tools.redact import Redactor

SECRET = "sk-a-secret-of-the-server-123"


class Terminal(io.StringIO):
    """A stream that is a terminal."""

    def isatty(self) -> bool:
        return True


@pytest.fixture(autouse=True)
def root() -> Iterator[None]:
    """The root logger is put back as it was."""
    logger = logging.getLogger()
    handlers, level = list(logger.handlers), logger.level
    yield
    logger.handlers[:], logger.level = handlers, level


def lines(stream: io.StringIO) -> list[dict[str, Any]]:
    return [json.loads(line) for line in stream.getvalue().splitlines()]


def set_up(stream: io.StringIO) -> logging.Logger:
    logs.set_up(stream, redact=Redactor({"MODEL KEY": SECRET}).text)
    return logging.getLogger("dreamwalker.tests")


def test_an_event_is_one_line_of_json_with_the_ids_it_carries() -> None:
    stream = io.StringIO()
    set_up(stream).info("run %d\nis taken up", 7, extra={"run": 7, "call": "call:7.1.0", "text": "private"})
    (line,) = lines(stream)
    assert line.pop("at").endswith("+00:00")
    assert line == {
        "level": "info",
        "logger": "dreamwalker.tests",
        "event": "run 7\nis taken up",
        "run": 7,
        "call": "call:7.1.0",
    }


def test_secrets_are_taken_out_of_every_part_of_a_line() -> None:
    stream = io.StringIO()
    logger = set_up(stream)
    logger.warning("it said %s", SECRET, extra={"path": f"/{SECRET}"})
    try:
        raise Unavailable(f"no way to postgres://me:{SECRET}@host")
    except Unavailable:
        logger.exception("failed")
    assert SECRET not in stream.getvalue()
    assert stream.getvalue().count("[redacted MODEL KEY]") == 3


def test_of_a_foreign_error_only_its_kind_and_its_place_are_told() -> None:
    stream = io.StringIO()
    logger = set_up(stream)
    try:
        int("what the owner wrote")
    except ValueError as error:
        logger.exception("a request failed")
        logger.warning("it failed: %s", error)
    first, second = lines(stream)
    assert "owner" not in stream.getvalue()
    assert first["error"] == "ValueError" and "test_logs.py" in first["places"][-1]
    assert second["event"] == "it failed: ValueError"


def test_what_an_error_of_ours_or_of_the_operating_system_says_is_told() -> None:
    stream = io.StringIO()
    logger = set_up(stream)
    logger.warning("%s", Unavailable("the database sleeps"))
    logger.warning("%s", FileNotFoundError(2, "No such file or directory", "/private/name"))
    logger.warning("%s", ExceptionGroup("both", [Unavailable("one"), ValueError("private")]))
    assert [line["event"] for line in lines(stream)] == [
        "Unavailable: the database sleeps",
        "FileNotFoundError: No such file or directory",
        "Unavailable: one; ValueError",
    ]


def test_a_terminal_gets_plain_lines_that_it_can_not_be_hijacked_by() -> None:
    stream = Terminal()
    set_up(stream).error("a \x1b[31mred\nline\u202e", extra={"run": 3})
    line = stream.getvalue()
    assert line.count("\n") == 1 and "\x1b" not in line and "\u202e" not in line
    assert "error" in line and "tests: a \\x1b[31mred\\nline\\u202e run=3" in line


def test_a_long_event_is_cut() -> None:
    stream = io.StringIO()
    set_up(stream).info("%s", "x" * 100_000)
    assert len(stream.getvalue()) < 5_000
