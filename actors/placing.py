"""Placing: what came in from outside a run enters the transcript at a safe point.

One rule: nothing is placed while a call has no result, and all that is shown of a message is one commit.
"""

from datetime import datetime
from zoneinfo import ZoneInfo

import attrs

from storage import calls, conversations, inbox
from storage.calls import result_block
from storage.operation import Write
from storage.questions import ReadQuestion
from storage.records import Call, Entry, Message, Run
from tools.questions import DETACHED

from . import journal
from .about import tell_of_placed
from .doorbell import Doorbell
from .request import entries_of, opens_run, sets_going
from .steps import Means, Steps

UTC = ZoneInfo("UTC")

_ABROAD = frozenset({"worker", "job"})
"""Kinds of conversations whose ways out never ask: they are not told where he lives."""


class Placing:
    """Places what waits in one conversation."""

    def __init__(self, means: Means, steps: Steps, doorbell: Doorbell) -> None:
        self._means, self._steps, self._doorbell = means, steps, doorbell
        self.transcript = steps.transcript
        self.id = steps.id
        self._met_no = 0

    async def take_in(self) -> bool:
        """Place what waits. False when there is nothing left to do."""
        while self.transcript.run is None:
            if not await self.place_waiting():
                return False
        return True

    async def place_waiting(self) -> bool:
        """Place the messages that wait. True if any was.

        A "fresh context" and a yes that sets an act going wait for the run's end. The owner's words go first. Whoever
        accepts a message rings, so without a ring there is nothing new, and no need to look.
        """
        batch: list[Message] = []
        yes: Message | None = None
        for message in await self._waiting():
            if message.kind == "fresh":
                self._doorbell.remember()  # what comes after it is placed later
                if not batch and yes is None and self.transcript.run is None:
                    await self._draw_line(message)
                    return True
                break
            if sets_going(message):
                self._doorbell.remember()
                yes = yes or message
            else:
                batch.append(message)
        if batch:
            await self._place(batch)
        elif yes is not None and self.transcript.run is None:
            await self._set_going(yes)
            return True
        return bool(batch)

    async def _waiting(self) -> tuple[Message, ...]:
        """What waits, in the order it was accepted. It is read only if the rings since the last time don't tell.

        What was accepted until the newest message that was met before was met with it.
        """
        rings = self._doorbell.answer()
        if rings.look:
            waiting = await self._means.store.ask(inbox.Unplaced(self.id))
        else:
            waiting = tuple(letter for letter in rings.letters if letter.accepted_no > self._met_no)
        self._met_no = max([self._met_no, *(message.accepted_no for message in waiting)])
        return waiting

    async def go_on_without(self, asked: list[Call]) -> bool:
        """If somebody wrote while the owner's answers are waited for: go on without them, which is committed.

        False if nothing came, or only what has time.
        """
        waiting = await self._means.store.ask(inbox.Unplaced(self.id))
        run = self.transcript.run
        if run is None or all(message.kind == "notice" for message in waiting):
            return False
        shown = [result_block(call, [{"type": "text", "text": DETACHED}], failed=False) for call in asked]
        writes = [calls.detach(call, text) for call, text in zip(asked, shown, strict=True)]
        await self._steps.commit(writes, attrs.evolve(run, state="open", reason=None, attempt=0))
        for call, text in zip(asked, shown, strict=True):
            self.transcript.finish(attrs.evolve(call, state="detached", result=text))
        self._doorbell.remember()
        return True

    async def _place(self, batch: list[Message]) -> None:
        now, run, opening = self._means.clock.now(), self.transcript.run, False
        openers = [m for m in batch if opens_run(m)]
        if run is None and openers:
            run, opening = self._opened(openers, now), True
        elif run is not None and openers:  # it has come as far as what it answers
            run = attrs.evolve(run, hops=max(run.hops, *(m.hops for m in openers)))
        writes: list[Write] = []
        for message in batch:
            entries = self._shown(message, run, now)
            writes.extend(conversations.add(entry) for entry in entries)
            writes.append(inbox.place(message.id, entries[-1].seq, None if run is None else run.id))
            self.transcript.add(entries)
        if run is None:
            await self._steps.commit(writes, None)
        else:
            await self._steps.commit_asking(writes, run, opening=opening)
        for message in batch:
            tell_of_placed(message, run)

    async def _set_going(self, message: Message) -> None:
        """Open the run that carries out what the owner said yes to, after the run that asked had gone on without."""
        now, run = self._means.clock.now(), self._opened([message], self._means.clock.now())
        question = await self._means.store.ask(ReadQuestion(message.content["question"]))
        assert question is not None and question.approved
        call = Call(
            run=run.id,
            turn=run.turn,
            position=0,
            conversation=self.id,
            tool=question.tool,
            arguments=question.act,
            state="begun",
            result=None,
            failed=None,
            label=0,
            began_at=now,
            finished_at=None,
            no=0,
            question=question.id,
        )
        entries = self._shown(message, run, now)
        writes = [conversations.add(entry) for entry in entries]
        writes += [inbox.place(message.id, entries[-1].seq, run.id), journal.begun(call)]
        await self._steps.commit(writes, run, opening=True)
        tell_of_placed(message, run)
        self.transcript.add(entries)
        self.transcript.begin([call])

    async def _draw_line(self, message: Message) -> None:
        """Place a "fresh context": later requests hold nothing up to and with it."""
        (entry,) = self._shown(message, None, self._means.clock.now())
        writes = [
            conversations.add(entry),
            inbox.place(message.id, entry.seq, None),
            conversations.start_fresh(self.id, entry.seq + 1),
        ]
        await self._steps.commit(writes, None)
        tell_of_placed(message, None)
        self.transcript.add([entry])
        self.transcript.start_fresh(entry.seq + 1)

    def _opened(self, openers: list[Message], now: datetime) -> Run:
        return Run(
            id=self._means.store.next_id(),
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

    def _shown(self, message: Message, run: Run | None, now: datetime) -> tuple[Entry, ...]:
        means = self._means
        return entries_of(
            message,
            seq=self.transcript.last_seq + 1,
            run=run,
            now=now,
            zone=UTC if self.transcript.conversation.kind in _ABROAD else means.zone,
            redactor=means.redactor,
            limits=means.limits,
        )
