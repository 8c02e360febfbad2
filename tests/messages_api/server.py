"""The scripted Messages API: one HTTP/1.1 server on loopback, made of trio and h11 so that it can break at will.

One rule: a request is judged first, and only a good one takes a reply from the script.
"""

import json
import socket
import struct
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial

import attrs
import h11
import trio

from tests.messages_api.cache import Clock, Counted, PromptCache
from tests.messages_api.refusals import Limits, key_of, refuse
from tests.messages_api.replies import Answer, Failure, Gate, HangUp, Json, Plain, Reply, Rule, Silence
from tests.messages_api.wire import error_event, events, usage_json

READ_BYTES = 65_536


@attrs.define(kw_only=True)
class Request:
    """One request as it came. `json` is None when it could not be read; `refused` is the error it got, if any."""

    method: str
    path: str
    headers: dict[str, str]
    raw: bytes
    json: Json | None = None
    refused: str | None = None
    client_left: trio.Event = attrs.field(factory=trio.Event)
    """Set when the client closes the connection before its answer is over."""

    @property
    def key(self) -> str:
        return key_of(self.headers)


@attrs.frozen(kw_only=True)
class Bill:
    """What one answer is billed at most: the whole of it, even if it was cut."""

    key: str
    model: str
    usage: Json


class MessagesApi:
    """The running server: where it is, what it was asked, and what it will answer."""

    def __init__(self, *, limits: Limits, min_cacheable_tokens: int) -> None:
        self.url = ""
        self.clock = Clock()
        self.requests: list[Request] = []
        self.billed: list[Bill] = []
        self.limits = limits
        self.packs = False
        """Whether events that need not wait for a gate are sent together, instead of each by itself."""
        self.cache = PromptCache(self.clock, min_cacheable_tokens)
        self._queue: deque[Reply | Rule] = deque()
        self._rule: Rule | None = None
        self._judge: Callable[[Request], Reply] | None = None
        self._arrived = trio.Condition()

    def script(self, *replies: Reply | Rule) -> None:
        """Queue what is answered next, in order. A function alone answers whatever finds the queue empty."""
        if len(replies) == 1 and callable(replies[0]):
            self._rule = replies[0]
        else:
            self._queue.extend(replies)

    def answer_with(self, judge: Callable[[Request], Reply]) -> None:
        """From now on this function answers whatever finds the queue empty; it sees the whole request."""
        self._judge = judge

    def forget(self) -> None:
        """Forget what was asked, billed and cached, as if newly started."""
        self.requests, self.billed = [], []
        self.cache = PromptCache(self.clock, self.cache.min_tokens)

    @property
    def asked(self) -> list[Json]:
        """The bodies of all requests that were not refused, in order."""
        return [r.json for r in self.requests if r.json is not None and r.refused is None]

    async def arrived(self, count: int) -> Request:
        """Wait until so many requests have come in all, refused ones included; the newest of them."""
        async with self._arrived:
            while len(self.requests) < count:
                await self._arrived.wait()
        return self.requests[count - 1]

    async def reply_to(self, request: Request) -> Reply:
        """Record a request and say what it gets."""
        reply = self._judged(request)
        async with self._arrived:
            self.requests.append(request)
            self._arrived.notify_all()
        return reply

    def _judged(self, request: Request) -> Reply:
        if (request.method, request.path.partition("?")[0]) != ("POST", "/v1/messages"):
            request.refused = "Not found"
            return Failure(status=404, type="not_found_error", message="Not found")
        judged = refuse(request.headers, request.raw, self.limits)
        if isinstance(judged, Failure):
            request.refused = judged.message
            return judged
        request.json = judged
        if self._judge is not None and not self._queue:
            return self._judge(request)
        entry = self._queue.popleft() if self._queue else self._rule
        if entry is None:
            return Failure(status=400, type="invalid_request_error", message="The script has no more replies.")
        return entry(judged) if callable(entry) else entry


@asynccontextmanager
async def serve_messages_api(
    *,
    gateway: bool = False,
    input_tokens_max: int = 200_000,
    min_cacheable_tokens: int = 512,
    port: int = 0,
) -> AsyncIterator[MessagesApi]:
    """A scripted Messages API on 127.0.0.1, gone when the block is left. `min_cacheable_tokens`: 512 as Haiku 5.5."""
    limits = Limits(gateway=gateway, input_tokens_max=input_tokens_max)
    api = MessagesApi(limits=limits, min_cacheable_tokens=min_cacheable_tokens)
    failure: Exception | None = None
    async with trio.open_nursery() as nursery:
        serve = partial(trio.serve_tcp, partial(_connection, api), port, host="127.0.0.1")
        listeners = await nursery.start(serve)
        api.url = f"http://127.0.0.1:{listeners[0].socket.getsockname()[1]}"
        try:
            yield api
        except Exception as error:
            failure = error  # raised again below as it is, not wrapped in the nursery's group
        nursery.cancel_scope.cancel()
    if failure is not None:
        raise failure


async def _connection(api: MessagesApi, stream: trio.SocketStream) -> None:
    conn = h11.Connection(h11.SERVER)
    try:
        while (request := await _read(conn, stream)) is not None:
            reply = await api.reply_to(request)
            async with trio.open_nursery() as nursery:
                nursery.start_soon(_watch, conn, stream, request, nursery.cancel_scope)
                await _answer(api, conn, stream, request, reply)
                nursery.cancel_scope.cancel()
            if request.client_left.is_set() or conn.our_state is not h11.DONE:
                break
            conn.start_next_cycle()
    except (h11.RemoteProtocolError, trio.BrokenResourceError):
        pass
    finally:
        with trio.CancelScope(shield=True):
            await stream.aclose()


