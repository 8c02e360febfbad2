"""Performing: the calls of a turn are carried out side by side, each result committed as it comes.

One rule: what the owner was asked about is done as he was shown it, after his yes, and only while what it changes is
still as it was.
"""

from typing import Literal

import attrs
import trio

from storage import inbox, questions
from storage.answers import FinishApproved
from storage.calls import detach, result_block
from storage.operation import Bell, Write
from storage.records import Call, Question, Run
from storage.runs import WORKERS
from tools.answers import DETACHED
from tools.questions import CHANGED
from tools.toolbox import Outcome, Toolbox

from . import journal
from .decisions import target_of
from .doorbell import Doorbell
from .steps import Means, Steps


class Performing:
    """Carries out the calls of one conversation."""

    def __init__(self, means: Means, steps: Steps, doorbell: Doorbell) -> None:
        self._means, self._steps, self._doorbell = means, steps, doorbell
        self.transcript = steps.transcript
        self._begun_here: set[str] = set()
        self._scopes: dict[int, trio.CancelScope] = {}
        self._questions: dict[int, Question] = {}

    @property
    def _toolbox(self) -> Toolbox:
        return self._steps.toolbox

    def begun(self, calls: tuple[Call, ...]) -> None:
        """Take in calls that this very process has committed as begun: none of them was cut short."""
        self._begun_here.update(call.key for call in calls)

    async def hear(self, run: Run) -> Run:
        """Take over what has become of the run's questions meanwhile; returns the run as it stands now.

        A call that was not there when the transcript was read is another instance's: this one was paused in between.
        """
        heard = await self._means.store.ask(questions.Hear(run.id, run.turn))
        self._questions = {question.id: question for question in heard.questions}
        known = [call for call in heard.calls if self.transcript.knows(call)]
        for call in known:
            self.transcript.finish(call)
        self.transcript.run = heard.run
        self._steps.stale = heard.run.ended or len(known) < len(heard.calls)
        return heard.run

    async def refusals(self, run: Run) -> int:
        """How many acts of a run the owner has refused so far."""
        if any(question.run == run.id for question in self._questions.values()):
            await self.hear(run)
        asked = self._questions.values()
        return sum(q.run == run.id and q.kind == "act" and q.answer == "no" for q in asked)

    async def perform(self, calls: list[Call]) -> None:
        """Carry out calls that have begun."""
        self._scopes = {call.position: trio.CancelScope() for call in calls}
        stoppable = [call for call in calls if self._is(call, "stoppable")]
        detachable = [call for call in calls if self._is(call, "detachable")]
        async with trio.open_nursery() as nursery:
            if stoppable or detachable:
                nursery.start_soon(self._heed_messages, stoppable, detachable)
            async with trio.open_nursery() as side_by_side:
                for call in calls:
                    side_by_side.start_soon(self._call, call, self._scopes[call.position])
            nursery.cancel_scope.cancel()

    async def at_once(self, call: Call, run: Run, label: int) -> Outcome | None:
        """What a call comes to that needs no row before it, since all that it does is committed with its result.

        None: its row has to be committed first.
        """
        tool = self._toolbox.find(call.tool)
        if tool is None or not tool.in_database:
            return None
        return await journal.perform(
            self._means, self._toolbox, call, run=run, agent=self._steps.agent.name, label=label, begun_here=True
        )

    async def _heed_messages(self, stoppable: list[Call], detachable: list[Call]) -> None:
        """Go on without what may take long when somebody writes; stop what can be stopped if he says so."""
        looked = not detachable  # what came while nobody looked would wait behind them
        while True:
            if looked:
                await self._doorbell.wait()
            looked = True
            waiting = await self._means.store.ask(inbox.Unplaced(self._steps.id))
            if any(message.interrupt for message in waiting):
                self._leave_off(stoppable)
            if any(message.kind != "notice" for message in waiting):
                self._leave_off(detachable)

    def _leave_off(self, calls: list[Call]) -> None:
        for call in calls:
            self._scopes[call.position].cancel()

    def _is(self, call: Call, what: Literal["stoppable", "detachable"]) -> bool:
        tool = self._toolbox.find(call.tool)
        return tool is not None and bool(getattr(tool, what))

    async def _call(self, call: Call, left_off: trio.CancelScope) -> None:
        last, run = self.transcript.last, self.transcript.run
        assert last is not None and run is not None
        question = self._questions[call.question] if call.question is not None else None
        assert question is None or question.approved, "nothing that was asked about begins without a yes"
        outcome = None
        with left_off:
            outcome = await journal.perform(
                self._means,
                self._toolbox,
                call,
                run=run,
                agent=self._steps.agent.name,
                label=last.label,
                begun_here=call.key in self._begun_here,
                approved=question,
            )
        if outcome is None and self._is(call, "detachable"):
            await self._detach(call)
        elif question is not None and question.thing is not None:
            await self._finish_approved(call, question, outcome or journal.interrupted(call))
        else:
            await self._finish(call, outcome or journal.interrupted(call))

    async def _detach(self, call: Call) -> None:
        """Go on without the outcome of a call. Whoever works for it hears that nobody waits for it any more."""
        shown = result_block(call, [{"type": "text", "text": DETACHED}], failed=False)
        await self._commit(
            attrs.evolve(call, state="detached", result=shown), [detach(call, shown)], (Bell(WORKERS),), outside=False
        )

    async def _finish(self, call: Call, outcome: Outcome) -> None:
        now = self._means.clock.now()
        writes = [journal.finish(call, outcome, now), *outcome.writes]
        await self._commit(journal.finished(call, outcome, now), writes, outcome.bells, outside=outcome.outside)

    async def _commit(self, ended: Call, writes: list[Write], bells: tuple[Bell, ...], *, outside: bool) -> None:
        """Commit that a call has a result, with the money for what follows if it is the last one."""
        self.transcript.finish(ended)
        assert self.transcript.run is not None
        run = attrs.evolve(self.transcript.run, attempt=0)
        if self.transcript.unfinished():
            no = await self._steps.commit(writes, run, bells)
        else:
            no = await self._steps.commit_asking(writes, run, bells=bells)
        self.transcript.finish(attrs.evolve(ended, no=no, label=no if outside else 0))

    async def _finish_approved(self, call: Call, question: Question, outcome: Outcome) -> None:
        """Commit what the owner said yes to, unless what it changes is another by now."""
        now = self._means.clock.now()
        changed = journal.failed(call, CHANGED)
        assert self.transcript.run is not None
        run = attrs.evolve(self.transcript.run, attempt=0)
        no, done = await self._means.store.ask(
            FinishApproved(
                question=question,
                target=target_of(question, self._toolbox, self._means.limits),
                finish=journal.finish(call, outcome, now),
                effect=outcome.writes,
                otherwise=journal.finish(call, changed, now),
                run=run,
                bells=outcome.bells,
            )
        )
        self.transcript.run = attrs.evolve(run, no=no)
        finished = journal.finished(call, outcome if done else changed, now)
        self.transcript.finish(attrs.evolve(finished, no=no, label=no if done and outcome.outside else 0))
