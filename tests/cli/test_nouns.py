"""Every noun on a machine where a server runs."""

import json
import re
import shlex
import subprocess
from typing import Any

import pytest

from dreamwalker.cli.notes import titled
from dreamwalker.cli.problems import NotFound
from tests.cli.conftest import COMMAND, OTHER_TOKEN, Machine, environment


@pytest.fixture(scope="module")
def told(practiced: Machine) -> Machine:
    """A machine whose agent was told something."""
    assert practiced.run("ask", "remember", "that the keys are in the drawer").returncode == 0
    return practiced


def run_of(machine: Machine, asked: str = "remember that the keys are in the drawer") -> str:
    """The number of the run that was asked this."""
    runs = read_json(machine, "runs", "--limit", "200")["runs"]
    return str(next(run["id"] for run in runs if run["opening"]["text"] == asked))


def read_json(machine: Machine, *arguments: str) -> Any:
    answer = machine.call(*arguments, "--json")
    assert answer.exit_code == 0, answer.stderr
    return json.loads(answer.stdout)


def test_a_question_is_answered_on_stdout_and_nothing_else_is_there(told: Machine) -> None:
    answer = told.run("ask", "where are the keys?")
    assert answer.returncode == 0
    assert "in the drawer" in answer.stdout and answer.stderr == ""


def test_a_question_can_come_from_stdin_and_be_answered_as_json(told: Machine) -> None:
    answer = told.call("ask", "-", "--json", input="where are the keys?\n")
    said = json.loads(answer.stdout)
    assert "in the drawer" in said["text"]
    assert said["run"]["state"] == "done" and said["message"]["state"] == "placed"


def test_an_empty_message_is_refused_in_words(told: Machine) -> None:
    answer = told.run("ask", " ")
    assert (answer.returncode, answer.stdout, answer.stderr) == (1, "", "The message is empty.\n")


def test_an_agent_that_does_not_exist_is_not_found(told: Machine) -> None:
    for noun in (["ask", "hi"], ["new"], ["notes"], ["stop"]):
        answer = told.call(*noun, "--agent", "nobody")
        assert answer.exit_code == 4 and "no agent of that name" in answer.stderr


def test_notes_are_listed_searched_and_shown(told: Machine) -> None:
    assert "drawer" in told.call("notes").stdout
    assert "drawer" in told.call("notes", "keys", "drawer").stdout
    nothing = told.call("notes", "unicorn")
    assert (nothing.exit_code, nothing.stdout, nothing.stderr) == (4, "", "No note holds all of: unicorn\n")
    nothing = told.call("notes", "unicorn", "--json")
    assert (nothing.exit_code, json.loads(nothing.stdout)) == (4, {"notes": []})
    [note] = read_json(told, "notes", "keys")["notes"]
    assert told.call("notes", "show", note["title"].upper()).stdout == note["text"] + "\n"
    assert note["text"] in told.call("notes", "show", note["title"], "--versions").stdout
    assert read_json(told, "notes", "show", note["title"])["id"] == note["id"]
    assert read_json(told, "notes", "show", note["title"], "--versions")["versions"][0]["text"] == note["text"]


def test_a_note_that_does_not_exist_is_not_found(told: Machine) -> None:
    answer = told.call("notes", "show", "Unicorns")
    assert answer.exit_code == 4 and "There is no note “Unicorns”" in answer.stderr


def test_a_note_is_removed_and_brought_back(told: Machine) -> None:
    [note] = read_json(told, "notes", "keys")["notes"]
    gone = told.call("notes", "rm", note["title"].upper())
    back = f"dreamwalker notes restore {shlex.quote(note['title'])}"
    assert gone.stdout == f"Removed: “{note['title']}”. `{back}` brings it back.\n"
    assert told.call("notes", "keys").exit_code == 4
    assert note["title"] in told.call("notes", "--removed").stdout
    assert told.call("notes", "rm", note["title"]).exit_code == 4
    assert told.call("notes", "--removed", "keys").exit_code == 2
    assert told.call("notes", "restore", note["title"]).stdout == f"It is back: “{note['title']}”.\n"
    assert told.call("notes", "--removed").stdout == "No note was removed.\n"
    assert told.call("notes", "restore", note["title"]).exit_code == 4
    assert read_json(told, "notes", "keys")["notes"][0]["id"] == note["id"]


