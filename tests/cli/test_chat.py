"""`chat`: piped, and on a terminal as its owner sees it."""

import json
import os
import signal
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.cli.conftest import COMMAND, OTHER_TOKEN, ROOT, Machine, environment
from tests.cli.pty_terminal import PtyTerminal
from tests.cli.scripted import ScriptedModel
from tests.messages_api import Gate, answer, fail, say, use


@contextmanager
def chatting(machine: Machine, *arguments: str) -> Iterator[PtyTerminal]:
    """A chat that has shown where its conversation stands."""
    with PtyTerminal([*COMMAND, "chat", *arguments], machine.env) as terminal:
        terminal.wait_for("/help")
        yield terminal


def answered(text: str) -> Callable[[str], bool]:
    """Whether a message and its echo can be read, and nothing is under way."""

    def holds(screen: str) -> bool:
        return screen.count(text) == 2 and "(waiting)" not in screen and "thinking …" not in screen

    return holds


# -- piped


def test_lines_from_a_pipe_are_answered_one_by_one_and_the_end_of_input_leaves(scripted: Machine) -> None:
    told = scripted.run("chat", input="one\n\ntwo\n/spend\n/quit\nthree\n")
    assert told.returncode == 0 and told.stderr == ""
    lines = told.stdout.splitlines()
    assert lines[:2] == ["one", "two"] and " of $5.00" in lines[2] and "three" not in told.stdout


@pytest.mark.parametrize(
    ("line", "says", "code"),
    [
        (b"/yes 999999999999999999999", b"needs the number of a question", 2),
        (b"/yes 999999999", b"There is no question", 4),
        (b"/answer " + b"9" * 5000 + b" yes", b"needs the number of a question", 2),
        (b"/notes \xff", b"No note holds all of", 0),
        (b"/agents restore \xff", b"There is no", 4),
        (b"/yess 12", b"Did you mean /yes 12? Nothing was sent.", 2),
        (b"/frobnicate", b"There is no /frobnicate. /help says what there is. Nothing was sent.", 2),
    ],
)
def test_a_slash_that_cannot_be_done_does_not_end_a_piped_chat(
    scripted: Machine, line: bytes, says: bytes, code: int
) -> None:
    def chat(typed: bytes) -> "subprocess.CompletedProcess[bytes]":
        return subprocess.run([*COMMAND, "chat"], input=typed, capture_output=True, env=scripted.env)

    told = chat(line + b"\nstill here\n")
    assert told.returncode == 0 and says in told.stdout + told.stderr and b"still here\n" in told.stdout
    assert chat(line + b"\n").returncode == code


def test_a_failed_answer_makes_a_piped_chat_exit_with_1(scripted: Machine, model: ScriptedModel) -> None:
    model.script(fail(400, "This request is odd."))
    told = scripted.run("chat", input="is it odd?\n")
    assert told.returncode == 1 and told.stdout == "" and "It failed: " in told.stderr


def test_a_chat_starts_a_server_of_its_own_which_ends_with_it(machine: Machine) -> None:
    told = machine.run("chat", input="remember that the keys are in the drawer\n/notes keys\n")
    assert told.returncode == 0, told.stderr
    assert told.stderr.startswith("Starting dreamwalker on this machine …\nNo key for Claude is set")
    assert "practice model" in told.stdout and "drawer" in told.stdout
    assert sorted(path.name for path in machine.home.iterdir()) == ["postgres", "serve.log", "token"]
    assert (machine.home / "token").read_text().strip() not in (machine.home / "serve.log").read_text()


def test_a_server_that_cannot_start_says_why(machine: Machine) -> None:
    told = machine.run("chat", input="hi\n", DREAMWALKER_POSTGRES_BIN="/")
    assert told.returncode == 3 and "A server could not be started. There is no program 'initdb'" in told.stderr


# -- on a terminal


