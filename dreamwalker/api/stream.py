"""The live stream: what changes in a conversation as it changes, and text while it is written.

One rule: what is committed is shown in order and once, by its number; text in flight is shown only until its entry
is, never after it. A client that reads slowly is shown less often, and nobody waits for it.
"""

from collections.abc import Awaitable, Callable
from typing import Annotated, Literal

import msgspec
import trio
from msgspec import Meta, field
from starlette.types import Receive, Scope, Send

from actors.live import InFlight, Watch
from actors.supervisor import unwrap
from dreamwalker.house import House
from dreamwalker.not_ready import NotReady
from storage.conversations import Changes, ChangesSince, FindConversation, LastSeq, MoreThan
from storage.errors import StorageError
from storage.text import clean
from storage.workers import WorkersSince
from tools.delegate import DELEGATE
from tools.limits import FIXED
from tools.messages import MESSAGE_AGENT

from . import views
from .agents import AgentPath, home_of
from .conversations import ConversationPath
from .endpoint import BIGINT_MAX, Asked, Doors, Endpoint, Given, Nothing, Shown, not_found
from .errors import Refused

CHANGE_ROWS = FIXED.change_rows
"""Rows of a kind in one change; more come in the next one."""


class StreamQuery(Given, frozen=True):
    """From where: what carries a number above `from`; without it, what is new from now on.

    `behind`: where more than so many entries are above `from`, it is not opened (409 `behind`), since reading the
    newest page of entries, and joining from its number, is faster than hearing them all.
    """

    start_no: Annotated[int, Meta(ge=0, le=BIGINT_MAX)] | None = field(name="from", default=None)
    behind: Annotated[int, Meta(ge=1, le=BIGINT_MAX)] | None = None


class Change(Shown, frozen=True):
    """Event `change`: the rows that changed, up to and with commit `no`. A row that comes again takes its place."""

    no: int
    messages: tuple[views.Message, ...] = ()
    entries: tuple[views.Entry, ...] = ()
    runs: tuple[views.Run, ...] = ()
    calls: tuple[views.Call, ...] = ()
    questions: tuple[views.Question, ...] = ()
    workers: tuple[views.Worker, ...] = ()


class TextInFlight(Shown, frozen=True):
    """Event `text`: text that will be entry `seq`, from `offset` (in characters) on. Offset 0 begins it anew."""

    seq: int
    run: int
    offset: int
    text: str


class SummingUp(Shown, frozen=True):
    """Event `summing`: what was said so far is being summed up for run `run`, which goes on after it; `over`: no more.

    It is told anew to whoever joins meanwhile.
    """

    run: int
    over: bool = False


class Ended(Shown, frozen=True):
    """Event `end`: the server ends the stream. Unless the token was changed, connect again from the newest `no`."""

    reason: Literal["stopping", "closed", "token"]


Emit = Callable[[bytes], Awaitable[None]]


class Feed:
    """What one client has been shown of a conversation, and what it is shown next."""

    def __init__(
        self, house: House, conversation: int, start_no: int, over: Callable[[], Ended | None], emit: Emit
    ) -> None:
        self._house, self._store, self._live = house, house.store, house.live
        self._heartbeat_seconds = house.limits.heartbeat_seconds
        self._conversation, self._no = conversation, start_no
        self._over, self._emit = over, emit
        self._greeted = False
        self._last_seq = 0  # the newest entry that the client has or has been shown
        self._flight: InFlight | None = None
        self._characters = 0  # how much of it was shown
        self._summing_up: int | None = None

    async def run(self, heartbeat: Callable[[], Awaitable[None]]) -> None:
        """Show everything until it is over. Raises StorageError, and what `heartbeat` raises."""
        with self._live.watch(self._conversation) as watch:
            self._last_seq = await self._store.ask(LastSeq(self._conversation))
            while (end := self._over()) is None:
                if self._greeted and (summing := self._summing()) is not None:
                    await self._emit(event("summing", summing))
                elif watch.rows_changed:
                    await self._show_rows(watch)
                elif (text := self._text()) is not None:  # no commit has gone by that was not shown
                    await self._emit(event("text", text))
                else:
                    await self._wait(watch, heartbeat)
            await self._emit(event("end", end))

    async def _show_rows(self, watch: Watch) -> None:
        watch.rows_changed = False
        changes, since = await self._store.ask(ChangesSince(self._conversation, self._no, CHANGE_ROWS)), self._no
        watch.rows_changed = watch.rows_changed or not changes.complete
        self._no = changes.no
        self._last_seq = max([self._last_seq, *(entry.seq for entry in changes.entries)])
        change = Change(
            no=changes.no,
            messages=tuple(views.Message.of(row) for row in changes.messages),
            entries=tuple(views.Entry.of(row) for row in changes.entries),
            runs=tuple(views.Run.of(row) for row in changes.runs),
            calls=tuple(views.Call.of(row) for row in changes.calls),
            questions=tuple(
                views.Question.of(row, self._house.zone, self._house.clock.now()) for row in changes.questions
            ),
            workers=await self._workers(since, changes),
        )
        if not self._greeted or change != Change(no=change.no):
            self._greeted = True
            await self._emit(event("change", change, id=change.no))

    async def _workers(self, since: int, changes: Changes) -> tuple[views.Worker, ...]:
        """What changed of the workers; it is only read where there may be some."""
        may_be = self._house.workers.working_in(self._conversation)
        if not (may_be or any(call.tool in (DELEGATE, MESSAGE_AGENT) for call in changes.calls)):
            return ()
        return tuple(views.Worker.of(seen) for seen in await self._store.ask(WorkersSince(self._conversation, since)))

    def _text(self) -> TextInFlight | None:
        """What the client has not been shown of the text in flight; None if there is nothing."""
        flight = self._live.in_flight(self._conversation)
        if flight is not None and flight.seq <= self._last_seq:
            flight = None  # its entry stands; that it is still here is a matter of moments
        if flight is not self._flight:
            lost, was_shown = self._flight, self._characters > 0
            self._flight, self._characters = flight, 0
            if lost is not None and was_shown and lost.seq > self._last_seq:
                return TextInFlight(seq=lost.seq, run=lost.run, offset=0, text="")
        if flight is None or len(flight.text) == self._characters:
            return None
        offset, self._characters = self._characters, len(flight.text)
        return TextInFlight(seq=flight.seq, run=flight.run, offset=offset, text=clean(flight.text[offset:]))

    def _summing(self) -> SummingUp | None:
        """What the client has not been told of a summary that is being written; None if it knows."""
        before, self._summing_up = self._summing_up, self._live.summing_up(self._conversation)
        if self._summing_up is not None and self._summing_up != before:
            return SummingUp(run=self._summing_up)
        return SummingUp(run=before, over=True) if before is not None and self._summing_up is None else None

    async def _wait(self, watch: Watch, heartbeat: Callable[[], Awaitable[None]]) -> None:
        with trio.move_on_after(self._heartbeat_seconds):
            await watch.wait()
            return
        await heartbeat()
        await self._emit(b": heartbeat\n\n")


