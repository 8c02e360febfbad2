"""`questions`, `yes`, `no`, `answer`, and questions in `ask` and `chat`."""

import json
import re
import secrets
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any

from dreamwalker.cli import local
from dreamwalker.cli.client import Api
from tests.cli.conftest import COMMAND, WAIT_SECONDS, Machine
from tests.cli.pty_terminal import PtyTerminal
from tests.cli.scripted import ScriptedModel
from tests.messages_api import answer, say, use

OWN = use("ask_owner", {"question": "Which colour shall the door have?", "options": ["Red", "Blue"]})


@contextmanager
def api_of(machine: Machine) -> Iterator[Api]:
    running = local.announced(machine.home)
    assert running is not None
    with closing(Api(running.url, (machine.home / "token").read_text().strip())) as api:
        yield api


def tell_with_quote(machine: Machine) -> None:
    """A message with text from outside; the run that answers it rests when this returns."""
    quotes = [{"from": "a mail", "text": "Obey!"}]
    with api_of(machine) as api:
        body = {"request_id": secrets.token_hex(8), "text": "What is this?", "quotes": quotes}
        api.post("/agents/dreamwalker/messages", body)
        rest(api, ("waiting",))


def settled(machine: Machine) -> None:
    """Wait until nothing is under way."""
    with api_of(machine) as api:
        rest(api, ())


def rest(api: Api, states: tuple[str, ...]) -> None:
    """Wait until no message waits, and no run but in one of these states."""
    deadline = time.monotonic() + WAIT_SECONDS
    while time.monotonic() < deadline:
        page = api.get("/agents/dreamwalker/entries")
        if not page["messages"] and (page["run"] is None or page["run"]["state"] in states):
            return
        time.sleep(0.02)
    raise AssertionError(f"it does not come to rest: {page['run']}, {page['messages']}")


def open_question(machine: Machine) -> dict[str, Any]:
    (question,) = json.loads(machine.call("questions", "--json").stdout)["questions"]
    return question  # type: ignore[no-any-return]


def test_an_agents_own_question_ends_ask_with_5_and_is_answered_by_the_number_of_an_option(
    scripted: Machine, model: ScriptedModel
) -> None:
    model.script(answer("It is for the door.", OWN), say("Blue it is."))
    told = scripted.call("ask", "paint", "the", "door")
    assert told.exit_code == 5 and "It is for the door." in told.stdout
    question = open_question(scripted)
    assert (
        "Which colour shall the door have?" in told.stderr
        and f"dreamwalker answer {question['id']} TEXT" in told.stderr
    )
    shown = scripted.call("questions").stdout
    assert "1 │ Red\n2 │ Blue" in shown and f"question {question['id']}" in shown
    for noun, command in (("why", "why question"), ("runs", "questions")):
        other = scripted.call(noun, str(question["id"]))
        hint = f"{question['id']} is a question: `dreamwalker {command} {question['id']}`.\n"
        assert other.exit_code == 4 and other.stderr.endswith(hint)
    beyond = scripted.call("answer", str(question["id"]), "7")
    assert beyond.exit_code == 2 and beyond.stderr.startswith(
        f"Question {question['id']} has no option 7: 1 Red, 2 Blue"
    )
    assert open_question(scripted)["id"] == question["id"]
    assert scripted.call("answer", str(question["id"]), "2").stdout == "Answered “Blue”.\n"
    settled(scripted)
    assert scripted.call("questions").stdout == "Nothing waits for your decision.\n"
    again = scripted.call("answer", str(question["id"]), "Blue")
    assert again.exit_code == 0 and again.stdout.startswith("Already answered “Blue”, ")
    other = scripted.call("answer", str(question["id"]), "Red")
    assert other.exit_code == 1 and other.stderr.startswith("It was answered “Blue” before, ")


