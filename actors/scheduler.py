"""The scheduler: sleeps until the next reminder or job is due, and lets come up what is.

One rule: it keeps nothing but an alarm. What is due, what was missed and what became of it stands in rows; to be rung
is to look at them.
"""

import logging
from datetime import datetime
from typing import Protocol, assert_never

import attrs
import trio

from storage.errors import Duplicate, NotAsExpected, StorageError
from storage.operation import Commit
from storage.slots import EndedRuns, Report, Reports
from storage.things import Due, FindThing, ReckonedOtherwise, Upcoming
from tools.catchup import RETIRED, STILL_RUNNING, Verdict, judge
from tools.limits import Limits
from tools.things import schedule_of
from tools.zones import ZONE_DATA

from .about import Ids
from .clock import Clock
from .firing import Firing, Pushes
from .mailbox import Mailbox
from .store import Store
from .supervisor import unwrap

log = logging.getLogger("dreamwalker.scheduler")


@attrs.frozen
class Look:
    """Something may be due, or have become due earlier, or a job's run may have ended."""


SchedulerMessage = Look


class Means(Protocol):
    """What the scheduler works with."""

    store: Store
    clock: Clock
    limits: Limits

    @property
    def pushes(self) -> Pushes: ...


class Scheduler:
    """The scheduler of a house."""

    def __init__(self, means: Means) -> None:
        self._means = means
        self._firing = Firing(next_id=means.store.next_id, pushes=means.pushes, limits=means.limits)
        self.mailbox: Mailbox[SchedulerMessage] = Mailbox(
            "the scheduler", capacity=means.limits.mailbox_messages, on_ring=lambda key: Look()
        )

    async def run(self, *, task_status: "trio.TaskStatus[None]" = trio.TASK_STATUS_IGNORED) -> None:
        """Serve the mailbox until it is closed. Raises StorageError."""
        with self.mailbox:
            await self._reckon_anew()
            self.mailbox.ring(0)
            task_status.started()
            async with trio.open_nursery() as nursery:
                alarm = trio.CancelScope()
                async for message in self.mailbox:
                    match message:
                        case Look():
                            next_at = await self.look()
                        case _:
                            assert_never(message)
                    alarm.cancel()
                    alarm = trio.CancelScope()
                    if next_at is not None:
                        nursery.start_soon(self._alarm, alarm, next_at)
                nursery.cancel_scope.cancel()

    async def _alarm(self, scope: trio.CancelScope, at: datetime) -> None:
        with scope:
            await self._means.clock.sleep_until(at)
            self.mailbox.ring(0)

    async def look(self) -> datetime | None:
        """Report what has ended and let come up what is due; returns when the next is. Raises StorageError."""
        store, clock, at_once = self._means.store, self._means.clock, self._means.limits.due_at_once
        while True:
            while ended := await store.ask(EndedRuns(at_once)):
                for run in ended:
                    await store.ask(self._firing.report(run, clock.now()))
            upcoming, now = await store.ask(Upcoming(at_once)), clock.now()
            if not upcoming or upcoming[0].at > now:
                return upcoming[0].at if upcoming else None
            for due in upcoming:
                if due.at <= now:
                    await self._come_up(due)

    async def _reckon_anew(self) -> None:
        """Reckon the next times anew that were reckoned with other zone data: a country may have changed its mind."""
        while others := await self._means.store.ask(ReckonedOtherwise(ZONE_DATA, self._means.limits.due_at_once)):
            for due in others:
                await self._come_up(due)

    async def _come_up(self, due: Due) -> None:
        """Give a thing's slots that lie behind their fates. A thing that can't be reckoned with is set aside."""
        store = self._means.store
        try:
            verdict, commit = await self._commit(due)
            await store.ask(commit)
            _tell_of(due, verdict)
        except Exception as raised:
            error = unwrap(raised)
            if isinstance(error, StorageError) and not isinstance(error, Duplicate | NotAsExpected):
                raise
            if await store.ask(FindThing(id=due.thing.id)) != due.thing:
                log.info("slot.changed", {"thing": due.thing.id, "kind": due.thing.kind})
                return
            log.error("slot.failed", {"thing": due.thing.id, "kind": due.thing.kind}, exc_info=error)
            said = str(error) or type(error).__name__
            await store.ask(self._firing.set_aside(due, said, self._means.clock.now()))

    async def _commit(self, due: Due) -> tuple[Verdict, Commit]:
        thing, now, limits = due.thing, self._means.clock.now(), self._means.limits
        held = RETIRED if due.retired else STILL_RUNNING if thing.running is not None else None
        verdict = judge(schedule_of(thing), thing.reached_at, now, held=held, slots_max=limits.slots_at_once)
        reports: tuple[Report, ...] = ()
        if thing.kind == "job" and verdict.now is not None:
            reports = await self._means.store.ask(Reports(thing.id, limits.reports_shown))
        return verdict, self._firing.come_up(due, verdict, reports, now)


def _tell_of(due: Due, verdict: Verdict) -> None:
    """A line for each fate, once it is committed."""
    thing: Ids = {"thing": due.thing.id, "kind": due.thing.kind}
    if (gone := verdict.skipped) is not None:
        log.info("slot.settled", {**thing, "slot": gone.first.name, "fate": "skipped", "count": gone.count})
    if (slot := verdict.now) is not None:
        log.info("slot.settled", {**thing, "slot": slot.name, "fate": "ran"})
