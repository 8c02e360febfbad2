"""The house while it is awake: the storage, the agents and what they work with, wired and supervised.

One rule: it is built anew at each opening from the database alone. When the storage ends, the house ends with it.
"""

import logging
from contextlib import AbstractAsyncContextManager
from functools import partial
from typing import ClassVar
from zoneinfo import ZoneInfo

import trio

from actors.agent import EVERYWHERE, AgentActor
from actors.decisions import Decisions
from actors.live import Live
from actors.mailbox import MailboxError
from actors.pusher import Pusher
from actors.retention import Retention
from actors.scheduler import Scheduler
from actors.searching import Searches
from actors.spend import Guard, Purse
from actors.store import FATAL, Store
from actors.supervisor import (
    Backoff,
    Child,
    Event,
    Exited,
    GivingUp,
    Restart,
    Restarting,
    Strategy,
    Supervisor,
)
from actors.words import Words
from actors.workers import Workers
from storage import pushes, spend
from storage.errors import OverBudget, StoreClosed
from storage.operation import Write
from storage.records import Agent, Question
from storage.settings import Set, Settings
from storage.waking import Found, Look
from tools.card import card
from tools.phone import Phone, hash_of
from tools.pushing import Outbox, effects
from tools.redact import Redactor
from tools.taint import Mode
from tools.toolbox import Toolbox

from .cast import MAIN_AGENT as MAIN_AGENT
from .cast import Cast
from .doorbells import answer
from .equipment import Equipment
from .furnishing import Furnishing
from .settings import NANO, Chosen, chosen, judge

log = logging.getLogger("dreamwalker.house")

STOP_SECONDS = 15.0
"""How long to wait for an actor that is to end a run."""


