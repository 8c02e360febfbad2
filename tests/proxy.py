"""A proxy between asyncpg and Postgres that breaks things on purpose, at a chosen place.

It takes the protocol apart just enough to see requests: what the client sends up to the point where it waits for an
answer, which is one network round trip. A script says what becomes of each. It is made of trio tasks, so it runs in
the loop of the test, beside the `Bridge` of the very connection that it breaks.

    async with open_proxy(database_url) as proxy:
        proxy.on_request = lambda request: CUT_AFTER if request.sql == "COMMIT" else PASS
        connection = Connection(Options(dsn=lambda: proxy.url), "holder")

What may become of a request:

    PASS         it is forwarded, and so is its answer
    CUT_BEFORE   it is swallowed, and the connection is cut: it surely did not happen
    CUT_AFTER    it is forwarded, the server carries it out, its answer is swallowed and the connection is cut
    FREEZE       it is swallowed, and this connection is silent from now on, but stays open
    LATE         the client's side is cut, the server's stays: the request happens when the test says so
                 (`await proxy.late[0].deliver()`), however long after the client has come back
    Fail("40001", "…")  it is swallowed, and the client is told that the server refused it with this SQLSTATE
    Await(event) it is forwarded once the trio.Event is set (`Await(event, CUT_AFTER)`: what becomes of it then)

For the whole of it: `delay_seconds` (per round trip, for measuring), `round_trips`, `accepted` (connections),
`door` (what becomes of new connections: OPEN, SHUT: ended at once, as with no database there, STUCK: accepted and
left unanswered until the door is opened), `cut_all()` (every connection drops now).
"""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from enum import Enum, auto
from urllib.parse import parse_qs, urlsplit

import attrs
import trio


class Fate(Enum):
    """What becomes of a request."""

    PASS = auto()
    CUT_BEFORE = auto()
    CUT_AFTER = auto()
    FREEZE = auto()
    LATE = auto()


PASS, CUT_BEFORE, CUT_AFTER, FREEZE, LATE = Fate


@attrs.frozen
class Fail:
    """The server refuses, it seems, with this SQLSTATE; in truth it never sees the request."""

    code: str
    message: str = "refused by the proxy"


@attrs.frozen
class Await:
    """Wait for the event, then do `then`."""

    event: trio.Event
    then: "Fate | Fail" = PASS


Action = Fate | Fail | Await


class Door(Enum):
    """What becomes of a new connection."""

    OPEN = auto()
    SHUT = auto()
    STUCK = auto()


@attrs.frozen(kw_only=True)
class Request:
    """What the client sent before it waits for an answer.

    `n` counts requests from 1, `connection` connections from 1. `kinds` are the types of the messages: "Q" a simple
    query, "PDH" preparing, "BES" carrying out what was prepared, "X" good-bye. `sql` is the statement or script.
    """

    n: int
    connection: int
    kinds: str
    sql: str
    data: bytes = attrs.field(repr=False)

    @property
    def runs(self) -> bool:
        """Whether it carries something out, rather than preparing it or saying good-bye."""
        return "Q" in self.kinds or "E" in self.kinds


class Late:
    """A request whose client is gone. `delivered`: the server has been given it."""

    def __init__(self, request: Request, server: "_Server") -> None:
        self.request, self._server = request, server
        self.delivered = False

    async def deliver(self) -> bytes:
        """Let it happen now; returns the types of the answer's messages once the server has answered.

        "C": a statement was carried out, "E": refused; none: the server had hung up. Then its side is closed too.
        """
        assert not self.delivered
        self.delivered = True
        kinds = bytearray()
        with suppress(trio.BrokenResourceError, _Gone):
            await self._server.stream.send_all(self.request.data)
            async for kind, _ in self._server.answer(self.request.kinds):
                kinds += kind
        self.forget()
        return bytes(kinds)

    def forget(self) -> None:
        """It never arrives: the server sees its client hang up."""
        self._server.stream.socket.close()


