"""The actor of one named agent: hears doorbells, works on its conversations side by side, stops runs.

One rule: it keeps nothing that rows don't say. When it starts it looks at every conversation that has something left,
and a lost or doubled doorbell changes nothing.
"""

from collections import OrderedDict
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, nullcontext
from typing import Protocol, assert_never

import attrs
import trio

from storage import inbox
from storage.records import Agent, Message, Run

from . import steps
from .converse import Conversing
from .driving import StopRun, at_work, ending, judge
from .mailbox import Mailbox
from .supervisor import unwrap

EVERYWHERE = 0
"""The key of a ring that means all conversations: money, credentials or a setting changed."""


class Means(steps.Means, Protocol):
    """What an agent works with."""

    def halted_workers(self, run: int) -> AbstractAsyncContextManager[None]:
        """For the end of a run: its workers do nothing, and then what became of them is committed; or they go on."""
        ...


@attrs.frozen
class Look:
    """There may be something to do in a conversation."""

    conversation: int


AgentMessage = Look | StopRun


@attrs.define(eq=False)
class _Work:
    """A conversation being worked on."""

    scope: trio.CancelScope = attrs.Factory(trio.CancelScope)
    ended: trio.Event = attrs.Factory(trio.Event)
    conversing: Conversing | None = None
    rung: bool = False


class AgentActor:
    """One agent at work. `record` gives its row as it stands now; its `home` never waits behind other conversations."""

    def __init__(self, means: Means, record: Callable[[], Agent], home: int | None) -> None:
        self._means, self._record, self._home = means, record, home
        self.name = record().name
        self.mailbox: Mailbox[AgentMessage] = Mailbox(
            f"agent {self.name}", capacity=means.limits.mailbox_messages, on_ring=Look
        )
        self._ended = trio.Event()
        self._ended.set()  # it does not live yet
        self._working: dict[int, _Work] = {}
        self._stopping: set[int] = set()
        self._kept: OrderedDict[int, Conversing] = OrderedDict()
        self._places = trio.CapacityLimiter(means.limits.conversations_side_by_side)

    @property
    def busy(self) -> bool:
        """Whether a run is being worked on."""
        return bool(self._working)

    async def run(self, *, task_status: "trio.TaskStatus[None]" = trio.TASK_STATUS_IGNORED) -> None:
        """Serve the mailbox until it is closed. Raises StorageError."""
        self._ended = trio.Event()
        try:
            await self._live(task_status)
        finally:
            self._ended.set()

    async def end(self) -> None:
        """Ask it to end, and wait until it has. Whoever keeps it must be free meanwhile: its calls may need him."""
        self.mailbox.close()
        await self._ended.wait()

    async def _live(self, task_status: "trio.TaskStatus[None]") -> None:
        self._working.clear()
        self._stopping.clear()
        self._kept.clear()
        with self.mailbox:
            async with trio.open_nursery() as nursery:
                for conversation in await self._means.store.ask(inbox.Waiting(self.name)):
                    self._look(nursery, conversation)
                task_status.started()
                async for message in self.mailbox:
                    match message:
                        case Look(conversation=conversation):
                            self._look(nursery, conversation)
                        case StopRun():
                            nursery.start_soon(self._stop, nursery, message)
                        case _:
                            assert_never(message)
                nursery.cancel_scope.cancel()

    async def stop(self, run: int, conversation: int, reason: str, timeout_seconds: float) -> Run | None:
        """Ask the actor to end a run. Raises MailboxError."""
        return await self.mailbox.ask(
            lambda reply: StopRun(run, conversation, reason, reply), timeout_seconds=timeout_seconds
        )

    def hear(self, conversation: int, letter: Message | None = None) -> None:
        """Something was committed for a conversation; `letter` is all of it, if it was a message and no more."""
        work, conversing = self._working.get(conversation), self._kept.get(conversation)
        if work is not None and work.conversing is not None:
            conversing = work.conversing  # until the work on one that was kept has begun, it is among the kept
        if conversing is not None:  # else it is read when it is loaded, and what was committed until then with it
            conversing.doorbell.ring(letter)
        self.mailbox.ring(conversation)

    def _look(self, nursery: trio.Nursery, conversation: int) -> None:
        if conversation == EVERYWHERE:
            for work in self._working.values():
                if work.conversing is not None:
                    work.conversing.doorbell.ring()
        elif work_there := self._working.get(conversation):
            work_there.rung = True
        elif conversation not in self._stopping:
            work = self._working[conversation] = _Work()
            nursery.start_soon(self._drive, conversation, work)

    async def _drive(self, conversation: int, work: _Work) -> None:
        """Work on one conversation until nothing is left. A failure loads it anew, which counts as taking it up.

        One that fails even so, again and again, is left alone until it is rung: it must not take the others down.
        """
        failures = 0
        try:
            with work.scope, at_work(conversation, lambda: work.conversing):
                async with self._places if conversation != self._home else nullcontext():
                    while failures <= self._means.limits.resumes + 1 or work.rung:
                        work.rung = False
                        try:
                            work.conversing = self._kept.pop(conversation, None) or await self._load(conversation)
                            await work.conversing.work()
                        except Exception as raised:
                            failures += judge(conversation, unwrap(raised))
                        else:
                            if not work.conversing.stale:
                                self._keep(conversation, work.conversing)
                                if not work.rung:
                                    return
        finally:
            self._working.pop(conversation, None)
            work.ended.set()

    async def _load(self, conversation: int) -> Conversing:
        return await Conversing.load(self._means, self._record, conversation)

    def _keep(self, conversation: int, conversing: Conversing) -> None:
        self._kept[conversation] = conversing
        while len(self._kept) > self._means.limits.conversations_kept:
            self._kept.popitem(last=False)

    async def _stop(self, nursery: trio.Nursery, message: StopRun) -> None:
        """End a run: first what works on it, its workers too, then the run itself in one commit."""
        conversation, means = message.conversation, self._means
        self._stopping.add(conversation)
        try:
            flight, label = means.live.in_flight(conversation), 0
            if work := self._working.get(conversation):
                if work.conversing is not None:
                    label = work.conversing.transcript.label
                work.scope.cancel()
                await work.ended.wait()
            async with means.halted_workers(message.run):
                self._kept.pop(conversation, None)
                message.reply.send(await means.store.ask(ending(means, self.name, message, flight, label)))
        finally:
            self._stopping.discard(conversation)
        self._look(nursery, conversation)
