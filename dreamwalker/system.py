"""The whole system: asleep, awake or fenced.

One rule: it sleeps until the first request, which opens the storage; many first requests open it once. An instance
that has lost the lease takes it again only when it is free, and until then opens nothing.
"""

import logging
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import trio

from actors.clock import Clock, SystemClock
from actors.supervisor import unwrap
from netlify.client import Netlify
from netlify.gateway import Visit
from storage.errors import LeaseHeld, LeaseLost, StoreClosed
from storage.waking import Found
from tools.contract import Tool
from tools.phone import Phone
from tools.redact import Redactor, SecretTooWeak

from . import clients, prices
from .claude import Claude, NewestCredentials
from .config import Config
from .database import Database
from .furnishing import Furnishing
from .house import House
from .not_ready import NotReady, stopping, why_not
from .sandboxes.chosen import sandbox_of
from .shared import Shared
from .turn import Turn
from .visits import Visits
from .web.open_web import OpenWeb

log = logging.getLogger("dreamwalker.system")

WARM_SECONDS = 1.0
"""How long a first request is waited for before the time is used to get ready."""


class System:
    """The system of one process. Use as `async with start(config) as system`."""

    def __init__(
        self,
        config: Config,
        clock: Clock,
        credentials: NewestCredentials,
        claude: Claude,
        phone: Phone | None,
        netlify: Netlify | None,
        more_tools: tuple[Tool, ...] = (),
    ) -> None:
        self.config, self.clock = config, clock
        self.credentials, self._claude, self._phone, self._netlify = credentials, claude, phone, netlify
        self.visits = Visits(config, credentials)
        self.database = Database(config, self.visits)
        self._more_tools = more_tools
        self._sandbox = sandbox_of(config)
        self._web = OpenWeb(config.limits)
        self.house: House | None = None
        self.fenced = False
        self._held_as = ""
        self._turn = Turn(self.database.is_free, look_seconds=config.limits.look_seconds)
        self._opened = trio.Event()
        self.stopping = trio.Event()
        self._nursery: trio.Nursery
        self._living = trio.CancelScope()
        self._opening: Shared[House] | None = None
        self._waking: Shared[Found] | None = None
        self._visited_at = float("-inf")
        self._redactor: tuple[dict[str, str], Redactor] | None = None

    # -- for the doors

    async def open(self) -> House:
        """The open house, opened first if it isn't. Raises NotReady. A caller that is cancelled cuts nothing short."""
        self._visited_at = time.monotonic()
        if self.stopping.is_set():
            raise stopping()
        if self.visits.withdrawn:
            raise NotReady("The site shows another deploy.", retry_after_seconds=60.0)
        if self.house is not None:
            return self.house
        if self._opening is None:
            self._opening = Shared(self._open, stopping)
            self._nursery.start_soon(self._opening.run)
        with trio.move_on_after(self.config.limits.opening_seconds):
            return await self._opening.result()
        raise NotReady("The storage is still being opened.", retry_after_seconds=2.0)

    async def visit(self, visit: Visit) -> None:
        """Keep what the platform lent with a request. On a deploy that the site does not show any more, close."""
        if self.visits.take(visit) and self.house is not None:
            self.house.nudge()
        if self.visits.withdrawn:
            self._living.cancel()
        elif self.credentials.current is None:
            practice = await clients.practice(self._nursery)
            if self.credentials.current is None and self.credentials.seen(practice) and self.house is not None:
                self.house.nudge()

    async def wake(self) -> Found | None:
        """Open what is closed and set going what is due or waits: what was found, None if that takes longer than
        anyone should wait for it; it goes on then. Many at once are one. Raises NotReady and StorageError.
        """
        if self._waking is None:
            self._waking = Shared(self._wake, stopping)
            self._nursery.start_soon(self._waking.run)
        with trio.move_on_after(self.config.limits.wake_seconds):
            return await self._waking.result()
        return None

    @property
    def practice(self) -> bool:
        """Whether the practice model answers."""
        return self.credentials.current is not None and self.credentials.current.api_key == clients.PRACTICE_KEY

    @property
    def state(self) -> str:
        """ "awake", "asleep" or "fenced"."""
        return "awake" if self.house is not None else "fenced" if self.fenced else "asleep"

    @property
    def redactor(self) -> Redactor:
        """Takes the secrets that this process holds now out of text."""
        secrets = self.config.secrets() | self.visits.secrets()
        if (held := self.credentials.current) is not None:
            secrets["MODEL KEY"] = held.api_key
        if self._redactor is None or self._redactor[0] != secrets:
            try:
                self._redactor = (secrets, Redactor(secrets))
            except SecretTooWeak as weak:  # a token file that somebody edited; nobody comes in with it either
                self._redactor = (secrets, Redactor({n: s for n, s in secrets.items() if n != weak.name}))
        return self._redactor[1]

    async def look_at_model(self) -> None:
        """See whether the model answers and accepts the key; it costs nothing. Raises ModelError."""
        await self._claude.look()

    async def warm(self) -> None:
        """Import the model's SDK, which takes a second or two: once the storage is open, for the first request waits.

        Or when no request comes for a while: who is to take over later goes on with the runs at once then.
        """
        with trio.move_on_after(WARM_SECONDS):
            await self._opened.wait()
        await self._claude.warm()

    # -- its life

    def settle_in(self, nursery: trio.Nursery) -> None:
        """Houses live in this nursery."""
        self._nursery = nursery

    async def _open(self) -> House:
        try:
            await self._turn.come()
            self.house = await self._nursery.start(self._keep)
        except Exception as error:
            raise why_not(unwrap(error), self.config.limits.look_seconds) from error
        finally:
            self._opening = None
        return self.house

    async def _wake(self) -> Found:
        try:
            return await (await self.open()).wake()
        finally:
            self._waking = None

    async def _keep(self, task_status: "trio.TaskStatus[House]") -> None:
        """Run one house to its end."""
        house = House(await self._furnishing(), formerly=self._held_as)
        up, began = False, time.monotonic()
        self._living = trio.CancelScope()

        def opened(house: House) -> None:
            nonlocal up
            up, self.fenced = True, False
            self._opened.set()
            log.info("house.opened", {"generation": house.store.generation, "ms": _since(began)})
            task_status.started(house)

        try:
            with self._living:
                await house.run(_Status(opened))
            if not up:
                raise StoreClosed("The site shows another deploy by now.")
        except Exception as raised:
            error = unwrap(raised)
            self.fenced = self.fenced or isinstance(error, LeaseLost | LeaseHeld)
            if isinstance(error, LeaseHeld):
                self._turn.refused(error)
            if not up:
                raise error from None
            log.warning("house.closed", {"why": error})
            if not self.fenced:
                self._nursery.start_soon(self._reopen)
        finally:
            self._held_as = house.store.held_as or self._held_as
            if self.house is house:
                self.house = None

    async def _reopen(self) -> None:
        """After a failure of the storage there may be work left: try to open again, with growing pauses.

        Once another instance has the lease, the work is its own: then only a request opens this one again.
        """
        pause = 1.0
        while self.house is None and not self.fenced and not self.stopping.is_set():
            await trio.sleep(pause)
            pause = min(pause * 2, 60.0)
            try:
                await self.open()
            except NotReady as error:
                log.info("house.still_closed", {"why": error})

    async def _furnishing(self) -> Furnishing:
        config, limits = self.config, self.config.limits
        return Furnishing(
            store=await self.database.store(),
            model=self._claude,
            prices=prices,
            clock=self.clock,
            limits=limits,
            redactor=lambda: self.redactor,
            zone=config.zone,
            default_model=config.model,
            phone=self._phone,
            sandbox=self._sandbox,
            web=self._web,
            netlify=self._netlify,
            more_tools=self._more_tools,
            visited=lambda: time.monotonic() - self._visited_at < limits.visitor_seconds,
        )


