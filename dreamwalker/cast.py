"""The cast: the named agents, each with its row, its home conversation and its actor.

One rule: an agent is at work exactly while its row says that it is not retired: its actor is started when it is made
and at every opening, and stopped before it is retired.
"""

import contextlib
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from datetime import datetime
from typing import Protocol

import attrs
import trio

from actors import journal
from actors.agent import AgentActor
from actors.agent import Means as AgentMeans
from actors.child import Child, Restart
from actors.mailbox import MailboxError
from storage import agents, inbox, runs
from storage.errors import StorageError, StoreClosed
from storage.operation import Commit
from storage.records import Agent
from storage.text import dumps, loads
from tools.netlify import NETLIFY

MAIN_AGENT = "dreamwalker"
MAIN_JOB = "the personal agent, who remembers, reminds and gets things done."

GRANTS = (NETLIFY,)
"""Everything that an agent can be granted, by name."""

RETIRED_RUN = "Its agent was retired."


class Means(AgentMeans, Protocol):
    """What the cast works with."""

    def halted_answers_of(self, agent: str) -> AbstractAsyncContextManager[None]:
        """An agent does not work on what others wrote to it while the block retires it."""
        ...

    async def stop_run(self, run: int, conversation: int, agent: str, reason: str) -> None:
        """Have whoever works on a run end it. Raises MailboxError."""
        ...


class NameTaken(Exception):
    """There is another agent of that name."""


class MainAgent(Exception):
    """The main agent can't be retired."""


class TooManyAgents(Exception):
    """There are as many agents as there may be."""


@attrs.frozen(kw_only=True)
class Given:
    """What the owner says of an agent; None leaves it as it is. `default_model`: it has no model of its own then."""

    job: str | None = None
    instructions: str | None = None
    grants: tuple[str, ...] | None = None
    model: str | None = None
    default_model: bool = False

    @property
    def grants_text(self) -> str | None:
        """The grants as they are stored."""
        return None if self.grants is None else dumps(sorted(set(self.grants)))


def grants_of(agent: Agent) -> tuple[str, ...]:
    """What an agent is granted."""
    granted: list[str] = loads(agent.grants)
    return tuple(granted)


