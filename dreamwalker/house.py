"""The house while it is awake: the storage, the agents and what they work with, wired and supervised.

One rule: it is built anew at each opening from the database alone. When the storage ends, the house ends with it.
"""

import logging
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from zoneinfo import ZoneInfo

import attrs
import trio

from actors.agent import EVERYWHERE, AgentActor
from actors.clock import Clock
from actors.decisions import Decisions
from actors.live import Live
from actors.mailbox import MailboxClosed
from actors.pusher import Pusher
from actors.retention import Retention
from actors.scheduler import Scheduler
from actors.searching import Searches
from actors.spend import Guard, Prices, Purse
from actors.store import FATAL, Store, StoreSettings
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
from netlify.client import Netlify
from storage import answers, inbox, pushes, runs, spend, things
from storage.errors import OverBudget, StoreClosed
from storage.operation import Bell, Write
from storage.records import Agent, Question
from storage.settings import Set, Settings
from storage.waking import Found, Look
from tools.card import card
from tools.contract import Tool
from tools.delegate import delegate
from tools.fetch_url import Web, fetch_url
from tools.history import HISTORY_TOOLS
from tools.jobs import JOB_TOOLS
from tools.limits import Limits
from tools.messages import message_agent
from tools.model import Model
from tools.netlify import NETLIFY, netlify_tools
from tools.notes import NOTE_TOOLS
from tools.phone import Phone, hash_of
from tools.pushing import Outbox, effects
from tools.questions import ASK_OWNER
from tools.redact import Redactor
from tools.reminders import REMINDER_TOOLS
from tools.sandbox import Sandbox, sandbox_tools
from tools.taint import Mode
from tools.toolbox import Toolbox
from tools.web_search import web_search

from .cast import MAIN_AGENT as MAIN_AGENT
from .cast import Cast, grants_of
from .settings import NANO, Chosen, chosen, judge

log = logging.getLogger("dreamwalker.house")

STOP_SECONDS = 15.0
"""How long to wait for an actor that is to end a run."""


@attrs.frozen(kw_only=True)
class Furnishing:
    """What a house is built from, made by the shell once for the whole process.

    `more_tools` are given to every conversation beside the house's own.
    """

    store: StoreSettings
    model: Model
    prices: Prices
    clock: Clock
    limits: Limits
    redactor: Callable[[], Redactor]
    zone: ZoneInfo
    default_model: str
    phone: Phone | None
    """None: nothing can be pushed."""
    sandbox: Sandbox | None = None
    """Where workers run commands; None: nowhere."""
    web: Web | None = None
    """What workers fetch pages with; None: they have neither pages nor searches."""
    netlify: Netlify | None = None
    """What an agent is granted with `netlify`; None: there is nothing to grant."""
    more_tools: tuple[Tool, ...] = ()
    visited: Callable[[], bool]
    """Whether a published request came lately, so that the lease is kept up."""


