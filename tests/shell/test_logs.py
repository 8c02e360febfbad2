"""Logs: one line an event, with what helps and without what is private."""

import ast
import logging
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from functools import cache
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as some

from actors.about import about
from dreamwalker import config
from dreamwalker.events import EVENTS, FACTS
from storage.errors import Duplicate, Unavailable
from tests.log_lines import lines_of, logged, parse
from tools.redact import Redactor

SECRET = "sk-a-secret-of-the-server-123"
ROOT = Path(__file__).parent.parent.parent
OUR_ROOMS = ("dreamwalker", "actors", "tools", "storage", "netlify")
log = logging.getLogger("dreamwalker.tests")


def test_an_event_is_one_line_with_its_facts() -> None:
    with logged() as stream:
        log.info("call.ended", {"run": 17, "call": "call:17.1.0", "tool": "delegate", "failed": False, "ms": 812})
    at, rest = stream.getvalue().split(" ", 1)
    assert datetime.fromisoformat(at).tzinfo == UTC
    assert rest == "info call.ended run=17 call=call:17.1.0 tool=delegate failed=no ms=812\n"


def test_each_kind_of_fact_is_shown_so_that_it_can_be_read_back() -> None:
    with logged() as stream:
        until = datetime.fromisoformat("2026-11-30T08:00+01:00")
        log.info("run.waits", {"run": 7, "until": until, "tries": None, "seconds": 1.25, "why": 'so "it" is\tthen'})
    (line,) = lines_of(stream.getvalue())
    assert line | {"at": ""} == {
        "at": "",
        "level": "info",
        "event": "run.waits",
        "run": 7,
        "until": "2026-11-30T07:00:00Z",
        "seconds": "1.25",
        "why": 'so "it" is\tthen',
    }


def test_what_is_worked_on_is_told_with_each_line_and_what_a_line_says_itself_goes_first() -> None:
    with logged() as stream:
        with about(lambda: {"conversation": 3, "run": 17}):
            log.info("model.answered", {"ms": 5})
            log.info("call.ended", {"run": 18})
        log.info("push.sent", {"push": "slot:3"})
    first, second, third = lines_of(stream.getvalue())
    assert (first["conversation"], first["run"], first["ms"]) == (3, 17, 5)
    assert (second["conversation"], second["run"]) == (3, 18)
    assert "run" not in third


def test_secrets_are_taken_out_of_every_fact() -> None:
    with logged(Redactor({"MODEL KEY": SECRET}).text) as stream:
        log.warning("push.failed", {"push": SECRET, "why": f"it said {SECRET}"})
        try:
            raise Unavailable(f"no way to postgres://me:{SECRET}@host")
        except Unavailable as error:
            log.exception("house.not_opened", {"why": error})
    assert SECRET not in stream.getvalue()
    assert [line["why"] for line in lines_of(stream.getvalue())] == [
        "it said [redacted MODEL KEY]",
        "Unavailable: no way to postgres://me:[redacted MODEL KEY]@host",
    ]


def test_of_a_foreign_error_only_its_kind_and_its_place_are_told() -> None:
    with logged() as stream:
        try:
            int("what the owner wrote")
        except ValueError as error:
            log.exception("request.failed")
            log.warning("search.failed", {"why": error})
    first, second = lines_of(stream.getvalue())
    assert "owner" not in stream.getvalue()
    assert first["error"] == "ValueError" and first["places"].startswith("test_logs.py:")
    assert second["why"] == "ValueError"


def test_only_errors_whose_words_are_all_ours_say_what_was_wrong() -> None:
    with logged() as stream:
        for error in (
            Unavailable("the database sleeps"),
            Duplicate("Key (source_key)=(private) exists", constraint="a"),
            FileNotFoundError(2, "No such file or directory", "/private/name"),
            ExceptionGroup("both", [Unavailable("one"), ValueError("private")]),
        ):
            log.info("house.closed", {"why": error})
    assert [line["why"] for line in lines_of(stream.getvalue())] == [
        "Unavailable: the database sleeps",
        "Duplicate",
        "FileNotFoundError: No such file or directory",
        "Unavailable: one; ValueError",
    ]


def test_what_is_not_listed_is_left_out_and_a_library_is_named_and_not_quoted() -> None:
    with logged() as stream:
        log.info("push.sent", {"push": "slot:3", "text": "private"})
        log.info("A private thing was %s", "said")
        logging.getLogger("a.library").warning(f"private {len('x')}")
    assert "private" not in stream.getvalue()
    _, second, third = lines_of(stream.getvalue())
    assert second["event"] == third["event"] == "library"
    assert third["library"] == "a.library" and third["places"].startswith("test_logs.py:")