class Cast:
    """The agents of an open house. `add` and `remove` have a child kept and stopped; `changed` hears of any change."""

    def __init__(
        self,
        means: Means,
        *,
        add: Callable[[Child], Awaitable[None]],
        remove: Callable[[str], Awaitable[bool]],
        changed: Callable[[], None],
    ) -> None:
        self._means, self._add, self._remove, self._changed = means, add, remove, changed
        self.records: dict[str, Agent] = {}
        self.homes: dict[str, int] = {}
        self.actors: dict[str, AgentActor] = {}
        self._one_at_a_time = trio.Lock()

    def others(self, name: str) -> tuple[Agent, ...]:
        """The agents that one may write to."""
        return tuple(agent for agent in self.records.values() if agent.name != name and agent.retired_at is None)

    # -- what the owner does

    async def make(self, name: str, given: Given, now: datetime) -> Agent:
        """Make an agent, or find the one that was made with the same words. Raises NameTaken, TooManyAgents."""
        async with self._one_at_a_time:
            if name not in self.records:
                self._require_room()
            wanted = agents.MakeAgent(
                name=name,
                job=given.job or "",
                instructions=given.instructions or "",
                grants=given.grants_text or "[]",
                model=given.model,
                id=self._means.store.next_id(),
                now=now,
            )
            agent, home = await self._means.store.ask(wanted)
            if (agent.job, agent.instructions, agent.grants, agent.model) != (
                wanted.job, wanted.instructions, wanted.grants, wanted.model,
            ) or agent.retired_at is not None:  # fmt: skip
                raise NameTaken
            self.homes[name] = home.id
            await self._take_on(agent)
            return agent

    async def change(self, name: str, given: Given) -> Agent:
        """Change what is given; it holds for the next request that the agent makes. Raises LookupError."""
        async with self._one_at_a_time:
            agent = await self._means.store.ask(
                agents.ChangeAgent(
                    name=name,
                    job=given.job,
                    instructions=given.instructions,
                    grants=given.grants_text,
                    model=given.model,
                    default_model=given.default_model,
                )
            )
            self.records[name] = agent
            self._changed()
            return agent

    async def retire(self, name: str, now: datetime) -> Agent:
        """Retire an agent: what it is at work on ends, whoever wrote to it hears of it.

        Raises LookupError, MainAgent.
        """
        if name == MAIN_AGENT:
            raise MainAgent
        async with self._one_at_a_time:
            agent = self.records[name]
            if agent.retired_at is not None:
                return agent
            self.records[name] = attrs.evolve(agent, retired_at=now)  # from here on nothing more is accepted for it
            self._changed()
            try:
                async with self._means.halted_answers_of(name):
                    retired = await self._end(name, now)
            except StorageError:
                await self._take_on(agent)
                raise
            self.records[name] = retired
            return retired

    async def restore(self, name: str) -> Agent:
        """Take a retired agent back. Raises LookupError, TooManyAgents."""
        async with self._one_at_a_time:
            if self.records[name].retired_at is not None:
                self._require_room()
            agent = await self._means.store.ask(agents.Restore(name=name))
            await self._take_on(agent)
            return agent

    def _require_room(self) -> None:
        if len(self.others("")) >= self._means.limits.agents:
            raise TooManyAgents

    # -- its life

    async def settle_in(self, now: datetime) -> None:
        """Read who there is, the main agent made first if it is not there, and start whoever is not retired."""
        main = agents.MakeAgent(name=MAIN_AGENT, job=MAIN_JOB, id=self._means.store.next_id(), now=now)
        await self._means.store.ask(main)
        there = await self._means.store.ask(agents.Agents())
        for agent, home in there:
            self.records[agent.name] = agent
            if home is not None:
                self.homes[agent.name] = home
        for agent, _ in there:
            if agent.retired_at is None:
                await self._take_on(agent)

    async def _take_on(self, agent: Agent) -> None:
        """Keep an agent's row, and start its actor if it isn't there. Raises StoreClosed if the house is closing."""
        name = agent.name
        self.records[name] = agent
        self._changed()
        if name in self.actors:
            return
        actor = AgentActor(self._means, lambda: self.records[name], self.homes.get(name))
        child = Child(name=_child(name), start=actor.run, restart=Restart.TRANSIENT, ask_to_stop=actor.mailbox.close)
        self.actors[name] = actor
        with trio.CancelScope(shield=True):  # it is in the list, so it has to be there
            try:
                await self._add(child)
            except MailboxError as error:
                self.actors.pop(name, None)
                raise StoreClosed("the house is closing") from error

    async def _end(self, name: str, now: datetime) -> Agent:
        """Stop all that an agent is at work on, keeping what it was writing, then its actor; commit that it is retired.

        What waits is taken back first: it must not begin in between. What others wrote to it ends with the commit
        alone, so that they hear why.
        """
        means = self._means
        if (home := self.homes.get(name)) is not None:
            await means.store.ask(Commit((inbox.withdraw_all(home, means.clock.now()),)))
        for run in await means.store.ask(agents.RunsOf(agent=name)):
            with contextlib.suppress(MailboxError):  # then it is ended with the agent
                await means.stop_run(run.id, run.conversation, name, RETIRED_RUN)
        if (actor := self.actors.pop(name, None)) is not None:
            await actor.end()  # before its keeper is asked to forget it, who then would serve nobody until it has ended
        await self._remove(_child(name))
        cut_off = journal.cut_off(means.toolbox("home", name), journal.ENDED)
        end = runs.End(run=0, agent=name, state="stopped", reason=RETIRED_RUN, cut_off=cut_off, now=now)
        return await means.store.ask(agents.Retire(name=name, end=end, now=now))


def _child(name: str) -> str:
    return f"agent {name}"