def test_text_is_seen_as_it_is_written_and_what_is_typed_meanwhile_waits_and_is_answered(
    scripted: Machine, model: ScriptedModel
) -> None:
    gate = Gate()
    model.script(say("Once upon a t", gate, "ime."), say("Blue."))
    with chatting(scripted) as terminal:
        terminal.type("tell me a tale\r")
        terminal.wait_for("Once upon")
        terminal.type("and which colour?\r")
        text = terminal.wait_for("› and which colour? (waiting)")
        assert "time." not in text
        model.open(gate)
        text = terminal.wait_for("Blue.")
        order = [text.index(part) for part in ("› tell me a tale", "Once upon a time.", "› and which colour?", "Blue.")]
        assert order == sorted(order) and "(waiting)" not in text
        assert text.count("Once upon a time.") == text.count("› and which colour?") == 1
        terminal.type("/quit\r")
        assert terminal.wait_for_end() == 0
        assert terminal.echoes


def test_calls_are_quiet_lines_with_a_mark_for_how_they_ended(scripted: Machine, model: ScriptedModel) -> None:
    good, bad = use("write_note", {"title": "Boat", "text": "Red."}), use("read_note", {"title": "Submarine"})
    model.script(answer("I look.", good, bad), say("There is no submarine."))
    with chatting(scripted) as terminal:
        terminal.type("boat and submarine\r")
        text = terminal.wait_for("There is no submarine.")
        assert "✓ write_note Boat, Red." in text and "✗ read_note Submarine: There is no note" in text
        assert text.index("I look.") < text.index("✓ write_note") < text.index("There is no submarine.")


def test_a_message_that_waits_can_be_taken_back_and_stands_in_the_editor_again(
    scripted: Machine, model: ScriptedModel
) -> None:
    gate = Gate()
    model.script(say("Thinking of it is ", gate, "done."))
    with chatting(scripted) as terminal:
        terminal.type("think hard\r")
        terminal.wait_for("Thinking")
        terminal.type("forget it\r")
        terminal.wait_for("› forget it (waiting)")
        terminal.type("/withdraw\r")
        terminal.wait_for("taken back: forget it")
        terminal.wait_for(lambda text: text.rstrip().endswith("› forget it"))
        model.open(gate)
        terminal.wait_for("Thinking of it is done.")


def test_ctrl_c_stops_the_answer_and_leaves_when_nothing_is_under_way(scripted: Machine, model: ScriptedModel) -> None:
    gate = Gate()
    model.script(say("A very long story ", gate, "ends."))
    with chatting(scripted) as terminal:
        terminal.type("go on for ever\r")
        terminal.wait_for("A very long")
        terminal.type("\x03")
        text = terminal.wait_for("■ cut short: Stopped by you.")
        assert text.count("A very long") == 1
        terminal.type("half a thought")
        terminal.wait_for("› half a thought")
        terminal.type("\x03")
        terminal.wait_for(lambda text: "half a thought" not in text)
        terminal.type("\x03")
        assert terminal.wait_for_end() == 0


def test_a_terminal_that_is_closed_in_mid_answer_ends_the_chat(scripted: Machine, model: ScriptedModel) -> None:
    gate = Gate()
    model.script(say("Nobody will see the ", gate, "end."))
    with chatting(scripted) as terminal:
        terminal.type("tell me\r")
        terminal.wait_for("Nobody will")
        terminal.process.send_signal(signal.SIGSTOP)
        terminal.process.send_signal(signal.SIGTERM)
        terminal.hang_up()
        terminal.process.send_signal(signal.SIGCONT)  # it hears of all that at once
        terminal.wait_for_end()
    model.open(gate)


def test_ctrl_c_right_after_a_message_stops_it_and_does_not_leave(scripted: Machine, model: ScriptedModel) -> None:
    gate = Gate()
    model.script(say("Never to be ", gate, "seen."))
    with chatting(scripted) as terminal:
        terminal.type("a mistake\r\x03")
        terminal.wait_for(lambda text: "■" in text or "taken back" in text)
        terminal.type("\x15/help\r")
        terminal.wait_for("/withdraw")
    model.begin()