class LiveStream:
    """The ASGI application that answers one request for a live stream."""

    def __init__(self, doors: Doors, house: House, conversation: int, start_no: int) -> None:
        self._doors, self._house = doors, house
        self._conversation, self._start_no = conversation, start_no

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def emit(data: bytes) -> None:
            await send({"type": "http.response.body", "body": data, "more_body": True})

        def over() -> Ended | None:
            if self._doors.system.stopping.is_set():
                return Ended(reason="stopping")
            if self._house.live.ending.is_set():
                return Ended(reason="closed")
            return None if self._doors.token.admits(scope["headers"]) else Ended(reason="token")

        self._doors.streams += 1
        try:
            headers = [(b"content-type", b"text/event-stream; charset=utf-8"), (b"x-accel-buffering", b"no")]
            await send({"type": "http.response.start", "status": 200, "headers": headers})
            async with trio.open_nursery() as nursery:
                nursery.start_soon(leave_with_client, receive, nursery.cancel_scope)
                await self._show(Feed(self._house, self._conversation, self._start_no, over, emit), emit)
                nursery.cancel_scope.cancel()
            await send({"type": "http.response.body", "body": b"", "more_body": False})
        finally:
            self._doors.streams -= 1

    async def _show(self, feed: Feed, emit: Emit) -> None:
        try:
            await feed.run(self._visit)
        except Exception as raised:
            if not isinstance(unwrap(raised), StorageError | NotReady):
                raise
            await emit(event("end", Ended(reason="closed")))

    async def _visit(self) -> None:
        """An open stream is a visitor: the lease is kept up, and so its loss is noticed here."""
        await self._doors.system.open()


async def leave_with_client(receive: Receive, scope: trio.CancelScope) -> None:
    """Cancel the scope once the client is gone."""
    while (await receive())["type"] != "http.disconnect":
        pass
    scope.cancel()


def event(name: str, data: Shown, *, id: int | None = None) -> bytes:
    """One server-sent event."""
    numbered = b"" if id is None else b"id: %d\n" % id
    return b"event: %s\n%sdata: %s\n\n" % (name.encode(), numbered, msgspec.json.encode(data))


async def open_stream(asked: Asked[AgentPath, StreamQuery, Nothing]) -> LiveStream:
    house = await asked.house()
    return await _opened(asked.doors, house, home_of(house, asked.path.name), asked.query)


async def open_stream_of(asked: Asked[ConversationPath, StreamQuery, Nothing]) -> LiveStream:
    house = await asked.house()
    if await house.store.ask(FindConversation(id=asked.path.id)) is None:
        raise not_found("conversation of that id")
    return await _opened(asked.doors, house, asked.path.id, asked.query)


async def _opened(doors: Doors, house: House, conversation: int, query: StreamQuery) -> LiveStream:
    newest = house.store.commit_no
    start_no = query.start_no if query.start_no is not None else newest
    if start_no > newest:
        raise Refused(409, f"Commit {start_no} does not exist (yet); begin anew without `from`.", code="ahead")
    behind = query.behind
    if behind is not None and await house.store.ask(MoreThan(conversation, start_no, behind)):
        raise Refused(409, f"More than {behind:,} entries are above commit {start_no}; read a page.", code="behind")
    if doors.streams >= house.limits.streams:
        raise Refused(429, "Too many live streams are open.", headers={"Retry-After": "10"})
    return LiveStream(doors, house, conversation, start_no)


ENDPOINTS = (
    Endpoint(
        method="GET",
        route="/api/agents/{name}/stream",
        says=(
            "The live stream of an agent's home conversation, as server-sent events: `change`, `text`, `summing`, "
            "`end`, and a comment as a heartbeat. Connect again with `from` = the newest `no` that was seen."
        ),
        handle=open_stream,
        path=AgentPath,
        query=StreamQuery,
        refusals=(409, 429),
        media="text/event-stream",
        events=(Change, TextInFlight, SummingUp, Ended),
    ),
    Endpoint(
        method="GET",
        route="/api/conversations/{id}/stream",
        says="The live stream of any conversation, as of an agent's home.",
        handle=open_stream_of,
        path=ConversationPath,
        query=StreamQuery,
        refusals=(409, 429),
        media="text/event-stream",
        events=(Change, TextInFlight, SummingUp, Ended),
    ),
)
