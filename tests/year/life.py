"""One life of a house after another, on one database: the real storage, scheduler and conversations, step by step.

One rule: a life knows nothing of the one before it but the database. It can be made to die before or after any of its
storage operations, and everything happens in one order, so that one seed makes one history.
"""

import hashlib
from collections import Counter
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
from dreamwalker.house import MAIN_AGENT, MAIN_JOB
from storage import inbox
from storage.conversations import Agents, EnsureAgent
from storage.operation import Operation, Read
from storage.records import Agent
from storage.settings import HighestId
from tests.storage.harness import House, house
from tools.limits import Limits
from tools.model import ModelError, ModelReply, ModelRequest, Usage
from tools.phone import Notification, NotNow, Outcome, Refused, Shown
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


@attrs.frozen
class ScriptedPhone:
    """A phone in memory: whether a try reaches it follows from the seed, the push and the time alone.

    It outlives every house, and `tried` counts what came, by id.
    """

    seed: int
    tried: Counter[str] = attrs.Factory(Counter)
    has_buttons: bool = True

    async def show(self, it: Notification, now: datetime) -> Outcome:
        self.tried[it.id] += 1
        match drawn_by(self.seed, it.id, f"{now:%Y-%m-%d %H:%M:%S}") % 10:
            case 0 | 1 | 2:
                return NotNow(why="The line was dead.")
            case 3:
                return NotNow(why="Too many.", retry_at=now + timedelta(hours=2))
            case 4 if drawn_by(self.seed, it.id) % 5 == 0:
                return Refused(why="It would not.")
        return Shown()


def drawn_by(*parts: object) -> int:
    """A number that follows from the parts."""
    return int(hashlib.sha256(repr(parts).encode()).hexdigest(), 16)


class Mortal:
    """The store of one life. It dies at its `dies_at`-th operation, before it or (`after`) once it has landed."""

    def __init__(self, under: House, highest_id: int) -> None:
        self._under, self._id = under, highest_id
        self.operations = 0
        self.dies_at: int | None = None
        self.after = False
        self.rung: set[int] = set()

    async def ask(self, operation: Operation[T] | Read[T]) -> T:
        self.operations += 1
        dying = self.dies_at is not None and self.operations >= self.dies_at
        if dying and not self.after:
            raise Died
        done = await self._under.do(operation)
        self.rung.update(bell.key for bell in done.bells if bell.topic == inbox.work(MAIN_AGENT))
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

    async def ask(self, request: ModelRequest, on_text: Callable[[str], None]) -> ModelReply:
        newest = str(request.messages[-1]["content"])
        if request.tools:
            return self._reply("Told.")
        fate = drawn_by(self.seed, newest) % 10
        if fate == 0:
            raise ModelError("refused", "The model would not.", usage=Usage())
        return self._reply("NOTHING" if fate < 6 else f"Report {fate}.")

    def _reply(self, text: str) -> ModelReply:
        return ModelReply(blocks=(text,), stop_reason="end_turn", usage=Usage(), model="claude-haiku-5-5")


class Means:
    """What a life's actors work with."""

    def __init__(self, store: Mortal, clock: YearClock, phone: ScriptedPhone) -> None:
        self.store: Any = store
        self.clock = clock
        self.live, self.limits = (
            Live(),
            Limits(pushes_at_once=1),
        )  # one after the other, so that one seed is one history
        self.redactor, self.zone, self.default_model = Redactor({}), zone_named("Europe/Vienna"), "claude-haiku-5-5"
        self.pushes = Outbox(redactor=lambda: self.redactor, snooze_minutes=lambda: 10, limits=self.limits)
        self.phone = phone
        purse = Purse(day_limit=5 * NANO, month_limit=50 * NANO, zone=self.zone)
        self.guard = Guard(Scripted(phone.seed), prices, lambda: purse)

    def toolbox(self, conversation_kind: str) -> Toolbox:
        return Toolbox(() if conversation_kind == "job" else REMINDER_TOOLS, self.redactor)


@attrs.define
class Life:
    """One life: its store, its scheduler, and the conversations in which something is left to do."""

    store: Mortal
    scheduler: Scheduler
    pusher: Pusher
    means: Means
    agent: Agent
    home: int

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
async def life(url: str, clock: YearClock, phone: ScriptedPhone) -> AsyncIterator[Life]:
    """Open the database as a process that has just started does."""
    async with house(url) as under:
        store = Mortal(under, (await under.do(HighestId())).value)
        means = Means(store, clock, phone)
        made = EnsureAgent(name=MAIN_AGENT, job=MAIN_JOB, instructions="", id=store.next_id(), now=clock.now())
        home = (await under.do(made)).value.id
        (agent,) = (await under.do(Agents())).value
        store.rung.update((await under.do(inbox.Waiting(MAIN_AGENT))).value)
        yield Life(store, Scheduler(means), Pusher(means), means, agent, home)
