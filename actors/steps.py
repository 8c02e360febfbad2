"""Committing the steps of one conversation, and keeping its transcript in memory at what is committed.

One rule: a step, the run's new state and the money for what follows it are one commit.
"""

from collections.abc import Callable, Iterable
from typing import Protocol
from zoneinfo import ZoneInfo

import attrs

from storage import calls, conversations, inbox, pushes, runs, workers
from storage.answers import Reply
from storage.errors import Duplicate, NotAsExpected, OverBudget
from storage.operation import Bell, Commit, Write
from storage.records import Agent, Call, Entry, Question, Run
from tools.limits import Limits
from tools.model import Usage
from tools.questions import CLOSED, TOO_MANY, same, tell, waits
from tools.redact import Redactor
from tools.taint import Mode
from tools.toolbox import Outcome, Toolbox

from . import journal
from .about import tell_of
from .clock import Clock
from .gate import Verdict
from .live import Live
from .spend import Guard, Reservation
from .store import Store
from .transcript import Transcript
from .window import TooLong, asking


class Means(Protocol):
    """What a conversation works with. `zone`, `default_model` and `ask_mode` are the owner's present choices.

    `tell_of_limit` tells him once that a limit is reached.
    """

    store: Store
    guard: Guard
    live: Live
    clock: Clock
    limits: Limits

    @property
    def redactor(self) -> Redactor: ...
    @property
    def zone(self) -> ZoneInfo: ...
    @property
    def default_model(self) -> str: ...
    @property
    def ask_mode(self) -> Mode: ...
    def push_of(self, question: Question, again: bool) -> tuple[Write, ...]: ...
    async def tell_of_limit(self, over: OverBudget) -> tuple[Write, ...]: ...
    def toolbox(self, conversation_kind: str, agent: str) -> Toolbox: ...


