"""RRULE: the recurrence rules of calendars (RFC 5545), in steps of a day or longer.

One rule: a rule is naive wall time through and through, and finding its next time takes bounded work, whatever it
says.
"""

import re
from collections.abc import Iterator
from datetime import UTC, date, datetime, time, timedelta
from functools import lru_cache

import attrs
from dateutil.rrule import rrule, rrulestr

from .zones import BadTime

_NAMES = (
    "FREQ", "INTERVAL", "COUNT", "WKST", "BYMONTH", "BYMONTHDAY", "BYDAY", "BYYEARDAY", "BYWEEKNO", "BYSETPOS",
    "BYHOUR", "BYMINUTE",
)  # fmt: skip
_STEPS = ("DAILY", "WEEKLY", "MONTHLY", "YEARLY")
_TIMES_A_DAY = 48

# The Gregorian calendar repeats every 400 years, to the weekday. So a rule is reckoned as if it began 7,600 years
# later: there the library's end of time, the year 9999, is four centuries away and not eighty, and a rule that never
# occurs has been searched to that end within half a second.
_FAR_YEARS = 7600


def _far(moment: datetime) -> datetime:
    return moment.replace(year=moment.year + _FAR_YEARS)


@attrs.frozen(kw_only=True)
class Recurrence:
    """A rule: what the library reckons with, where it starts (None: when the schedule does), and its last moment.

    `start` is wall time; so is `until`, unless it is an instant in UTC.
    """

    rule: str
    start: datetime | None = None
    until: datetime | None = None

    def __str__(self) -> str:
        until = "" if self.until is None else f";UNTIL={self.until:%Y%m%dT%H%M%S}{'Z' if self.until.tzinfo else ''}"
        if self.start is None:
            return self.rule + until
        return f"DTSTART:{self.start:%Y%m%dT%H%M%S} RRULE:{self.rule}{until}"

    def walls(self, after: datetime, since: datetime) -> Iterator[datetime]:
        """The wall times later than `after`, were there no end; `since` is the wall time at which the schedule began.

        Without a start of its own it starts with the first whole minute that is not before `since`.
        """
        start = self.start or (since + timedelta(seconds=59, microseconds=999_999)).replace(second=0, microsecond=0)
        for far in _library_rule(self.rule, _far(start)).xafter(_far(after)):
            yield far.replace(year=far.year - _FAR_YEARS)

    def ended(self, wall: datetime, instant: datetime) -> bool:
        """Whether its end lies before this time of it."""
        if self.until is None:
            return False
        return instant > self.until if self.until.tzinfo else wall > self.until


@lru_cache(maxsize=1024)
def _library_rule(text: str, far_start: datetime) -> rrule:
    made = rrulestr(f"{text};BYSECOND=0", dtstart=far_start)
    assert isinstance(made, rrule)
    return made


def read_recurrence(text: str) -> Recurrence:
    """The rule that a text says, `FREQ=…` or `DTSTART:… RRULE:FREQ=…`. Raises BadTime."""
    parts = _parts(text.upper())
    start_text, until_text = parts.pop("DTSTART", None), parts.pop("UNTIL", None)
    if unknown := [name for name in parts if name not in _NAMES]:
        raise _bad(text, f"it has {unknown[0]}, and a rule here has {', '.join(_NAMES)}, UNTIL and DTSTART")
    if parts.get("FREQ") not in _STEPS:
        raise _bad(text, "FREQ is DAILY, WEEKLY, MONTHLY or YEARLY; for shorter steps use cron or “every 2 hours”")
    for name in ("INTERVAL", "COUNT"):
        if not re.fullmatch(r"[1-9]\d{0,3}", parts.get(name, "1")):
            raise _bad(text, f"{name} is a whole number from 1 to 9999")
    if start_text is None and "BYHOUR" not in parts:
        raise _bad(text, "it names no time of day: add BYHOUR=9;BYMINUTE=0, or a DTSTART")
    if "BYHOUR" in parts:
        parts.setdefault("BYMINUTE", "0")
    if parts.get("BYHOUR", "").count(",") + 1 > _TIMES_A_DAY // (parts.get("BYMINUTE", "").count(",") + 1):
        raise _bad(text, f"it occurs more than {_TIMES_A_DAY} times a day; use cron or “every 10 minutes”")
    made = Recurrence(
        rule=";".join(f"{name}={value}" for name, value in parts.items()),
        start=None if start_text is None else _moment(text, start_text),
        until=None if until_text is None else _moment(text, until_text, last=True),
    )
    try:
        _library_rule(made.rule, _far(made.start or datetime(2000, 1, 1)))
    except (ValueError, KeyError, TypeError, IndexError, OverflowError, AssertionError) as error:
        raise _bad(text, str(error)) from None
    return made


def _parts(text: str) -> dict[str, str]:
    parts: dict[str, str] = {}
    for part in re.split(r"[;\s]+", re.sub(r"\bRRULE:", " ", text).replace("DTSTART:", "DTSTART=").strip()):
        name, equals, value = part.partition("=")
        if not equals or not value or name in parts:
            raise _bad(text, f"{part!r} stands where NAME=VALUE should, once for each name")
        parts[name] = value
    return parts


def _moment(text: str, said: str, *, last: bool = False) -> datetime:
    """A DTSTART, which is wall time, or (`last`) an UNTIL, which may be an instant and includes a day that it names."""
    match = re.fullmatch(r"(\d{8})(?:T(\d{6}))?(Z)?", said)
    if match is None or (match[3] and not (last and match[2])):
        raise _bad(text, f"{said} is not a wall time like 20270105T090000 (the zone is given apart)")
    try:
        day = datetime.strptime(match[1], "%Y%m%d").date()
        clock = datetime.strptime(match[2], "%H%M%S").time() if match[2] else time.max if last else None
    except ValueError:
        raise _bad(text, f"there is no {said}") from None
    if clock is None:
        raise _bad(text, f"DTSTART={said} names no time of day, such as {said}T090000")
    return _made(day, clock, utc=bool(match[3]))


def _made(day: date, clock: time, *, utc: bool) -> datetime:
    return datetime.combine(day, clock.replace(microsecond=0), tzinfo=UTC if utc else None)


def _bad(text: str, why: str) -> BadTime:
    return BadTime(f"The rule {text[:200]} can't be used: {why}.")
