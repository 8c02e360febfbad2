"""The actors of what a call sets going: one for each worker, and one for each message from agent to agent, started by
the call and gone when what came of it is handed over.

One rule: each is a row. Whoever needs it starts its actor if it isn't there, and what came of it is read from rows and
handed over in one commit, by the call that waits for it or else by the actor.

Asking in a ring can't deadlock: a message is worked in a conversation of its own, and whoever waits holds a place among
those of its own hop count, so that the next always finds one.
"""

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Protocol, assert_never

import attrs
import trio

from storage import inbox, runs, workers
from storage.operation import Commit
from storage.records import Agent, Run, Worker
from storage.text import dumps
from tools.answers import Answer, answer_of, source_of

from . import journal, steps
from .converse import Conversing
from .driving import StopRun, at_work, ending, judge
from .mailbox import Mailbox
from .supervisor import unwrap

TOOK_TOO_LONG = "It took too long."


@attrs.frozen
class Look:
    """The work may be over, or the call may not wait any more."""

    key: int


@attrs.frozen
class GoOn:
    """What it was halted for did not happen: its work goes on if it isn't over."""


WorkerMessage = Look | StopRun | GoOn


class Means(steps.Means, Protocol):
    """What a worker works with."""

    async def equip_workers(self) -> None:
        """Get ready what workers work with; it costs nothing once it was done."""
        ...

    async def clean(self, conversation: int) -> None:
        """Leave nothing of a worker's behind outside the database: its processes and its files."""
        ...

    def halted_workers(self, run: int) -> AbstractAsyncContextManager[None]:
        """For the end of a run: its workers do nothing, and then what became of them is committed; or they go on."""
        ...


