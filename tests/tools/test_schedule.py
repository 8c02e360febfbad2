"""When rules come up, in zones whose clocks are set forward, back, by half an hour, by a day and for Ramadan.

The expected times were worked out by hand from calendars and from the transitions as the zones' governments set them;
that each wall time with its offset is a time that clocks there really showed was checked with GNU date, which reads
zone data by itself.
"""

from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest

from tools.rules import read_rule
from tools.schedule import Schedule
from tools.zones import BadTime, zone_named

VIENNA, NEW_YORK, KOLKATA = "Europe/Vienna", "America/New_York", "Asia/Kolkata"
LORD_HOWE, APIA, CASABLANCA = "Australia/Lord_Howe", "Pacific/Apia", "Africa/Casablanca"

TABLE: tuple[tuple[str, str, str, list[str]], ...] = (
    # rule, zone, what is asked for later than, and what comes up then
    # -- Vienna: 2026-03-29 02:00 -> 03:00, 2026-10-25 03:00 -> 02:00
    ("30 2 * * *", VIENNA, "2026-03-28T00:00Z",
     ["2026-03-28T02:30+01:00", "2026-03-29T03:00+02:00", "2026-03-30T02:30+02:00"]),
    ("30 2 * * *", VIENNA, "2026-10-24T00:00Z",
     ["2026-10-24T02:30+02:00", "2026-10-25T02:30+02:00", "2026-10-26T02:30+01:00"]),
    ("0 * * * *", VIENNA, "2026-03-28T23:30Z",
     ["2026-03-29T01:00+01:00", "2026-03-29T03:00+02:00", "2026-03-29T04:00+02:00"]),
    ("0 * * * *", VIENNA, "2026-10-24T23:30Z",
     ["2026-10-25T02:00+02:00", "2026-10-25T03:00+01:00", "2026-10-25T04:00+01:00"]),
    ("*/20 2 * * *", VIENNA, "2026-03-29T00:00Z", ["2026-03-29T03:00+02:00", "2026-03-30T02:00+02:00"]),
    ("0 9 * * 1-5", VIENNA, "2026-11-27T08:00Z", ["2026-11-30T09:00+01:00", "2026-12-01T09:00+01:00"]),
    ("0 3 * * *", VIENNA, "2026-03-28T12:00Z", ["2026-03-29T03:00+02:00", "2026-03-30T03:00+02:00"]),
    # -- New York: 2026-03-08 02:00 -> 03:00, 2026-11-01 02:00 -> 01:00
    ("15 2 * * *", NEW_YORK, "2026-03-07T12:00Z", ["2026-03-08T03:00-04:00", "2026-03-09T02:15-04:00"]),
    ("30 1 * * *", NEW_YORK, "2026-10-31T12:00Z", ["2026-11-01T01:30-04:00", "2026-11-02T01:30-05:00"]),
    ("30 1 * * *", NEW_YORK, "2026-11-01T05:45Z", ["2026-11-02T01:30-05:00"]),
    ("FREQ=DAILY;BYHOUR=2,3;BYMINUTE=0", NEW_YORK, "2026-03-07T12:00Z",
     ["2026-03-08T03:00-04:00", "2026-03-09T02:00-04:00", "2026-03-09T03:00-04:00"]),
    # -- Kolkata: half past everything, and never changed
    ("0 9 * * *", KOLKATA, "2026-03-28T04:00Z", ["2026-03-29T09:00+05:30", "2026-03-30T09:00+05:30"]),
    ("FREQ=WEEKLY;BYDAY=SU;BYHOUR=0;BYMINUTE=15", KOLKATA, "2026-10-24T00:00Z",
     ["2026-10-25T00:15+05:30", "2026-11-01T00:15+05:30"]),
    # -- Lord Howe: by half an hour, 2026-04-05 02:00 -> 01:30, 2026-10-04 02:00 -> 02:30
    ("45 1 * * *", LORD_HOWE, "2026-04-04T00:00Z", ["2026-04-05T01:45+11:00", "2026-04-06T01:45+10:30"]),
    ("0 2 * * *", LORD_HOWE, "2026-04-04T00:00Z", ["2026-04-05T02:00+10:30", "2026-04-06T02:00+10:30"]),
    ("15 2 * * *", LORD_HOWE, "2026-10-03T00:00Z", ["2026-10-04T02:30+11:00", "2026-10-05T02:15+11:00"]),
    ("*/10 2 4 10 *", LORD_HOWE, "2026-10-03T00:00Z",
     ["2026-10-04T02:30+11:00", "2026-10-04T02:40+11:00", "2026-10-04T02:50+11:00"]),
    # -- Apia: there was no 2011-12-30
    ("0 9 * * *", APIA, "2011-12-28T20:00Z",
     ["2011-12-29T09:00-10:00", "2011-12-31T00:00+14:00", "2011-12-31T09:00+14:00"]),
    ("0 * 30 12 *", APIA, "2011-12-28T20:00Z", ["2011-12-31T00:00+14:00", "2012-12-30T00:00+14:00"]),
    ("FREQ=WEEKLY;BYDAY=FR;BYHOUR=18", APIA, "2011-12-25T00:00Z", ["2011-12-31T00:00+14:00", "2012-01-06T18:00+14:00"]),
    # -- Casablanca: back for Ramadan on 2026-02-15 03:00 -> 02:00, forth again on 2026-03-22 02:00 -> 03:00
    ("30 2 * * *", CASABLANCA, "2026-02-14T12:00Z", ["2026-02-15T02:30+01:00", "2026-02-16T02:30+00:00"]),
    ("30 2 * * *", CASABLANCA, "2026-03-21T12:00Z", ["2026-03-22T03:00+01:00", "2026-03-23T02:30+01:00"]),
    ("0 20 * * *", CASABLANCA, "2026-02-14T12:00Z", ["2026-02-14T20:00+01:00", "2026-02-15T20:00+00:00"]),
    # -- midnight that does not exist, or comes twice: Beirut, the Azores, Santiago
    ("0 0 * * *", "Asia/Beirut", "2026-03-28T12:00Z", ["2026-03-29T01:00+03:00", "2026-03-30T00:00+03:00"]),
    ("30 0 * * *", "Atlantic/Azores", "2026-10-24T12:00Z", ["2026-10-25T00:30+00:00", "2026-10-26T00:30-01:00"]),
    ("0 0 * * *", "America/Santiago", "2026-09-05T12:00Z", ["2026-09-06T01:00-03:00", "2026-09-07T00:00-03:00"]),
    # -- a quarter of an hour: Chatham, 2026-04-05 03:45 -> 02:45
    ("0 3 * * *", "Pacific/Chatham", "2026-04-04T00:00Z", ["2026-04-05T03:00+13:45", "2026-04-06T03:00+12:45"]),
    # -- 29 February, the 31st, the last day, the fifth Friday
    ("0 9 29 2 *", VIENNA, "2026-01-01T00:00Z", ["2028-02-29T09:00+01:00", "2032-02-29T09:00+01:00"]),
    ("FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=29;BYHOUR=9", NEW_YORK, "2096-03-01T00:00Z", ["2104-02-29T09:00-05:00"]),
    ("0 9 31 * *", VIENNA, "2026-01-31T08:00Z",
     ["2026-03-31T09:00+02:00", "2026-05-31T09:00+02:00", "2026-07-31T09:00+02:00", "2026-08-31T09:00+02:00"]),
    ("FREQ=MONTHLY;BYMONTHDAY=31;BYHOUR=9", NEW_YORK, "2026-09-01T00:00Z",
     ["2026-10-31T09:00-04:00", "2026-12-31T09:00-05:00", "2027-01-31T09:00-05:00"]),
    ("0 9 L * *", KOLKATA, "2028-01-01T00:00Z", ["2028-01-31T09:00+05:30", "2028-02-29T09:00+05:30"]),
    ("FREQ=MONTHLY;BYMONTHDAY=-1;BYHOUR=9", KOLKATA, "2027-02-01T00:00Z",
     ["2027-02-28T09:00+05:30", "2027-03-31T09:00+05:30"]),
    ("0 18 * * FRI#5", VIENNA, "2026-01-01T00:00Z",
     ["2026-01-30T18:00+01:00", "2026-05-29T18:00+02:00", "2026-07-31T18:00+02:00", "2026-10-30T18:00+01:00"]),
    ("FREQ=MONTHLY;BYDAY=5FR;BYHOUR=18", NEW_YORK, "2026-06-01T00:00Z",
     ["2026-07-31T18:00-04:00", "2026-10-30T18:00-04:00", "2027-01-29T18:00-05:00"]),
    ("FREQ=MONTHLY;BYDAY=-1FR;BYHOUR=18", VIENNA, "2026-11-29T00:00Z",
     ["2026-12-25T18:00+01:00", "2027-01-29T18:00+01:00"]),
    ("FREQ=MONTHLY;BYDAY=MO,TU,WE,TH,FR;BYSETPOS=-1;BYHOUR=17", VIENNA, "2026-10-01T00:00Z",
     ["2026-10-30T17:00+01:00", "2026-11-30T17:00+01:00"]),
    # -- every other week, an end, a count, a start of its own
    ("DTSTART:20261102T080000 RRULE:FREQ=WEEKLY;INTERVAL=2", VIENNA, "2026-11-03T00:00Z",
     ["2026-11-16T08:00+01:00", "2026-11-30T08:00+01:00"]),
    ("FREQ=DAILY;BYHOUR=9;UNTIL=20261203", VIENNA, "2026-12-01T12:00Z",
     ["2026-12-02T09:00+01:00", "2026-12-03T09:00+01:00"]),
    ("FREQ=DAILY;BYHOUR=9;UNTIL=20261203T075959Z", VIENNA, "2026-12-01T12:00Z", ["2026-12-02T09:00+01:00"]),
    ("FREQ=DAILY;BYHOUR=9;COUNT=2", VIENNA, "2026-12-01T12:00Z", ["2026-12-02T09:00+01:00", "2026-12-03T09:00+01:00"]),
    # -- every N: real time, whatever the clocks show
    ("every 2 hours", VIENNA, "2026-03-28T23:30Z", ["2026-03-29T01:30:00Z", "2026-03-29T03:30:00Z"]),
    ("every 90 minutes", LORD_HOWE, "2026-04-04T14:00Z", ["2026-04-04T15:30:00Z", "2026-04-04T17:00:00Z"]),
    ("every 1 day", NEW_YORK, "2026-03-07T17:00Z", ["2026-03-08T17:00:00Z", "2026-03-09T17:00:00Z"]),
    # -- once; when the zone has changed its offset since, the wall time stays
    ("2027-06-01T09:00+02:00", VIENNA, "2026-01-01T00:00Z", ["2027-06-01T09:00+02:00"]),
    ("2027-06-01T09:00+01:00", VIENNA, "2026-01-01T00:00Z", ["2027-06-01T09:00+02:00"]),
    ("2026-10-25T02:30+01:00", VIENNA, "2026-01-01T00:00Z", ["2026-10-25T02:30+01:00"]),
)  # fmt: skip


