"""The mailbox of one actor: what others may say to it, and how they hear back.

One rule: nobody waits for ever. Posting and ringing never wait; an asker is answered by the actor, by its time-out, or
by the mailbox, which knows when the actor has stopped.

A mailbox outlives its actor and is its address. Each life of the actor is one `with mailbox:` around its loop:

    with mailbox:
        task_status.started()
        async for message in mailbox:
            match message:
                ...

However that block is left, the mailbox closes and everyone who still waits is answered. The actor's next life opens
it anew, and empty: what must survive is a row, and an actor looks at its rows when it starts.
"""

from collections import deque
from collections.abc import Callable
from types import TracebackType
from typing import Generic, Self, TypeVar

import attrs
import trio

M = TypeVar("M")
T = TypeVar("T")


class MailboxError(Exception):
    """Base of everything that a mailbox raises of its own. What an actor answers with `fail` is raised as it is."""


class MailboxFull(MailboxError):
    """As many messages wait as the mailbox may hold, so this one was not taken. The actor is alive: try later."""


class MailboxClosed(MailboxError):
    """The actor has stopped and never saw the message: it was refused, or was still queued when the mailbox closed.

    `__cause__` is the error it closed with, if there was one.
    """


class Unanswered(MailboxError):
    """The actor stopped with the question in hand. Unlike MailboxClosed, it may have acted on it, in part or whole.

    `__cause__` is the error that ended the actor, if there was one.
    """


class AskTimedOut(MailboxError):
    """The asker's own bound passed first. If the actor had begun on the question, it may still carry it out.

    A question still queued is withdrawn: nobody works for one who has gone.
    """


class Reply(Generic[T]):
    """The way back to one asker, carried by the message. The first answer counts; later ones go nowhere."""

    _value: T

    def __init__(self) -> None:
        self._answered = trio.Event()
        self._error: Exception | None = None

    def send(self, value: T) -> None:
        """Answer with a value."""
        if not self._answered.is_set():
            self._value = value
            self._answered.set()

    def fail(self, error: Exception) -> None:
        """Answer with an error, which `ask` raises as it is."""
        if not self._answered.is_set():
            self._error = error
            self._answered.set()


@attrs.frozen(kw_only=True, eq=False)
class _Waiting(Generic[M]):
    """A message in the queue: posted, rung (then with its key) or asked (then with the way to refuse it)."""

    message: M
    key: int | None = None
    refuse: Callable[[Exception], None] | None = None


class Mailbox(Generic[M]):
    """What waits for one actor, in the order it came. `M` is the closed union of its messages.

    `name` is who stopped, is busy or did not answer, in the words of errors. `capacity` is how many messages may
    wait; rings don't count. `on_ring` makes the message that a ring of some key is delivered as.
    It is open from the start: what comes before the actor's first life waits for it.
    """

    def __init__(self, name: str, *, capacity: int, on_ring: Callable[[int], M] | None = None) -> None:
        assert capacity > 0, capacity
        self.name, self.capacity = name, capacity
        self._on_ring = on_ring
        self._queue: deque[_Waiting[M]] = deque()
        self._rung: set[int] = set()  # the keys of the rings in the queue
        self._asked: set[_Waiting[M]] = set()  # questions without an answer, queued or in hand
        self._arrival = trio.lowlevel.ParkingLot()
        self._attended = False
        self._closed = False
        self._error: Exception | None = None

    # -- for others

    def post(self, message: M) -> None:
        """Leave a message. Never waits. Raises MailboxFull, MailboxClosed: then it was not taken."""
        self._take_in(_Waiting(message=message))

    async def ask(self, make_message: Callable[[Reply[T]], M], timeout_seconds: float) -> T:
        """Leave the message that `make_message` makes of a Reply, and wait for what is sent there.

        Raises MailboxFull, MailboxClosed (the actor never saw it), AskTimedOut, Unanswered (it may have acted on it),
        or what the actor answers with `fail`, as it is. A caller that is cancelled withdraws a question still queued.
        """
        reply: Reply[T] = Reply()
        question = _Waiting(message=make_message(reply), refuse=reply.fail)
        self._take_in(question)
        self._asked.add(question)
        try:
            with trio.move_on_after(timeout_seconds):
                await reply._answered.wait()
        finally:
            self._asked.discard(question)
            if question in self._queue:
                self._queue.remove(question)
        if not reply._answered.is_set():
            raise AskTimedOut(f"{self.name} did not answer within {timeout_seconds:g} s")
        if reply._error is not None:
            raise reply._error
        return reply._value

    def ring(self, key: int) -> None:
        """Tell the actor to look again at `key`, once however often it is rung before it gets to it.

        Never waits and never raises for lack of room. Ringing an actor that has stopped does nothing: it looks at
        everything when it starts again.
        """
        if self._on_ring is None:
            raise TypeError(f"{self.name} has no message for a ring")
        if self._closed or key in self._rung:
            return
        self._put(_Waiting(message=self._on_ring(key), key=key))
        self._rung.add(key)

    def close(self, error: Exception | None = None) -> None:
        """Stop the actor: its iteration ends after the message it is at, and nothing more is taken.

        Whoever asked what is still queued hears MailboxClosed now, from `error`; what is in hand is the actor's to
        answer until it leaves its block. Closing again changes nothing.
        """
        if self._closed:
            return
        self._closed, self._error = True, error
        for waiting in self._queue:
            if waiting.refuse is not None:
                waiting.refuse(self._refusal())
        self._queue.clear()
        self._rung.clear()
        self._arrival.unpark_all()

    # -- for the actor

    def abandon(self, error: Exception | None = None) -> None:
        """Close, and tell whoever still waits for an answer that none comes: he hears Unanswered, from `error`."""
        self.close(error)
        for question in self._asked:
            assert question.refuse is not None
            unanswered = Unanswered(f"{self.name} stopped before it answered")
            unanswered.__cause__ = error
            question.refuse(unanswered)

    def __enter__(self) -> Self:
        if self._attended:
            raise RuntimeError(f"{self.name} already has an actor at its mailbox")
        if self._closed:
            self._closed, self._error = False, None
        self._attended = True
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        # a cancellation is nobody's error; only its own scope may hold it
        ended_by = error if isinstance(error, Exception) else self._error
        self._attended = False
        self.abandon(ended_by)

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> M:
        if not self._attended:
            raise RuntimeError(f"read {self.name}'s mailbox inside `with mailbox:`, so that its end answers who waits")
        await trio.lowlevel.checkpoint()
        while not self._queue:
            if self._closed:
                raise StopAsyncIteration
            await self._arrival.park()
        # taken without another checkpoint: a cancelled actor has not lost a message
        waiting = self._queue.popleft()
        if waiting.key is not None:
            self._rung.discard(waiting.key)
        return waiting.message

    # -- inside

    def _take_in(self, waiting: _Waiting[M]) -> None:
        if self._closed:
            raise self._refusal()
        if len(self._queue) - len(self._rung) >= self.capacity:
            raise MailboxFull(f"{self.name} is busy: its queue of {self.capacity} is full")
        self._put(waiting)

    def _put(self, waiting: _Waiting[M]) -> None:
        self._queue.append(waiting)
        self._arrival.unpark()

    def _refusal(self) -> MailboxClosed:
        refusal = MailboxClosed(f"{self.name} has stopped")
        refusal.__cause__ = self._error
        return refusal
