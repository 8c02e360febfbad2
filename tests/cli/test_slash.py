"""What is typed into a chat: a command, a message, or what has to be asked back about."""

import pytest

from dreamwalker.cli.slash import Doubt, Typed, read


@pytest.mark.parametrize(
    ("text", "typed"),
    [
        ("/yes 12", Typed("yes", "12")),
        (" /Yes 12 ", Typed("yes", "12")),
        ("/answer 12 two\nlines", Typed("answer", "12 two\nlines")),
        ("/exit", Typed("quit", "")),
        ("/notes", Typed("notes", "")),
    ],
)
def test_a_slash_and_a_word_of_the_help_are_a_command(text: str, typed: Typed) -> None:
    assert read(text) == typed


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("yes 89", "/yes 89"),
        ("No #12.", "/no 12"),
        ("yes89", "/yes 89"),
        ("answer 26 the blue one", "/answer 26 the blue one"),
        ("answer 26 two\nlines", "/answer 26 two lines"),
        ("stop", "/stop"),
        ("Quit.", "/quit"),
        ("exit", "/quit"),
        ("/yess", "/yes"),
        ("/qustions", "/questions"),
        ("/yes89", "/yes 89"),
        ("/ yes 89", "/yes 89"),
        ("//yes 89", "/yes 89"),
        ("\\yes 89", "/yes 89"),
        ("/anwser 26 blue", "/answer 26 blue"),
    ],
)
def test_what_looks_like_a_command_is_asked_back_about(text: str, meant: str) -> None:
    typed = read(text)
    assert isinstance(typed, Doubt) and f"Did you mean {meant}?" in typed.says
    assert typed.slip == (text[0] in "/\\")


def test_a_slash_before_a_word_that_means_nothing_is_told_so() -> None:
    shell = read("/settings zone")
    assert isinstance(shell, Doubt) and "in a shell there is `dreamwalker settings`" in shell.says
    assert read("/frobnicate") == Doubt("There is no /frobnicate. /help says what there is.", slip=True)


@pytest.mark.parametrize(
    "text",
    [
        "hello",
        "help",
        "yes",
        "no, thanks",
        "yes please",
        "yes 12 of them",
        "answer 12",
        "stop the music",
        "/etc/hosts is a file",
        "/tmp/yes 12",
        "// a comment / another",
        "12",
        "",
    ],
)
def test_everything_else_is_a_message(text: str) -> None:
    assert read(text) is None


def test_a_bare_yes_is_asked_back_about_only_while_a_question_is_open() -> None:
    one, two = read("yes", [26]), read("No.", [26, 28])
    assert isinstance(one, Doubt) and "/yes 26?" in one.says
    assert isinstance(two, Doubt) and "/no with a number? Questions 26 and 28 are open." in two.says
    assert read("yes, but not today", [26]) is None