class WorkerActor:
    """One worker, or one agent at work on another's message. `over` is set when its work is."""

    def __init__(self, means: Means, record: Callable[[], Agent], worker: Worker, places: trio.CapacityLimiter) -> None:
        self._means, self._record, self.worker, self._places = means, record, worker, places
        self.id = worker.conversation
        self.name = f"{'worker' if worker.receiver is None else 'answer'} {worker.conversation}"
        self.mailbox: Mailbox[WorkerMessage] = Mailbox(self.name, capacity=means.limits.mailbox_messages, on_ring=Look)
        self.over = trio.Event()
        self._conversing: Conversing | None = None
        self._rung = trio.Event()
        self._scope = trio.CancelScope()
        self._left = trio.Event()

    async def run(self, *, task_status: "trio.TaskStatus[None]" = trio.TASK_STATUS_IGNORED) -> None:
        """Work until what came of it is handed over, or the mailbox is closed. Raises StorageError."""
        with self.mailbox:
            task_status.started()
            async with trio.open_nursery() as nursery:
                self._begin(nursery)
                nursery.start_soon(self._time_out)
                async for message in self.mailbox:
                    match message:
                        case Look():
                            if await self._handed_over():
                                break
                        case StopRun():
                            await self._stop(message)
                        case GoOn():
                            if self._left.is_set() and not self.over.is_set():
                                self._begin(nursery)
                        case _:
                            assert_never(message)
                nursery.cancel_scope.cancel()

    def hear(self) -> None:
        """Something was committed for its conversation."""
        self._rung.set()
        if self._conversing is not None:
            self._conversing.doorbell.ring()

    async def stop(self, run: int, reason: str, timeout_seconds: float) -> Run | None:
        """Ask it to end its run. Raises MailboxError."""
        return await self.mailbox.ask(
            lambda reply: StopRun(run, self.id, reason, reply), timeout_seconds=timeout_seconds
        )

    def _begin(self, nursery: trio.Nursery) -> None:
        if self._left.is_set():  # another life, or one that was halted for nothing
            self._scope, self._left, self._conversing = trio.CancelScope(), trio.Event(), None
        nursery.start_soon(self._work)

    async def halt(self) -> None:
        """Stop its work, and wait until nothing of it goes on. What becomes of its run is for others to commit."""
        self._scope.cancel()
        await self._left.wait()

    async def _work(self) -> None:
        """Work on its conversation until nothing is left, and clean up behind it, however that ends.

        While only the owner can let it go on, it holds no place.
        """
        try:
            with self._scope, at_work(self.id, lambda: self._conversing):
                while True:
                    async with self._places:
                        if self.worker.receiver is None:
                            await self._means.equip_workers()
                        await self._get_on()
                    if self._conversing is not None and self._conversing.transcript.run is None:
                        break
                    await self._rung.wait()
        finally:
            if self.worker.receiver is None:
                with trio.CancelScope(shield=True):
                    await self._means.clean(self.id)
            self._left.set()
            self.mailbox.ring(0)

    async def _get_on(self) -> None:
        """Work until nothing is left to do now. One that fails again and again is left alone until it is rung."""
        failures = 0
        while failures <= self._means.limits.resumes + 1 or self._rung.is_set():
            self._rung = trio.Event()
            try:
                if self._conversing is None:
                    self._conversing = await Conversing.load(self._means, self._record, self.id)
                await self._conversing.work()
            except Exception as raised:
                self._conversing = None
                failures += judge(self.id, unwrap(raised))
            else:
                if self._conversing.stale:
                    self._conversing = None
                elif not self._rung.is_set():
                    return

    async def _time_out(self) -> None:
        means = self._means
        await means.clock.sleep_until(self.worker.deadline_at)
        await self.halt()
        work = await means.store.ask(workers.ReadWork(self.id))
        run = 0 if work is None or work.run is None else work.run.id
        end = runs.End(
            run=0,
            agent=self.worker.receiver or self.worker.agent,
            state="failed",
            reason=TOOK_TOO_LONG,
            cut_off=journal.cut_off(means.toolbox("home", self.worker.agent), journal.ENDED),
            now=means.clock.now(),
        )
        async with means.halted_workers(run):
            await means.store.ask(workers.TimeOut(worker=self.worker, end=end, now=means.clock.now()))
        self.mailbox.ring(0)

    async def _stop(self, message: StopRun) -> None:
        flight, label = self._means.live.in_flight(self.id), 0
        if self._conversing is not None:
            label = self._conversing.transcript.label
        await self.halt()
        end = ending(self._means, self.worker.receiver or self.worker.agent, message, flight, label)
        async with self._means.halted_workers(message.run):
            message.reply.send(await self._means.store.ask(end))
        self.mailbox.ring(0)

    async def _handed_over(self) -> bool:
        """Whether what came of it is handed over, by now."""
        if not self._left.is_set():
            return False
        means, work = self._means, await self._means.store.ask(workers.ReadWork(self.id))
        assert work is not None
        if not work.over:
            return False
        self.over.set()
        message = self._outcome(work.worker, answer_of(work))
        over = workers.HandOver(worker=work.worker, message=message, now=means.clock.now())
        return await means.store.ask(over)

    def _outcome(self, worker: Worker, answer: Answer) -> Commit:
        """The message that brings what came of it to a conversation that went on without it.

        To answer is no hop: what follows is as far as the one that asked was. What was handed off is only told.
        """
        source, hop = source_of(worker), 0 if worker.receiver is None else 1
        origin = worker.call if worker.receiver is None else worker.receiver
        body = {"text": answer.text, "source": source.name, "from": origin, "outcome": answer.outcome}
        return inbox.accept(
            id=self._means.store.next_id(),
            agent=worker.agent,
            conversation=worker.parent,
            source_key=f"worker:{worker.conversation}",
            digest="",
            kind="notice" if worker.handed_off else "outcome",
            body=dumps(body),
            outside=not answer.clean,
            now=self._means.clock.now(),
            cause=worker.call,
            act=worker.act,
            hops=worker.hops - hop,
        )