class Proxy:
    """See the module. `url` is where it listens, in place of the database's own URL."""

    def __init__(self, target: str, url: str) -> None:
        self.url = url
        self.on_request: Callable[[Request], Action] = lambda request: PASS
        self.delay_seconds = 0.0
        self.round_trips = 0
        self.accepted = 0
        self.late: list[Late] = []
        self._target = target
        self._requests = 0
        self._door, self._opened = Door.OPEN, trio.Event()
        self._live: set[trio.CancelScope] = set()

    @property
    def door(self) -> Door:
        return self._door

    @door.setter
    def door(self, door: Door) -> None:
        self._door = door
        if door is Door.OPEN:
            self._opened.set()
            self._opened = trio.Event()

    def cut_all(self) -> None:
        """Every connection that is open drops now, whatever is under way."""
        for scope in self._live:
            scope.cancel()

    async def serve(self, client: trio.SocketStream) -> None:
        """Look after one client to its end."""
        self.accepted += 1
        number = self.accepted
        async with client:
            if self._door is Door.SHUT:
                return
            with trio.CancelScope() as scope:
                self._live.add(scope)
                try:
                    while self._door is Door.STUCK:
                        await self._opened.wait()
                    await self._relay(_Client(client), number)
                except (trio.BrokenResourceError, trio.ClosedResourceError, _Gone):
                    pass
                finally:
                    self._live.discard(scope)

    async def _relay(self, client: "_Client", number: int) -> None:
        server = _Server(await _dial(self._target))
        keep = False
        try:
            await server.stream.send_all(await client.startup())
            await self._answer(server, client, "Q")
            while True:
                kinds, sql, data = await self._next(server, client)
                self._requests += 1
                request = Request(n=self._requests, connection=number, kinds=kinds, sql=sql, data=data)
                fate = await self._decide(request)
                if fate is Fate.LATE:
                    self.late.append(Late(request, server))
                    keep = True
                    return
                await self._carry_out(fate, request, server, client)
        finally:
            if not keep:
                await server.stream.aclose()

    async def _next(self, server: "_Server", client: "_Client") -> tuple[str, str, bytes]:
        """The next request. What the server says unasked meanwhile is passed on; if it hangs up, that was it."""
        request: tuple[str, str, bytes] | None = None
        async with trio.open_nursery() as nursery:

            async def listen() -> None:
                with suppress(trio.BrokenResourceError):
                    await server.overhear(client)
                nursery.cancel_scope.cancel()

            nursery.start_soon(listen)
            with suppress(trio.BrokenResourceError, _Gone):
                request = await client.request()
            nursery.cancel_scope.cancel()
        if request is None:
            raise _Gone
        return request

    async def _decide(self, request: Request) -> "Fate | Fail":
        action = self.on_request(request)
        if isinstance(action, Await):
            await action.event.wait()
            return action.then
        return action

    async def _carry_out(self, fate: "Fate | Fail", request: Request, server: "_Server", client: "_Client") -> None:
        match fate:
            case Fail(code, message):
                await client.refuse(code, message, server.status)
            case Fate.CUT_BEFORE:
                raise _Gone
            case Fate.FREEZE:
                await client.wait_for_its_end()
                raise _Gone
            case _:
                if self.delay_seconds:
                    await trio.sleep(self.delay_seconds)
                await server.stream.send_all(request.data)
                if request.kinds == "X":
                    raise _Gone
                await self._answer(server, None if fate is Fate.CUT_AFTER else client, request.kinds)
                if fate is Fate.CUT_AFTER:
                    raise _Gone

    async def _answer(self, server: "_Server", client: "_Client | None", kinds: str) -> None:
        answer = bytearray()
        try:
            async for _, message in server.answer(kinds):
                answer += message
        finally:  # what the server said before it hung up is passed on too
            if client is not None and answer:
                with trio.CancelScope(shield=True):
                    await client.stream.send_all(answer)
        self.round_trips += 1


class _Gone(Exception):
    """One of the two has hung up, or shall think that the other has."""