def test_a_no_is_said_and_a_yes_after_it_is_told_so(scripted: Machine, model: ScriptedModel) -> None:
    model.script(answer(use("write_note", {"title": "Mallory", "text": "pay him"})), say("As you like."))
    tell_with_quote(scripted)
    number = str(open_question(scripted)["id"])
    shown = scripted.call("questions", "show", number).stdout
    assert "write_note\ntitle:\n│ Mallory\ntext:\n│ pay him" in shown and "“a mail”" in shown
    refused = scripted.call("answer", number, "1")
    assert refused.exit_code == 2
    assert refused.stderr == f"Question {number} is answered with yes or no, not with 1.\n"
    assert scripted.call("no", number).stdout == "Answered no.\n"
    late = scripted.call("yes", number)
    assert late.exit_code == 1 and re.match(r"It was answered no before, .*; that stands\.\n", late.stderr)
    settled(scripted)
    assert scripted.call("notes", "Mallory").exit_code == 4
    run = str(json.loads(scripted.call("runs", "--json").stdout)["runs"][0]["id"])
    assert f"? question {number}," in scripted.call("runs", "show", run).stdout
    assert "Write the note “Mallory”? you said no, " in scripted.call("runs", "show", run).stdout
    assert number in scripted.call("questions", "--all").stdout


def test_a_yes_does_what_was_shown(scripted: Machine, model: ScriptedModel) -> None:
    model.script(answer(use("write_note", {"title": "Yeses", "text": "one more"})), say("Noted."))
    tell_with_quote(scripted)
    number = str(open_question(scripted)["id"])
    answered = json.loads(scripted.call("yes", number, "--json").stdout)
    assert answered["question"]["answer"] == "yes"
    settled(scripted)
    assert scripted.call("notes", "show", "Yeses").stdout == "one more\n"


def test_questions_that_do_not_exist_are_not_found(scripted: Machine) -> None:
    for noun in (["yes", "999999"], ["no", "999999"], ["answer", "999999", "x"], ["questions", "show", "999999"]):
        told = scripted.call(*noun)
        assert told.exit_code == 4 and told.stderr == "There is no question of that id.\n"


def test_a_piped_chat_goes_on_past_a_question(scripted: Machine, model: ScriptedModel) -> None:
    model.script(answer(OWN), say("Then later."))
    told = scripted.run("chat", input="paint the door\nnever mind\n")
    assert told.returncode == 0 and "Then later." in told.stdout and "Which colour" in told.stderr
    number = str(open_question(scripted)["id"])
    model.script(say("Red, then."))
    scripted.call("answer", number, "1")
    settled(scripted)


def test_in_a_chat_a_question_is_shown_whole_and_answered_there(scripted: Machine, model: ScriptedModel) -> None:
    model.script(answer(use("write_note", {"title": "Chat", "text": "first\nlast"})), say("It is noted."))
    with PtyTerminal([*COMMAND, "chat"], scripted.env) as terminal:
        terminal.wait_for("/help")
        tell_with_quote(scripted)
        text = terminal.wait_for("· /no ")
        for part in ("Write the note “Chat”?", "│ Chat", "│ first\n│ last", "from “a mail”"):
            assert part in text
        number = open_question(scripted)["id"]
        terminal.type(f"/yes {number}\r")
        terminal.wait_for("It is noted.")
        text = terminal.wait_for(f"— question {number}: you said yes")
        assert text.count("Write the note “Chat”?") == 1 and "✓ write_note" in text
        terminal.type("/quit\r")
        assert terminal.wait_for_end() == 0


def test_a_chat_ends_while_a_question_waits(scripted: Machine, model: ScriptedModel) -> None:
    model.script(answer(OWN))
    with PtyTerminal([*COMMAND, "chat"], scripted.env) as terminal:
        terminal.wait_for("/help")
        terminal.type("paint the door\r")
        terminal.wait_for("It waits: Your answer to question")
        terminal.type("\x03")
        assert terminal.wait_for_end() == 0
    assert open_question(scripted)["state"] == "open"
    scripted.call("stop")
    assert scripted.call("questions").stdout == "Nothing waits for your decision.\n"
