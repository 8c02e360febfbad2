"""Reminders and jobs as values: made, changed, paused, resumed, removed, and told.

One rule: what a change overtakes (a slot that was due and had not come up yet) gets its fate in the same commit, and
everything after it follows the new state alone.
"""

from datetime import datetime
from itertools import islice

import attrs

from storage import slots, things
from storage.operation import Write
from storage.records import Fate, Thing

from . import catchup
from .contract import ToolFailed
from .rules import Once
from .schedule import SHOWN, Schedule, Slot
from .timing import Timing, described, read_timing
from .zones import ZONE_DATA, BadTime, zone_named

_OVERTAKEN_MAX = 10_000


def schedule_of(thing: Thing) -> Schedule:
    """When it comes up. Raises BadTime if its zone or rule is no longer known."""
    return Schedule(rule=thing.rule, zone=zone_named(thing.zone), since=thing.since)


def made(
    *,
    id: int,
    agent: str,
    kind: str,
    title: str,
    text: str,
    timing: Timing,
    made_by: str,
    label: int,
    act: str,
    hops: int,
    now: datetime,
) -> Thing:
    """A new reminder or job, active from now on."""
    return Thing(
        id=id,
        agent=agent,
        kind=kind,
        made_by=made_by,
        title=title,
        text=text,
        label=label,
        act=act,
        hops=hops,
        rule=timing.schedule.rule,
        zone=timing.schedule.zone.key,
        since=timing.schedule.since,
        zone_data=ZONE_DATA,
        state="active",
        next_at=timing.first.at,
        reached_at=now,
        running=None,
        skipping=None,
        version=1,
        made_at=now,
        no=0,
    )


@attrs.frozen(kw_only=True)
class Change:
    """A thing as it is after a change, and the writes that make it so: NotAsExpected, if it moved on meanwhile."""

    thing: Thing
    writes: tuple[Write, ...]


def change(
    seen: Thing,
    now: datetime,
    *,
    title: str | None = None,
    text: str | None = None,
    timing: Timing | None = None,
    label: int = 0,
) -> Change:
    """Another title, text or schedule; what is over begins anew with another schedule. Raises ToolFailed, BadTime."""
    if seen.state == "removed" or (seen.state == "done" and timing is None):
        raise ToolFailed(f"The {seen.kind} {seen.id} is over, so there is nothing to change. Make a new one.")
    it = attrs.evolve(
        seen,
        title=seen.title if title is None else title,
        text=seen.text if text is None else text,
        label=max(seen.label, label),
    )
    if timing is None:
        return _changed(seen, it, now, why=None)
    it = attrs.evolve(it, rule=timing.schedule.rule, zone=timing.schedule.zone.key, since=timing.schedule.since)
    state = "paused" if seen.state == "paused" else "active"
    return _changed(seen, attrs.evolve(it, state=state), now, why=catchup.CHANGED)


def pause(seen: Thing, now: datetime) -> Change:
    """Nothing comes up until it is resumed. Raises ToolFailed."""
    _must_be(seen, "active")
    return _changed(seen, attrs.evolve(seen, state="paused"), now, why=catchup.PAUSED)


def resume(seen: Thing, now: datetime) -> Change:
    """It goes on with its next slot; those of the pause never were. Raises ToolFailed, BadTime."""
    _must_be(seen, "paused")
    return _changed(seen, attrs.evolve(seen, state="active"), now, why=catchup.PAUSED)


def remove(seen: Thing, now: datetime) -> Change:
    """It is over. Raises ToolFailed for one that is over already: how that came about stays as it is."""
    if seen.state == "done":
        last = "It has come up for the last time, so nothing was changed."
        raise ToolFailed(f"The {seen.kind} {seen.id} is over already. {last}")
    _must_be(seen, "active", "paused")
    return _changed(seen, attrs.evolve(seen, state="removed"), now, why=catchup.REMOVED)


def _must_be(seen: Thing, *states: str) -> None:
    if seen.state not in states:
        raise ToolFailed(f"The {seen.kind} {seen.id} is {'over' if seen.state == 'done' else seen.state}.")


def _changed(seen: Thing, it: Thing, now: datetime, *, why: str | None) -> Change:
    """`why`: what becomes of slots that are due and have not come up yet; None leaves them due."""
    if why is None:
        return Change(thing=attrs.evolve(it, version=seen.version + 1), writes=(things.change(seen, it),))
    writes: list[Write] = []
    if seen.state == "active":
        overtaken = _overtaken(seen, now)
        if (skip := catchup.skipped(overtaken, why)) is not None:
            writes.append(slots.add(fate_of_skipped(seen, skip, now)))
    reached_at, next_at = max(now, seen.reached_at), None
    if it.state == "active":
        following = schedule_of(it).next_after(reached_at)
        if following is None:
            raise BadTime(f"By the rule {it.rule} nothing comes up any more.")
        next_at = following.at
    it = attrs.evolve(it, reached_at=reached_at, next_at=next_at, zone_data=ZONE_DATA, version=seen.version + 1)
    return Change(thing=it, writes=(*writes, things.change(seen, it)))


def _overtaken(seen: Thing, now: datetime) -> list[Slot]:
    """The slots that are due and have not come up yet."""
    try:
        behind = list(islice(schedule_of(seen).slots_between(seen.reached_at, now), _OVERTAKEN_MAX + 1))
    except BadTime:  # what can't be reckoned any more must still be possible to remove
        return []
    if len(behind) > _OVERTAKEN_MAX:
        raise ToolFailed(f"The {seen.kind} {seen.id} is still catching up with what it missed; try again in a minute.")
    return behind


def fate_of_skipped(thing: Thing, skipped: catchup.Skipped, now: datetime) -> Fate:
    """The row of the ledger for skipped slots."""
    return Fate(
        thing=thing.id,
        slot=skipped.first.name,
        at=skipped.first.at,
        version=thing.version,
        fate="skipped",
        late_seconds=None,
        why=skipped.why,
        last_slot=skipped.last.name,
        last_at=skipped.last.at,
        count=skipped.count,
        conversation=None,
        report=None,
        settled_at=now,
        no=0,
    )


def retimed(seen: Thing, when: str | None, zone: str | None, now: datetime) -> Timing | None:
    """The timing that a change of `when`, of the zone, or of both asks for; None if of neither. Raises BadTime."""
    if when is None and zone is None:
        return None
    place = zone_named(seen.zone if zone is None else zone)
    return read_timing(written(schedule_of(seen)) if when is None else when, place, now)


def written(schedule: Schedule) -> str:
    """A schedule in words that are read the same whenever they are, in its zone."""
    rule = schedule.parsed
    return f"{rule.at:%Y-%m-%d %H:%M:%S}" if isinstance(rule, Once) else schedule.rule


def told(thing: Thing, now: datetime, note: str = "", *, shown: int = SHOWN) -> str:
    """When it comes up next, fit to be read out; of what repeats, `shown` of the next slots."""
    match thing.state:
        case "active":
            return described(schedule_of(thing), max(now, thing.reached_at), note, shown=shown)
        case "paused":
            return f"It is paused. Its rule is {thing.rule} ({thing.zone})."
        case "done":
            return "It has come up for the last time."
    return "It is removed."
