"""When things come up, once more and in another way: the oracle of the year.

One rule: nothing here uses the product's reckoning. A pattern is days and times of day; it is counted out day by day,
and an hour that clocks skip or repeat is found by looking at every minute around it.
"""

import calendar
import random
from collections.abc import Iterator
from datetime import UTC, date, datetime, time, timedelta
from functools import lru_cache
from zoneinfo import ZoneInfo

import attrs

ZONES = (
    "Europe/Vienna", "Europe/London", "America/New_York", "America/Los_Angeles", "America/St_Johns",
    "America/Santiago", "Australia/Sydney", "Australia/Lord_Howe", "Pacific/Chatham", "Africa/Casablanca",
    "Atlantic/Azores", "Asia/Beirut",
)  # fmt: skip
"""Twelve zones whose clocks are changed twice in 2026 or oftener: by half an hour, at midnight, for Ramadan."""

_MINUTE = timedelta(minutes=1)
_CRON_DAYS = ("1", "2", "3", "4", "5", "6", "0")
_RRULE_DAYS = ("MO", "TU", "WE", "TH", "FR", "SA", "SU")


@attrs.frozen(kw_only=True)
class Days:
    """Which days, as sets that must all hold (empty: any), and the count of a weekday in its month (0: any)."""

    weekdays: frozenset[int] = frozenset()
    month_days: frozenset[int] = frozenset()
    nth: int = 0

    def hold(self, day: date) -> bool:
        if self.weekdays and day.weekday() not in self.weekdays:
            return False
        if self.month_days and day.day not in self.month_days:
            return False
        return not self.nth or (day.day + 6) // 7 == self.nth


@attrs.frozen(kw_only=True)
class Walls:
    """Days and times of day in a zone."""

    days: Days
    times: tuple[time, ...]
    zone: str

    def rule(self, chance: random.Random) -> str:
        """The pattern as the product is told it: cron or an RRULE."""
        same_minute = len({at.minute for at in self.times}) == 1
        weekdays, month_days = sorted(self.days.weekdays), sorted(self.days.month_days)
        if same_minute and not (weekdays and month_days) and chance.random() < 0.6:
            on = ",".join(_CRON_DAYS[day] for day in weekdays) or "*"
            if self.days.nth:
                on = f"{on}#{self.days.nth}"
            hours = ",".join(str(at.hour) for at in self.times)
            return f"{self.times[0].minute} {hours} {','.join(map(str, month_days)) or '*'} * {on}"
        if not same_minute:
            raise AssertionError("a pattern's times share their minute")
        parts = [f"FREQ={'MONTHLY' if self.days.nth else 'DAILY'}"]
        if weekdays:
            parts.append(f"BYDAY={','.join(f'{self.days.nth or str()}{_RRULE_DAYS[day]}' for day in weekdays)}")
        if month_days:
            parts.append(f"BYMONTHDAY={','.join(map(str, month_days))}")
        parts.append(f"BYHOUR={','.join(str(at.hour) for at in self.times)};BYMINUTE={self.times[0].minute}")
        return ";".join(parts)

    def between(self, after: datetime, until: datetime) -> Iterator[datetime]:
        """The instants later than `after`, not later than `until`."""
        day, last, seen = (after - timedelta(days=2)).date(), (until + timedelta(days=2)).date(), after
        while day <= last:
            if self.days.hold(day):
                for at in self.times:
                    instant = counted_out(datetime.combine(day, at), self.zone)
                    if seen < instant <= until:
                        seen = instant
                        yield instant
            day += timedelta(days=1)


@attrs.frozen(kw_only=True)
class Steps:
    """So many seconds apart from when it was made or changed."""

    seconds: int
    zone: str

    def rule(self, chance: random.Random) -> str:
        return f"every {self.seconds // 60} minutes"


@attrs.frozen(kw_only=True)
class Single:
    """One wall time."""

    wall: datetime
    zone: str

    def rule(self, chance: random.Random) -> str:
        return f"{self.wall:%Y-%m-%d %H:%M}"


Pattern = Walls | Steps | Single


def instants(pattern: Pattern, since: datetime, after: datetime, until: datetime) -> list[datetime]:
    """What a pattern that holds since `since` comes to in (after, until]."""
    match pattern:
        case Walls():
            return list(pattern.between(max(after, since), until))
        case Steps():
            step, at, found = timedelta(seconds=pattern.seconds), since.replace(microsecond=0), []
            while (at := at + step) <= until:
                if at > after:
                    found.append(at)
            return found
        case Single():
            at = counted_out(pattern.wall, pattern.zone)
            return [at] if max(after, since) < at <= until else []


@lru_cache(maxsize=200_000)
def counted_out(wall: datetime, zone: str) -> datetime:
    """The first minute at which clocks show this wall time, or, if they never do, a later one."""
    info = ZoneInfo(zone)
    guess = wall.replace(tzinfo=UTC)
    offsets = {(guess + timedelta(hours=hours)).astimezone(info).utcoffset() for hours in (-30, 0, 30)}
    if len(offsets) == 1:
        return guess - (offsets.pop() or timedelta())
    minute, end = guess - timedelta(hours=30), guess + timedelta(hours=30)
    later = None
    while minute <= end:
        shown = minute.astimezone(info).replace(tzinfo=None)
        if shown == wall:
            return minute
        if later is None and shown > wall and (minute - _MINUTE).astimezone(info).replace(tzinfo=None) < wall:
            later = minute
        minute += _MINUTE
    assert later is not None, (wall, zone)
    return later


def drawn(chance: random.Random, now: datetime) -> Pattern:
    """Some pattern. Times in the small hours, where clocks are changed, are drawn often."""
    zone = chance.choice(ZONES)
    hours = list(range(24)) + [0, 1, 2, 3] * 6
    minute = chance.choice((0, 0, 15, 30, 45))
    kind = chance.random()
    if kind < 0.06:
        return Steps(seconds=60 * chance.choice((450, 720, 1440, 2880, 10_080)), zone=zone)
    if kind < 0.16:
        wall = datetime.combine(
            (now + timedelta(days=chance.randint(2, 200))).date(), time(chance.choice(hours), minute)
        )
        return Single(wall=wall, zone=zone)
    times = tuple(
        time(hour, minute) for hour in sorted({chance.choice(hours) for _ in range(chance.choice((1, 1, 1, 1, 1, 2)))})
    )
    if kind < 0.48:
        days = Days(weekdays=frozenset(chance.sample(range(7), chance.randint(1, 3))))
    elif kind < 0.68:
        days = Days(month_days=frozenset(chance.sample((1, 15, 28, 29, 30, 31), 2)))
    elif kind < 0.83:
        days = Days(weekdays=frozenset({chance.randrange(7)}), nth=chance.choice((1, 5, 5)))
    else:
        days = Days()
    return Walls(days=days, times=times, zone=zone)


def changes_of(zone: str, year: int) -> list[date]:
    """The days of a year on which clocks are changed."""
    info = ZoneInfo(zone)
    days = [
        date(year, month, day) for month in range(1, 13) for day in range(1, calendar.monthrange(year, month)[1] + 1)
    ]
    noon = [datetime.combine(day, time(12), tzinfo=UTC).astimezone(info).utcoffset() for day in days]
    return [day for day, before, after in zip(days[1:], noon, noon[1:]) if before != after]