def test_a_note_is_meant_by_words_that_no_other_holds_and_else_those_that_hold_them_are_named() -> None:
    def note(title: str, text: str) -> dict[str, Any]:
        return {"title": title, "text": text}

    boiler, cellar = note("Boiler's code", "1234"), note("Cellar", "The boiler is on the left.")
    assert titled([cellar, boiler], ("boiler",)) is boiler
    assert titled([cellar], ("boiler", "left")) is cellar
    assert titled([boiler, note("Boiler", "Old.")], ("BOILER",))["text"] == "Old."
    with pytest.raises(NotFound) as several:
        titled([boiler, note("The boiler", "New.")], ("boiler",))
    assert several.value.message.endswith(f"2 hold that: {shlex.quote(boiler['title'])}, 'The boiler'. Say which.")
    with pytest.raises(NotFound):
        titled([boiler, cellar], ("attic",), "removed note")


def test_runs_are_listed_and_shown_with_their_calls_and_cost(told: Machine) -> None:
    first = run_of(told)
    assert re.search(rf"^{first} .* done", told.call("runs").stdout, re.MULTILINE)
    shown = told.call("runs", "show", first).stdout
    assert "✓ write_note" in shown and "for turn, requests: 2" in shown
    assert read_json(told, "runs", "show", first)["calls"][0]["tool"] == "write_note"
    assert told.call("runs", "--limit", "1").stdout.count("done") == 1
    assert re.search(rf"^{first} .*  remember that the keys are in the drawer$", told.call("runs").stdout, re.MULTILINE)
    assert "\n  ← remember that the keys are in the drawer\n" in shown


def test_the_transcript_of_a_run_is_read(told: Machine) -> None:
    first = run_of(told)
    shown = told.call("runs", "transcript", first).stdout
    assert re.search(r"^\d+  .* you\n    remember that the keys are in the drawer\n", shown, re.MULTILINE)
    assert "  the agent\n" in shown and "    ✓ write_note" in shown
    assert told.call("runs", "transcript", first, "--limit", "1").stdout.startswith("… there is more before: --before ")
    assert read_json(told, "runs", "transcript", first)["conversation"]["kind"] == "home"
    assert told.call("runs", "transcript", "999999").exit_code == 4


def test_a_run_that_does_not_exist_is_not_found(told: Machine) -> None:
    assert told.call("runs", "show", "999999").exit_code == 4
    assert told.call("stop", "999999").exit_code == 4


def test_stopping_says_so_when_there_is_nothing_to_stop(told: Machine) -> None:
    assert told.call("stop").stdout == "dreamwalker is doing nothing in its conversation with you.\n"
    ended = str(read_json(told, "runs")["runs"][0]["id"])
    assert told.call("stop", ended).stdout == f"Run {ended} had ended already: done.\n"
    assert read_json(told, "stop", ended)["state"] == "done"


def test_spend_is_shown_and_a_limit_can_be_raised_for_a_day_or_a_month(told: Machine) -> None:
    assert re.search(r"^\d{4}-\d\d-\d\d: \$0\.00 spent of \$5\.00\n\d{4}-\d\d: ", told.call("spend").stdout)
    assert "of $8.00" in told.call("spend", "raise", "8").stdout.splitlines()[0]
    assert "of $80.00" in told.call("spend", "raise", "80", "--month").stdout.splitlines()[1]
    held = read_json(told, "spend", "--by", "agent")
    assert held["day"]["limit_dollars"] == 8 and held["sums"][0]["name"] == "dreamwalker"
    assert "dreamwalker" in told.call("spend", "--by", "agent", "--month", held["month"]["period"]).stdout


def test_what_is_no_number_of_dollars_is_not_sent(told: Machine) -> None:
    for amount in ("nan", "-nan", "inf", "1e400"):
        answer = told.call("spend", "raise", "--day", "--", amount)
        assert answer.exit_code == 2 and "DOLLARS" in answer.stderr
    for amount in ("NaN", "1e400"):
        assert told.call("settings", "day_limit_dollars", amount).exit_code == 1


