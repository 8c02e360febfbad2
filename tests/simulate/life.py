"""One life of a dreamwalker in this process: built from a connection string and a few numbers, and gone without a word.

One rule: death is abrupt. First the wires are cut, then everything is cancelled: whatever its clean-up tries, it
reaches nobody. And nothing of it stays: a life is handed no object of an earlier one.
"""

from collections.abc import Callable
from contextlib import ExitStack
from contextvars import ContextVar
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import attrs
import trio

from dreamwalker.config import Config, read
from dreamwalker.house import MAIN_AGENT, House
from dreamwalker.server import serve
from dreamwalker.system import System, start
from tests.ntfy import Ntfy
from tests.proxy import CUT_BEFORE, PASS, Action, Await, Door, Proxy, Request, open_proxy
from tests.simulate.effects import tools_of
from tests.simulate.steps import Naming, claimed, decides

if TYPE_CHECKING:
    from tests.simulate.stage import Stage

LIVING: "ContextVar[Life | None]" = ContextVar("the life that a task belongs to", default=None)

PUBLIC_URL = "https://dream.example"
"""Where a phone reaches it; whoever presses a button there finds the published instance."""

TOKEN = "a-token-of-the-simulation-with-more-than-32-bytes"


def environ_of(dsn: str, model_url: str, key: str, generation: str, ntfy: Ntfy) -> dict[str, str]:
    """The environment of a life: all that it knows of the world."""
    return {
        "DREAMWALKER_HOME": str(Path("/nonexistent")),
        "DREAMWALKER_DATABASE_URL": dsn,
        "DREAMWALKER_TOKEN": TOKEN,
        "DREAMWALKER_GENERATION": generation,
        "DREAMWALKER_ZONE": "Europe/Vienna",
        "DREAMWALKER_SANDBOX": "none",  # make workers tries it; here it would be probed in each life
        "ANTHROPIC_API_KEY": key,
        "ANTHROPIC_BASE_URL": model_url,
        "DREAMWALKER_NTFY_URL": ntfy.url,
        "DREAMWALKER_NTFY_TOPIC": ntfy.topic,
        "DREAMWALKER_NTFY_TOKEN": ntfy.token,
        "DREAMWALKER_PUBLIC_URL": PUBLIC_URL,
    }


class Life:
    """A life and what can be done to it. `number` counts lives of a schedule; `app` is its name in the database."""

    def __init__(self, stage: "Stage", number: int, generation: str) -> None:
        self.stage, self.number, self.generation = stage, number, generation
        self.app = f"life{number}"
        self.key = f"key-{stage.schedule.seed}-of-life-{number}-that-nobody-else-has"
        self.url = ""
        self.dead = False
        self.ended = trio.Event()
        self.proxy: Proxy
        self.claims: set[int] = set()
        """The numbers after which its commits were to come, each as it was sent."""
        self._naming = Naming()
        self._decided = False
        self._resumed: trio.Event | None = None
        self._scope = trio.CancelScope()
        self._stopping: trio.Event | None = None
        self._ears: Ears | None = None
        self.stopped = False

    # -- what can be done to it

    def kill(self) -> None:
        """It dies now."""
        if not self.dead:
            self.dead = True
            self.proxy.door = Door.SHUT
            self.proxy.cut_all()
            self._end_abruptly()
            self.stage.died(self)

    def stop(self) -> None:
        """Ask it to end (SIGTERM)."""
        self.stopped = True
        if self._stopping is not None:
            self._stopping.set()

    def pause(self) -> trio.Event:
        """It is frozen from now on: nothing that it does takes effect. The event is set when it goes on."""
        if self._resumed is None:
            self._resumed = trio.Event()
            self.proxy.door = Door.STUCK
        return self._resumed

    def resume(self) -> None:
        """It goes on."""
        if self._resumed is not None:
            self._resumed.set()
            self._resumed = None
            self.reopen_door()

    def reopen_door(self) -> None:
        """Connections to the database are possible again, unless it is dead or paused."""
        if not self.dead and self._resumed is None:
            self.proxy.door = Door.OPEN

    async def awake(self) -> None:
        """Return when it is not paused; never, if it is dead."""
        while self._resumed is not None:
            await self._resumed.wait()
        if self.dead:
            await trio.sleep_forever()

    def on_request(self, request: Request) -> Action:
        """What becomes of its requests to the database."""
        if self.dead:
            return CUT_BEFORE
        if not request.runs:
            return PASS
        self._note(request)
        action = self.stage.on_request(self, request, self._naming(request))
        if self._resumed is not None and not isinstance(action, Await):
            return Await(self._resumed, action)
        return action

    def _note(self, request: Request) -> None:
        self._decided = decides(request)
        if self._ears is not None:
            self._ears.listen()
        self.claims.update(claimed(request))

    def hear(self, *, rows: bool) -> None:
        """A doorbell was rung just now: then the newest thing that it asked of the database is a commit."""
        if rows and not self._decided and not self.dead:
            self.stage.violations.append(f"{self.app} rang a doorbell before the commit that it rides on")

    # -- its course

    async def run(self, task_status: "trio.TaskStatus[None]") -> None:
        """Live. Reports when it listens."""
        LIVING.set(self)
        async with open_proxy(self.stage.database_url) as self.proxy:
            self.proxy.on_request = self.on_request
            dsn = f"{self.proxy.url}&application_name={self.app}"
            try:
                environ = environ_of(dsn, self.stage.api.url, self.key, self.generation, self.stage.ntfy)
                await self._live(environ, task_status)
            finally:
                self.ended.set()
                self.stage.ended(self)
            await trio.sleep_forever()  # what was held back may be delivered long after

    async def _live(self, environ: dict[str, str], task_status: "trio.TaskStatus[None]") -> None:
        try:
            with self._scope:
                config = attrs.evolve(read(environ), limits=self.stage.limits)
                await _serve(config, self, self.stage, task_status)
        except Exception as error:
            if not self.dead:
                self.stage.violations.append(f"{self.app} ended with {error!r}")
        finally:
            self._scope = trio.CancelScope()
            self._stopping = self._ears = None

    def _end_abruptly(self) -> None:
        self._scope.cancel()


async def _serve(config: Config, life: Life, stage: "Stage", task_status: "trio.TaskStatus[None]") -> None:
    async with start(config, clock=stage.clock, more_tools=tools_of(stage, life)) as system:
        life._stopping, life._ears = system.stopping, Ears(system, life.hear)
        async with trio.open_nursery() as nursery:
            (life.url,) = await nursery.start(partial(serve, system, host="127.0.0.1"))
            task_status.started()


class Ears:
    """Hears, at the very moment, the doorbells that a life's house rings for the owner's conversation."""

    def __init__(self, system: System, heard: Callable[..., None]) -> None:
        self._system, self._heard = system, heard
        self._house: House | None = None
        self._watches = ExitStack()

    def listen(self) -> None:
        """Listen in the house that is open now."""
        if (house := self._system.house) is not None and house is not self._house:
            self._house = house
            watch = self._watches.enter_context(house.live.watch(house.homes[MAIN_AGENT]))
            watch.ring = self._heard  # type: ignore[method-assign]