async def _read(conn: h11.Connection, stream: trio.SocketStream) -> Request | None:
    """The next request with its whole body; None when the client is done."""
    head: h11.Request | None = None
    body = bytearray()
    while True:
        event = conn.next_event()
        if event is h11.NEED_DATA:
            conn.receive_data(await stream.receive_some(READ_BYTES))
        elif isinstance(event, h11.Request):
            head = event
        elif isinstance(event, h11.Data):
            body += event.data
        elif isinstance(event, h11.EndOfMessage) and head is not None:
            headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in head.headers}
            return Request(method=head.method.decode(), path=head.target.decode(), headers=headers, raw=bytes(body))
        else:
            return None


async def _watch(conn: h11.Connection, stream: trio.SocketStream, request: Request, scope: trio.CancelScope) -> None:
    """Notice at once that the client went away, whatever the answer is waiting for."""
    try:
        while data := await stream.receive_some(READ_BYTES):
            conn.receive_data(data)  # the next request, early
    except trio.ClosedResourceError:
        return  # our own reset
    except trio.BrokenResourceError:
        pass
    request.client_left.set()
    scope.cancel()


async def _answer(
    api: MessagesApi, conn: h11.Connection, stream: trio.SocketStream, request: Request, reply: Reply
) -> None:
    try:
        match reply:
            case Answer():
                await _stream(api, conn, stream, request, reply)
            case Failure():
                error = {"type": "error", "error": {"type": reply.type, "message": reply.message}}
                body = reply.body if reply.body is not None else json.dumps(error | {"request_id": "req_1"}).encode()
                await _whole(conn, stream, reply.status, "application/json", body, reply.headers)
            case Plain():
                await _whole(conn, stream, 200, reply.content_type, reply.body, ())
            case Silence():
                _bill(api, request)
                await trio.sleep_forever()
            case HangUp():
                _bill(api, request)
                await _end(stream, reset=reply.reset)
    except trio.BrokenResourceError:
        request.client_left.set()


async def _whole(
    conn: h11.Connection,
    stream: trio.SocketStream,
    status: int,
    content_type: str,
    body: bytes,
    headers: tuple[tuple[str, str], ...],
) -> None:
    lines = [("content-type", content_type), ("content-length", str(len(body))), *headers]
    await _send(conn, stream, h11.Response(status_code=status, headers=lines))
    await _send(conn, stream, h11.Data(data=body))
    await _send(conn, stream, h11.EndOfMessage())


async def _stream(
    api: MessagesApi, conn: h11.Connection, stream: trio.SocketStream, request: Request, reply: Answer
) -> None:
    assert request.json is not None
    counted = _bill(api, request, reply)
    lines = [("content-type", "text/event-stream; charset=utf-8"), ("transfer-encoding", "chunked")]
    sending = _Sending(conn, stream, packs=api.packs and reply.slice_bytes is None)
    await sending.add(h11.Response(status_code=200, headers=lines))
    sent = 0
    for event in events(reply, request.json, counted):
        if isinstance(event, Gate):
            await sending.flush()
            await event.passed()
            continue
        if reply.broken is not None and sent == reply.broken.after:
            break
        step = reply.slice_bytes or len(event)
        for i in range(0, len(event), step):
            await sending.add(h11.Data(data=event[i : i + step]))
        sent += 1
    if reply.broken is not None:
        await sending.flush()
        match reply.broken.manner:
            case "stall":
                await trio.sleep_forever()
            case "cut" | "reset":
                await _end(stream, reset=reply.broken.manner == "reset")
                return
            case "error":
                await sending.add(h11.Data(data=error_event(reply.broken.error_type, reply.broken.message)))
    await sending.add(h11.EndOfMessage())
    await sending.flush()


class _Sending:
    """What is being sent of an answer: all together up to the next `flush` if it `packs`, else each by itself."""

    def __init__(self, conn: h11.Connection, stream: trio.SocketStream, *, packs: bool) -> None:
        self._conn, self._stream, self._packs = conn, stream, packs
        self._held = b""

    async def add(self, event: h11.Event) -> None:
        self._held += self._conn.send(event) or b""
        if not self._packs:
            await self.flush()

    async def flush(self) -> None:
        held, self._held = self._held, b""
        if held:
            await self._stream.send_all(held)


def _bill(api: MessagesApi, request: Request, reply: Answer | None = None) -> Counted:
    """Bill an answer that begins: all of it, however it ends. One that never begins may have been thought of."""
    assert request.json is not None
    counted = api.cache.count(request.json)
    usage = usage_json(reply if reply is not None else Answer(blocks=()), counted)
    api.billed.append(Bill(key=request.key, model=request.json["model"], usage=usage))
    return counted


async def _send(conn: h11.Connection, stream: trio.SocketStream, event: h11.Event) -> None:
    data = conn.send(event)
    if data:
        await stream.send_all(data)


async def _end(stream: trio.SocketStream, *, reset: bool) -> None:
    """Close the connection as it stands; with `reset`, so that the client sees a reset instead of an end."""
    if reset:
        stream.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        stream.socket.close()
    else:
        await stream.send_eof()