def test_what_a_terminal_that_is_not_utf_8_sends_is_taken_as_far_as_it_goes(told: Machine) -> None:
    answer = told.call("notes", "\udcff")
    assert answer.exit_code == 4 and answer.stderr == "No note holds all of: ⟨U+DCFF⟩\n"
    assert told.call("notes", "--agent", "\udcff").exit_code == 4
    answer = told.call("settings", "zone", "\udcff")
    assert answer.exit_code == 1 and "Europe/Vienna" in answer.stderr


def test_a_full_disk_is_told_in_words(told: Machine) -> None:
    with open("/dev/full", "w") as full:
        answer = subprocess.run([*COMMAND, "runs"], stdout=full, stderr=subprocess.PIPE, text=True, env=told.env)
    assert answer.returncode == 1 and answer.stderr.startswith("No space is left") and answer.stderr.count("\n") == 1


def test_a_raise_is_never_lower_and_can_be_taken_back(told: Machine) -> None:
    lower = told.call("spend", "raise", "6")
    assert lower.exit_code != 0 and "is $8.00 already" in lower.stderr
    assert "of $5.00" in told.call("spend", "reset").stdout.splitlines()[0]
    by_kind = told.call("spend", "--by", "kind").stdout
    assert "CACHE READ" in by_kind and "turn" in by_kind


def test_why_leads_back_to_what_the_owner_said(told: Machine) -> None:
    run = run_of(told)
    shown = told.call("why", run).stdout
    assert shown.startswith(f"Run {run}\n") and "← you," in shown and "remember that the keys" in shown
    assert "✓ 1.0 write_note" in shown and "+ version 1 of note" in shown and "for turn, requests: 2" in shown
    note = read_json(told, "notes", "keys")["notes"][0]["id"]
    assert "← you," in told.call("why", "note", f"{note}.1").stdout
    assert "← you," in told.call("why", "note", "keys").stdout
    assert told.call("why", "note", "Unicorns").exit_code == 4
    assert told.call("why", "call", f"{run}.1.0").stdout.startswith(f"Call {run}.1.0: write_note\n")
    assert read_json(told, "why", "run", run)["runs"][0]["run"]["id"] == int(run)
    assert told.call("why", "question", "999999").exit_code == 4


def test_settings_are_shown_one_by_one_or_all_and_set(told: Machine) -> None:
    assert told.call("settings", "zone").stdout.startswith("zone  Europe/Vienna  your time zone")
    assert told.call("settings", "zone", "Asia/Tokyo").stdout.startswith("zone  Asia/Tokyo  ")
    assert told.call("settings", "day_limit_dollars", "3.5").exit_code == 0
    held = read_json(told, "settings")
    assert held["zone"] == "Asia/Tokyo" and held["day_limit_dollars"] == 3.5
    assert "month_limit_dollars" in told.call("settings").stdout


def test_a_setting_that_cannot_be_is_refused_in_the_servers_words(told: Machine) -> None:
    answer = told.call("settings", "zone", "Atlantis")
    assert answer.exit_code == 1 and "Europe/Vienna" in answer.stderr
    answer = told.call("settings", "ask", "maybe")
    assert answer.exit_code == 1
    assert answer.stderr == 'ask is "since-message" or "strict"; not \'maybe\'.\n'
    answer = told.call("settings", "colour", "blue")
    assert answer.exit_code == 4 and "There are zone, day_limit_dollars" in answer.stderr