@given(some.text(some.characters(exclude_categories=())))
def test_no_value_can_begin_a_line_or_a_fact_or_move_a_terminal(words: str) -> None:
    with logged() as stream:
        log.info("push.failed", {"push": words, "why": f"x run=1\n{words}"})
    (line,) = stream.getvalue().splitlines()
    said = parse(line)
    assert set(said) == {"at", "level", "event", "push", "why"}
    assert str(said["push"]) == words[:300] + ("… cut" if len(words) > 300 else "") or words.isdigit()


def test_a_long_fact_is_cut() -> None:
    with logged() as stream:
        log.info("push.failed", {"why": "x" * 100_000})
    assert len(stream.getvalue()) < 400


def test_a_line_that_can_not_be_made_is_lost_and_nothing_of_it_is_printed(capfd: pytest.CaptureFixture[str]) -> None:
    class Odd:
        def __str__(self) -> str:
            raise ValueError("private")

    with logged() as stream:
        log.info("push.failed", {"push": "private", "why": Odd()})
        log.info("push.sent", {"push": "slot:3"})
    assert [line["event"] for line in lines_of(stream.getvalue())] == ["push.sent"]
    assert capfd.readouterr() == ("", "")


def test_nothing_below_the_level_is_logged() -> None:
    with logged(level=logging.WARNING) as stream:
        log.info("push.sent")
        logging.getLogger("httpx2").info("a request")
        log.warning("push.refused")
    assert [line["event"] for line in lines_of(stream.getvalue())] == ["push.refused"]


# -- the list


@cache
def trees() -> dict[str, ast.Module]:
    """Every module that has to do with logging, by its path."""
    paths = sorted(path for room in OUR_ROOMS for path in (ROOT / room).rglob("*.py"))
    texts = {str(path.relative_to(ROOT)): path.read_text() for path in paths}
    return {path: ast.parse(text) for path, text in texts.items() if re.search(r"\blogging\b|getLogger|\blog\.", text)}


def calls_of(name: str) -> Iterator[tuple[str, ast.Call]]:
    """Every call of something that is called so, and where it stands."""
    for path, tree in trees().items():
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and re.fullmatch(name, ast.unparse(node.func)):
                yield f"{path}:{node.lineno}", node


def test_every_event_that_is_logged_is_listed_and_every_one_that_is_listed_is_logged() -> None:
    found = set()
    for where, call in calls_of(r"log\.(log|debug|info|warning|error|exception)"):
        names = [arg.value for arg in call.args[:2] if isinstance(arg, ast.Constant)]
        assert len(names) == 1 and isinstance(names[0], str), f"{where}: an event is a name, not words"
        assert {keyword.arg for keyword in call.keywords} <= {"exc_info"}, where
        found.add(names[0])
        for fact in ast.walk(call):
            if isinstance(fact, ast.Dict):
                keys = {key.value for key in fact.keys if isinstance(key, ast.Constant)}
                assert keys <= FACTS.keys(), f"{where}: {keys - FACTS.keys()}"
    for path in ("netlify/server/index.ts", "netlify/functions/wake.mts"):
        found |= set(re.findall(r"note\([^,]+, '([a-z_.]+)'", (ROOT / path).read_text()))
    assert found | {"library"} == EVENTS.keys()


def test_how_much_is_logged_is_a_setting() -> None:
    assert config.read({"HOME": "/", "DREAMWALKER_LOG": "warning"}).log_level == logging.WARNING
    assert config.read({"HOME": "/"}).log_level == logging.INFO
    with pytest.raises(
        config.BadConfiguration, match="DREAMWALKER_LOG is one of debug, info, warning, error; it is 'all'"
    ):
        config.read({"HOME": "/", "DREAMWALKER_LOG": "all"})


def test_nobody_logs_in_any_other_way() -> None:
    for where, call in calls_of(r"(logging\.)?getLogger"):
        ours = ast.unparse(call).startswith("logging.getLogger('dreamwalker.")
        assert ours or where.startswith(("dreamwalker/logs.py", "dreamwalker/server.py")), where
    assert not list(calls_of(r"logging\.(log|debug|info|warning|error|exception|critical)"))
