"""The practice model and what is there already: it finds what is meant, changes that, and asks where it can't tell."""

from typing import Any

import pytest

from dreamwalker.practice_answer import turn
from dreamwalker.practice_correct import amended
from dreamwalker.practice_manage import ACTS
from dreamwalker.practice_reports import SIGNATURE, outcome
from storage.records import Question
from tests.shell.practising import TOOLS, WORDINGS, Block, from_outside, owner, result, used
from tools.outside import Source
from tools.questions import tell

REMINDERS = """\
- reminder 17: Friday 2026-12-04 18:00 Europe/Vienna (2026-12-04T17:00:00Z), in 5 days 3 h.
  Water the plants.
- reminder 14: By the rule 0 8 * * * (Europe/Vienna), next Monday 2026-11-30 08:00 Europe/Vienna, in 17 h.
  Take my pills.
- reminder 12: Tuesday 2026-12-01 16:00 Europe/Vienna (2026-12-01T15:00:00Z), in 2 days 1 h.
  Call mum."""
JOBS = """\
- job 6 “News digest”: It is paused. Its rule is 0 9 * * 1 (Europe/Vienna).
  What is new?
- job 5 “Weather”: By the rule 0 7 * * * (Europe/Vienna), next Monday 2026-11-30 07:00 Europe/Vienna, in 16 h.
  Will it rain?"""
LISTS = {"reminder": REMINDERS, "job": JOBS}


def answered(*messages: Block) -> Any:
    return turn({"messages": list(messages), "tools": list(TOOLS)})


def after_listing(kind: str, text: str, *before: Block) -> Any:
    """What it does once it has seen what there is."""
    act = ACTS[kind]
    return answered(*before, owner(text), used(act.lists, {}, "l"), result(LISTS[act.thing], id="l"))


@pytest.mark.parametrize("kind", ACTS)
def test_what_is_meant_is_found_in_many_wordings_and_done(kind: str) -> None:
    for text, expected in WORDINGS[kind]:
        (looks,) = answered(owner(text)).uses
        assert (looks.name, looks.arguments) == (ACTS[kind].lists, {}), text
        done = after_listing(kind, text)
        if expected == "?":
            assert not done.uses and f"Which {ACTS[kind].thing} shall I {ACTS[kind].verb}?" in done.text, (text, done)
            continue
        (use,) = done.uses
        id, _, when = expected.partition("|")
        assert (use.name, use.arguments["id"], use.arguments.get("when", "")) == (kind, int(id), when), (text, use)


def test_which_one_is_answered_by_a_number_or_a_word() -> None:
    asked = after_listing("cancel_reminder", "cancel the reminder")
    before = [owner("cancel the reminder"), {"role": "assistant", "content": [{"type": "text", "text": asked.text}]}]
    for reply, id in (("12", 12), ("number 14", 14), ("the one about the plants", 17), ("mum", 12)):
        (use,) = after_listing("cancel_reminder", reply, *before).uses
        assert (use.name, use.arguments) == ("cancel_reminder", {"id": id}), reply
    assert not answered(*before, owner("none")).uses


def test_the_reminder_is_the_one_that_was_just_set() -> None:
    made = [
        owner("remind me on Friday at 6 pm to water the plants"),
        used("set_reminder", {"when": "2026-12-04 18:00", "text": "Water the plants."}, "s"),
        result("Set: reminder 17. Friday 2026-12-04 18:00 Europe/Vienna, in 5 days.", id="s"),
        {"role": "assistant", "content": [{"type": "text", "text": "Done."}]},
    ]
    (use,) = after_listing("cancel_reminder", "cancel the reminder", *made).uses
    assert use.arguments == {"id": 17}
    (use,) = after_listing("change_reminder", "change the reminder to 5", *made).uses
    assert use.arguments == {"id": 17, "when": "2026-12-04 17:00"}
    (use,) = answered(*made, owner("No, at 7.")).uses
    assert (use.name, use.arguments) == ("change_reminder", {"id": 17, "when": "2026-12-04 19:00"})
    (use,) = answered(*made, owner("make it 8")).uses
    assert use.arguments == {"id": 17, "when": "2026-12-04 20:00"}


def test_where_there_is_nothing_or_no_such_number_it_says_so() -> None:
    text = "cancel reminder 99"
    assert "There is no reminder 99." in after_listing("cancel_reminder", text).text
    none = answered(owner("pause the job"), used("list_jobs", {}, "l"), result("There are no jobs.", id="l"))
    assert not none.uses and "There is no job that I could pause." in none.text
    assert "To when?" in after_listing("change_reminder", "change the mum reminder").text


