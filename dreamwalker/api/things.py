"""What reminders and jobs have in common here: how they are found, made, changed and told.

One rule: a time is understood and said back by the same code as for an agent, so that both doors mean the same; and
what changed underneath while a request was at it is looked at again, not guessed.
"""

from collections.abc import Callable
from datetime import datetime
from typing import Annotated, TypeVar

import msgspec
from msgspec import Meta

from dreamwalker.house import House
from storage import records, slots, things
from storage.errors import Duplicate, NotAsExpected
from storage.operation import Commit
from tools.contract import ToolFailed
from tools.limits import FIXED
from tools.things import Change, change, made, retimed, schedule_of, told
from tools.timing import HELP, read_timing
from tools.zones import BadTime, said, zone_named

from . import views
from .agents import home_at_work, home_of
from .endpoint import BIGINT_MAX, Given, Shown, not_found
from .errors import Refused

T = TypeVar("T")

CHANGES_MAX = FIXED.changes
"""How often a change is tried against something that moves on meanwhile."""

UPCOMING_MAX = FIXED.upcoming

When = Annotated[str, Meta(description=f"Local time of the zone, in words. {HELP}.")]
Zone = Annotated[str, Meta(description="An IANA zone, such as Europe/Vienna; the owner's own if none is given.")]
Rule = Annotated[
    str, Meta(description="The rule as it is kept: a local time with its offset, cron, RRULE or `every …`.")
]
Said = Annotated[str, Meta(description="When it comes up next, in words: weekday, local time, zone, exact instant.")]
Label = Annotated[int, Meta(description="Above 0: it was written while text from outside was about.")]
Seconds = Annotated[int, Meta(description="Seconds.")]


class ThingPath(Given, frozen=True):
    """A path with the number of a reminder or job."""

    id: Annotated[int, Meta(ge=1, le=BIGINT_MAX)]


class ThingsQuery(Given, frozen=True):
    """Which ones: of one agent or of all, below number `before`; those that are over only with `over`."""

    agent: str | None = None
    before: Annotated[int, Meta(ge=1, le=BIGINT_MAX)] = BIGINT_MAX
    over: bool = False


class UpcomingQuery(Given, frozen=True):
    """How many."""

    count: Annotated[int, Meta(ge=1, le=UPCOMING_MAX)] = 5


class SlotsQuery(Given, frozen=True):
    """Which ones: those that were due before an instant."""

    before: Annotated[datetime, Meta(tz=True)] = datetime.fromisoformat("9000-01-01T00:00:00Z")


class ComingSlot(Shown, frozen=True):
    """A time at which it will come up. `slot` is its name for ever."""

    slot: str
    at: datetime
    said: Said


class Upcoming(Shown, frozen=True):
    """The next times, in order."""

    slots: tuple[ComingSlot, ...]


class Slot(Shown, frozen=True):
    """What became of a time at which it should have come up, or of several that were skipped in succession, of which
    `slot` is the first and `last_slot` the last. `why`: why it was skipped, or failed.
    """

    slot: str
    at: datetime
    said: Said
    fate: Annotated[str, Meta(description="running, ran, skipped or failed.")]
    late_seconds: Seconds | None
    why: str | None
    last_slot: str | None
    count: int
    conversation: int | None
    report: str | None
    settled_at: datetime | None
    no: views.No


class Slots(Shown, frozen=True):
    """The ledger, the newest first. `more`: there is an older part."""

    slots: tuple[Slot, ...]
    more: bool


async def listed(house: House, kind: str, query: ThingsQuery) -> tuple[tuple[records.Thing, ...], bool]:
    """One page of reminders or jobs, and whether there are more."""
    if query.agent is not None:
        home_of(house, query.agent)
    limit = house.limits.page_entries
    found = await house.store.ask(
        things.ListThings(kind=kind, agent=query.agent, before=query.before, over=query.over, limit=limit + 1)
    )
    return found[:limit], len(found) > limit


async def found(house: House, kind: str, id: int) -> records.Thing:
    """One reminder or job. Raises Refused."""
    thing = await house.store.ask(things.FindThing(id=id))
    if thing is None or thing.kind != kind:
        raise not_found(f"{kind} of that number")
    return thing


