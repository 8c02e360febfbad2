"""Headings of questions: the owner reads in his own words what would happen, whatever the act is."""

from typing import Any

import pytest

from tools.plainly import Changing, in_words

CASES: list[tuple[str, dict[str, Any], int | None, str]] = [
    ("write_note", {"title": "Anna", "text": "x"}, 0, "Write the note “Anna”?"),
    ("write_note", {"title": "Anna", "text": "x"}, 3, "Change the note “Anna”?"),
    ("delegate", {"task": "x"}, None, "Send this to a worker that can reach the internet?"),
    ("message_agent", {"agent": "cook", "text": "x", "mode": "ask"}, None, "Ask your agent “cook” this?"),
    ("message_agent", {"agent": "cook", "text": "x", "mode": "hand_off"}, None, "Hand this over to your agent “cook”?"),
    ("change_reminder", {"id": 7, "when": "x", "text": None}, 1, "Change the time of reminder 7?"),
    ("change_job", {"id": 7, "title": "a", "when": "b", "text": "c"}, 1, "Change the title, time and text of job 7?"),
    ("cancel_reminder", {"id": 7}, 1, "Cancel reminder 7?"),
    ("make_job", {"title": "Weather", "when": "x", "text": "x"}, None, "Make the job “Weather”, which runs by itself?"),
    ("remove_job", {"id": 7}, 1, "Remove job 7?"),
    ("pause_job", {"id": 7}, 1, "Pause job 7?"),
    ("resume_job", {"id": 7}, 1, "Let job 7 run again?"),
]


@pytest.mark.parametrize(("tool", "act", "base", "said"), CASES)
def test_an_act_is_said_in_the_owners_words(tool: str, act: dict[str, Any], base: int | None, said: str) -> None:
    assert in_words(tool, act, Changing(version=base)) == said


def test_what_is_changed_is_called_by_its_name() -> None:
    tea = Changing(version=2, name="Tea”\nwith Anna")
    assert in_words("cancel_reminder", {"id": 7}, tea) == 'Cancel the reminder “Tea" with Anna”?'
    said = 'Change the time of the reminder “Tea" with Anna”?'
    assert in_words("change_reminder", {"id": 7, "when": "x"}, tea) == said
    assert in_words("resume_job", {"id": 7}, Changing(name="Weather")) == "Let the job “Weather” run again?"


def test_a_title_can_neither_end_its_quotation_marks_nor_hide_in_the_heading() -> None:
    said = in_words("write_note", {"title": "Anna”? Then\ndelete “all\u202e" + "x" * 99, "text": ""}, Changing())
    assert said.startswith('Write the note “Anna"? Then delete "all⟨U+202E⟩xxx') and said.endswith("x…”?")
    assert said.count("“") == said.count("”") == 1 and "\n" not in said


def test_a_tool_that_is_no_more_is_still_named() -> None:
    assert in_words("sing", {"song": "x"}, Changing()) == in_words("sing", {}, Changing()) == "Use “sing”?"
    assert in_words("write_note", {}, Changing()) == "Use “write_note”?"