class _Reader:
    """Messages out of a stream of bytes."""

    def __init__(self, stream: trio.SocketStream) -> None:
        self.stream = stream
        self._buffer = bytearray()

    async def take(self, count: int) -> bytes:
        while len(self._buffer) < count:
            chunk = await self.stream.receive_some(65536)
            if not chunk:
                raise _Gone
            self._buffer += chunk
        taken = bytes(self._buffer[:count])
        del self._buffer[:count]
        return taken

    async def message(self) -> tuple[bytes, bytes]:
        """A message's type, and all of it."""
        head = await self.take(5)
        return head[:1], head + await self.take(int.from_bytes(head[1:], "big") - 4)


class _Client(_Reader):
    """The side of the client."""

    def __init__(self, stream: trio.SocketStream) -> None:
        super().__init__(stream)
        self._statements: dict[bytes, str] = {}

    async def startup(self) -> bytes:
        """The first packet, which has no type."""
        head = await self.take(4)
        return head + await self.take(int.from_bytes(head, "big") - 4)

    async def request(self) -> tuple[str, str, bytes]:
        """Types, SQL and bytes of the messages up to one that the client waits for an answer to."""
        kinds, sql, data = "", "", b""
        while not kinds or kinds[-1] not in "QSHX":
            kind, message = await self.message()
            kinds, data = kinds + kind.decode(), data + message
            sql = self._sql(kind, message[5:]) or sql
        return kinds, sql, data

    def _sql(self, kind: bytes, body: bytes) -> str:
        match kind:
            case b"Q":
                return body.rstrip(b"\0").decode()
            case b"P":
                name, text, _ = body.split(b"\0", 2)
                self._statements[name] = text.decode()
                return text.decode()
            case b"B":
                _, name, _ = body.split(b"\0", 2)
                return self._statements.get(name, "")
        return ""

    async def refuse(self, code: str, message: str, status: bytes) -> None:
        fields = b"SERROR\0VERROR\0C" + code.encode() + b"\0M" + message.encode() + b"\0\0"
        error = b"E" + (len(fields) + 4).to_bytes(4, "big") + fields
        await self.stream.send_all(error + b"Z\0\0\0\x05" + (b"E" if status == b"T" else status))

    async def wait_for_its_end(self) -> None:
        while await self.stream.receive_some(65536):
            pass


class _Server(_Reader):
    """The side of the server. `status` is what it said of the transaction: I none, T open, E failed."""

    def __init__(self, stream: trio.SocketStream) -> None:
        super().__init__(stream)
        self.status = b"I"

    async def answer(self, kinds: str) -> AsyncIterator[tuple[bytes, bytes]]:
        """The messages of the answer to a request of these types, up to the last one."""
        last = b"TnE" if kinds.endswith("H") else b"Z"
        while True:
            kind, message = await self.message()
            if kind == b"Z":
                self.status = message[5:]
            yield kind, message
            if kind in last:
                return

    async def overhear(self, client: _Client) -> None:
        """Pass on what the server says unasked, until it hangs up."""
        while chunk := await self.stream.receive_some(65536):
            with trio.CancelScope(shield=True):
                await client.stream.send_all(chunk)


async def _dial(url: str) -> trio.SocketStream:
    parts = urlsplit(url)
    if parts.hostname:
        return await trio.open_tcp_stream(parts.hostname, parts.port or 5432)
    settings = parse_qs(parts.query)
    return await trio.open_unix_socket(f"{settings['host'][0]}/.s.PGSQL.{settings.get('port', ['5432'])[0]}")


@asynccontextmanager
async def open_proxy(database_url: str) -> AsyncIterator[Proxy]:
    """A proxy in front of the database at this URL, which asks for no password, on a loopback port."""
    parts = urlsplit(database_url)
    user = parts.username or parse_qs(parts.query)["user"][0]
    async with trio.open_nursery() as nursery:
        [listener] = await trio.open_tcp_listeners(0, host="127.0.0.1")
        port = listener.socket.getsockname()[1]
        proxy = Proxy(database_url, f"postgresql://{user}@127.0.0.1:{port}{parts.path}?sslmode=disable")
        nursery.start_soon(trio.serve_listeners, proxy.serve, [listener])
        try:
            yield proxy
        finally:
            nursery.cancel_scope.cancel()
            for late in proxy.late:
                late.forget()
