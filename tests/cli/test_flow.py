"""Streamed text in rows: broken between words, code left as it is, nothing lost."""

from hypothesis import given
from hypothesis import strategies as st

from dreamwalker.cli.flow import TAIL_ROWS, Flow, wrapped


def flowed(text: str, columns: int, pieces: int = 1) -> str:
    flow = Flow()
    out = "".join(flow.feed(text[at : at + pieces], columns) for at in range(0, len(text), pieces))
    return out + flow.end()


def test_prose_is_broken_between_words() -> None:
    assert flowed("the quick brown fox jumps", 10) == "the quick\nbrown fox\njumps\n"


def test_what_is_indented_stays_so_and_blank_lines_stay() -> None:
    assert flowed("a\n\n    b", 20) == "a\n\n    b\n"


def test_a_block_of_code_is_left_as_it_is() -> None:
    code = "run this:\n```sh\ncurl --one --two --three --four\n```\nand then this other thing"
    assert flowed(code, 16) == ("run this:\n```sh\ncurl --one --two --three --four\n```\nand then this\nother thing\n")


def test_a_row_is_given_out_as_soon_as_it_is_full() -> None:
    flow = Flow()
    assert flow.feed("the quick br", 10) == "the quick\n"
    assert flow.tail == "br"


def test_wide_characters_count_twice() -> None:
    assert flowed("日本 語文 字", 6) == "日本\n語文\n字\n"


def test_a_line_without_a_place_to_break_does_not_grow_for_ever() -> None:
    flow = Flow()
    out = flow.feed("x" * 1000, 10)
    assert len(flow.tail) <= TAIL_ROWS * 10
    assert (out + flow.end()).replace("\n", "") == "x" * 1000


@given(st.text(alphabet="ab `\n日", max_size=200), st.integers(2, 30), st.integers(1, 7))
def test_nothing_is_lost_or_doubled_however_it_comes_in_pieces(text: str, columns: int, pieces: int) -> None:
    def without_space(shown: str) -> str:
        return "".join(shown.split())

    assert without_space(flowed(text, columns, pieces)) == without_space(text)


@given(st.text(alphabet="ab ", max_size=100), st.integers(1, 20))
def test_no_row_of_short_words_is_wider_than_the_terminal(text: str, columns: int) -> None:
    longest = max(map(len, text.split()), default=0)
    assert all(len(row.strip()) <= max(columns, longest) for row in wrapped(text, columns))
