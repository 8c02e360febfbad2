"""What reaches a terminal can't hijack it, and can be read."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dreamwalker.cli.terminal import dollars, drawn, one_line, sendable, show_json, table


@pytest.mark.parametrize(
    "hostile",
    [
        "\x1b]0;owned\x07",
        "\x1b[2J\x1b[H",
        "\x9b31m",
        "a\rb",
        "a\x08b",
        "\x00",
        "\u202egnp.exe",
        "\u2066a\u2069",
        "\ufeff",
        "\U000e0041",
        "\u200b",
    ],
)
def test_what_a_terminal_would_obey_or_nobody_would_see_is_drawn(hostile: str) -> None:
    shown = drawn(hostile)
    assert "⟨U+" in shown and not any(ord(char) < 32 or 0x7F <= ord(char) < 0xA0 for char in shown)


def test_an_escape_sequence_is_drawn_with_its_number() -> None:
    assert drawn("\x1b[31mred") == "⟨U+001B⟩[31mred"


def test_line_ends_tabs_emoji_and_other_scripts_stay_as_they_are() -> None:
    for text in ("one\n\ttwo", "👩‍👩‍👧 ❤️ 👍🏽", "می‌خواهم", "日本語", "ä̈"):
        assert drawn(text) == text
    assert drawn("one\r\ntwo\u2028three") == "one\ntwo\nthree"


@given(st.text())
def test_nothing_that_is_drawn_moves_the_cursor_or_changes_the_terminal(text: str) -> None:
    assert all(char in "\n\t" or (ord(char) >= 32 and not 0x7F <= ord(char) < 0xA0) for char in drawn(text))


@given(st.text(alphabet=st.characters(codec=None)))
def test_json_means_what_it_meant_with_unseen_characters_escaped(text: str) -> None:
    import io
    from contextlib import redirect_stdout

    out = io.StringIO()
    with redirect_stdout(out):
        show_json({"text": text})
    assert json.loads(out.getvalue()) == {"text": text}
    assert not any(char in out.getvalue() for char in ("\x1b", "\x9b", "\u202e"))


def test_a_table_keeps_its_columns_and_says_nothing_of_nothing() -> None:
    assert table([("a", "bb", "c"), ("aaa", "b", "")]) == "a    bb  c\naaa  b"
    assert table([]) == ""


def test_small_sums_are_not_rounded_away() -> None:
    assert [dollars(sum) for sum in (0, 0.0004, 0.25, 1234.5)] == ["$0.00", "$0.0004", "$0.25", "$1,234.50"]


def test_the_beginning_of_a_text_is_one_line() -> None:
    assert one_line("one\n two   three", 40) == "one two three"
    assert one_line("x" * 50, 10) == "x" * 9 + "…"


def test_what_no_request_can_carry_is_not_sent() -> None:
    assert sendable("a\udce4b") == "a?b"
