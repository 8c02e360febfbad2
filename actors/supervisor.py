"""Keeping actors alive: starting them in order, restarting them within a limit, stopping them in reverse.

One rule: whatever ends a supervisor (its own cancellation, a child it gave up on, a fatal error, a first start that
failed), every child has ended before `run` does.

The supervisor is an actor itself. A child that ended, or whose rest before its restart is over, only rings it; it then
looks at all its children. It takes one step at a time: while a child starts or stops, nobody else is restarted; while
one rests, the others are.
"""

import enum
import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import assert_never

import attrs
import trio

from .child import Child, Life, Restart, Start, first_of, safely, unwrap
from .clock import Clock
from .mailbox import Mailbox, Reply

__all__ = [
    "Backoff",
    "Child",
    "Event",
    "Exited",
    "GaveUp",
    "GivingUp",
    "Restart",
    "Restarting",
    "Start",
    "Started",
    "Strategy",
    "Supervisor",
    "first_of",
    "unwrap",
]

_REQUESTS_MAX = 1000
"""How many calls of add and remove may wait."""


class Strategy(enum.Enum):
    """Who is restarted with a child that failed."""

    ONE_FOR_ONE = "one for one"
    """Only itself."""
    REST_FOR_ONE = "rest for one"
    """All that come after it, and so may lean on it: they are stopped at once, and start again after it, in order.
    A TEMPORARY one among them is forgotten."""


@attrs.frozen(kw_only=True)
class Backoff:
    """How long a child rests before its restart: `base_seconds`, doubled with each failure, up to `max_seconds`."""

    base_seconds: float
    max_seconds: float

    def seconds(self, failures: int) -> float:
        """The rest after so many failures, one or more."""
        doublings = min(failures - 1, 60)  # far past any maximum, and still a float
        return min(self.base_seconds * 2.0**doublings, self.max_seconds)


@attrs.frozen
class Started:
    """A child is up."""

    name: str


@attrs.frozen
class Exited:
    """A child has ended, by itself or because it was stopped; `error` is None if it did so in peace."""

    name: str
    error: Exception | None


@attrs.frozen
class Restarting:
    """A child failed and will be started again after its rest."""

    name: str
    seconds: float


@attrs.frozen
class GivingUp:
    """A child failed too often; the supervisor stops the others and goes up."""

    name: str
    error: Exception | None


Event = Started | Exited | Restarting | GivingUp


class GaveUp(Exception):
    """A child failed more often than the limit allows. A first start that fails goes up as its own error instead.

    `child` is its name; `__cause__` its last error, None if it just ended.
    """

    def __init__(self, child: str, message: str) -> None:
        super().__init__(message)
        self.child = child


class _Place:
    """A child's place in the order: it lives, or rests until its restart, or is due to be started."""

    def __init__(self, child: Child, added: Reply[None] | None = None) -> None:
        self.child = child
        self.added = added  # whoever waits for its first start
        self.life: Life | None = None
        self.resting = False
        self.failed_at: list[float] = []  # monotonic seconds, those that still count


@attrs.frozen
class _Look:
    key: int


@attrs.frozen
class _Add:
    child: Child
    reply: Reply[None]


@attrs.frozen
class _Remove:
    name: str
    reply: Reply[bool]


