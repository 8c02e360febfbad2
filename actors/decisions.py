"""The owner's decisions: his answers are taken in, and what he leaves undecided expires.

One rule: this actor keeps nothing. It looks at the rows when it starts, when a question was put, and when the next one
is due.
"""

from datetime import datetime
from typing import Protocol

import attrs
import trio

from storage.answers import Answer, Answered, Expire, Target
from storage.conversations import FindConversation
from storage.questions import NextExpiry, ReadQuestion
from storage.records import Question
from tools.contract import ToolFailed
from tools.limits import Limits
from tools.questions import judge, tell
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
    def toolbox(self, conversation_kind: str) -> Toolbox: ...


@attrs.frozen
class Look:
    """Another question may be the next to expire."""

    key: int


class Decisions:
    """Answers questions and lets them expire. `run` is the actor; `answer` may be called by any task."""

    def __init__(self, means: Means) -> None:
        self._means = means
        self.mailbox: Mailbox[Look] = Mailbox("the keeper of questions", capacity=1, on_ring=Look)

    async def answer(self, id: int, words: str) -> Answered | None:
        """Answer a question in the owner's words. None if there is no such question. The first answer counts."""
        means = self._means
        question = await means.store.ask(ReadQuestion(id))
        if question is None:
            return None
        return await means.store.ask(
            Answer(
                id=id,
                answer=judge(question, means.redactor.text(words)),
                target=await self._target(question),
                message=means.store.next_id(),
                tell=tell,
                now=means.clock.now(),
            )
        )

    async def run(self, *, task_status: "trio.TaskStatus[None]" = trio.TASK_STATUS_IGNORED) -> None:
        """Let questions expire until the mailbox is closed. Raises StorageError."""
        with self.mailbox:
            async with trio.open_nursery() as nursery:
                sleeping = self._sleep(nursery, await self._expire())
                task_status.started()
                async for _ in self.mailbox:
                    sleeping.cancel()
                    sleeping = self._sleep(nursery, await self._expire())
                nursery.cancel_scope.cancel()

    async def _expire(self) -> datetime | None:
        """Close what is past its time; returns when the next one is."""
        means = self._means
        while (due := await means.store.ask(NextExpiry())) is not None and due <= means.clock.now():
            await means.store.ask(Expire(next_id=means.store.next_id, tell=tell, now=means.clock.now()))
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

    async def _target(self, question: Question) -> Target | None:
        """What the act of a question would change."""
        if question.thing is None:
            return None
        conversation = await self._means.store.ask(FindConversation(id=question.conversation))
        assert conversation is not None
        return target_of(question, self._means.toolbox(conversation.kind), self._means.limits)


def target_of(question: Question, toolbox: Toolbox, limits: Limits) -> Target | None:
    """What the act of a question would change, None if it has no versions (or its tool is no more)."""
    tool = toolbox.find(question.tool)
    if tool is None or tool.target is None:
        return None
    try:
        return tool.target(question.agent, toolbox.arguments(tool, question.act, limits))
    except ToolFailed:
        return None