def schedule(rule: str, zone: str, since: str) -> Schedule:
    read = read_rule(rule)
    assert read is not None
    return Schedule(rule=str(read), zone=zone_named(zone), since=datetime.fromisoformat(since))


def test_the_table_holds_at_least_sixty_instants() -> None:
    assert sum(len(expected) for *_, expected in TABLE) >= 60


@pytest.mark.parametrize(("rule", "zone", "after", "expected"), TABLE, ids=[f"{r} {z} {a}" for r, z, a, _ in TABLE])
def test_a_rule_comes_up_when_it_should(rule: str, zone: str, after: str, expected: list[str]) -> None:
    it = schedule(rule, zone, after)
    slots = it.upcoming(it.since, len(expected))
    assert [slot.name for slot in slots] == expected
    assert [slot.at for slot in slots] == [datetime.fromisoformat(name) for name in expected]


@pytest.mark.parametrize(("rule", "zone", "after", "expected"), TABLE, ids=[f"{r} {z} {a}" for r, z, a, _ in TABLE])
def test_asking_slot_by_slot_gives_the_same(rule: str, zone: str, after: str, expected: list[str]) -> None:
    it, found, at = schedule(rule, zone, after), [], datetime.fromisoformat(after)
    while len(found) < len(expected) and (slot := it.next_after(at)):
        found.append(slot.name)
        at = slot.at
    assert found == expected


