"""What waits for the storage, and whose turn it is.

One rule: first come, first served. Commits that may go together take one turn; what nobody waits for takes its own
when nobody else has one, or has waited for long.
"""

import collections
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import trio

from .errors import StoreBusy
from .operation import Commit, Statement

TOGETHER_MAX, TOGETHER_CHARACTERS = 50, 1_000_000
"""So many commits are one transaction at most, and so much text: others wait for it meanwhile."""
PATIENCE_SECONDS = 2.0
"""How long what nobody waits for lets all others go first."""


class Unit:
    """One piece of work, and the trio side that waits for it.

    `about`: the conversation that a commit is about which may go together with others of the same `statement`.
    """

    about, statement, characters = 0, Statement(), 0

    def __init__(self, work: Callable[[], Awaitable[Any]], commit: Commit | None, *, patient: bool) -> None:
        self.work, self.commit, self.patient, self.asked_at = work, commit, patient, trio.current_time()
        if commit is not None and commit.conversation:
            self.about, self.statement, self.characters = commit.conversation, commit.statement, commit.characters
        self.done = trio.Event()
        self.value: Any = None
        self.error: BaseException | None = None
        self.given_up = False

    def finish(self, value: Any = None, error: BaseException | None = None) -> None:
        """Tell whoever waits what became of it; who has waited too long was told so."""
        if not self.done.is_set():
            self.value, self.error = value, error
            self.done.set()


class Queue:
    """The units that wait. Who waits for longer than `wait_seconds`, in the queue or for what goes on, is told so."""

    def __init__(self, wait_seconds: float) -> None:
        self.wait_seconds = wait_seconds
        self._units: collections.deque[Unit] = collections.deque()
        self._patient: collections.deque[Unit] = collections.deque()
        self._bounded: dict[Unit, None] = {}  # the one that waits longest comes first

    def __bool__(self) -> bool:
        return bool(self._units or self._patient)

    async def wait_for(self, unit: Unit, *, bounded: bool) -> None:
        """Wait until a unit is done. One whose caller gives up is left out, unless it has begun."""
        if bounded:
            self._bounded[unit] = None
        try:
            await unit.done.wait()
        except trio.Cancelled:
            unit.given_up = True
            raise
        finally:
            self._bounded.pop(unit, None)

    def put(self, unit: Unit) -> None:
        """Let it wait for its turn."""
        (self._patient if unit.patient else self._units).append(unit)

    def take(self) -> list[Unit]:
        """The unit whose turn it is, and with it those behind it that may go together. Who has given up is left out.

        Two commits about one conversation don't: what the second writes over the first, its asker knows from that.
        """
        first = self._first()
        units, others, about, room = [first], list[Unit](), {0, first.about}, TOGETHER_CHARACTERS
        while first.about and self._units and len(units) < TOGETHER_MAX:
            unit = self._units[0]
            if unit.about in about or (room := room - unit.characters) < 0:
                break
            about.add(unit.about)
            (units if unit.statement == first.statement else others).append(self._units.popleft())
        self._units.extendleft(reversed(others))
        return [unit for unit in units if not unit.given_up]

    def _first(self) -> Unit:
        patient, units = self._patient, self._units
        if patient and (not units or patient[0].asked_at + PATIENCE_SECONDS <= trio.current_time()):
            return patient.popleft()
        return units.popleft()

    def tell_late(self) -> float | None:
        """Tell whoever has waited too long. Returns in how many seconds to look again, None if nobody waits.

        One look for all of them: a deadline of trio's for each would cost a tenth of what a hundred runs do.
        """
        now = trio.current_time()
        while self._bounded:
            unit = next(iter(self._bounded))
            if (left := unit.asked_at + self.wait_seconds - now) > 0:
                return left
            del self._bounded[unit]
            unit.given_up = True
            unit.finish(error=StoreBusy(f"the storage did not answer within {self.wait_seconds:g} s"))
        return None

    def clear(self) -> Iterator[Unit]:
        """Take out all there is."""
        for units in (self._units, self._patient):
            while units:
                yield units.popleft()
