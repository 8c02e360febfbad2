"""A clock that is moved by hand only: time stands still until a test says otherwise."""

from datetime import UTC, datetime, timedelta

import attrs
import trio

PATIENCE_SECONDS = 10.0
"""Real seconds to wait for a task that should go to sleep before the test fails."""


@attrs.define(kw_only=True, eq=False)
class _Sleeper:
    at: datetime | None = None
    """Asleep until this moment on the wall, or"""
    monotonic: float = 0.0
    """until this monotonic second."""
    woken: trio.Event = attrs.field(factory=trio.Event)


class HandClock:
    """A Clock for tests. `move` lets time pass; `set` makes only the wall clock jump, either way.

    Sleepers that are due wake in the order of their due times, each running up to its next checkpoint before the
    next one wakes.
    """

    def __init__(self, start: datetime = datetime(2026, 11, 29, 12, tzinfo=UTC)) -> None:
        self._now = start
        self._monotonic = 0.0
        self._sleepers: list[_Sleeper] = []
        self._watchers = trio.lowlevel.ParkingLot()

    def now(self) -> datetime:
        return self._now

    def monotonic(self) -> float:
        return self._monotonic

    async def sleep_until(self, when: datetime) -> None:
        await self._sleep(_Sleeper(at=when))

    async def sleep(self, seconds: float) -> None:
        await self._sleep(_Sleeper(monotonic=self._monotonic + seconds))

    def move(self, seconds: float) -> None:
        """Let so many seconds pass on both clocks."""
        assert seconds >= 0, seconds
        self._now += timedelta(seconds=seconds)
        self._monotonic += seconds
        self._wake_next()

    def set(self, when: datetime) -> None:
        """Set the wall clock, forward or back; the monotonic one, and whoever sleeps by it, don't notice."""
        self._now = when.astimezone(UTC)
        self._wake_next()

    async def sleepers(self, count: int) -> None:
        """Wait until at least so many tasks are asleep, those that are due not counted.

        Raises trio.TooSlowError after `PATIENCE_SECONDS` real seconds.
        """
        with trio.fail_after(PATIENCE_SECONDS):
            while sum(self._overdue(sleeper) < 0 for sleeper in self._sleepers) < count:
                await self._watchers.park()

    async def _sleep(self, sleeper: _Sleeper) -> None:
        await trio.lowlevel.checkpoint()
        if self._overdue(sleeper) >= 0:
            return
        self._sleepers.append(sleeper)
        self._watchers.unpark_all()
        try:
            await sleeper.woken.wait()
        finally:
            self._sleepers.remove(sleeper)
            self._wake_next()

    def _overdue(self, sleeper: _Sleeper) -> float:
        """Seconds since it was due; negative before."""
        if sleeper.at is not None:
            return (self._now - sleeper.at).total_seconds()
        return self._monotonic - sleeper.monotonic

    def _wake_next(self) -> None:
        """Wake the one that has been due the longest; it wakes the next when it runs."""
        if self._sleepers:
            first = max(self._sleepers, key=self._overdue)
            if self._overdue(first) >= 0:
                first.woken.set()
