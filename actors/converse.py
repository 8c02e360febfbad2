"""The heart: answers what was placed in a conversation, one committed step after the other.

One rule: each step is committed before the next begins, and the next is computed from what is committed. To resume
is to run the same loop; there is no other state.
"""

import logging
from collections.abc import Callable
from datetime import datetime, timedelta

import attrs
import trio

from storage import conversations, inbox
from storage.conversations import Load
from storage.operation import Write
from storage.records import Agent, Call, Entry, Message, Run
from tools.model import ModelError, ModelReply

from . import journal
from .request import ENDS_RUN, entries_of, go_on_after, opens_run, render_reply
from .spend import Reservation
from .steps import Means, Steps
from .transcript import Transcript

log = logging.getLogger("dreamwalker.converse")

STOPPED_CALL = "Stopped by the owner before it was finished; it may or may not have taken effect."


class Conversing:
    """One conversation being worked on."""

    def __init__(self, means: Means, agent: Callable[[], Agent], transcript: Transcript) -> None:
        self._means, self._agent, self.transcript = means, agent, transcript
        self._steps = Steps(means, agent, transcript)
        self.id = transcript.conversation.id
        self.nudge = trio.Event()
        """Set by whoever rings: something may wait to be placed, or a wait may be over."""
        self._toolbox = self._steps.toolbox
        self._begun_here: set[str] = set()
        self._look = False  # there may be something to place that no ring will tell of any more

    @property
    def stale(self) -> bool:
        """Whether a step was taken that memory can't follow: throw this away and load anew."""
        return self._steps.stale

    @classmethod
    async def load(cls, means: Means, agent: Callable[[], Agent], id: int) -> "Conversing":
        """Read a conversation. A run that was being worked on is taken up again, which is committed first."""
        made = cls(means, agent, Transcript(await means.store.ask(Load(id))))
        run = made.transcript.run
        if run is not None and run.state == "open":
            if run.attempt >= means.limits.resumes:
                times = f"{run.attempt + 1} times" if run.attempt else "once"
                await made._steps.end_early("failed", f"It was taken up {times} without getting on, and given up.")
            else:
                log.info("run %d is taken up again", run.id)
                await made._steps.commit([], attrs.evolve(run, attempt=run.attempt + 1))
        return made

    async def work(self) -> None:
        """Go on until nothing is placed or open. Raises StorageError; NotAsExpected if it was stopped meanwhile."""
        self._look = True
        while not self.stale and await self._take_in():
            await self._converse()

    # -- the loop

    async def _converse(self) -> None:
        """Do what is unfinished, else ask the model, until it asks for nothing."""
        while not self._steps.stale and (run := self.transcript.run) is not None:
            if unfinished := self.transcript.unfinished():
                await self._perform(unfinished)
                continue
            if run.state == "waiting":
                await self._wait(run)
            await self._place_waiting()
            if run.turn >= self._means.limits.turns:
                await self._steps.end_early("failed", f"It came to no end within {run.turn} turns.")
                return
            await self._ask()

    # -- placing

    async def _take_in(self) -> bool:
        """Place what waits. False when there is nothing left to do."""
        while self.transcript.run is None:
            if not await self._place_waiting():
                return False
        return True

    async def _place_waiting(self) -> bool:
        """Place the messages that wait, up to a "fresh context", which waits for the run's end. True if any was.

        Whoever accepts a message rings, so without a ring there is nothing new, and no need to look.
        """
        if not (self._look or self.nudge.is_set()):
            return False
        self.nudge, self._look = trio.Event(), False
        waiting = await self._means.store.ask(inbox.Unplaced(self.id))
        batch: list[Message] = []
        for message in waiting:
            if message.kind == "fresh":
                self._look = True  # what comes after it is placed later
                if not batch and self.transcript.run is None:
                    await self._draw_line(message)
                    return True
                break
            batch.append(message)
        if batch:
            await self._place(batch)
        return bool(batch)

    async def _place(self, batch: list[Message]) -> None:
        means, now, run, opening = self._means, self._means.clock.now(), self.transcript.run, None
        if run is None and (openers := [m for m in batch if opens_run(m)]):
            run = opening = Run(
                id=means.store.next_id(),
                conversation=self.id,
                act=openers[0].act,
                hops=max(m.hops for m in openers),
                asked_by=None,
                state="open",
                turn=0,
                attempt=0,
                retries=0,
                asked=0,
                retry_at=None,
                reason=None,
                opened_at=now,
                closed_at=None,
                no=0,
            )
        writes: list[Write] = []
        for message in batch:
            entries = self._shown(message, run, now)
            writes.extend(conversations.add(entry) for entry in entries)
            writes.append(inbox.place(message.id, entries[-1].seq, None if run is None else run.id))
            self.transcript.add(entries)
        if run is None:
            await self._steps.commit(writes, None)
        else:
            await self._steps.commit_asking(writes, run, opening=opening is not None)

    async def _draw_line(self, message: Message) -> None:
        """Place a "fresh context": later requests hold nothing up to and with it."""
        (entry,) = self._shown(message, None, self._means.clock.now())
        writes = [
            conversations.add(entry),
            inbox.place(message.id, entry.seq, None),
            conversations.start_fresh(self.id, entry.seq + 1),
        ]
        await self._steps.commit(writes, None)
        self.transcript.add([entry])
        self.transcript.start_fresh(entry.seq + 1)

    def _shown(self, message: Message, run: Run | None, now: datetime) -> tuple[Entry, ...]:
        means = self._means
        return entries_of(
            message,
            seq=self.transcript.last_seq + 1,
            run=run,
            now=now,
            zone=means.zone,
            redactor=means.redactor,
            limits=means.limits,
        )

    # -- asking

    async def _ask(self) -> None:
        """Ask the model once. Afterwards its reply stands, or the run waits for another try, or has failed."""
        means, run = self._means, self.transcript.run
        assert run is not None
        if self._steps.reservation is None:
            await self._steps.commit_asking([], run)
            if self._steps.reservation is None:
                return
        reservation, label = self._steps.reservation, self.transcript.label
        stream = means.redactor.stream()
        means.live.begin(self.id, self.transcript.last_seq + 1, run.id)
        try:
            reply = await means.guard.ask(
                reservation.request, lambda text: means.live.write(self.id, stream.feed(text))
            )
            means.live.write(self.id, stream.flush())
            self._steps.reservation = None
            await self._reply(reply, reservation, label)
        except ModelError as error:
            self._steps.reservation = None
            await self._try_later(error, reservation)
        finally:
            means.live.end(self.id)

    async def _reply(self, reply: ModelReply, reservation: Reservation, label: int) -> None:
        means, run, now = self._means, self.transcript.run, self._means.clock.now()
        assert run is not None
        rendered = render_reply(
            reply,
            run=run,
            seq=self.transcript.last_seq + 1,
            label=label,
            now=now,
            redactor=means.redactor,
            limits=means.limits,
        )
        writes = [*means.guard.settle(reservation, reply.usage), *(journal.begun(call) for call in rendered.calls)]
        entries = [] if rendered.entry is None else [rendered.entry]
        if reply.stop_reason == "pause_turn" and rendered.entry is not None and not rendered.calls:
            entries.append(go_on_after(rendered.entry))
        got_on = _after_reply(attrs.evolve(run, turn=run.turn + 1, attempt=0, retries=0), reply, now)
        await self._steps.commit([*writes, *(conversations.add(entry) for entry in entries)], got_on)
        self.transcript.add(entries)
        self.transcript.begin(rendered.calls)
        self._begun_here.update(call.key for call in rendered.calls)

    async def _try_later(self, error: ModelError, reservation: Reservation) -> None:
        """Commit when the next try is due, or that there is none."""
        means, run, now = self._means, self.transcript.run, self._means.clock.now()
        assert run is not None
        settled = means.guard.settle_lost(reservation, error)
        counted = error.kind != "unauthorized"
        tries = run.retries + 1 if counted else run.retries
        if not error.retryable or tries >= means.limits.model_tries:
            after = f" ({tries} tries)" if tries > 1 else ""
            await self._steps.end_early("failed", f"{error}{after}", settled)
            return
        seconds = journal.pause_seconds(run.id, tries, error.retry_after_seconds, means.limits)
        waiting = attrs.evolve(
            run, state="waiting", retries=tries, retry_at=now + timedelta(seconds=seconds), reason=str(error)
        )
        await self._steps.commit(settled, waiting)

    async def _wait(self, run: Run) -> None:
        """Wait until the next try is due or somebody rings."""
        async with trio.open_nursery() as nursery:

            async def rung() -> None:
                await self.nudge.wait()
                nursery.cancel_scope.cancel()

            nursery.start_soon(rung)
            if run.retry_at is None:
                await trio.sleep_forever()
            else:
                await self._means.clock.sleep_until(run.retry_at)
            nursery.cancel_scope.cancel()

    # -- calls

    async def _perform(self, calls: list[Call]) -> None:
        """Carry out calls side by side, each result committed as it comes."""
        scopes = {call.position: trio.CancelScope() for call in calls}
        async with trio.open_nursery() as nursery:
            nursery.start_soon(
                self._heed_interrupts, [scopes[call.position] for call in calls if self._stoppable(call)]
            )
            async with trio.open_nursery() as side_by_side:
                for call in calls:
                    side_by_side.start_soon(self._call, call, scopes[call.position])
            nursery.cancel_scope.cancel()

    async def _heed_interrupts(self, scopes: list[trio.CancelScope]) -> None:
        """Stop what can be stopped when the owner sends a message that says so."""
        while scopes:
            await self.nudge.wait()
            waiting = await self._means.store.ask(inbox.Unplaced(self.id))
            if any(message.interrupt for message in waiting):
                for scope in scopes:
                    scope.cancel()
                return
            self.nudge, self._look = trio.Event(), True

    def _stoppable(self, call: Call) -> bool:
        tool = self._toolbox.find(call.tool)
        return tool is not None and tool.stoppable

    async def _call(self, call: Call, interrupted: trio.CancelScope) -> None:
        last = self.transcript.last
        assert last is not None and self.transcript.run is not None
        outcome = journal.interrupted(call)
        with interrupted:
            outcome = await journal.perform(
                self._means,
                self._toolbox,
                call,
                run=self.transcript.run,
                agent=self._agent().name,
                label=last.label,
                begun_here=call.key in self._begun_here,
            )
        now = self._means.clock.now()
        finished = journal.finished(call, outcome, now)
        self.transcript.finish(finished)
        writes = [journal.finish(call, outcome, now), *outcome.writes]
        run = attrs.evolve(self.transcript.run, attempt=0)
        if self.transcript.unfinished():
            no = await self._steps.commit(writes, run, outcome.bells)
        else:
            no = await self._steps.commit_asking(writes, run, bells=outcome.bells)
        self.transcript.finish(attrs.evolve(finished, no=no, label=no if outcome.outside else 0))


def _after_reply(run: Run, reply: ModelReply, now: datetime) -> Run:
    """The run's state after a reply: it goes on with calls and pauses, else it is done or failed."""
    if (reason := ENDS_RUN.get(reply.stop_reason)) is not None:
        return attrs.evolve(run, state="failed", reason=reason, closed_at=now)
    if reply.stop_reason == "pause_turn":
        return run
    if any(not isinstance(part, str) for part in reply.blocks):
        return run
    return attrs.evolve(run, state="done", closed_at=now)
