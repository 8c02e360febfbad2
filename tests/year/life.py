"""One life of a house after another, on one database: the real storage, scheduler and conversations, step by step.

One rule: a life knows nothing of the one before it but the database. It can be made to die before or after any of its
storage operations, and everything happens in one order, so that one seed makes one history.
"""

import hashlib
from collections import defaultdict
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import datetime, timedelta
from typing import Any, TypeVar

import attrs

from actors.converse import Conversing
from actors.live import Live
from actors.pusher import Pusher
from actors.scheduler import Scheduler
from actors.spend import Guard, Purse
from actors.supervisor import unwrap
from dreamwalker import prices
from dreamwalker.cast import MAIN_AGENT, MAIN_JOB
from storage import inbox, pushes
from storage.agents import MakeAgent
from storage.operation import Operation, Read
from storage.records import Agent
from storage.settings import HighestId
from tests.storage.harness import House, house
from tools.limits import Limits
from tools.model import ModelError, ModelReply, ModelRequest, Usage
from tools.phone import Notification, NotNow, Outcome, Phone, Refused, Shown
from tools.pushing import Outbox
from tools.redact import Redactor
from tools.reminders import REMINDER_TOOLS
from tools.toolbox import Toolbox
from tools.zones import zone_named

T = TypeVar("T")
NANO = 1_000_000_000


class Died(BaseException):
    """The process is gone: nothing of it can catch this, as nothing could."""


@attrs.define
class YearClock:
    """A wall clock that stands where it is put. Nothing here sleeps."""

    at: datetime

    def now(self) -> datetime:
        return self.at

    def monotonic(self) -> float:
        return self.at.timestamp()

    async def sleep_until(self, when: datetime) -> None:
        raise AssertionError(f"nothing should wait until {when}")

    async def sleep(self, seconds: float) -> None:
        raise AssertionError(f"nothing should wait for {seconds} s")


@attrs.define
class FicklePhone:
    """A phone that often fails: how follows from the seed, the push and how often it was tried. It remembers what came
    of each try, and in which life it was made.
    """

    seed: int
    life: int = 0
    tries: defaultdict[str, list[tuple[int, Outcome]]] = attrs.Factory(lambda: defaultdict(list))
    has_buttons = True

    async def show(self, it: Notification, now: datetime) -> Outcome:
        key = f"{self.seed} {it.id} {len(self.tries[it.id])}"
        fate = int(hashlib.sha256(key.encode()).hexdigest(), 16) % 20
        outcome: Outcome = Shown()
        if fate == 0:
            outcome = Refused(why="It would not.")
        elif fate < 6:
            outcome = NotNow(why="Not now.", retry_at=now + timedelta(hours=fate) if fate < 3 else None)
        self.tries[it.id].append((self.life, outcome))
        return outcome


class Mortal:
    """The store of one life. It dies at its `dies_at`-th operation, before it or (`after`) once it has landed."""

    def __init__(self, under: House, highest_id: int) -> None:
        self._under, self._id = under, highest_id
        self.operations = 0
        self.dies_at: int | None = None
        self.after = False
        self.rung: set[int] = set()
        self.pushes_wait = True

    @property
    def generation(self) -> str:
        """There is one deploy."""
        return "0"

    async def ask(self, operation: Operation[T] | Read[T]) -> T:
        self.operations += 1
        dying = self.dies_at is not None and self.operations >= self.dies_at
        if dying and not self.after:
            raise Died
        done = await self._under.do(operation)
        self.rung.update(bell.key for bell in done.bells if bell.topic == inbox.work(MAIN_AGENT))
        self.pushes_wait = self.pushes_wait or pushes.WAITS in done.bells
        if dying:
            raise Died
        return done.value

    def next_id(self) -> int:
        self._id += 1
        return self._id

    async def hold(self, margin_seconds: float) -> None:
        """The lease is nobody else's here."""


@attrs.frozen
class Scripted:
    """A model in memory: what it answers follows from the seed and the task alone."""

    seed: int

    async def warm(self) -> None:
        """It is always ready."""

    async def ask(self, request: ModelRequest, on_text: Callable[[str], None]) -> ModelReply:
        newest = str(request.messages[-1]["content"])
        if request.tools:
            return self._reply("Told.")
        fate = int(hashlib.sha256(f"{self.seed} {newest}".encode()).hexdigest(), 16) % 10
        if fate == 0:
            raise ModelError("refused", "The model would not.", usage=Usage())
        return self._reply("NOTHING" if fate < 6 else f"Report {fate}.")

    def _reply(self, text: str) -> ModelReply:
        return ModelReply(blocks=(text,), stop_reason="end_turn", usage=Usage(), model="claude-haiku-5-5")


class Means:
    """What a life's actors work with."""

    def __init__(self, store: Mortal, clock: YearClock, phone: FicklePhone) -> None:
        self.store: Any = store
        self.clock = clock
        self.phone: Phone | None = phone
        self.live, self.limits = Live(), Limits(pushes_at_once=1)  # one by one, or one seed had many histories
        self.pushes = Outbox(redactor=lambda: self.redactor, snooze_minutes=lambda: 10, limits=self.limits)
        self.redactor, self.zone, self.default_model = Redactor({}), zone_named("Europe/Vienna"), "claude-haiku-5-5"
        purse = Purse(day_limit=5 * NANO, month_limit=50 * NANO, zone=self.zone)
        self.guard = Guard(Scripted(phone.seed), prices, lambda: purse)

    def toolbox(self, conversation_kind: str, agent: str) -> Toolbox:
        return Toolbox(() if conversation_kind == "job" else REMINDER_TOOLS, self.redactor)


@attrs.define
class Life:
    """One life: its store, its scheduler and pusher, and the conversations in which something is left to do."""

    store: Mortal
    scheduler: Scheduler
    pusher: Pusher
    means: Means
    agent: Agent
    home: int
    _push_at: datetime | None = None

    async def look(self) -> datetime | None:
        """Let come up what is due, and push what waits; returns when there is more to do. Raises Died."""
        next_at = await self.scheduler.look()
        if self.store.pushes_wait or (self._push_at is not None and self._push_at <= self.means.clock.at):
            self.store.pushes_wait = False
            try:
                self._push_at = await self.pusher.look()
            except BaseException as raised:
                raise unwrap(raised) from None
        return min((at for at in (next_at, self._push_at) if at is not None), default=None)

    @property
    def waiting(self) -> list[int]:
        """The conversations that were rung, in the order of their numbers."""
        return sorted(self.store.rung)

    async def work(self, conversation: int) -> None:
        """Work on one conversation until nothing is left. Raises Died."""
        self.store.rung.discard(conversation)
        try:
            while True:
                conversing = await Conversing.load(self.means, lambda: self.agent, conversation)
                await conversing.work()
                if not conversing.stale:
                    return
        except BaseException as raised:
            raise unwrap(raised) from None


@asynccontextmanager
async def life(url: str, clock: YearClock, phone: FicklePhone) -> AsyncIterator[Life]:
    """Open the database as a process that has just started does."""
    phone.life += 1
    async with house(url) as under:
        store = Mortal(under, (await under.do(HighestId())).value)
        means = Means(store, clock, phone)
        made = MakeAgent(name=MAIN_AGENT, job=MAIN_JOB, id=store.next_id(), now=clock.now())
        agent, conversation = (await under.do(made)).value
        home = conversation.id
        store.rung.update((await under.do(inbox.Waiting(MAIN_AGENT))).value)
        yield Life(store, Scheduler(means), Pusher(means), means, agent, home)