class House:
    """An open house. Satisfies the Means of agents. `run` ends when the storage does, with its error."""

    EQUIPMENT: ClassVar[type[Equipment]] = Equipment

    def __init__(self, furnishing: Furnishing, *, formerly: str = "") -> None:
        self._furnishing = furnishing
        self.clock, self.limits = furnishing.clock, furnishing.limits
        self.live = Live()
        self.store = Store(furnishing.store, ring=partial(answer, self), busy=self._busy, formerly=formerly)
        self.chosen = Chosen(zone=furnishing.zone)
        self.guard = Guard(furnishing.model, furnishing.prices, lambda: self.purse)
        self.decisions = Decisions(self)
        self.cast = Cast(self, add=self._employ, remove=self._dismiss, changed=lambda: self.equipment.renew())
        self.workers = Workers(self, lambda name: self.agents[name], self._employ)
        self.equipment = self.EQUIPMENT(
            workers=self.workers,
            cast=self.cast,
            searches=Searches(self),
            web=furnishing.web,
            sandbox=furnishing.sandbox,
            netlify=furnishing.netlify,
            more=furnishing.more_tools,
            redactor=furnishing.redactor,
            limits=furnishing.limits,
        )
        self.pushes = Outbox(
            redactor=furnishing.redactor, snooze_minutes=lambda: self.chosen.snooze_minutes, limits=furnishing.limits
        )
        self.scheduler = Scheduler(self)
        self.pusher = Pusher(self)
        self.retention = Retention(self, lambda: self.chosen.keep_days)
        self.words = Words(self)

    # -- the means of agents

    @property
    def zone(self) -> ZoneInfo:
        """The owner's zone."""
        return self.chosen.zone

    @property
    def default_model(self) -> str:
        """The model of agents that name none."""
        return self._furnishing.default_model

    @property
    def ask_mode(self) -> Mode:
        """How much the owner wants to be asked."""
        return self.chosen.ask

    @property
    def redactor(self) -> Redactor:
        """Takes the server's present secrets out of text."""
        return self._furnishing.redactor()

    def toolbox(self, conversation_kind: str, agent: str) -> Toolbox:
        """The tools of an agent in a kind of conversation, ready for use."""
        return self.equipment.toolbox(conversation_kind, agent)

    async def equip_workers(self) -> None:
        """Get ready what workers work with; it costs nothing once it was done."""
        await self.equipment.equip_workers()

    async def clean(self, conversation: int) -> None:
        """Leave nothing of a worker's behind."""
        await self.equipment.clean(conversation)

    @property
    def phone(self) -> Phone | None:
        """The owner's phone, if there is one and pushes are not turned off."""
        return self._furnishing.phone if self.chosen.pushes else None

    def push_of(self, question: Question, again: bool) -> tuple[Write, ...]:
        """The push that tells of a question; `again`: a second time."""
        return self.pushes.question(question, card(question, self.zone).text, self.clock.now(), again=again)

    async def tell_of_limit(self, over: OverBudget) -> tuple[Write, ...]:
        """The writes that tell the owner, once for each limit of a day or month, that it is reached."""
        purse, now = self.purse, self.clock.now()
        of_day = str(over) == spend.DAY
        period, general = (purse.day(now), purse.day_limit) if of_day else (purse.month(now), purse.month_limit)
        stands = await self.store.ask(spend.ReadPeriod(period))
        limit_dollars = max(general, stands.raised_to or 0) / NANO
        return spend.reached(period, now), self.pushes.limit(period, limit_dollars, now)

    def halted_workers(self, run: int) -> AbstractAsyncContextManager[None]:
        """Those that a run set to work do nothing while the block ends it."""
        return self.workers.halted(run)

    def halted_answers_of(self, agent: str) -> AbstractAsyncContextManager[None]:
        """An agent does not work on what others wrote to it while the block retires it."""
        return self.workers.halted_answers_of(agent)

    # -- for the doors

    @property
    def agents(self) -> dict[str, Agent]:
        """Every agent by its name, retired ones too."""
        return self.cast.records

    @property
    def homes(self) -> dict[str, int]:
        """The home conversation of each agent."""
        return self.cast.homes

    @property
    def ready_grants(self) -> tuple[str, ...]:
        """What is set up of all that an agent can be granted."""
        return self.equipment.grants

    def agent(self, name: str) -> AgentActor | None:
        """The actor of an agent, or None if none of that name is at work."""
        return self.cast.actors.get(name)

    async def stop_run(self, run: int, conversation: int, agent: str, reason: str) -> None:
        """Have whoever works on a run end it, if anybody does. Raises MailboxError."""
        worker, actor = self.workers.of(conversation), self.agent(agent)
        if worker is not None:
            await worker.stop(run, reason, STOP_SECONDS)
        elif actor is not None:
            await actor.stop(run, conversation, reason, STOP_SECONDS)

    async def choose(self, name: str, value: object) -> None:
        """Set one of the owner's settings. Raises BadSetting."""
        await self.store.ask(Set(name, judge(name, value)))
        await self._read_settings()
        self.nudge()
        self.retention.mailbox.ring(0)

    async def press(self, token: str) -> str | None:
        """Press the button with this token: what the owner is told; None if there is none. Raises Declined."""
        hashed = hash_of(token)
        if hashed is None:
            return None
        made = {**effects(id=self.store.next_id()), **self.decisions.effects(message=self.store.next_id())}
        said = await self.store.ask(pushes.Press(hash=hashed, effects=made, now=self.clock.now()))
        if isinstance(said, pushes.Declined):
            raise said
        return said

    async def wake(self) -> Found:
        """Set going again whatever is due or waits, and say what was found, without waiting for any of it."""
        found = await self.store.ask(Look(self.clock.now()))
        if found.due:
            self.scheduler.mailbox.ring(0)
        if found.unsent:
            self.pusher.mailbox.ring(0)
        if found.waiting:
            self.nudge()
        return found

    def nudge(self) -> None:
        """Tell every agent to try again what waits: money, credentials or a setting changed."""
        for actor in self.cast.actors.values():
            actor.mailbox.ring(EVERYWHERE)
        self.workers.nudge()

    # -- its life

    async def run(self, task_status: "trio.TaskStatus[House]" = trio.TASK_STATUS_IGNORED) -> None:
        """Open, start the actors, serve until cancelled. Raises what opening raises and what ends the storage."""
        furnishing = self._furnishing

        async def opened(*, task_status: "trio.TaskStatus[object]") -> None:
            await self.store.run(task_status)

        async def ready(*, task_status: "trio.TaskStatus[object]") -> None:
            try:
                await self._settle_in(agents)
            except MailboxError as error:  # the storage ended meanwhile, and the agents' supervisor with it
                raise StoreClosed("the house is closing") from error
            task_status.started()
            up()
            await trio.sleep_forever()

        def up() -> None:
            task_status.started(self)

        agents = Supervisor(
            (),
            strategy=Strategy.ONE_FOR_ONE,
            restarts_max=10,
            within_seconds=60.0,
            backoff=Backoff(base_seconds=0.1, max_seconds=10.0),
            clock=furnishing.clock,
            fatal=FATAL,
            on_event=_log,
        )
        self._employer = agents
        root = Supervisor(
            (
                Child(name="storage", start=opened, restart=Restart.PERMANENT, stop_seconds=0.0),
                Child(name="agents", start=agents.run),
                Child(name="house", start=ready),
            ),
            strategy=Strategy.REST_FOR_ONE,
            restarts_max=0,
            within_seconds=1.0,
            backoff=Backoff(base_seconds=0.0, max_seconds=0.0),
            clock=furnishing.clock,
            fatal=FATAL,
            on_event=_log,
        )
        try:
            await root.run()
        finally:
            self.live.finish()

    async def _settle_in(self, supervisor: Supervisor) -> None:
        """Read what the actors need from the database, and start one for each agent.

        Who is at work for a call is there before anybody rings for his conversation: else its agent would take it up.
        """
        await self._read_settings()
        await self.cast.settle_in(self.clock.now())
        await supervisor.add(Child(name="sweep", start=self._sweep, restart=Restart.TEMPORARY))
        await self.workers.take_up()
        keeper, pusher, scheduler = self.decisions, self.pusher, self.scheduler
        await supervisor.add(Child(name="questions", start=keeper.run, ask_to_stop=keeper.mailbox.close))
        await supervisor.add(Child(name="pusher", start=pusher.run, ask_to_stop=pusher.mailbox.close, stop_seconds=1.0))
        retention = self.retention
        await supervisor.add(
            Child(name="retention", start=retention.run, ask_to_stop=retention.mailbox.close, stop_seconds=1.0)
        )
        await supervisor.add(Child(name="scheduler", start=scheduler.run, ask_to_stop=scheduler.mailbox.close))
        await supervisor.add(Child(name="words", start=self.words.run, ask_to_stop=self.words.mailbox.close))

    async def _sweep(self, *, task_status: "trio.TaskStatus[object]") -> None:
        """Nobody waits for it."""
        task_status.started()
        await self.equipment.sweep()

    async def _employ(self, child: Child) -> None:
        await self._employer.add(child)

    async def _dismiss(self, name: str) -> bool:
        return await self._employer.remove(name)

    async def _read_settings(self) -> None:
        self.chosen = chosen(await self.store.ask(Settings()), self._furnishing.zone)

    @property
    def purse(self) -> Purse:
        """The limits that hold now."""
        return Purse(day_limit=self.chosen.day_limit, month_limit=self.chosen.month_limit, zone=self.chosen.zone)

    def _busy(self) -> bool:
        at_work = self.workers.busy or any(actor.busy for actor in self.cast.actors.values())
        return self._furnishing.visited() or at_work


def _log(event: Event) -> None:
    match event:
        case Exited(name=name, error=error) if error is not None:
            log.warning("actor.ended", {"actor": name, "why": error})
        case Restarting(name=name, seconds=seconds):
            log.warning("actor.restarted", {"actor": name, "seconds": seconds})
        case GivingUp(name=name, error=error):
            log.error("actor.given_up", {"actor": name}, exc_info=error)
