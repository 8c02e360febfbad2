"""The owner's decisions: his answers are taken in, and what he leaves undecided is told again, and expires.

One rule: this actor keeps nothing. It looks at the rows when it starts, when a question was put, and when the next one
is due.
"""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Protocol
from zoneinfo import ZoneInfo

import attrs
import trio

from storage.answers import Answer, Answered, Expire, Remind, Target
from storage.conversations import FindConversation
from storage.operation import Transaction, Write
from storage.pushes import Declined, Effect, Pressing
from storage.questions import NextDue, ReadQuestion
from storage.records import Conversation, Question
from tools.contract import ToolFailed
from tools.limits import Limits
from tools.pushing import NO, YES
from tools.questions import judge, tell, verdict
from tools.redact import Redactor
from tools.toolbox import Toolbox

from .clock import Clock
from .mailbox import Mailbox
from .store import Store


class Means(Protocol):
    """What decisions need."""

    store: Store
    clock: Clock
    limits: Limits

    @property
    def redactor(self) -> Redactor: ...
    @property
    def zone(self) -> ZoneInfo: ...
    def push_of(self, question: Question, again: bool) -> tuple[Write, ...]: ...
    def toolbox(self, conversation_kind: str, agent: str) -> Toolbox: ...


@attrs.frozen
class Look:
    """Something may be due for a question."""

    key: int


class Decisions:
    """Answers questions and lets them expire. `run` is the actor; the rest may be called by any task."""

    def __init__(self, means: Means) -> None:
        self._means = means
        self.mailbox: Mailbox[Look] = Mailbox("the keeper of questions", capacity=1, on_ring=Look)

    async def answer(self, id: int, words: str) -> Answered | None:
        """Answer a question in the owner's words. None if there is no such question. The first answer counts."""
        question = await self._means.store.ask(ReadQuestion(id))
        if question is None:
            return None
        conversation = await self._means.store.ask(FindConversation(id=question.conversation))
        return await self._means.store.ask(self._operation(question, conversation, words, self._means.store.next_id()))

    def effects(self, message: int) -> Mapping[str, Effect]:
        """What the buttons of a question's push do, in the press's own transaction. `message`: an id for one."""

        def pressed(words: str) -> Effect:
            async def press(tx: Transaction, it: Pressing) -> str | Declined:
                question = await ReadQuestion(int(it.push.id.rpartition(":")[2])).read(tx)
                if question is None:
                    raise Declined("There is no such question any more.")
                conversation = await FindConversation(id=question.conversation).read(tx)
                answered = await self._operation(question, conversation, words, message).perform(tx)
                assert answered is not None
                zone = self._means.zone
                stands, said = verdict(answered.question, words, first=answered.first, zone=zone, now=it.now)
                if stands:
                    return said
                if question.open:  # this very press has closed it, and closed it stays
                    return Declined(said)
                raise Declined(said)

            return press

        return {words: pressed(words) for words in (YES, NO)}

    def _operation(self, question: Question, conversation: Conversation | None, words: str, message: int) -> Answer:
        means = self._means
        target = None
        if question.thing is not None and conversation is not None:
            target = target_of(question, means.toolbox(conversation.kind, conversation.agent), means.limits)
        return Answer(
            id=question.id,
            answer=judge(question, means.redactor.text(words)),
            target=target,
            message=message,
            tell=tell,
            now=means.clock.now(),
        )

    async def run(self, *, task_status: "trio.TaskStatus[None]" = trio.TASK_STATUS_IGNORED) -> None:
        """See to open questions until the mailbox is closed. Raises StorageError."""
        with self.mailbox:
            async with trio.open_nursery() as nursery:
                sleeping = self._sleep(nursery, await self._see_to_it())
                task_status.started()
                async for _ in self.mailbox:
                    sleeping.cancel()
                    sleeping = self._sleep(nursery, await self._see_to_it())
                nursery.cancel_scope.cancel()

    async def _see_to_it(self) -> datetime | None:
        """Close what is past its time and tell again of what soon is; returns when the next one is due."""
        means, again_seconds = self._means, self._means.limits.question_again_seconds
        while (due := await means.store.ask(NextDue(again_seconds))) is not None and due <= means.clock.now():
            now = means.clock.now()
            await means.store.ask(Expire(next_id=means.store.next_id, tell=tell, now=now))
            until = now + timedelta(seconds=again_seconds)
            await means.store.ask(Remind(until=until, push=means.push_of, now=now))
        return due

    def _sleep(self, nursery: trio.Nursery, due: datetime | None) -> trio.CancelScope:
        """Ring when the next question is due, unless cancelled before."""
        scope = trio.CancelScope()
        if due is not None:
            nursery.start_soon(self._ring_at, due, scope)
        return scope

    async def _ring_at(self, due: datetime, scope: trio.CancelScope) -> None:
        with scope:
            await self._means.clock.sleep_until(due)
            self.mailbox.ring(0)


def target_of(question: Question, toolbox: Toolbox, limits: Limits) -> Target | None:
    """What the act of a question would change, None if it has no versions (or its tool is no more)."""
    tool = toolbox.find(question.tool)
    if tool is None or tool.target is None:
        return None
    try:
        return tool.target(question.agent, toolbox.arguments(tool, question.act, limits))
    except ToolFailed:
        return None