class House:
    """An open house. Satisfies the Means of agents. `run` ends when the storage does, with its error."""

    def __init__(self, furnishing: Furnishing, *, formerly: str = "") -> None:
        self._furnishing = furnishing
        self.clock, self.limits = furnishing.clock, furnishing.limits
        self.live = Live()
        self.store = Store(furnishing.store, ring=self._ring, busy=self._busy, formerly=formerly)
        self.chosen = Chosen(zone=furnishing.zone)
        self.guard = Guard(furnishing.model, furnishing.prices, lambda: self.purse)
        self.decisions = Decisions(self)
        self.cast = Cast(self, add=self._employ, remove=self._dismiss, changed=self._equip_anew)
        self.workers = Workers(self, lambda name: self.agents[name], self._employ)
        web = furnishing.web
        self._web_tools = () if web is None else (web_search(Searches(self)), fetch_url(web))
        self._sandbox_tools: tuple[Tool, ...] = ()
        self._toolboxes: dict[tuple[str, str], Toolbox] = {}
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

    def tools(self, conversation_kind: str, agent: str) -> tuple[Tool, ...]:
        """Every tool of an agent in a kind of conversation.

        A job's run has none that reads anything outside its job; a worker's, none that reads or changes what is here.
        """
        match conversation_kind:
            case "job":
                return (delegate(self.workers),)
            case "worker":
                return (*self._web_tools, *self._sandbox_tools)
        tools = (*NOTE_TOOLS, *HISTORY_TOOLS, *REMINDER_TOOLS, *JOB_TOOLS, delegate(self.workers), ASK_OWNER)
        others = self.cast.others(agent)
        messages = (message_agent(self.workers, others),) if others else ()
        return (*tools, *messages, *self._granted(agent), *self._furnishing.more_tools)

    def _granted(self, agent: str) -> tuple[Tool, ...]:
        """The tools that the owner granted an agent."""
        netlify = self._furnishing.netlify
        granted = netlify is not None and NETLIFY in grants_of(self.agents[agent])
        return netlify_tools(netlify) if granted and netlify is not None else ()

    def toolbox(self, conversation_kind: str, agent: str) -> Toolbox:
        """The tools of an agent in a kind of conversation, ready for use."""
        made = self._toolboxes.get((conversation_kind, agent))
        if made is None or made.redactor is not self.redactor:
            made = Toolbox(self.tools(conversation_kind, agent), self.redactor)
            self._toolboxes[conversation_kind, agent] = made
        return made

    def _equip_anew(self) -> None:
        """What tools there are hangs on who there is and what is granted."""
        self._toolboxes.clear()

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

    async def equip_workers(self) -> None:
        """Find out whether there is a sandbox that can be used. It is tried once."""
        sandbox = self._furnishing.sandbox
        if sandbox is not None and not self._sandbox_tools:
            if (why := await sandbox.unavailable()) is None:
                self._sandbox_tools = sandbox_tools(sandbox, self.limits)
                self._equip_anew()
            else:
                log.info("sandbox.missing", {"why": why})

    async def clean(self, conversation: int) -> None:
        """Leave nothing of a worker's behind."""
        if (sandbox := self._furnishing.sandbox) is not None:
            await sandbox.clean(conversation)

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
        return () if self._furnishing.netlify is None else (NETLIFY,)

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
            except MailboxClosed as error:  # the storage ended meanwhile, and the agents' supervisor with it
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
        """Have deleted what earlier processes left in sandboxes. Nobody waits for it: it may take the internet."""
        task_status.started()
        if (sandbox := self._furnishing.sandbox) is not None:
            await sandbox.sweep()

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

    def _ring(self, bell: Bell, no: int) -> None:
        worker = self.workers.of(bell.key)
        if bell.topic == inbox.LIVE:
            self.words.hear(no)
            self.live.changed(bell.key)
            if worker is not None:  # it is shown under its call, too
                self.live.changed(worker.worker.parent)
            return
        if bell.topic == runs.WORKERS:
            self.workers.look()
            return
        if bell.topic == answers.EXPIRY:
            self.decisions.mailbox.ring(bell.key)
            return
        if bell.topic in (things.SCHEDULE, runs.ENDED):
            self.scheduler.mailbox.ring(0)
            return
        if bell.topic == pushes.OUTBOX:
            self.pusher.mailbox.ring(0)
            return
        kind, _, name = bell.topic.partition(":")
        if kind == "agent" and worker is not None:
            worker.hear()
        elif kind == "agent" and (actor := self.agent(name)):
            actor.hear(bell.key, bell.letter(no) if bell.letter is not None else None)


def _log(event: Event) -> None:
    match event:
        case Exited(name=name, error=error) if error is not None:
            log.warning("actor.ended", {"actor": name, "why": error})
        case Restarting(name=name, seconds=seconds):
            log.warning("actor.restarted", {"actor": name, "seconds": seconds})
        case GivingUp(name=name, error=error):
            log.error("actor.given_up", {"actor": name}, exc_info=error)
