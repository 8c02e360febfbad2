"""What is typed wrong is told what was wrong and what to do, by every noun."""

import pytest

from tests.cli.conftest import Machine


@pytest.mark.parametrize(
    ("typed", "says", "code"),
    [
        ("reminders rm 12", "Did you mean `dreamwalker reminders cancel`?", 2),
        ("jobs delete 3", "Did you mean `dreamwalker jobs remove`?", 2),
        ("agents retier cook", "Did you mean `dreamwalker agents retire`?", 2),
        ("agents nobody", "There is no agent of that name.", 4),
        ("runs x", "There is no `dreamwalker runs x`. There are list, show", 2),
        ("why x", "There is no `dreamwalker why x`. There are run, call", 2),
        ("agnets", "Did you mean `dreamwalker agents`?", 2),
        ("yes abc", "'abc' is not the number of anything here.", 2),
        ("no 0", "'0' is not the number of anything here.", 2),
        ("stop 99999999999999999999", "is not the number of anything here.", 2),
        ("runs 999999", "There is no run", 4),
        ("questions 999999", "There is no question", 4),
        ("reminders 999999", "There is no reminder", 4),
        ("ask hi --agent |", "that is no name; `dreamwalker agents` lists them.", 2),
        ("search x --agent nobody", "There is no agent of that name.", 4),
        ("runs --limit x", "'x' is not a valid whole number.", 2),
        ("spend raise x", "'x' is not a valid number of dollars.", 2),
        ("spend raise -5", "-5.0 is not in the range", 2),
        ("retention 3", "3 is not in the range 7<=x", 2),
        ("settings pushes maybe", "pushes is yes or no; not 'maybe'.", 1),
        ("settings day_limit_dollars much", "day_limit_dollars is a number, such as 3 or 2.50; not 'much'.", 1),
        ("settings snooze_minutes 1.5", "snooze_minutes is a whole number, such as 30; not '1.5'.", 1),
        ("settings snooze_minutes -3", "snooze_minutes is a whole number of minutes from 1 to 1,440; not -3.", 1),
        ("settings zone 5", "zone is a name of the IANA list, such as Europe/Vienna; not '5'.", 1),
        ("settings snoze_minutes 5", "There is no setting 'snoze_minutes'. Did you mean snooze_minutes?", 4),
        ("agents add Foo job", "`name` can't be that. Small letters, digits and hyphens, 32 at most", 1),
        ("agents add foo |", "An agent's job has 1 to 300 characters; here there are 0.", 1),
        ("export /nowhere/all.jsonl", "/nowhere/all.jsonl can't be written: No such file or directory.", 1),
        ("backup /dev/null", "Backups can't be kept in /dev/null: File exists.", 1),
    ],
)
def test_what_is_wrong_is_told_in_words(practiced: Machine, typed: str, says: str, code: int) -> None:
    answer = practiced.call(*(word.replace("|", "") for word in typed.split()))
    assert says in answer.stderr and answer.exit_code == code, answer.output
    assert "Traceback" not in answer.stderr and "should not have" not in answer.stderr


def test_settings_are_set_in_the_words_that_people_use_and_say_what_they_are(practiced: Machine) -> None:
    for word, shown in (("off", "no"), ("Yes", "yes"), ("false", "no"), ("true", "yes")):
        assert practiced.call("settings", "pushes", word).stdout.split()[:2] == ["pushes", shown]
    assert practiced.call("settings", "day_limit_dollars", "$5.00").stdout.split()[:2] == ["day_limit_dollars", "5"]
    every = practiced.call("settings").stdout
    assert "0: for ever" in every and "strict: always" in every and max(map(len, every.splitlines())) < 140


def test_without_a_phone_pushes_are_told_once_to_go_nowhere(practiced: Machine) -> None:
    said = practiced.call("pushes")
    assert said.exit_code == 0 and said.stderr.startswith("No phone is set up, so nothing is pushed")
    assert "No phone" not in said.stdout


def test_a_grant_that_is_not_set_up_says_what_it_needs(practiced: Machine) -> None:
    made = practiced.call("agents", "add", "watcher", "watches", "--grant", "netlify")
    assert "granted" not in made.stderr and "It needs DREAMWALKER_NETLIFY_TOKEN and" in made.stderr