def test_ctrl_d_leaves_after_the_answer(scripted: Machine, model: ScriptedModel) -> None:
    gate = Gate()
    model.script(say("Wait for the ", gate, "end."))
    with chatting(scripted) as terminal:
        terminal.type("is this the end?\r")
        terminal.wait_for("Wait for")
        terminal.type("\x04")
        terminal.wait_for("leaving after the answer")
        model.open(gate)
        assert terminal.wait_for_end() == 0
        assert "Wait for the end." in terminal.text


def test_a_chat_that_is_told_to_end_leaves_the_terminal_as_it_was(scripted: Machine) -> None:
    with chatting(scripted) as terminal:
        terminal.process.send_signal(signal.SIGTERM)
        assert terminal.wait_for_end() == 0
        assert terminal.echoes


def test_neither_the_model_nor_the_past_can_hijack_the_terminal(scripted: Machine, model: ScriptedModel) -> None:
    gate = Gate()
    model.script(say("\x1b]0;owned\x07\x1b[2J\x1b[9", gate, "9;1Hgnp\x9b31m\u202e end of evil"))
    with chatting(scripted) as terminal:
        terminal.type("be evil\r")
        terminal.wait_for("⟨U+001B⟩]0;owned")
        model.open(gate)
        terminal.wait_for("31m⟨U+202E⟩ end of")
        assert terminal.title == "" and b"\x1b]0;" not in terminal.raw and b"\x1b[2J" not in terminal.raw
    with chatting(scripted) as terminal:
        terminal.wait_for("31m⟨U+202E⟩ end of")
        assert terminal.title == "" and b"\x1b]0;" not in terminal.raw


def test_a_pasted_text_is_one_message_and_the_words_after_a_slash_are_told_apart(
    scripted: Machine, model: ScriptedModel
) -> None:
    with chatting(scripted) as terminal:
        fresh = terminal.text.count("— a fresh start:")
        terminal.paste("first line\nsecond 日本語 line")
        terminal.type("\r")
        terminal.wait_for(answered("second 日本語 line"))
        terminal.type("/frobnicate\r")
        terminal.wait_for("There is no /frobnicate.")
        terminal.type("/etc/hosts is a file\r")
        terminal.wait_for(answered("/etc/hosts is a file"))
        terminal.type("/new\r")
        terminal.wait_for(lambda text: text.count("— a fresh start:") > fresh)
        terminal.type("/help\r")
        terminal.wait_for("/withdraw")
        terminal.type("/stop\r")
        terminal.wait_for("Nothing is under way.")


def test_what_looks_like_a_command_is_asked_back_about_and_sent_only_by_another_enter(
    scripted: Machine, model: ScriptedModel
) -> None:
    with chatting(scripted) as terminal:
        terminal.type("yes 89\r")
        terminal.wait_for("Did you mean /yes 89? Enter sends it as a message. Up brings it back.")
        terminal.wait_for(lambda text: text.rstrip().endswith("›"))
        terminal.type("\r")
        terminal.wait_for(lambda text: text.count("› yes 89") == 1 and "\nyes 89" in text)


def test_what_was_refused_is_not_glued_to_what_is_typed_next_and_up_brings_it_back(
    scripted: Machine, model: ScriptedModel
) -> None:
    with chatting(scripted) as terminal:
        terminal.type("no 7\r")
        terminal.wait_for("Did you mean /no 7?")
        terminal.type("/answer nothing\r")  # nobody was told "no 7/answer nothing"
        terminal.wait_for("/answer needs the number of a question. /questions lists them. Up brings it")
        lines = {"/frobnicate": "no /frobnicate.", "/withdraw it": "No message waits.", "/yes abc": "/yes needs"}
        for line, says in lines.items():
            terminal.type(f"{line}\r")
            terminal.wait_for(lambda text, says=says: says in text and text.rstrip().endswith("›"))
            terminal.type("\x1b[A")  # the up key
            terminal.wait_for(lambda text, line=line: text.rstrip().endswith(f"› {line}"))
            terminal.type("\x15")
        terminal.type("still\r")
        terminal.wait_for(answered("still"))


def test_a_command_without_its_slash_in_a_pipe_is_a_message_and_said_to_be(scripted: Machine) -> None:
    told = scripted.run("chat", input="yes 89\nquit\n")
    assert told.returncode == 0 and told.stdout == "yes 89\nquit\n"
    assert told.stderr == (
        "Did you mean /yes 89? It was sent as a message.\nDid you mean /quit? It was sent as a message.\n"
    )