@pytest.mark.parametrize(
    ("came", "says"),
    [
        ("Changed: reminder 12. Tuesday 2026-12-01 17:00.", "I've changed reminder 12. Tuesday 2026-12-01 17:00."),
        ("Cancelled: reminder 12. It is removed.", "Reminder 12 is cancelled."),
        ("Paused: job 5. It is paused. Its rule is 0 7 * * * (UTC).", "Job 5 is paused. Its rule is 0 7 * * * (UTC)."),
        ("Resumed: job 5. By the rule 0 7 * * *.", "Job 5 goes on. By the rule 0 7 * * *."),
        ("Made: job 5. By the rule 0 7 * * *.", "That is job 5 now. By the rule 0 7 * * *."),
        ("Set: reminder 12. Tuesday 16:00.", "I'll remind you. This is reminder 12: Tuesday 16:00."),
    ],
)
def test_what_was_done_is_said_in_a_sentence(came: str, says: str) -> None:
    done = answered(owner("cancel the reminder about mum"), used("cancel_reminder", {"id": 12}), result(came))
    assert done.text.splitlines()[0] == says


def test_what_was_just_done_is_taken_back() -> None:
    made = [
        owner("remind me on Friday at 6 pm to water the plants"),
        used("set_reminder", {"when": "2026-12-04 18:00", "text": "Water the plants."}),
        result("Set: reminder 17. Friday 2026-12-04 18:00 Europe/Vienna, in 5 days."),
        {"role": "assistant", "content": [{"type": "text", "text": "Done."}]},
    ]
    for text in ("cancel it", "Undo that, please", "delete that again"):
        (use,) = answered(*made, owner(text)).uses
        assert (use.name, use.arguments) == ("cancel_reminder", {"id": 17})
    assert "I don't know what to take back." in answered(owner("undo that")).text


@pytest.mark.parametrize(
    ("text", "question"),
    [
        ("ask me if you should go on", "Should I go on?"),
        ("ask me whether I want tea", "Do you want tea?"),
        ("ask me if I am ready", "Are you ready?"),
        ("ask me", "Should you go on?"),
        ("ask me whether the door is closed", "Is the door closed?"),
    ],
)
def test_what_he_wants_to_be_asked_is_asked_as_a_question(text: str, question: str) -> None:
    (use,) = answered(owner(text)).uses
    assert (use.name, use.arguments["question"]) == ("ask_owner", question)


@pytest.mark.parametrize(
    "text",
    [
        "I have a job interview at 9",
        "every day check the job market",
        "remind me about the job offer at 6",
        "my job is fun",
    ],
)
def test_a_job_that_is_the_owners_own_is_not_taken_for_one_of_its(text: str) -> None:
    assert not {use.name for use in answered(owner(text)).uses} & {"list_jobs", "list_reminders"}


@pytest.mark.parametrize(
    ("due", "says"),
    [
        ("Due Tuesday 2026-12-01 16:00 Europe/Vienna (2026-12-01T15:00:00Z):\nCall mum.", "“Call mum.”"),
        (
            "Due Tuesday 2026-12-01 16:00 Europe/Vienna (2026-12-01T15:00:00Z), so 18 min 5 s late, since dreamwalker "
            "slept or was stopped:\nCall mum.\nAnd dad.",
            "“Call mum. And dad.” (18 min 5 s late)",
        ),
    ],
)
def test_a_reminder_that_comes_up_is_told_by_its_text(due: str, says: str) -> None:
    told = answered(from_outside(due, Source.REMINDER)).text
    assert told.splitlines()[0] == f"Your reminder is due: {says}"


# -- corrections


@pytest.mark.parametrize(
    ("old", "correction", "new"),
    [
        ("My sister's birthday is on 4 April.", "it's in May", "My sister's birthday is on 4 May."),
        ("My sister's birthday is on 4 April.", "5 May", "My sister's birthday is on 5 May."),
        ("The plumber comes on Tuesday.", "on Wednesday", "The plumber comes on Wednesday."),
        ("My dentist is Dr. Huber.", "it's Dr. Maier", "My dentist is Dr. Maier."),
        ("The meeting is at 10:30.", "at 11:15", "The meeting is at 11:15."),
        ("Anna likes tulips.", "not tulips but roses", "Anna likes roses."),
        ("Anna likes tulips.", "roses, not tulips", "Anna likes roses."),
        ("Anna likes tulips.", "roses instead of tulips", "Anna likes roses."),
        ("The keys are in the drawer.", "they are on the table", "The keys are on the table."),
        ("Rent is 900.", "it's 950", "Rent is 950."),
        ("Anna likes tulips.", "in the garden", "Anna likes tulips. Correction: In the garden."),
    ],
)
def test_a_correction_takes_the_place_of_what_it_corrects(old: str, correction: str, new: str) -> None:
    assert amended(old, correction) == new


@pytest.mark.parametrize(
    "said",
    [
        "No, it's in May",
        "no, in May",
        "Sorry, it's in May.",
        "actually it's in May",
        "That's wrong, it's in May",
        "correction: May",
        "I meant May",
        "oops, May",
        "wait, it should be in May",
        "May, not April",
        "No: not April but May!",
        "not 4 April, 4 May",
        "I said May",
        "that should be May",
        "it was May, sorry",
        "wrong month, it's May",
        "no no, May",
    ],
)
def test_a_note_is_corrected_in_many_wordings(said: str) -> None:
    noted = {"title": "Sister's birthday", "text": "My sister's birthday is on 4 April."}
    before = [
        owner("remember that my sister's birthday is on 4 April"),
        used("write_note", noted),
        result("Written: the note “Sister's birthday”."),
        {"role": "assistant", "content": [{"type": "text", "text": "I've made a note."}]},
    ]
    (use,) = answered(*before, owner(said)).uses
    assert use.name == "write_note"
    assert use.arguments == {"title": "Sister's birthday", "text": "My sister's birthday is on 4 May."}


