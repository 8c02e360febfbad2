"""The actors of delegated tasks: one for each worker, started by the call that delegates, gone when its outcome is
handed over.

One rule: a worker is a row. Whoever needs it starts its actor if it isn't there, and what came of it is read from rows
and handed over in one commit, by the call that waits for it or else by the actor.
"""

import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from datetime import timedelta
from typing import Protocol, assert_never

import attrs
import trio

from storage import inbox, runs, workers
from storage.errors import StoreClosed
from storage.operation import Commit
from storage.records import Agent, Run, Worker
from storage.text import dumps
from tools.contract import ToolContext, ToolFailed
from tools.delegate import Answer, answer_of
from tools.outside import Source

from . import steps
from .child import Child, Restart
from .converse import Conversing
from .driving import StopRun, ending, judge
from .mailbox import Mailbox, MailboxError
from .steps import FAILED_CALL
from .supervisor import unwrap

log = logging.getLogger("dreamwalker.worker")

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


class WorkerActor:
    """One worker. `over` is set when its work is."""

    def __init__(self, means: Means, record: Callable[[], Agent], worker: Worker, places: trio.CapacityLimiter) -> None:
        self._means, self._record, self.worker, self._places = means, record, worker, places
        self.id = worker.conversation
        self.name = f"worker {worker.conversation}"
        self.mailbox: Mailbox[WorkerMessage] = Mailbox(self.name, capacity=means.limits.mailbox_messages, on_ring=Look)
        self.over = trio.Event()
        self._conversing: Conversing | None = None
        self._rung = False
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
        self._rung = True
        if self._conversing is not None:
            self._conversing.doorbell.ring()

    async def stop(self, run: int, reason: str, timeout_seconds: float) -> Run | None:
        """Ask it to end its run. Raises MailboxError."""
        return await self.mailbox.ask(
            lambda reply: StopRun(run, self.id, reason, reply), timeout_seconds=timeout_seconds
        )

    def _begin(self, nursery: trio.Nursery) -> None:
        if self._left.is_set():  # another life, or one that was halted for nothing
            self._scope, self._left = trio.CancelScope(), trio.Event()
        nursery.start_soon(self._work)

    async def halt(self) -> None:
        """Stop its work, and wait until nothing of it goes on. What becomes of its run is for others to commit."""
        self._scope.cancel()
        await self._left.wait()

    async def _work(self) -> None:
        """Work on its conversation until nothing is left, and clean up behind it, however that ends."""
        failures = 0
        try:
            with self._scope:
                async with self._places:
                    await self._means.equip_workers()
                    while failures <= self._means.limits.resumes + 1 or self._rung:
                        self._rung = False
                        try:
                            self._conversing = await Conversing.load(self._means, self._record, self.id)
                            await self._conversing.work()
                        except Exception as raised:
                            failures += judge(self.id, unwrap(raised))
                        else:
                            if not self._conversing.stale and not self._rung:
                                break
        finally:
            with trio.CancelScope(shield=True):
                await self._means.clean(self.id)
            self._left.set()
            self.mailbox.ring(0)

    async def _time_out(self) -> None:
        means = self._means
        await means.clock.sleep_until(self.worker.deadline_at)
        await self.halt()
        end = runs.End(
            run=0,
            agent=self.worker.agent,
            state="failed",
            reason=TOOK_TOO_LONG,
            result_text=FAILED_CALL,
            now=means.clock.now(),
        )
        await means.store.ask(workers.TimeOut(worker=self.worker, end=end, now=means.clock.now()))
        self.mailbox.ring(0)

    async def _stop(self, message: StopRun) -> None:
        flight, label = self._means.live.in_flight(self.id), 0
        if self._conversing is not None:
            label = self._conversing.transcript.label
        await self.halt()
        end = ending(self._means, self.worker.agent, message, flight, label)
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
        """The message that brings what came of it to a conversation that went on without it."""
        body = {"text": answer.text, "source": Source.WORKER.name, "from": worker.call, "outcome": answer.outcome}
        return inbox.accept(
            id=self._means.store.next_id(),
            agent=worker.agent,
            conversation=worker.parent,
            source_key=f"worker:{worker.conversation}",
            digest="",
            kind="outcome",
            body=dumps(body),
            outside=True,
            now=self._means.clock.now(),
            cause=worker.call,
            act=worker.act,
            hops=worker.hops,
        )


