"""Schedules: when something comes up, as instants that each have a name.

One rule: a slot is named by the wall time at which it comes up, with the offset of that moment, so that a rule which
means one instant twice (in the hour that clocks skip) or one wall time twice (in the hour that they repeat) still has
one slot there. "Every N" is named by its instant.
"""

from collections.abc import Iterator
from datetime import UTC, datetime
from functools import lru_cache
from itertools import islice, takewhile
from typing import assert_never
from zoneinfo import ZoneInfo

import attrs

from .recurrence import Recurrence
from .rules import Cron, Every, Once, Rule, read_rule
from .zones import instant_of, named, wall_of

SHOWN = 5
"""How many of the next slots are said back."""

_read = lru_cache(maxsize=1024)(read_rule)
_END = datetime(9000, 1, 1, tzinfo=UTC)


@attrs.frozen(order=True)
class Slot:
    """One occurrence: its instant in UTC, and the name by which it is known for ever."""

    at: datetime
    name: str = attrs.field(order=False)


@attrs.frozen(kw_only=True)
class Schedule:
    """A rule as text, the zone of its wall times, and the instant from which it holds: no slot is earlier."""

    rule: str
    zone: ZoneInfo
    since: datetime

    def next_after(self, instant: datetime) -> Slot | None:
        """The first slot later than this, None if there is none any more."""
        return next(self._after(instant), None)

    def slots_between(self, after: datetime, until: datetime) -> Iterator[Slot]:
        """The slots later than `after` and not later than `until`, in order."""
        return takewhile(lambda slot: slot.at <= until, self._after(after))

    def upcoming(self, after: datetime, count: int = SHOWN) -> tuple[Slot, ...]:
        """The next slots, at most `count`."""
        return tuple(islice(self._after(after), count))

    @property
    def parsed(self) -> Rule:
        """The rule. Raises BadTime if its text can't be used; a stored one was judged when it was made."""
        rule = _read(self.rule)
        assert rule is not None, self.rule
        return rule

    def _after(self, instant: datetime) -> Iterator[Slot]:
        last = max(instant, self.since)
        for at in self._instants(self.parsed, last):
            if at >= _END:
                return
            if at > last:  # several wall times in a gap are one instant
                last = at
                yield Slot(at, self._name(at))

    def _instants(self, rule: Rule, after: datetime) -> Iterator[datetime]:
        """Instants in order, those later than `after` among them, some perhaps more than once."""
        wall, zone = wall_of(after, self.zone), self.zone
        match rule:
            case Once():
                yield _once(rule, zone)
            case Every():
                yield from rule.instants(after, self.since)
            case Cron():
                yield from (instant_of(at, zone) for at in rule.walls(wall))
            case Recurrence():
                for at in rule.walls(wall, wall_of(self.since, zone)):
                    if rule.ended(at, instant := instant_of(at, zone)):
                        return
                    yield instant
            case _:
                assert_never(rule)

    def _name(self, at: datetime) -> str:
        if isinstance(self.parsed, Every):
            return f"{at:%Y-%m-%dT%H:%M:%SZ}"
        return named(at, self.zone)


def _once(rule: Once, zone: ZoneInfo) -> datetime:
    """The instant of a wall time and its offset; if the zone has changed its offset since, the wall time stays."""
    if rule.at.astimezone(zone).utcoffset() == rule.at.utcoffset():
        return rule.at.astimezone(UTC)
    return instant_of(rule.at.replace(tzinfo=None), zone)
