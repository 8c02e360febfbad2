"""Times as people say them. It is Sunday, 2026-11-29, 21:13 in Vienna."""

from datetime import UTC, datetime

import pytest

from tools.timing import described, read_timing
from tools.zones import BadTime, zone_named

VIENNA = zone_named("Europe/Vienna")
NOW = datetime(2026, 11, 29, 20, 13, tzinfo=UTC)

ONCE = {
    "in 20m": "2026-11-29T21:33+01:00",
    "in 1h30m": "2026-11-29T22:43+01:00",
    "in 1 hour and 30 minutes": "2026-11-29T22:43+01:00",
    "in half an hour": "2026-11-29T21:43+01:00",
    "in an hour": "2026-11-29T22:13+01:00",
    "in two minutes": "2026-11-29T21:15+01:00",
    "in forty-five minutes": "2026-11-29T21:58+01:00",
    "in ninety seconds": "2026-11-29T21:14:30+01:00",
    "in 45s": "2026-11-29T21:13:45+01:00",
    "in 3 days": "2026-12-02T21:13+01:00",
    "in 3 days at 9:00": "2026-12-02T09:00+01:00",
    "in 2 weeks": "2026-12-13T21:13+01:00",
    "in 6 months": "2027-05-29T21:13+02:00",
    "in 2 years": "2028-11-29T21:13+01:00",
    "9:30": "2026-11-30T09:30+01:00",
    "21:30": "2026-11-29T21:30+01:00",
    "at 9:30pm": "2026-11-29T21:30+01:00",
    "9am": "2026-11-30T09:00+01:00",
    "12am": "2026-11-30T00:00+01:00",
    "noon": "2026-11-30T12:00+01:00",
    "today 22:00": "2026-11-29T22:00+01:00",
    "tonight at 22:00": "2026-11-29T22:00+01:00",
    "tomorrow 9:00": "2026-11-30T09:00+01:00",
    "9:00 tomorrow": "2026-11-30T09:00+01:00",
    "the day after tomorrow at 9:00": "2026-12-01T09:00+01:00",
    "friday 18:00": "2026-12-04T18:00+01:00",
    "on Friday at 6 pm": "2026-12-04T18:00+01:00",
    "sunday 22:00": "2026-11-29T22:00+01:00",
    "sunday 20:00": "2026-12-06T20:00+01:00",
    "2027-01-05 08:00": "2027-01-05T08:00+01:00",
    "2027-01-05T08:00": "2027-01-05T08:00+01:00",
    "2027-01-05T08:00:00+05:00": "2027-01-05T04:00+01:00",
    "2027-01-05T08:00Z": "2027-01-05T09:00+01:00",
    "5 jan 8:00": "2027-01-05T08:00+01:00",
    "on the 5th of January 2028 at 8:00": "2028-01-05T08:00+01:00",
    "dec 24 18:00": "2026-12-24T18:00+01:00",
    "29 feb 8:00": "2028-02-29T08:00+01:00",
    "2027-03-28 02:30": "2027-03-28T03:00+02:00",
    "2027-10-31 02:30": "2027-10-31T02:30+02:00",
    "2099-06-01 9:00": "2099-06-01T09:00+02:00",
}

RULES = {
    "every day 9:00": "0 9 * * *",
    "daily at 9:00": "0 9 * * *",
    "weekdays 8:30": "30 8 * * 1-5",
    "every weekday at 8:30": "30 8 * * 1-5",
    "weekends 10:00": "0 10 * * 6,0",
    "mondays 9:00": "0 9 * * 1",
    "every monday and friday at 18:00": "0 18 * * 1,5",
    "every tue, thu 7pm": "0 19 * * 2,4",
    "every 2 hours": "every 2 hours",
    "every 90m": "every 90 minutes",
    "0 9 * * mon-fri": "0 9 * * MON-FRI",
    "freq=daily;byhour=9": "FREQ=DAILY;BYHOUR=9;BYMINUTE=0",
}

