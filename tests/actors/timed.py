"""Reminders and jobs in a house under test: made without a model, and the ledger to look at."""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta

import trio

from dreamwalker.house import MAIN_AGENT
from storage import things
from storage.operation import Commit
from storage.records import Fate, Thing
from storage.slots import ListFates
from storage.things import FindThing
from tests.actors.house import Inside
from tools.things import made
from tools.timing import read_timing
from tools.zones import zone_named

FOREVER = datetime(9000, 1, 1, tzinfo=UTC)


async def make(
    it: Inside,
    kind: str,
    when: str,
    text: str = "",
    *,
    zone: str = "Europe/Vienna",
    title: str = "Daily",
    hops: int = 0,
) -> int:
    """Make a reminder or job as the owner would; returns its number."""
    now, id = it.clock.now(), it.house.store.next_id()
    thing = made(
        id=id,
        agent=MAIN_AGENT,
        kind=kind,
        title=title if kind == "job" else "",
        text=text or f"text {id}",
        timing=read_timing(when, zone_named(zone), now),
        made_by=f"request:{id}",
        label=0,
        act=f"request:{id}",
        hops=hops,
        now=now,
    )
    await it.house.store.ask(Commit((things.make(thing),), (things.CHANGED,)))
    return id


async def thing(it: Inside, id: int) -> Thing:
    """A thing as it stands."""
    found = await it.ask(FindThing(id=id))
    assert found is not None
    return found


async def ledger(it: Inside, id: int) -> tuple[Fate, ...]:
    """The ledger of a thing, oldest first."""
    return tuple(reversed(await it.ask(ListFates(thing=id, before=FOREVER, limit=10_000))))


async def ledger_until(it: Inside, id: int, settled: Callable[[Sequence[Fate]], bool]) -> tuple[Fate, ...]:
    """Look at the ledger of a thing until it is as expected."""
    with trio.fail_after(20):
        while True:
            rows = await ledger(it, id)
            if settled(rows):
                return rows


async def settled(it: Inside, id: int, count: int = 1) -> tuple[Fate, ...]:
    """The ledger of a thing once it has so many rows and none of them is open."""
    return await ledger_until(it, id, lambda rows: len(rows) >= count and all(row.settled_at for row in rows))


async def passed(it: Inside) -> None:
    """Wait until everything that is due by now has come up: what is due a moment later comes up after it."""
    marker = await make(
        it, "reminder", (it.clock.now() + timedelta(seconds=1)).strftime("%Y-%m-%dT%H:%M:%S+00:00"), "marker"
    )
    it.clock.move(1)
    await ledger_until(it, marker, bool)


def told(rows: Sequence[Fate]) -> list[str]:
    """The ledger in short: `slot fate`, of skipped ones `first..last xN`."""
    return [
        f"{row.slot}..{row.last_slot} x{row.count}" if row.fate == "skipped" else f"{row.slot} {row.fate}"
        for row in rows
    ]