def test_what_ends_has_no_next_slot() -> None:
    it = schedule("FREQ=DAILY;BYHOUR=9;COUNT=2", VIENNA, "2026-12-01T12:00Z")
    assert it.next_after(datetime(2026, 12, 3, 8, tzinfo=UTC)) is None
    assert len(it.upcoming(it.since)) == 2


def test_no_slot_is_earlier_than_the_schedule() -> None:
    it = schedule("0 9 * * *", VIENNA, "2026-12-01T08:00Z")
    first = it.next_after(datetime(2026, 1, 1, tzinfo=UTC))
    assert first is not None and first.name == "2026-12-02T09:00+01:00"


def test_slots_between_two_instants_leave_out_the_first_and_hold_the_second() -> None:
    it = schedule("0 9 * * *", VIENNA, "2026-12-01T00:00Z")
    between = it.slots_between(datetime(2026, 12, 1, 8, tzinfo=UTC), datetime(2026, 12, 3, 8, tzinfo=UTC))
    assert [slot.name for slot in between] == ["2026-12-02T09:00+01:00", "2026-12-03T09:00+01:00"]


@pytest.mark.parametrize("zone", [VIENNA, NEW_YORK, KOLKATA, LORD_HOWE, CASABLANCA, "America/St_Johns"])
@pytest.mark.parametrize(
    "rule", ["30 * * * *", "30 2 * * *", "FREQ=DAILY;BYHOUR=1,2,3;BYMINUTE=0,30", "every 45 minutes"]
)
def test_over_a_year_slots_only_go_forward_and_no_name_comes_twice(rule: str, zone: str) -> None:
    it = schedule(rule, zone, "2026-01-01T00:00Z")
    slots = list(it.slots_between(it.since, it.since + timedelta(days=366)))
    assert all(earlier.at < later.at for earlier, later in pairwise(slots))
    assert len({slot.name for slot in slots}) == len(slots) > 360


