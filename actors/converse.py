"""The heart: answers what was placed in a conversation, one committed step after the other.

One rule: each step is committed before the next begins, and the next is computed from what is committed. To resume
is to run the same loop; there is no other state.
"""

import logging
from collections.abc import Callable
from datetime import datetime, timedelta

import attrs
import trio

from storage import conversations, runs
from storage.conversations import Load
from storage.records import Agent, Run
from tools.model import ModelError, ModelReply, ModelRequest, Usage
from tools.questions import waits

from . import journal
from .doorbell import Doorbell
from .gate import Gate, Verdict
from .performing import Performing
from .placing import Placing
from .request import ENDS_RUN, Rendered, go_on_after, render_reply
from .spend import Reservation
from .steps import Means, Steps
from .transcript import Transcript
from .window import COMPACTION, summary_of, text_of

log = logging.getLogger("dreamwalker.converse")


class Conversing:
    """One conversation being worked on. `doorbell` is rung when something may wait to be placed, or a wait be over."""

    def __init__(self, means: Means, agent: Callable[[], Agent], transcript: Transcript) -> None:
        self._means, self.transcript = means, transcript
        self.id = transcript.conversation.id
        self.doorbell = Doorbell()
        self._steps = Steps(means, agent, transcript)
        self._placing = Placing(means, self._steps, self.doorbell)
        self._performing = Performing(means, self._steps, self.doorbell)

    @property
    def stale(self) -> bool:
        """Whether a step was taken that memory can't follow: throw this away and load anew."""
        return self._steps.stale

    @classmethod
    async def load(cls, means: Means, agent: Callable[[], Agent], id: int) -> "Conversing":
        """Read a conversation. A run that was being worked on is taken up again, which is committed first."""
        made = cls(means, agent, Transcript(await means.store.ask(Load(id))))
        if (run := made.transcript.run) is not None:
            run = await made._performing.hear(run)
            if run.state == "open" and not made.stale and not made._only_waits():
                await made._take_up(run)
        return made

    def _only_waits(self) -> bool:
        """Whether the run just waits for workers: taking it up again is no try to get on, so it can't be in vain."""
        unfinished = [self._steps.toolbox.find(call.tool) for call in self.transcript.unfinished("begun")]
        return bool(unfinished) and all(tool is not None and tool.detachable for tool in unfinished)

    async def _take_up(self, run: Run) -> None:
        if run.attempt >= self._means.limits.resumes:
            times = f"{run.attempt + 1} times" if run.attempt else "once"
            await self._steps.end_early("failed", f"It was taken up {times} without getting on, and given up.")
        else:
            await self._means.guard.warm()  # a death meanwhile is not the run's, so it must not count against it
            log.info("run.resumed", {"run": run.id, "conversation": self.id, "tries": run.attempt + 1})
            tried = attrs.evolve(run, attempt=run.attempt + 1)
            await self._steps.commit(
                [runs.taken_up(tried, self._means.store.generation, self._means.clock.now())], tried
            )

    async def work(self) -> None:
        """Go on until nothing is placed or open, or only the owner's answer to a question lets it go on.

        Raises StorageError; NotAsExpected if it was stopped meanwhile.
        """
        while not self.stale and await self._placing.take_in() and await self._converse():
            pass

    # -- the loop

    async def _converse(self) -> bool:
        """Do what is unfinished, else ask the model, until it asks for nothing. False if the owner has to decide."""
        while not self.stale and (run := self.transcript.run) is not None:
            if any(call.question is not None for call in self.transcript.unfinished()):
                run = await self._performing.hear(run)
            if begun := self.transcript.unfinished("begun"):
                if run.state == "waiting":
                    await self._steps.commit([], attrs.evolve(run, state="open", reason=None))
                await self._performing.perform(begun)
                continue
            if asked := self.transcript.unfinished("asked"):
                if await self._placing.go_on_without(asked):
                    continue
                if run.state != "waiting":
                    reason = waits(tuple(call.question for call in asked if call.question is not None))
                    await self._steps.commit([], attrs.evolve(run, state="waiting", reason=reason))
                return False
            if run.state == "waiting" and run.retry_at is not None:
                await self._wait(run.retry_at)
            await self._placing.place_waiting()
            if self.stale:
                return True
            if run.turn >= self._means.limits.turns:
                await self._steps.end_early("failed", f"It came to no end within {run.turn} turns.")
                return True
            await self._ask()
        return True

    # -- asking

    async def _ask(self) -> None:
        """Ask the model once. Afterwards its reply stands, or a summary of what was, or the run waits or has failed."""
        means, run = self._means, self.transcript.run
        assert run is not None
        if self._steps.reservation is None:
            await self._steps.commit_asking([], run)
            if self._steps.reservation is None:
                return
        reservation, label = self._steps.reservation, self.transcript.label
        try:
            if reservation.entry.kind == COMPACTION:
                await self._sum_up(reservation, label)
            else:
                await self._reply(await self._streamed(reservation.request, run), reservation, label)
        except ModelError as error:
            if error.kind == "too_long":
                self.transcript.refused_bytes = reservation.request.size_bytes
            self._steps.reservation = None
            await self._try_later(error, reservation)
        finally:
            means.live.end(self.id)

    async def _streamed(self, request: ModelRequest, run: Run) -> ModelReply:
        """Ask for a reply that can be watched while it is written. Raises ModelError."""
        live, stream = self._means.live, self._means.redactor.stream()
        live.begin(self.id, self.transcript.last_seq + 1, run.id)
        reply = await self._means.guard.ask(request, lambda text: live.write(self.id, stream.feed(text)))
        live.write(self.id, stream.flush())
        self._steps.reservation = None
        return reply

    async def _sum_up(self, reservation: Reservation, label: int) -> None:
        """Have the conversation summed up, and commit the summary. Raises ModelError."""
        means, run = self._means, self.transcript.run
        assert run is not None
        means.live.sum_up(self.id, run.id)
        reply = await means.guard.ask(reservation.request, lambda _: None)
        summary = summary_of(
            text_of(reply),
            self.transcript,
            run,
            label=label,
            now=means.clock.now(),
            redactor=means.redactor,
            limits=means.limits,
        )
        self._steps.reservation = None
        log.info("conversation.summed_up", {"conversation": self.id, "run": run.id, "entry": summary.covers_to})
        writes = [*means.guard.settle(reservation, reply.usage), conversations.add(summary)]
        await self._steps.commit(writes, attrs.evolve(run, attempt=0, retries=0))
        self.transcript.sum_up(summary)

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
        verdict = await self._judge(rendered, run)
        got_on = _after_reply(attrs.evolve(run, turn=run.turn + 1, attempt=0, retries=0), reply, now)
        if await self._whole_turn(rendered, verdict, got_on, reservation, reply.usage):
            return
        entries = [] if rendered.entry is None else [rendered.entry]
        if reply.stop_reason == "pause_turn" and rendered.entry is not None and not rendered.calls:
            entries.append(go_on_after(rendered.entry))
        writes = [
            *means.guard.settle(reservation, reply.usage),
            *(journal.begun(call) for call in verdict.begin),
            *(conversations.add(entry) for entry in entries),
        ]
        calls = rendered.calls
        if verdict.all_begin:
            await self._steps.commit(writes, got_on)
        else:
            calls = await self._steps.commit_reply(writes, got_on, verdict)
        self.transcript.add(entries)
        self.transcript.begin(calls)
        self._performing.begun(calls)

    async def _whole_turn(
        self, rendered: Rendered, verdict: Verdict, run: Run, answered: Reservation, usage: Usage
    ) -> bool:
        """Take a turn whose one call does nothing outside the database in one step, if that can be."""
        if rendered.entry is None or len(rendered.calls) != 1 or not verdict.all_begin or run.ended:
            return False
        (call,) = rendered.calls
        outcome = await self._performing.at_once(call, run, rendered.entry.label)
        if outcome is None:
            return False
        return await self._steps.commit_turn(rendered.entry, call, outcome, run, answered, usage)

    async def _judge(self, rendered: Rendered, run: Run) -> Verdict:
        """Which of a reply's calls may begin, by the transcript as the model saw it."""
        if rendered.entry is None or not rendered.calls:
            return Verdict(begin=(), judged=(), closed=())
        gate = Gate(
            means=self._means,
            toolbox=self._steps.toolbox,
            transcript=self.transcript,
            run=run,
            agent=self._steps.agent,
            refusals=await self._performing.refusals(run),
        )
        return await gate.judge(rendered.entry, rendered.calls)

    async def _try_later(self, error: ModelError, reservation: Reservation) -> None:
        """Commit when the next try is due, or that there is none."""
        means, run, now = self._means, self.transcript.run, self._means.clock.now()
        assert run is not None
        settled, said = means.guard.settle_lost(reservation, error), means.redactor.text(str(error))
        tries, no_key = run.retries + 1, error.kind == "unauthorized"  # then new credentials ring; no use in hurrying
        if not error.retryable or (tries >= means.limits.model_tries and not no_key):
            after = f" ({tries} tries)" if tries > 1 else ""
            await self._steps.end_early("failed", f"{said}{after}", settled)
            return
        longest = means.limits.unauthorized_longest_seconds if no_key else means.limits.retry_longest_seconds
        seconds = journal.pause_seconds(run.id, tries, error.retry_after_seconds, means.limits, longest)
        if error.kind == "too_long":  # the next one will be shorter
            seconds = 0.0
        waiting = attrs.evolve(
            run, state="waiting", retries=tries, retry_at=now + timedelta(seconds=seconds), reason=said
        )
        await self._steps.commit(settled, waiting)

    async def _wait(self, retry_at: datetime) -> None:
        """Wait until the next try is due or somebody rings."""
        async with trio.open_nursery() as nursery:

            async def rung() -> None:
                await self.doorbell.wait()
                nursery.cancel_scope.cancel()

            nursery.start_soon(rung)
            await self._means.clock.sleep_until(retry_at)
            nursery.cancel_scope.cancel()


def _after_reply(run: Run, reply: ModelReply, now: datetime) -> Run:
    """The run's state after a reply: it goes on with calls and pauses, else it is done or failed."""
    if (reason := ENDS_RUN.get(reply.stop_reason)) is not None:
        return attrs.evolve(run, state="failed", reason=reason, closed_at=now)
    if reply.stop_reason == "pause_turn" or any(not isinstance(part, str) for part in reply.blocks):
        return run
    return attrs.evolve(run, state="done", closed_at=now)