REFUSED = {
    "today 9:00": "is past: that was Sunday 2026-11-29 09:00 .* The nearest future reading is Monday 2026-11-30 09:00",
    "yesterday 9:00": "nearest future reading is Monday 2026-11-30 09:00",
    "2026-01-05 08:00": "nearest future reading is Tuesday 2027-01-05 08:00 Europe/Vienna",
    "2024-02-29 08:00": "nearest future reading is Tuesday 2028-02-29 08:00",
    "2026-01-05T08:00Z": "nearest future reading is Tuesday 2027-01-05 09:00",
    "in 0m": "is past",
    "tomorrow": "names no time of day; say for instance “tomorrow 9:00”",
    "2027-01-05": "names no time of day",
    "at 9": "is 9 morning or evening",
    "next friday 18:00": "may mean 2026-12-04 or 2026-12-11",
    "25:00": "a day goes from 0:00 to 23:59",
    "13pm": "a day goes from 0:00 to 23:59",
    "31 feb 8:00": "There is no 31 feb",
    "2027-02-30 8:00": "There is no 2027-02-30",
    "whenever": "can't be read as a time. What can: “in 20m”",
    "05/01 8:00": "can't be read as a day",
    "in 20 parsecs": "can't be read as a time from now",
    "in 5000 years": "more than 100 years",
    "3026-01-01 09:00": "more than 100 years away",
    "every day": "names no time of day",
    "every month": "can't be read as a rule",
    "FREQ=DAILY;BYHOUR=9;UNTIL=20260101": "nothing comes up any more",
    "x" * 600: "too long",
    "": "can't be read",
}


@pytest.mark.parametrize("text", ONCE)
def test_a_time_is_understood_as_people_mean_it(text: str) -> None:
    assert read_timing(text, VIENNA, NOW).first.name == ONCE[text]


@pytest.mark.parametrize("text", RULES)
def test_what_repeats_is_understood_as_a_rule(text: str) -> None:
    assert read_timing(text, VIENNA, NOW).schedule.rule == RULES[text]


@pytest.mark.parametrize("text", REFUSED)
def test_what_is_past_or_not_plain_is_refused_and_says_what_could_be_meant(text: str) -> None:
    with pytest.raises(BadTime, match=REFUSED[text]):
        read_timing(text, VIENNA, NOW)


@pytest.mark.parametrize(
    ("text", "note"),
    [
        ("9:30", "09:30 has passed today, so this is tomorrow."),
        ("2027-03-28 02:30", "Clocks skip 02:30 on that day; it comes up right after."),
        ("2027-10-31 02:30", "Clocks show 02:30 twice on that day; this is the first time."),
        ("in 3 months", "That month has 28 days, so this is its last."),
        ("21:30", ""),
        ("tomorrow 9:00", ""),
    ],
)
def test_what_is_not_plain_in_a_time_is_said_back(text: str, note: str) -> None:
    assert read_timing(text, VIENNA, NOW).note == note


def test_the_answer_names_instant_zone_and_weekday_and_how_long_until_then() -> None:
    timing = read_timing("9:30", VIENNA, NOW)
    assert described(timing.schedule, NOW, timing.note) == (
        "Monday 2026-11-30 09:30 Europe/Vienna (2026-11-30T08:30:00Z), in 12 h 17 min. "
        "09:30 has passed today, so this is tomorrow."
    )


def test_of_what_repeats_the_next_five_are_named() -> None:
    said = described(read_timing("every monday 9:00", VIENNA, NOW).schedule, NOW)
    assert said == (
        "By the rule 0 9 * * 1 (Europe/Vienna), next Monday 2026-11-30 09:00 Europe/Vienna (2026-11-30T08:00:00Z), "
        "in 11 h 47 min. Then Mon 2026-12-07 09:00, Mon 2026-12-14 09:00, Mon 2026-12-21 09:00, Mon 2026-12-28 09:00 "
        "and so on."
    )


def test_in_twenty_minutes_is_twenty_minutes_also_in_the_hour_that_comes_twice() -> None:
    second_half_past_two = datetime(2026, 10, 25, 1, 30, tzinfo=UTC)
    timing = read_timing("in 20m", VIENNA, second_half_past_two)
    assert timing.first.at == datetime(2026, 10, 25, 1, 50, tzinfo=UTC)
    assert timing.first.name == "2026-10-25T02:50+01:00"


def test_days_keep_the_time_of_day_over_a_change_of_the_clocks_and_hours_do_not() -> None:
    before = datetime(2026, 3, 28, 20, tzinfo=UTC)  # 21:00 in Vienna
    assert read_timing("in 1 day", VIENNA, before).first.name == "2026-03-29T21:00+02:00"
    assert read_timing("in 24 hours", VIENNA, before).first.name == "2026-03-29T22:00+02:00"


def test_the_same_words_mean_another_instant_in_another_zone() -> None:
    assert read_timing("tomorrow 9:00", zone_named("Asia/Tokyo"), NOW).first.name == "2026-12-01T09:00+09:00"