def test_what_was_just_read_out_is_corrected_too_and_nothing_is_said_to_be_nothing() -> None:
    found = "“Sister”, version 2, 2026-11-20:\nMy sister's birthday is on 4 April."
    before = [owner("when is my sister's birthday?"), used("search_notes", {"query": "sister birthday"}), result(found)]
    spoken = {"role": "assistant", "content": [{"type": "text", "text": "In your notes it says: …"}]}
    (use,) = answered(*before, spoken, owner("no, it's in May")).uses
    assert use.arguments == {"title": "Sister", "text": "My sister's birthday is on 4 May."}
    assert "I don't know what that corrects." in answered(owner("no, it's in May")).text


# -- forgetting


def test_what_should_be_forgotten_is_looked_for_and_he_is_told_how_to_remove_it() -> None:
    for text, expected in WORDINGS["forget"]:
        (use,) = answered(owner(text)).uses
        assert (use.name, use.arguments) == ("search_notes", {"query": expected}), (text, use)
    found = "“Car”, version 2, 2026-11-20:\nThe car is red."
    told = answered(owner("forget about the car"), used("search_notes", {"query": "car"}), result(found))
    assert "That stands in “Car”." in told.text and "dreamwalker notes rm Car," in told.text
    told = answered(
        owner("forget the car"), used("search_notes", {"query": "car"}), result("No note holds all of: car")
    )
    assert "There is no note about “car”" in told.text


def test_never_minding_changes_nothing() -> None:
    for text, _ in WORDINGS["never_mind"]:
        assert answered(owner(text)).text.startswith("All right."), text


# -- what was decided


def question(state: str, answer: str | None, kind: str = "act") -> Question:
    fields: dict[str, Any] = dict.fromkeys(Question.columns().split(", "))
    act = '{"title":"X"}'
    return Question(
        **fields | {"id": 89, "state": state, "answer": answer, "kind": kind, "tool": "write_note", "act": act}
    )


@pytest.mark.parametrize(
    ("decided", "says"),
    [
        (question("answered", "yes"), "You said yes to question 89, so I do it."),
        (question("answered", "no"), "You said no to question 89, so nothing was done."),
        (question("expired", None), "Question 89 was not answered in time, so nothing was done."),
        (question("answered", "Tea", "choice"), "You answered: “Tea”"),
        (question("answered", "", "choice"), "You gave no answer."),
        (question("changed", None), "You said yes, but what it changes had changed: nothing was done."),
        (question("superseded", None), "A newer question has taken the place of that one, so nothing was done."),
    ],
)
def test_every_outcome_of_a_question_is_said_in_a_sentence(decided: Question, says: str) -> None:
    assert outcome(tell(decided, False)) == outcome(tell(decided, True)) == says
    told = answered(owner("remember x y z"), used("write_note", {"text": "X"}), result(tell(decided, False)))
    assert told.text == f"{says}\n\n{SIGNATURE}"


@pytest.mark.parametrize(
    ("result_text", "says"),
    [
        ("Cancelled: reminder 134. It is removed.", "Reminder 134 is cancelled."),
        ("Paused: job 12. It is paused. Its rule is x.", "Job 12 is paused. Its rule is x."),
        ("Written: the note “Boiler”, version 1.", "It came to this: “Written: the note “Boiler”, version 1.”"),
    ],
)
def test_what_a_late_yes_came_to_is_said_and_not_taken_for_an_order(result_text: str, says: str) -> None:
    decided = from_outside(tell(question("answered", "yes"), True), Source.OUTCOME)
    before = (owner("cancel the reminder"), {"role": "assistant", "content": [{"type": "text", "text": "Wait."}]})
    told = answered(*before, decided, {"role": "user", "content": [{"type": "text", "text": result_text}]})
    assert told.text == f"You said yes to question 89, so I do it.\n\n{says}\n\n{SIGNATURE}" and not told.uses


def test_of_two_reminders_with_the_same_text_it_asks_which() -> None:
    listed = """\
- reminder 18: Saturday 2026-12-05 18:00 Europe/Vienna (2026-12-05T17:00:00Z), in 6 days 3 h.
  Water the plants.
- reminder 17: Friday 2026-12-04 18:00 Europe/Vienna (2026-12-04T17:00:00Z), in 5 days 3 h.
  Water the plants."""
    made = (owner("x"), used("set_reminder", {"text": "Water the plants."}, "s"), result("Set: reminder 18.", id="s"))
    for text in ("cancel the reminder", "cancel the reminder about the plants"):
        told = answered(*made, owner(text), used("list_reminders", {}, "l"), result(listed, id="l"))
        assert not told.uses and "Which reminder shall I cancel? Say its number." in told.text
        assert "- 18: Water the plants. (2026-12-05 18:00)\n- 17: Water the plants. (2026-12-04 18:00)" in told.text