async def make(
    house: House,
    kind: str,
    *,
    request_id: str,
    agent: str,
    when: str,
    zone: str | None,
    text: str,
    title: str = "",
) -> tuple[records.Thing, str]:
    """Make a reminder or job, or find the one that this request id made: with when it comes up. Raises Refused."""
    home_at_work(house, agent)
    now, made_by = house.clock.now(), f"request:{request_id}"
    if (first := await house.store.ask(things.FindThing(made_by=made_by))) is not None:
        if (first.kind, first.agent, first.title, first.text) != (kind, agent, title, text):
            raise Refused(409, "Something else was made under this request id.", code="conflict")
        return first, told(first, now)
    if await house.store.ask(things.CountThings(agent, kind)) >= house.limits.pending_things:
        raise Refused(429, f"There are {house.limits.pending_things:,} {kind}s already; remove some first.")
    try:
        timing = read_timing(when, house.zone if zone is None else zone_named(zone), now)
    except BadTime as error:
        raise Refused(422, str(error), code="time") from None
    thing = made(
        id=house.store.next_id(),
        agent=agent,
        kind=kind,
        title=title,
        text=text,
        timing=timing,
        made_by=made_by,
        label=0,
        act=made_by,
        hops=0,
        now=now,
    )
    try:
        await house.store.ask(Commit((things.make(thing),), (things.CHANGED,)))
    except Duplicate:
        raise Refused(409, "The same is being made right now; ask again.", code="conflict") from None
    return thing, told(thing, now, timing.note)


async def changed(
    house: House, kind: str, id: int, alter: Callable[[records.Thing, datetime], Change | None]
) -> records.Thing:
    """A reminder or job after a change, which may be none. Raises Refused."""
    for _ in range(CHANGES_MAX):
        thing, now = await found(house, kind, id), house.clock.now()
        try:
            change = alter(thing, now)
            if change is None:
                return thing
            await house.store.ask(Commit(change.writes, (things.CHANGED,)))
        except BadTime as error:
            raise Refused(422, str(error), code="time") from None
        except ToolFailed as error:
            raise Refused(409, str(error), code="over") from None
        except NotAsExpected:
            continue  # it came up, or was changed, between the look and the commit
        return await found(house, kind, id)
    raise Refused(503, f"The {kind} keeps changing; try again.", headers={"Retry-After": "1"})


def altering(
    when: str | None, zone: str | None, text: str | None, title: str | None = None
) -> Callable[[records.Thing, datetime], Change | None]:
    """A change of what is given."""

    def alter(thing: records.Thing, now: datetime) -> Change | None:
        timing = retimed(thing, when, zone, now)
        if timing is None and text is None and title is None:
            return None
        return change(thing, now, title=title, text=text, timing=timing)

    return alter


def unless(
    state: str, alter: Callable[[records.Thing, datetime], Change]
) -> Callable[[records.Thing, datetime], Change | None]:
    """A change of state that was perhaps made before: then it is none."""
    return lambda thing, now: None if thing.state == state else alter(thing, now)


async def upcoming(house: House, kind: str, id: int, count: int) -> Upcoming:
    """The next times of a reminder or job."""
    thing = await found(house, kind, id)
    if thing.state != "active":
        return Upcoming(slots=())
    schedule = schedule_of(thing)
    coming = schedule.upcoming(max(house.clock.now(), thing.reached_at), count)
    return Upcoming(
        slots=tuple(ComingSlot(slot=slot.name, at=slot.at, said=said(slot.at, schedule.zone)) for slot in coming)
    )


async def ledger(house: House, kind: str, id: int, query: SlotsQuery) -> Slots:
    """What became of the times of a reminder or job."""
    thing, limit = await found(house, kind, id), house.limits.page_entries
    zone = zone_named(thing.zone)
    rows = await house.store.ask(slots.ListFates(thing=id, before=query.before, limit=limit + 1))
    names = [name for name in Slot.__struct_fields__ if name != "said"]
    return Slots(
        slots=tuple(
            Slot(said=said(row.at, zone), **{name: getattr(row, name) for name in names}) for row in rows[:limit]
        ),
        more=len(rows) > limit,
    )


def checked(house: House, text: str, limit: int, what: str) -> str:
    """A text as it is stored. Raises Refused when it is empty or too long."""
    text = text.strip()
    if not text or len(text) > limit:
        raise Refused(422, f"{what} has 1 to {limit:,} characters; this one has {len(text):,}.")
    return house.redactor.text(text)


def given(value: T | msgspec.UnsetType) -> T | None:
    """A field that may be left out, as None then."""
    return None if isinstance(value, msgspec.UnsetType) else value