class Steps:
    """The commits of one conversation. `stale` after one that memory can't follow: throw it away and load anew.

    `reservation` is the money for the next request, if it is committed already.
    """

    def __init__(self, means: Means, agent: Callable[[], Agent], transcript: Transcript) -> None:
        self._means, self._agent, self.transcript = means, agent, transcript
        self.id = transcript.conversation.id
        self.reservation: Reservation | None = None
        self.stale = False

    @property
    def agent(self) -> Agent:
        """The agent as its row stands now."""
        return self._agent()

    @property
    def toolbox(self) -> Toolbox:
        """The tools that it has now: the owner may have granted it others."""
        return self._means.toolbox(self.transcript.conversation.kind, self.agent.name)

    async def commit(
        self, writes: Iterable[Write], run: Run | None, bells: tuple[Bell, ...] = (), *, opening: bool = False
    ) -> int:
        """Commit one step, the run's new state with it, and take it over into memory."""
        steps = list(writes)
        if run is not None:
            steps.append(runs.open_run(run) if opening else runs.step(run))
            if run.ended and self.transcript.conversation.kind != "home":  # nobody waits for a home's
                bells = (*bells, Bell(runs.ENDED, self.id))
        no = await self._means.store.ask(Commit(tuple(steps), (Bell(inbox.LIVE, self.id), *bells), self.id))
        self.transcript.run = None if run is None or run.ended else attrs.evolve(run, no=no)
        if run is not None:
            tell_of(run)
        return no

    async def commit_asking(
        self, writes: Iterable[Write], run: Run, *, opening: bool = False, bells: tuple[Bell, ...] = ()
    ) -> int:
        """Commit a step together with the money for the request that follows; without it, the run waits.

        What is too long to be asked at all ends the run.
        """
        writes = list(writes)
        try:
            reservation, goes_on = self._reserve(run)
        except TooLong as too_long:
            if self.reservation is not None:
                writes += self._means.guard.settle(self.reservation, Usage())
            self.reservation, there = None, attrs.evolve(run, state="open", retry_at=None, reason=None)
            no = await self.commit(writes, there, bells, opening=opening)
            await self.end_early("failed", str(too_long))
            return no
        try:
            no = await self.commit([*writes, *reservation.writes], goes_on, bells, opening=opening)
        except OverBudget as over:
            self.reservation = None
            tomorrow = journal.next_day(self._means.clock.now(), self._means.zone)
            waiting = attrs.evolve(run, state="waiting", retry_at=tomorrow, reason=journal.over_limit(over))
            told = await self._means.tell_of_limit(over)
            no = await self.commit([*writes, *told], waiting, (*bells, pushes.WAITS), opening=opening)
            if self.transcript.conversation.kind == "worker":  # whoever delegated hears of it now, not tomorrow
                await self.end_early("failed", journal.over_limit(over), (workers.cut_short(self.id, "money"),))
            return no
        self.reservation = reservation
        return no

    async def commit_turn(
        self, reply: Entry, call: Call, outcome: Outcome, run: Run, answered: Reservation, usage: Usage
    ) -> bool:
        """Commit a reply, its one call with all that it does, and the money for the next request, as one step.

        False if that can't be: then nothing was committed, and the steps have to be taken one after the other.
        """
        means, now, before = self._means, self._means.clock.now(), self.transcript.mark()
        made, effect = journal.done(call, outcome, now)
        self.transcript.add([reply])
        self.transcript.begin([made])
        try:
            reservation, goes_on = self._reserve(run)
        except TooLong:
            self.transcript.back_to(before)
            return False
        money = means.guard.turn_over(answered, usage, reservation, now)
        if money is None:
            self.transcript.back_to(before)
            return False
        try:
            no = await self.commit([*money, conversations.add(reply), effect, *outcome.writes], goes_on, outcome.bells)
        except (OverBudget, NotAsExpected, Duplicate):
            self.transcript.back_to(before)
            return False
        self.reservation = reservation
        self.transcript.finish(attrs.evolve(made, no=no, label=no if outcome.outside else 0))
        return True

    async def commit_reply(self, writes: Iterable[Write], run: Run, verdict: Verdict) -> tuple[Call, ...]:
        """Commit a reply some of whose calls the gate looked at; returns all its calls as they stand after it."""
        means, now = self._means, self._means.clock.now()
        refused = [
            write
            for call in verdict.closed
            for write in (journal.begun(call), calls.finish(call, text=CLOSED, failed=True, now=now))
        ]
        replied = await means.store.ask(
            Reply(
                run=run,
                writes=(*writes, *refused),
                judged=verdict.judged,
                open_max=means.limits.questions_open,
                same=same,
                too_many=TOO_MANY,
                waits=waits,
                tell=tell,
                push=means.push_of,
                now=now,
            )
        )
        self.transcript.run = replied.run
        tell_of(replied.run, asked=replied.calls)
        return replied.calls

    def _reserve(self, run: Run) -> tuple[Reservation, Run]:
        """The money for the request that the transcript asks now, and the run as it stands then. Raises TooLong."""
        means, agent = self._means, self._agent()
        it = asking(self.transcript, run, agent, self.toolbox, agent.model or means.default_model, means.limits)
        if self.reservation is not None:
            goes_on = attrs.evolve(run, state="open", retry_at=None, reason=None)
            return means.guard.extend(self.reservation, it.request, kind=it.kind), goes_on
        goes_on = attrs.evolve(run, state="open", retry_at=None, reason=None, asked=run.asked + 1)
        now = means.clock.now()
        reservation = means.guard.reserve(
            it.request, run=run.id, asked=goes_on.asked, kind=it.kind, agent=agent.name, act=run.act, now=now
        )
        return reservation, goes_on

    async def end_early(self, state: str, reason: str, writes: Iterable[Write] = ()) -> None:
        """End the open run as "failed" or "stopped", with a result for every call that has none."""
        run = self.transcript.run
        assert run is not None
        await self._means.store.ask(
            runs.End(
                run=run.id,
                agent=self._agent().name,
                state=state,
                reason=reason,
                cut_off=journal.cut_off(self.toolbox, journal.ENDED),
                now=self._means.clock.now(),
                writes=tuple(writes),
            )
        )
        self.stale = True
