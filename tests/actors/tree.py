"""A supervisor under test, on a clock moved by hand, and actors whose lives a test ends as it likes."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import trio
from trio.testing import wait_all_tasks_blocked

from actors.supervisor import Backoff, Child, Event, Restart, Strategy, Supervisor
from tests.hand_clock import HandClock


class Trouble(Exception):
    """What an actor fails with."""


class Fenced(Exception):
    """What no restart can help."""


class Actor:
    """An actor whose lives a test ends as it likes. `cannot_start` is what its next start fails with."""

    def __init__(self, *, cannot_start: Exception | None = None) -> None:
        self.lives = 0
        self.cannot_start = cannot_start
        self._ending = trio.Event()
        self._error: Exception | None = None

    async def start(self, *, task_status: trio.TaskStatus[object]) -> None:
        await trio.lowlevel.checkpoint()
        if (error := self.cannot_start) is not None:
            self.cannot_start = None
            raise error
        self.lives += 1
        self._ending, self._error = trio.Event(), None
        task_status.started()
        await self._ending.wait()
        if self._error is not None:
            raise self._error

    async def end(self, error: Exception | None = None) -> None:
        """End its life and let the supervisor do what it does then."""
        self.ask_to_stop(error)
        await wait_all_tasks_blocked()

    def ask_to_stop(self, error: Exception | None = None) -> None:
        self._error = error
        self._ending.set()


class Tree:
    """A supervisor on a clock moved by hand, what it told, and the error it went up with."""

    def __init__(
        self,
        *children: Child,
        strategy: Strategy = Strategy.ONE_FOR_ONE,
        restarts_max: int = 3,
        on_event: Callable[[Event], None] | None = None,
    ) -> None:
        self.clock = HandClock()
        self.error: Exception | None = None
        self._events: list[Event] = []
        self.supervisor = Supervisor(
            children,
            strategy=strategy,
            restarts_max=restarts_max,
            within_seconds=60,
            backoff=Backoff(base_seconds=1, max_seconds=4),
            clock=self.clock,
            fatal=(Fenced,),
            on_event=on_event or self._events.append,
        )

    async def run(self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Run it, and keep what it raises."""
        try:
            await self.supervisor.run(task_status=task_status)
        except Exception as error:
            self.error = error

    def told(self) -> list[Event]:
        """What was told since last asked."""
        told, self._events[:] = list(self._events), []
        return told

    async def pass_time(self, seconds: float) -> None:
        self.clock.move(seconds)
        await wait_all_tasks_blocked()


@asynccontextmanager
async def living(tree: Tree) -> AsyncIterator[None]:
    """The tree from when it is up until it is cancelled; what it told on the way up is forgotten."""
    async with trio.open_nursery() as nursery:
        await nursery.start(tree.run)
        tree.told()
        yield
        nursery.cancel_scope.cancel()


def child(name: str, actor: Actor, restart: Restart = Restart.PERMANENT) -> Child:
    return Child(name=name, start=actor.start, restart=restart, ask_to_stop=actor.ask_to_stop, stop_seconds=5)
