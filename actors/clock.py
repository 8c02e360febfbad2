"""What time it is, and sleeping until later. Tests move their own clock by hand.

One rule: whoever waits for a time of day sleeps in steps and looks again, since a machine may sleep meanwhile and its
wall clock may be set.
"""

import time
from datetime import UTC, datetime
from typing import Protocol

import trio

STEP_SECONDS = 60.0
"""The longest sleep between two looks at the wall clock: a jump is noticed this late at most."""


class Clock(Protocol):
    """The two clocks of a process: the wall's, which can jump either way, and a monotonic one, which only runs."""

    def now(self) -> datetime:
        """The wall's time, aware, in UTC."""
        ...

    def monotonic(self) -> float:
        """Seconds since some moment in the past: good for differences only."""
        ...

    async def sleep_until(self, when: datetime) -> None:
        """Return once `now()` is at or past `when`, which may be months away. Raises TypeError if it is naive."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Return after so many monotonic seconds; at once, but through a checkpoint, if there are none."""
        ...


class SystemClock:
    """The machine's clocks."""

    def now(self) -> datetime:
        return datetime.now(UTC)

    def monotonic(self) -> float:
        return time.monotonic()

    async def sleep_until(self, when: datetime) -> None:
        while (left := (when - self.now()).total_seconds()) > 0:
            await trio.sleep(min(left, STEP_SECONDS))
        await trio.lowlevel.checkpoint()

    async def sleep(self, seconds: float) -> None:
        await trio.sleep(max(seconds, 0.0))