def test_an_agent_is_made_talked_to_asked_by_another_and_retired(told: Machine) -> None:
    made = told.call("agents", "add", "gardener", "looks", "after", "the", "garden")
    assert made.stdout.startswith("gardener is at work: looks after the garden\n")
    assert re.search(r"^gardener +at work +looks after", told.call("agents").stdout, re.MULTILINE)
    told.run("ask", "--agent", "gardener", "remember that roses are pruned in March")
    elsewhere = told.call("notes", "roses")
    assert elsewhere.exit_code == 4 and elsewhere.stdout == ""
    assert "gardener keeps notes that hold this: dreamwalker notes roses --agent gardener\n" in elsewhere.stderr
    everything = told.call("notes")
    assert everything.exit_code == 0 and "gardener keeps notes of its own" in everything.stderr
    assert "March" in told.call("notes", "--agent", "gardener", "roses").stdout
    answer = told.run("ask", "ask the gardener agent when roses are pruned")
    assert answer.returncode == 0 and "It answers:" in answer.stdout and "March" in answer.stdout
    run = read_json(told, "runs", "--agent", "dreamwalker", "--limit", "1")["runs"][0]["id"]
    assert "gardener: run" in told.call("runs", "show", str(run)).stdout
    changed = told.call("agents", "change", "gardener", "--instructions", "-", "--model", "m-1", input="Be brief.\n")
    assert "model: m-1" in changed.stdout and changed.stdout.endswith("\n\nBe brief.\n")
    assert read_json(told, "agents", "show", "gardener")["instructions"] == "Be brief."
    assert told.call("agents", "change", "gardener", "--default-model").exit_code == 0
    assert told.call("agents", "change", "gardener").exit_code == 2
    granted = told.call("agents", "change", "gardener", "--grant", "netlify")
    assert "granted: netlify" in granted.stdout and "netlify is not set up on this server" in granted.stderr
    assert "granted: nothing" in told.call("agents", "change", "gardener", "--no-grants").stdout
    assert "There is no grant" in told.call("agents", "change", "gardener", "--grant", "all").stderr
    assert "is retired" in told.call("agents", "retire", "gardener").stdout
    refused = told.call("ask", "--agent", "gardener", "hello")
    assert refused.exit_code != 0 and "gardener is retired and answers no more" in refused.stderr
    assert "March" in told.call("notes", "--agent", "gardener").stdout
    assert told.call("agents", "restore", "gardener").stdout.startswith("gardener is at work again")
    assert told.call("agents", "show", "nobody").exit_code == 4


def test_agents_are_made_in_a_chat_too(told: Machine) -> None:
    typed = ("/agents add cook cooks for six", "/agents", "/agents instructions cook Rhyme.", "/agents retire cook")
    said = told.run("chat", input="\n".join([*typed, "/agents dance", ""])).stdout
    assert "cook is at work: cooks for six" in said and "cook, at work: cooks for six" in said and "Rhyme." in said
    assert "cook is retired" in said and "/agents show NAME" in said


def test_a_fresh_start_is_confirmed(told: Machine) -> None:
    answer = told.call("new")
    assert answer.exit_code == 0 and answer.stdout.startswith("A fresh start")


def test_the_doctor_finds_all_well(told: Machine) -> None:
    answer = told.call("doctor")
    assert answer.exit_code == 0, answer.stdout
    for words in (
        "✓ token",
        "✓ server: it answers",
        "✓ database: Postgres",
        "✓ lease",
        "✓ clock",
        "! model: the practice model",
        "✓ zone",
    ):
        assert words in answer.stdout
    assert {finding["subject"] for finding in read_json(told, "doctor")["findings"]} >= {"token", "server", "zone"}


def test_a_server_elsewhere_is_reached_by_its_address_and_token(told: Machine) -> None:
    url = json.loads((told.home / "server.json").read_text())["url"]
    token = (told.home / "token").read_text().strip()
    elsewhere = Machine(environment(told.home.parent / "other", DREAMWALKER_URL=url, DREAMWALKER_TOKEN=token))
    assert "drawer" in elsewhere.call("notes").stdout
    answer = elsewhere.call("notes", DREAMWALKER_TOKEN=OTHER_TOKEN)
    assert answer.exit_code == 3 and "refused the token" in answer.stderr and OTHER_TOKEN not in answer.stderr
    answer = elsewhere.call("--url", "http://127.0.0.1:9", "doctor")
    assert answer.exit_code == 1 and "✗ server: No dreamwalker can be reached" in answer.stdout
    assert not elsewhere.home.exists()
