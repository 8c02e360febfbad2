"""Instants and wall time: what a clock on a wall shows in a zone, and which instant somebody means by it.

One rule: a wall time that does not exist means the first instant after the gap; one that comes twice means the first
time. Whoever needs an instant gets it here, so nothing else does arithmetic across zones.
"""

import zoneinfo
from datetime import UTC, datetime, timedelta
from importlib.metadata import version
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

# Zone data comes from the `tzdata` package alone. A machine's own is often years old, and two machines that reckon
# one schedule must not differ; besides, this one has a version that rows can name.
zoneinfo.reset_tzpath(to=())
ZoneInfo.clear_cache()

ZONE_DATA = version("tzdata")
"""The version of the zone data that everything here is reckoned with."""

_SECOND = timedelta(seconds=1)


class BadTime(Exception):
    """A time, zone or rule that can't be used. The message says why, and what may have been meant, to its author."""


def zone_named(name: str) -> ZoneInfo:
    """The zone of this name. Raises BadTime."""
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise BadTime(
            f"There is no zone {name[:60]!r}; zones have names of the IANA list, such as Europe/Vienna."
        ) from None


def wall_of(instant: datetime, zone: ZoneInfo) -> datetime:
    """What a clock on a wall shows at an instant, as a naive datetime."""
    return instant.astimezone(zone).replace(tzinfo=None, fold=0)


def instant_of(wall: datetime, zone: ZoneInfo) -> datetime:
    """The instant that a naive wall time means, in UTC."""
    instant = wall.replace(tzinfo=zone, fold=0).astimezone(UTC)
    return instant if wall_of(instant, zone) == wall else _end_of_gap(wall, zone)


def exists(wall: datetime, zone: ZoneInfo) -> bool:
    """Whether clocks in the zone ever show this naive wall time."""
    return wall_of(wall.replace(tzinfo=zone).astimezone(UTC), zone) == wall


def comes_twice(wall: datetime, zone: ZoneInfo) -> bool:
    """Whether clocks in the zone show this naive wall time a second time, because they were set back."""
    first, second = (wall.replace(tzinfo=zone, fold=fold).utcoffset() for fold in (0, 1))
    return first is not None and second is not None and first > second


def _end_of_gap(wall: datetime, zone: ZoneInfo) -> datetime:
    """The instant at which clocks were put forward over a wall time that they never showed."""
    # fold=1 reckons with the offset after the change and so lands before it, fold=0 the other way round.
    before = wall.replace(tzinfo=zone, fold=1).astimezone(UTC).replace(microsecond=0)
    after = wall.replace(tzinfo=zone, fold=0).astimezone(UTC).replace(microsecond=0) + _SECOND
    old = before.astimezone(zone).utcoffset()
    while after - before > _SECOND:
        middle = before + (after - before) // 2
        middle = middle.replace(microsecond=0)
        if middle.astimezone(zone).utcoffset() == old:
            before = middle
        else:
            after = middle
    return after


def named(instant: datetime, zone: ZoneInfo) -> str:
    """An instant by its wall time with its offset: `2026-11-30T09:00+01:00`, with seconds if there are any."""
    local = instant.astimezone(zone)
    return local.isoformat(timespec="seconds" if local.second else "minutes")


def said(instant: datetime, zone: ZoneInfo) -> str:
    """An instant for people and models, exact: weekday, wall time, zone and UTC."""
    local, utc = instant.astimezone(zone), instant.astimezone(UTC)
    clock = "%H:%M:%S" if local.second else "%H:%M"
    return f"{local:%A %Y-%m-%d} {local:{clock}} {zone.key} ({utc:%Y-%m-%dT%H:%M:%SZ})"


_UNITS = (("day", 86_400), ("h", 3600), ("min", 60), ("s", 1))


def span(seconds: float) -> str:
    """A length of time in its two largest units, rounded down: "3 days 4 h", "20 min", "12 s"."""
    left = int(abs(seconds))
    parts: list[str] = []
    for name, size in _UNITS:
        count, rest = divmod(left, size)
        if count and len(parts) < 2:
            parts.append(f"{count:,} {name}{'s' if name == 'day' and count > 1 else ''}")
            left = rest
        elif parts:
            break
    return " ".join(parts) or "0 s"