class Workers:
    """Those at work. `record` gives an agent's row; `add` has a child kept by the house. Satisfies Delegating."""

    def __init__(self, means: Means, record: Callable[[str], Agent], add: Callable[[Child], Awaitable[None]]) -> None:
        self._means, self._record, self._add = means, record, add
        self._actors: dict[int, WorkerActor] = {}
        self._places = trio.CapacityLimiter(means.limits.workers_side_by_side)

    @property
    def busy(self) -> bool:
        """Whether any is at work."""
        return bool(self._actors)

    def of(self, conversation: int) -> WorkerActor | None:
        """The worker whose conversation this is, or None."""
        return self._actors.get(conversation)

    def working_in(self, parent: int) -> bool:
        """Whether any works for a call of this conversation."""
        return any(actor.worker.parent == parent for actor in self._actors.values())

    def look(self) -> None:
        """Tell all that calls may not wait for them any more."""
        for actor in self._actors.values():
            actor.mailbox.ring(0)

    def nudge(self) -> None:
        """Tell all to try again what waits: money, credentials or a setting changed."""
        for actor in self._actors.values():
            actor.hear()

    async def take_up(self) -> None:
        """Go on with those that were at work. Raises StorageError."""
        for worker in await self._means.store.ask(workers.AtWork()):
            await self._ensure(worker)

    @asynccontextmanager
    async def halted(self, run: int) -> AsyncIterator[None]:
        """While the block ends a run, those that it set to work do nothing. Whose work goes on all the same goes on."""
        actors = [actor for actor in self._actors.values() if actor.worker.run == run]
        try:
            async with trio.open_nursery() as nursery:
                for actor in actors:
                    nursery.start_soon(actor.halt)
            yield
        finally:
            for actor in actors:
                with suppress(MailboxError):  # it has ended
                    actor.mailbox.post(GoOn())

    async def answer(self, context: ToolContext, task: str) -> tuple[Worker, Answer]:
        """Have the worker of a call do a task, and wait until it has. Raises ToolFailed if it may have none."""
        with trio.CancelScope(shield=True):  # a call that a run goes on without has to have its worker
            worker = await self._means.store.ask(self._delegate(context, task))
        if worker is None:
            most = context.limits.delegated_per_act
            raise ToolFailed(f"Not delegated: {most} tasks and messages have come of this already, and that is all.")
        actor = await self._ensure(worker)
        await actor.over.wait()
        work = await self._means.store.ask(workers.ReadWork(worker.conversation))
        assert work is not None
        return worker, answer_of(work)

    def _delegate(self, context: ToolContext, task: str) -> workers.Delegate:
        call, now, conversation = context.call, self._means.clock.now(), self._means.store.next_id()
        worker = Worker(
            conversation=conversation,
            run=call.run,
            turn=call.turn,
            position=call.position,
            parent=call.conversation,
            agent=context.agent,
            act=context.act,
            hops=context.hops,
            deadline_at=now + timedelta(seconds=context.limits.worker_seconds),
            cut_short=None,
            made_at=now,
            ended_at=None,
            no=0,
        )
        accepted = inbox.accept(
            id=self._means.store.next_id(),
            agent=context.agent,
            conversation=conversation,
            source_key=call.key,
            digest="",
            kind="task",
            body=dumps({"text": task, "source": Source.TASK.name}),
            outside=context.label > 0,
            now=now,
            cause=call.key,
            act=context.act,
            hops=context.hops,
        )
        return workers.Delegate(worker=worker, task=accepted, per_act=context.limits.delegated_per_act)

    async def _ensure(self, worker: Worker) -> WorkerActor:
        """The actor of a worker, started if it isn't there. Raises StoreClosed if the house is closing."""
        if (there := self._actors.get(worker.conversation)) is not None:
            return there
        actor = WorkerActor(self._means, lambda: self._record(worker.agent), worker, self._places)

        async def life(*, task_status: "trio.TaskStatus[None]" = trio.TASK_STATUS_IGNORED) -> None:
            await actor.run(task_status=task_status)
            if actor.over.is_set():
                self._actors.pop(worker.conversation, None)

        child = Child(
            name=actor.name,
            start=life,
            restart=Restart.TRANSIENT,
            ask_to_stop=actor.mailbox.close,
            stop_seconds=2.0,
        )
        self._actors[worker.conversation] = actor
        with trio.CancelScope(shield=True):  # it is in the list, so it has to be there
            try:
                await self._add(child)
            except MailboxError as error:  # the house is closing: that is no outcome, the next one goes on with it
                self._actors.pop(worker.conversation, None)
                raise StoreClosed("the house is closing") from error
        return actor