KILLED_RAW = """#!/bin/sh
stty raw -echo
printf 'raw now'
kill -9 $$
"""


def test_make_chat_leaves_the_terminal_as_it_was_however_the_chat_ends(tmp_path: Path) -> None:
    (tmp_path / "dreamwalker").write_text(KILLED_RAW)
    (tmp_path / "dreamwalker").chmod(0o755)
    make = ["make", "--no-print-directory", "-C", str(ROOT), "-o", ".venv/ready", "chat", f"BIN={tmp_path}"]
    with PtyTerminal(make, environment(tmp_path)) as terminal:
        assert terminal.wait_for_end() == 2
        assert "raw now" in terminal.text and terminal.echoes and b"\x1b[?2004l" in terminal.raw


def test_a_chat_opens_with_the_end_of_its_history_in_brief(scripted: Machine, model: ScriptedModel) -> None:
    model.script(say("\n".join(f"line {number} of the poem" for number in range(12))))
    scripted.run("ask", "recite")
    with chatting(scripted) as terminal:
        text = terminal.wait_for("line 5 of the poem")
        assert "› recite" in text and "line 6 of the poem" not in text
        terminal.type("\x1b[A")  # the up key
        terminal.wait_for(lambda text: text.rstrip().endswith("› recite"))


def test_a_server_that_cannot_be_reached_ends_the_chat_in_words(machine: Machine) -> None:
    elsewhere = {"DREAMWALKER_URL": "http://127.0.0.1:9", "DREAMWALKER_TOKEN": OTHER_TOKEN}
    with PtyTerminal([*COMMAND, "chat"], machine.env | elsewhere) as terminal:
        assert terminal.wait_for_end() == 3
        assert "No dreamwalker can be reached at http://127.0.0.1:9" in terminal.text


def test_an_agent_that_does_not_exist_ends_the_chat_in_words(scripted: Machine) -> None:
    with PtyTerminal([*COMMAND, "chat", "--agent", "nobody"], scripted.env) as terminal:
        assert terminal.wait_for_end() == 4
        assert "There is no agent of that name." in terminal.text and terminal.echoes


def test_a_killed_server_is_started_anew_in_mid_answer_and_nothing_is_lost_or_doubled(
    machine: Machine, model: ScriptedModel
) -> None:
    gate = Gate()
    model.script(say("Alpha beta gamma ", gate), say("Alpha beta gamma delta."), say("Epsilon."))
    settings = {"ANTHROPIC_API_KEY": "sk-test-of-the-command", "ANTHROPIC_BASE_URL": model.url}
    own = Machine(environment(machine.home, **settings))
    with chatting(own) as terminal:
        terminal.type("greek letters\r")
        terminal.wait_for("Alpha beta")
        token = (own.home / "token").read_text()
        os.kill(json.loads((own.home / "server.json").read_text())["pid"], signal.SIGKILL)
        text = terminal.wait_for("gamma delta.")
        assert text.count("the connection was lost") == 1
        for word in ("› greek letters", "Alpha", "beta", "gamma", "delta"):
            assert text.count(word) == 1, text
        assert (own.home / "token").read_text() == token
        terminal.type("one more\r")
        terminal.wait_for("Epsilon.")
        terminal.type("/quit\r")  # Ctrl-C would stop the run, if it came before its end
        assert terminal.wait_for_end() == 0
    assert not (own.home / "server.json").exists()


@pytest.mark.parametrize("columns", [20])
def test_a_narrow_terminal_breaks_lines_between_words(scripted: Machine, model: ScriptedModel, columns: int) -> None:
    model.script(say("The quick brown fox jumps over the lazy dog.", chunk=3))
    with PtyTerminal([*COMMAND, "chat"], scripted.env, columns=columns) as terminal:
        terminal.wait_for("/help")
        terminal.type("fox\r")
        text = terminal.wait_for("dog.")
        assert "The quick brown fox\njumps over the lazy\ndog." in text
