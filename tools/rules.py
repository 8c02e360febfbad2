"""The rules that a schedule may follow: once, five-field cron, RRULE, every N.

One rule: a rule speaks of wall time and knows no zone; `schedule` makes instants of it. Only "every N" counts real
seconds from its beginning, which the clocks of no zone can disturb.

A rule is kept as text: `2027-01-05T08:00+01:00`, `0 9 * * 1-5`, `FREQ=MONTHLY;BYDAY=-1FR;BYHOUR=18;BYMINUTE=0`,
`every 90 minutes`.
"""

import re
from collections.abc import Iterator
from datetime import datetime, timedelta

import attrs
from cronsim import CronSim, CronSimError

from .recurrence import Recurrence, read_recurrence
from .zones import BadTime


@attrs.frozen
class Once:
    """One wall time, with the offset that it had when the rule was made."""

    at: datetime

    def __str__(self) -> str:
        return self.at.isoformat(timespec="seconds" if self.at.second else "minutes")


@attrs.frozen
class Cron:
    """Five-field cron as Debian's, with names, steps, `L` and `#`."""

    fields: str

    def __str__(self) -> str:
        return self.fields

    def walls(self, after: datetime) -> Iterator[datetime]:
        """The wall times later than `after`; they end when fifty years bring none. Raises CronSimError."""
        return CronSim(self.fields, after)


@attrs.frozen
class Every:
    """So many seconds apart, counted from the schedule's beginning."""

    seconds: int

    def __str__(self) -> str:
        unit, size = next((unit, size) for unit, size in _UNITS if self.seconds % size == 0)
        count = self.seconds // size
        return f"every {count} {unit}{'s' if count > 1 else ''}"

    def instants(self, after: datetime, since: datetime) -> Iterator[datetime]:
        """The instants later than `after`."""
        step, since = timedelta(seconds=self.seconds), since.replace(microsecond=0)
        at = since + max((after - since) // step + 1, 1) * step
        while True:
            yield at
            at += step


Rule = Once | Cron | Every | Recurrence

_UNITS = (("week", 604_800), ("day", 86_400), ("hour", 3600), ("minute", 60))
_LONGEST_SECONDS = 10 * 366 * 86_400
_EVERY = re.compile(
    r"every (?:(\d{1,7}) ?)?(?:(w)(?:eeks?)?|(d)(?:ays?)?|(h)(?:ours?|rs?)?|(m)(?:in(?:ute)?s?)?)", re.IGNORECASE
)
_CRON = re.compile(r"[\d*/,-]+ [\d*/,-]+( [\d*a-z/,#-]+){3,4}", re.IGNORECASE)
_ONCE = re.compile(r"\d{4}-\d\d-\d\dT[\d:]+[+-][\d:]+")


def read_rule(text: str) -> Rule | None:
    """The rule that a text says; None if it looks like none. Raises BadTime if it does but can't be used."""
    text = " ".join(text.split())
    if re.search(r"\bFREQ=", text, re.IGNORECASE):
        return read_recurrence(text)
    if match := _EVERY.fullmatch(text):
        return _every(match[1], (match[match.lastindex or 0]).lower())
    if _ONCE.fullmatch(text):
        return Once(datetime.fromisoformat(text))
    return _cron(text.upper()) if _CRON.fullmatch(text) else None


def _every(count: str | None, unit: str) -> Every:
    if count is None and unit in "dw":
        raise BadTime(
            "That names no time of day. Say for instance “every day 9:00”, “every monday 9:00”, or a cron rule."
        )
    seconds = int(count or 1) * next(size for name, size in _UNITS if name.startswith(unit))
    if not 60 <= seconds <= _LONGEST_SECONDS:
        raise BadTime("The time between two occurrences is from one minute to ten years.")
    return Every(seconds)


def _cron(text: str) -> Cron:
    if len(text.split()) != 5:
        raise BadTime(f"The cron rule {text!r} can't be used: it has five fields (minute, hour, day, month, weekday).")
    rule = Cron(text)
    try:
        never = next(rule.walls(datetime(2000, 1, 1)), None) is None
    except CronSimError as error:
        never = _is_fine_in_some_month(text)
        if not never:
            raise BadTime(f"The cron rule {text!r} can't be used: {str(error).lower()}.") from None
    if never:
        raise BadTime(f"The cron rule {text!r} can't be used: no such day ever comes.")
    return rule


def _is_fine_in_some_month(text: str) -> bool:
    """Whether a rule is refused for its day only since the months that it names are too short."""
    minute, hour, day, month, weekday = text.split()
    try:
        CronSim(f"{minute} {hour} * {month} {weekday}", datetime(2000, 1, 1))
        CronSim(f"{minute} {hour} {day} * {weekday}", datetime(2000, 1, 1))
    except CronSimError:
        return False
    return True
