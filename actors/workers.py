"""Those who are at work for calls: how a call finds its worker, or has an agent answer its message.

One rule: a call that is carried out again finds whom it set to work before; nothing here is kept that rows don't say.
"""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from datetime import timedelta
from typing import Any
from zoneinfo import ZoneInfo

import trio

from storage import inbox, workers
from storage.errors import StoreClosed
from storage.records import Agent, Worker
from storage.text import dumps, loads
from tools.answers import Answer, answer_of, text_of
from tools.contract import ToolContext, ToolFailed
from tools.limits import Limits
from tools.messages import RETIRED, too_many
from tools.outside import Source
from tools.zones import said

from .child import Child, Restart
from .mailbox import MailboxError
from .worker import GoOn, Means, WorkerActor


class Workers:
    """Those at work. `record` gives an agent's row; `add` has a child kept by the house.

    Satisfies Delegating and Messaging.
    """

    def __init__(self, means: Means, record: Callable[[str], Agent], add: Callable[[Child], Awaitable[None]]) -> None:
        self._means, self._record, self._add = means, record, add
        self._actors: dict[int, WorkerActor] = {}
        self._places = trio.CapacityLimiter(means.limits.workers_side_by_side)
        self._places_by_hop: dict[int, trio.CapacityLimiter] = {}

    @property
    def busy(self) -> bool:
        """Whether any is at work."""
        return bool(self._actors)

    def of(self, conversation: int) -> WorkerActor | None:
        """Who is at work in this conversation, or None."""
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

    def halted(self, run: int) -> AbstractAsyncContextManager[None]:
        """While the block ends a run, those that it set to work and did not hand off do nothing, nor do theirs.

        Whose work goes on all the same goes on.
        """
        return self._halted(
            [one for one in self._actors.values() if one.worker.run == run and not one.worker.handed_off]
        )

    def halted_answers_of(self, agent: str) -> AbstractAsyncContextManager[None]:
        """While the block retires an agent, it does not work on what others wrote to it."""
        return self._halted([one for one in self._actors.values() if one.worker.receiver == agent])

    @asynccontextmanager
    async def _halted(self, actors: list[WorkerActor]) -> AsyncIterator[None]:
        halted: list[WorkerActor] = []
        try:
            await self._halt(actors, halted)
            yield
        finally:
            for actor in halted:
                with suppress(MailboxError):  # it has ended
                    actor.mailbox.post(GoOn())

    async def _halt(self, actors: list[WorkerActor], halted: list[WorkerActor]) -> None:
        """Halt them, then those that they set to work by then, and so on."""
        halted += actors
        async with trio.open_nursery() as nursery:
            for actor in actors:
                nursery.start_soon(actor.halt)
        above = {actor.id for actor in actors}
        theirs = [one for one in self._actors.values() if one.worker.parent in above and not one.worker.handed_off]
        if theirs:
            await self._halt(theirs, halted)

    async def answer(self, context: ToolContext, task: str) -> tuple[Worker, Answer]:
        """Have the worker of a call do a task, and wait until it has. Raises ToolFailed if it may have none."""
        actor = await self._set_to_work(context, kind="task", body={"text": task, "source": Source.TASK.name})
        return await self._outcome_of(actor)

    async def message(self, context: ToolContext, receiver: str, text: str) -> tuple[Worker, Answer]:
        """Have an agent answer the message of a call, and wait until it has. Raises ToolFailed if it may not."""
        actor = await self._set_to_work(context, kind="agent", receiver=receiver, body={"text": text})
        return await self._outcome_of(actor)

    async def hand_off(self, context: ToolContext, receiver: str, text: str) -> None:
        """Give an agent the message of a call. Raises ToolFailed if it may not."""
        await self._set_to_work(context, kind="agent", receiver=receiver, handed_off=True, body={"text": text})

    async def _outcome_of(self, actor: WorkerActor) -> tuple[Worker, Answer]:
        await actor.over.wait()
        work = await self._means.store.ask(workers.ReadWork(actor.id))
        assert work is not None
        return work.worker, answer_of(work)

    async def _set_to_work(
        self,
        context: ToolContext,
        *,
        kind: str,
        body: dict[str, Any],
        receiver: str | None = None,
        handed_off: bool = False,
    ) -> WorkerActor:
        """The actor of a call's worker, made if the call has none yet. Raises ToolFailed if it may have none."""
        with trio.CancelScope(shield=True):  # a call that a run goes on without has to have its worker
            if receiver is not None:
                body = {**body, **await self._addressed(context, receiver)}
            delegate = self._delegate(context, kind=kind, body=body, receiver=receiver, handed_off=handed_off)
            made = await self._means.store.ask(delegate)
            actor = await self._ensure(made) if isinstance(made, Worker) else None
        if actor is not None:
            return actor
        match made:
            case "too many":
                raise ToolFailed(too_many(context.limits.delegated_per_act))
            case "retired":
                raise ToolFailed(RETIRED.format(name=receiver))
        raise ToolFailed(f"There is no agent {receiver!r}. Nothing was sent.")

    async def _addressed(self, context: ToolContext, receiver: str) -> dict[str, Any]:
        """Who a message is from, and what the two said to each other earlier."""
        sender, limits = context.agent, context.limits
        exchanges = await context.ask(workers.Exchanges(sender=sender, receiver=receiver, limit=limits.exchanges_shown))
        quotes = [_quote(exchange, sender, limits, context.zone) for exchange in exchanges]
        return {"source": Source.AGENT.name, "from": sender, "quotes": quotes}

    def _delegate(
        self, context: ToolContext, *, kind: str, body: dict[str, Any], receiver: str | None, handed_off: bool
    ) -> workers.Delegate:
        call, now, conversation = context.call, self._means.clock.now(), self._means.store.next_id()
        hops = context.hops if receiver is None else context.hops + 1
        seconds = context.limits.worker_seconds if receiver is None else context.limits.message_seconds
        worker = Worker(
            conversation=conversation,
            run=call.run,
            turn=call.turn,
            position=call.position,
            parent=call.conversation,
            agent=context.agent,
            act=context.act,
            hops=hops,
            deadline_at=now + timedelta(seconds=seconds),
            cut_short=None,
            made_at=now,
            ended_at=None,
            receiver=receiver,
            handed_off=handed_off,
            no=0,
        )
        accepted = inbox.accept(
            id=self._means.store.next_id(),
            agent=receiver or context.agent,
            conversation=conversation,
            source_key=call.key,
            digest="",
            kind=kind,
            body=dumps(body),
            outside=context.label > 0,
            now=now,
            cause=call.key,
            act=context.act,
            hops=hops,
        )
        return workers.Delegate(worker=worker, task=accepted, per_act=context.limits.delegated_per_act)

    async def _ensure(self, worker: Worker) -> WorkerActor:
        """The actor of a worker, started if it isn't there. Raises StoreClosed if the house is closing."""
        if (there := self._actors.get(worker.conversation)) is not None:
            return there
        whose = worker.receiver or worker.agent
        actor = WorkerActor(self._means, lambda: self._record(whose), worker, self._places_of(worker))

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

    def _places_of(self, worker: Worker) -> trio.CapacityLimiter:
        if worker.receiver is None:
            return self._places
        if worker.hops not in self._places_by_hop:
            self._places_by_hop[worker.hops] = trio.CapacityLimiter(self._means.limits.asks_side_by_side)
        return self._places_by_hop[worker.hops]


def _quote(exchange: workers.Exchange, sender: str, limits: Limits, zone: ZoneInfo) -> dict[str, Any]:
    """An earlier exchange as the receiver is shown it: what was written to it, and what it answered."""
    most = limits.exchange_characters
    asked = _cut(loads(exchange.body)["text"], most)
    answered = "(nothing)" if exchange.shown is None else _cut(text_of(exchange.shown), most)
    return {
        "from": f"an earlier exchange with {sender}, {said(exchange.at, zone)}",
        "text": f"{sender} wrote:\n{asked}\n\nYou answered:\n{answered}",
        "source": Source.HISTORY.name,
        "clean": exchange.label == 0,
    }


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[:most]}\n… cut here: {len(text) - most:,} more characters"