def _since(began: float) -> int:
    return round(1_000 * (time.monotonic() - began))


class _Status:
    """A trio.TaskStatus that calls a function."""

    def __init__(self, call: Any) -> None:
        self._call = call

    def started(self, value: Any = None) -> None:
        self._call(value)


@asynccontextmanager
async def start(
    config: Config, *, clock: Clock | None = None, more_tools: tuple[Tool, ...] = ()
) -> AsyncIterator[System]:
    """Run a system, its agents given `more_tools` beside their own.

    With neither key nor endpoint, the practice model is started beside it.
    """
    credentials, limits = NewestCredentials(), config.limits
    async with (
        Claude(credentials, silence_seconds=limits.silence_seconds, extra_ca_file=config.extra_ca_file) as claude,
        clients.phone(config) as phone,
        clients.netlify(config) as netlify,
    ):
        system = System(config, clock or SystemClock(), credentials, claude, phone, netlify, more_tools)
        try:
            async with trio.open_nursery() as nursery:
                if config.platform is None:
                    credentials.seen(await clients.credentials(config, nursery))
                system.settle_in(nursery)
                try:
                    yield system
                finally:
                    system.stopping.set()
                    if system.house is not None:
                        system.house.live.finish()
                    nursery.cancel_scope.cancel()
        finally:  # the house has given the lease up: now its database may go
            with trio.CancelScope(shield=True):
                await system.database.close()
