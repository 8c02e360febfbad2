"""What the practice model makes of words, times and repetitions."""

import re
from datetime import datetime

import pytest

from dreamwalker.practice_rules import understand
from dreamwalker.practice_time import find_schedule, find_when
from dreamwalker.practice_words import plain, slips

NOW = datetime(2026, 11, 29, 14, 40)


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("Hey dreamwalker, could you please list my notes for me? Thanks!", "list my notes"),
        ("I’d like you to remember the milk, please", "remember the milk"),
        ("rember the milk", "remember the milk"),
        ("serach my ntoes", "search my notes"),
        ("In November my member card ends", "In November my member card ends"),
        ("so that you know", "so that you know"),
    ],
)
def test_courtesies_and_slips_are_taken_off(text: str, left: str) -> None:
    assert plain(text.replace("’", "'")).rstrip("?! ") == left


def test_slips_are_counted_with_swaps_as_one() -> None:
    assert [slips("remidn", "remind"), slips("rember", "remember"), slips("x", "")] == [1, 2, 1]


@pytest.mark.parametrize(
    ("text", "at"),
    [
        ("tomorrow at 9", "2026-11-30 09:00"),
        ("in 20 minutes", "2026-11-29 15:00"),
        ("in half an hour", "2026-11-29 15:10"),
        ("in two hours", "2026-11-29 16:40"),
        ("in 3 days at 8", "2026-12-02 08:00"),
        ("on Friday at 5 pm", "2026-12-04 17:00"),
        ("next Monday", "2026-12-07 09:00"),
        ("on Tuesday at 3", "2026-12-01 15:00"),
        ("at 9", "2026-11-29 21:00"),
        ("at 2", "2026-11-30 02:00"),
        ("at 23:30", "2026-11-29 23:30"),
        ("tonight", "2026-11-29 20:00"),
        ("4 May at noon", "2027-05-04 12:00"),
        ("on May 4th, 2028", "2028-05-04 09:00"),
        ("29 February", "2028-02-29 09:00"),
        ("on the 31st", "2026-12-31 09:00"),
        ("2027-01-02 10:00", "2027-01-02 10:00"),
        ("quarter to nine tomorrow evening", "2026-11-30 20:45"),
        ("in a month", "2026-12-29 14:40"),
    ],
)
def test_a_time_is_read_as_local_time_to_come(text: str, at: str) -> None:
    found = find_when(text, NOW)
    assert found is not None
    assert f"{found.at:%Y-%m-%d %H:%M}" == at


@pytest.mark.parametrize("text", ["buy milk", "I may go", "sat down", "room 12", "30 February", "at 25"])
def test_what_is_no_time_is_none(text: str) -> None:
    assert find_when(text, NOW) is None


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("every day at 8", "0 8 * * *"),
        ("each morning", "0 8 * * *"),
        ("every evening at 7", "0 19 * * *"),
        ("every Monday and Thursday at 9:30", "30 9 * * 1,4"),
        ("on Fridays", "0 9 * * 5"),
        ("every weekday at 7am", "0 7 * * 1-5"),
        ("every 15 minutes", "*/15 * * * *"),
        ("hourly", "0 * * * *"),
        ("every other day", "0 9 */2 * *"),
        ("every 2 weeks", "FREQ=WEEKLY;INTERVAL=2;BYHOUR=9;BYMINUTE=0"),
        ("every month on the 3rd", "0 9 3 * *"),
        ("on the 1st of every month", "0 9 1 * *"),
        ("every year on 4 May", "0 9 4 5 *"),
    ],
)
def test_a_repetition_is_read_as_a_rule(text: str, rule: str) -> None:
    found = find_schedule(text)
    assert found is not None
    assert found.rule == rule
    assert re.sub(r"\W", "", found.rest) == ""


def test_no_text_takes_long_to_understand_however_long_it_is() -> None:
    for text in ("please " * 300, "a, " * 650, ". " * 1000, "1:" * 1000, "tell the " * 250, "my is " * 350):
        assert understand(text, NOW).kind