def test_years_from_now_are_reached() -> None:
    far = schedule("2099-06-01T09:00+02:00", VIENNA, "2026-01-01T00:00Z")
    assert [slot.name for slot in far.upcoming(far.since)] == ["2099-06-01T09:00+02:00"]
    leap = schedule("0 9 29 2 1", VIENNA, "2026-01-01T00:00Z")
    assert leap.next_after(leap.since) is not None


@pytest.mark.parametrize(
    ("rule", "why"),
    [
        ("99 * * * *", "bad minute"),
        ("0 0 31 2 *", "no such day ever comes"),
        ("0 0 30,31 FEB *", "no such day ever comes"),
        ("0 0 32 2 *", "bad day-of-month"),
        ("0 0 31 13 *", "bad month"),
        ("0 0 9 * * *", "five fields"),
        ("FREQ=DAILY", "no time of day"),
        ("FREQ=HOURLY;BYHOUR=9", "for shorter steps use cron"),
        ("FREQ=DAILY;BYHOUR=25", "can't be used"),
        ("FREQ=DAILY;BYHOUR=9;INTERVAL=0", "whole number"),
        ("FREQ=DAILY;BYHOUR=9;BYEASTER=1", "BYEASTER"),
        ("FREQ=DAILY;BYHOUR=9;BYSECOND=5", "BYSECOND"),
        ("FREQ=DAILY;BYHOUR=9;UNTIL=20261301", "there is no"),
        ("DTSTART:20260101T090000Z RRULE:FREQ=DAILY", "the zone is given apart"),
        ("FREQ=DAILY;BYHOUR=" + ",".join(str(h) for h in range(24)) + ";BYMINUTE=0,20,40", "48 times a day"),
        ("every 0 minutes", "one minute to ten years"),
        ("every day", "no time of day"),
    ],
)
def test_a_rule_that_cannot_be_used_is_refused_with_the_reason(rule: str, why: str) -> None:
    with pytest.raises(BadTime, match=why):
        read_rule(rule)


@pytest.mark.parametrize(
    "rule", ["FREQ=DAILY;BYMONTH=2;BYMONTHDAY=30;BYHOUR=9", "FREQ=MONTHLY;BYDAY=1FR;BYSETPOS=2;BYHOUR=9"]
)
def test_a_recurrence_that_never_occurs_is_found_out_in_bounded_time(rule: str) -> None:
    it = schedule(rule, VIENNA, "2026-01-01T00:00Z")
    assert it.next_after(it.since) is None


@pytest.mark.parametrize("rule", sorted({rule for rule, *_ in TABLE}))
def test_a_rule_as_text_is_read_as_the_same_rule(rule: str) -> None:
    assert read_rule(str(read_rule(rule))) == read_rule(rule)


def test_there_is_no_zone_of_a_name_that_nobody_knows() -> None:
    for name in ("", "Mars/Olympus", "../etc/passwd", "Europe", "Europe/Vienna\0"):
        with pytest.raises(BadTime, match="There is no zone"):
            zone_named(name)