class Supervisor:
    """Starts its children in order, keeps them up, and stops them in reverse.

    A failure is an end that calls for a restart, or a restart that did not come up; after each the child rests for
    its `backoff`. More than `restarts_max` failures of one child within `within_seconds`, and the supervisor gives
    up. Each child is counted for itself, so that a trouble which hits all of them once ends nobody; and if the rests
    alone outlast `within_seconds`, it never gives up.
    Errors of the kinds in `fatal` are never answered with a restart: they go straight up, from any child, one that is
    TEMPORARY or being stopped too. `on_event` is told what happens, for logs; it must not wait.
    """

    def __init__(
        self,
        children: Sequence[Child],
        *,
        strategy: Strategy,
        restarts_max: int,
        within_seconds: float,
        backoff: Backoff,
        clock: Clock,
        fatal: tuple[type[Exception], ...] = (),
        on_event: Callable[[Event], None] | None = None,
    ) -> None:
        names = [child.name for child in children]
        if len(set(names)) < len(names):
            raise ValueError(f"two children have one name: {', '.join(names)}")
        self._children = tuple(children)
        self._strategy, self._restarts_max, self._within_seconds = strategy, restarts_max, within_seconds
        self._backoff, self._clock, self._fatal, self._on_event = backoff, clock, fatal, on_event
        self._mailbox = Mailbox[_Look | _Add | _Remove]("the supervisor", capacity=_REQUESTS_MAX, on_ring=_Look)
        self._places: list[_Place] = []
        self._doom: Exception | None = None  # what goes up: the first of all that should
        self._nursery: trio.Nursery

    async def run(self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Start the children, and keep them until cancelled. It can be run again: then only the first children start.

        Raises what kept a child from starting the first time or a fatal error, both as they are, or GaveUp: the first
        of them, alone. What else goes wrong while the children stop is only told.
        """
        self._places = [_Place(child) for child in self._children]
        self._doom = None
        with self._mailbox:
            async with trio.open_nursery() as self._nursery:
                try:
                    await self._serve(task_status)
                except Exception as error:
                    if self._doom is None:
                        self._doom = error
                finally:
                    self._mailbox.abandon()  # before it waits for the children: one of them may be who waits for it
                    await self._stop_all()
                    self._nursery.cancel_scope.cancel()  # those that only rest
            if self._doom is not None:
                raise self._doom

    async def add(self, child: Child) -> None:
        """Start one more child, after the others, and wait until it is up.

        Raises what kept it from starting, which leaves the others alone; ValueError if the name is taken;
        MailboxClosed or Unanswered if the supervisor has stopped. It takes as long as the start takes, so bound it if
        that may hang; a caller that gives up leaves the child behind. Never to be awaited inside another child's
        start, which it waits for.
        """
        await self._mailbox.ask(partial(_Add, child), math.inf)

    async def remove(self, name: str) -> bool:
        """Stop a child and forget it; False if there is none of that name (any more).

        Raises MailboxClosed or Unanswered if the supervisor has stopped.
        """
        return await self._mailbox.ask(partial(_Remove, name), math.inf)

    # -- the actor

    async def _serve(self, task_status: trio.TaskStatus[None]) -> None:
        for place in self._places:
            if (error := await self._start(place)) is not None:
                raise error
        task_status.started()
        async for message in self._mailbox:
            match message:
                case _Look():
                    await self._look()
                case _Add():
                    await self._add(message)
                case _Remove():
                    await self._remove(message)
                case _:
                    assert_never(message)

    async def _look(self) -> None:
        """See who has ended, the last one first, then start whoever is due, in order."""
        for place in reversed(list(self._places)):
            if place.life is not None and place.life.ended.is_set():
                await self._after(place, place.life)
        for place in list(self._places):
            if place.life is None and not place.resting:
                await self._start_due(place)
            if place.resting and self._strategy is Strategy.REST_FOR_ONE:
                return  # those behind it may lean on it

    async def _after(self, place: _Place, life: Life) -> None:
        """Do what follows the end of a life."""
        place.life = None
        restart = place.child.restart
        if restart is Restart.TEMPORARY or (restart is Restart.TRANSIENT and life.error is None):
            self._places.remove(place)
            return
        self._failed(place, life.error)
        if self._strategy is Strategy.REST_FOR_ONE:
            for later in reversed(self._places[self._places.index(place) + 1 :]):
                if later.life is not None:
                    await self._stop(later)
                    if later.child.restart is Restart.TEMPORARY:
                        self._places.remove(later)

    def _failed(self, place: _Place, error: Exception | None) -> None:
        """Let it rest before its restart, or give up."""
        name, now = place.child.name, self._clock.monotonic()
        place.failed_at = [at for at in place.failed_at if now - at < self._within_seconds] + [now]
        failures = len(place.failed_at)
        if failures > self._restarts_max:
            self._tell(GivingUp(name, error))
            said = "it just ended" if error is None else str(error) or type(error).__name__
            message = f"{name} failed too often ({failures} within {self._within_seconds:g} s), the last time: {said}"
            raise GaveUp(name, message) from error
        seconds = self._backoff.seconds(failures)
        self._tell(Restarting(name, seconds))
        place.resting = True
        self._nursery.start_soon(self._rest, place, seconds)

    async def _rest(self, place: _Place, seconds: float) -> None:
        await self._clock.sleep(seconds)
        place.resting = False
        self._mailbox.ring(0)

    async def _start_due(self, place: _Place) -> None:
        """Start it again; or, if it was added, for the first time: then the adder hears how it went."""
        error = await self._start(place)
        added, place.added = place.added, None
        if added is None:
            if error is not None:
                self._failed(place, error)
        elif error is None:
            added.send(None)
        else:
            self._places.remove(place)
            added.fail(error)

    async def _add(self, message: _Add) -> None:
        if any(place.child.name == message.child.name for place in self._places):
            message.reply.fail(ValueError(f"there is a child named {message.child.name} already"))
            return
        self._places.append(_Place(message.child, message.reply))
        await self._look()

    async def _remove(self, message: _Remove) -> None:
        place = next((place for place in self._places if place.child.name == message.name), None)
        if place is not None:
            if place.added is not None:
                place.added.fail(ValueError(f"{message.name} was removed before it was up"))
            await self._stop(place)
            self._places.remove(place)
        message.reply.send(place is not None)

    # -- one child

    async def _start(self, place: _Place) -> Exception | None:
        """Start it and wait until it is up; returns what kept it from coming up."""
        place.life = Life(place.child, on_up=self._on_up, on_end=self._on_end)
        self._nursery.start_soon(place.life.run, name=place.child.name)
        error = await place.life.settled()
        if error is not None:
            place.life = None
        return error

    async def _stop(self, place: _Place) -> None:
        if place.life is not None:
            await place.life.stop()
            place.life = None

    async def _stop_all(self) -> None:
        try:
            for place in reversed(self._places):
                await self._stop(place)
        finally:  # whatever cuts even this short (a second Ctrl-C) leaves nobody behind
            for place in self._places:
                if place.life is not None:
                    place.life.cancel()

    def _on_up(self, life: Life) -> None:
        self._tell(Started(life.child.name))

    def _on_end(self, life: Life) -> None:
        self._tell(Exited(life.child.name, life.error))
        if life.error is not None and self._doom is None:
            self._doom = first_of(life.error, self._fatal)
            if self._doom is not None:
                self._nursery.cancel_scope.cancel()
        self._mailbox.ring(0)

    def _tell(self, event: Event) -> None:
        if self._on_event is not None:
            safely(self._on_event, event)
