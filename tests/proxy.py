"""A proxy between asyncpg and Postgres that breaks things on purpose, at a chosen place.

It takes the protocol apart just enough to see requests: what the client sends up to the point where it waits for an
answer, which is one network round trip. A script says what becomes of each. It is made of trio tasks, so it runs in
the loop of the test, beside the `Bridge` of the very connection that it breaks. It works on bare sockets: thousands of
schedules go through it, and a detour for each read and write would be most of what they cost.

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
    Then(CUT_AFTER, call)  that, and before the client learns of it the function is called
    Await(event) it is forwarded once the trio.Event is set (`Await(event, CUT_AFTER)`: what becomes of it then)

For the whole of it: `delay_seconds` (per round trip, for measuring), `round_trips`, `accepted` (connections),
`door` (what becomes of new connections: OPEN, SHUT: ended at once, as with no database there, STUCK: accepted and
left unanswered until the door is opened), `cut_all()` (every connection drops now).
"""

import socket
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
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
    then: "Fate | Fail | Then" = PASS


@attrs.frozen
class Then:
    """Do `fate`, then call the function, before the client learns what became of it."""

    fate: Fate
    call: Callable[[], None]


Action = Fate | Fail | Await | Then


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
        kinds, last = bytearray(), _last_of(self.request.kinds)
        with suppress(_Gone):
            await self._server.send(self.request.data)
            while not any(kind in last for kind in kinds):
                kinds += self._server.scan(await self._server.receive())
        self.forget()
        return bytes(kinds)

    def forget(self) -> None:
        """It never arrives: the server sees its client hang up."""
        self._server.close()


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

    async def serve(self, listener: socket.socket, nursery: trio.Nursery) -> None:
        """Look after clients for ever."""
        while True:
            await trio.lowlevel.wait_readable(listener)
            with suppress(BlockingIOError):
                client, _ = listener.accept()
                client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                nursery.start_soon(self._look_after, _Client(client))

    async def _look_after(self, client: "_Client") -> None:
        """Serve one client to its end."""
        self.accepted += 1
        number = self.accepted
        try:
            if self._door is Door.SHUT:
                return
            with trio.CancelScope() as scope:
                self._live.add(scope)
                try:
                    while self._door is Door.STUCK:
                        await self._opened.wait()
                    with suppress(_Gone):
                        await self._relay(client, number)
                finally:
                    self._live.discard(scope)
        finally:
            client.close()

    async def _relay(self, client: "_Client", number: int) -> None:
        server = _Server(await _dial(self._target))
        keep = False
        try:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(server.speak_to, client, nursery.cancel_scope)
                keep = await self._converse(client, server, number)
                nursery.cancel_scope.cancel()
        finally:
            if not keep:
                server.close()

    async def _converse(self, client: "_Client", server: "_Server", number: int) -> bool:
        """One request after the other, until one of the two is gone. True if the server's side shall be kept."""
        with suppress(_Gone):
            await server.ask(await client.startup(), "Q")
            while True:
                kinds, sql, data = await client.request()
                self._requests += 1
                request = Request(n=self._requests, connection=number, kinds=kinds, sql=sql, data=data)
                fate, call = await self._decide(request, server)
                if fate is Fate.LATE:
                    self.late.append(Late(request, server))
                    call()
                    return True
                try:
                    await self._carry_out(fate, request, server, client)
                finally:
                    call()
        return False

    async def _decide(self, request: Request, server: "_Server") -> "tuple[Fate | Fail, Callable[[], None]]":
        action = self.on_request(request)
        if isinstance(action, Await):
            with server.silent():
                await action.event.wait()
            action = action.then
        return (action.fate, action.call) if isinstance(action, Then) else (action, _nothing)

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
                if request.kinds == "X":
                    await server.send(request.data)
                    raise _Gone
                server.swallows = fate is Fate.CUT_AFTER
                await server.ask(request.data, request.kinds)
                self.round_trips += 1
                if fate is Fate.CUT_AFTER:
                    raise _Gone


def _nothing() -> None:
    pass


class _Gone(Exception):
    """One of the two has hung up, or shall think that the other has."""


class _Wire:
    """A socket. What it has to give or can take at once is given and taken without waiting."""

    def __init__(self, raw: socket.socket) -> None:
        raw.setblocking(False)
        self._raw = raw

    async def receive(self) -> bytes:
        """What comes next. Raises _Gone at its end."""
        while True:
            try:
                chunk = self._raw.recv(65536)
            except BlockingIOError:
                await trio.lowlevel.wait_readable(self._raw)
                continue
            except OSError:
                raise _Gone from None
            if not chunk:
                raise _Gone
            return chunk

    async def send(self, data: bytes) -> None:
        """Send all of it. Raises _Gone when nobody takes it."""
        left = memoryview(data)
        while left:
            try:
                left = left[self._raw.send(left) :]
            except BlockingIOError:
                await trio.lowlevel.wait_writable(self._raw)
            except OSError:
                raise _Gone from None

    def close(self) -> None:
        """Hang up."""
        if self._raw.fileno() >= 0:
            trio.lowlevel.notify_closing(self._raw)
            self._raw.close()


class _Client(_Wire):
    """The side of the client."""

    def __init__(self, raw: socket.socket) -> None:
        super().__init__(raw)
        self._buffer = bytearray()
        self._statements: dict[bytes, str] = {}

    async def _take(self, count: int) -> bytes:
        while len(self._buffer) < count:
            self._buffer += await self.receive()
        taken = bytes(self._buffer[:count])
        del self._buffer[:count]
        return taken

    async def startup(self) -> bytes:
        """The first packet, which has no type."""
        head = await self._take(4)
        return head + await self._take(int.from_bytes(head, "big") - 4)

    async def request(self) -> tuple[str, str, bytes]:
        """Types, SQL and bytes of the messages up to one that the client waits for an answer to."""
        kinds, sql, data = "", "", b""
        while not kinds or kinds[-1] not in "QSHX":
            head = await self._take(5)
            body = await self._take(int.from_bytes(head[1:], "big") - 4)
            kinds, data = kinds + chr(head[0]), data + head + body
            sql = self._sql(head[:1], body) or sql
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
        await self.send(error + b"Z\0\0\0\x05" + (b"E" if status == b"T" else status))

    async def wait_for_its_end(self) -> None:
        with suppress(_Gone):
            while True:
                await self.receive()


class _Server(_Wire):
    """The side of the server. `status` is what it said of the transaction: I none, T open, E failed.

    `swallows`: what it says does not reach the client.
    """

    def __init__(self, raw: socket.socket) -> None:
        super().__init__(raw)
        self.status = b"I"
        self.swallows = False
        self._rest = bytearray()
        self._last = b""
        self._answered = trio.Event()
        self._may_speak: trio.Event | None = None

    async def ask(self, data: bytes, kinds: str) -> None:
        """Give it a request; returns when all of the answer has come, and been passed on."""
        self._last, self._answered = _last_of(kinds), trio.Event()
        await self.send(data)
        await self._answered.wait()

    async def speak_to(self, client: _Client, ended: trio.CancelScope) -> None:
        """Pass on all that it says, asked or not, until it hangs up."""
        with suppress(_Gone):
            while True:
                chunk = await self.receive()
                if self._may_speak is not None:
                    await self._may_speak.wait()
                kinds = self.scan(chunk)
                if not self.swallows:
                    await client.send(chunk)
                if any(kind in self._last for kind in kinds):
                    self._answered.set()
        if self._may_speak is not None:
            await self._may_speak.wait()
        ended.cancel()

    @contextmanager
    def silent(self) -> Iterator[None]:
        """Nothing that it says, nor its end, reaches the client within the block."""
        self._may_speak = trio.Event()
        try:
            yield
        finally:
            self._may_speak.set()
            self._may_speak = None

    def scan(self, chunk: bytes) -> bytes:
        """The types of the messages that end in a chunk."""
        rest, at, kinds = self._rest, 0, bytearray()
        rest += chunk
        while len(rest) - at > 4 and len(rest) > (end := at + int.from_bytes(rest[at + 1 : at + 5], "big")):
            kinds.append(rest[at])
            if rest[at] == ord("Z"):
                self.status = bytes(rest[at + 5 : at + 6])
            at = end + 1
        del rest[:at]
        return bytes(kinds)


def _last_of(kinds: str) -> bytes:
    """The types of messages with which the answer to a request of these types ends."""
    return b"TnE" if kinds.endswith("H") else b"Z"


async def _dial(url: str) -> socket.socket:
    parts = urlsplit(url)
    if parts.hostname:
        raw = socket.create_connection((parts.hostname, parts.port or 5432))
        raw.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return raw
    settings = parse_qs(parts.query)
    raw = socket.socket(socket.AF_UNIX)
    raw.connect(f"{settings['host'][0]}/.s.PGSQL.{settings.get('port', ['5432'])[0]}")
    return raw


@asynccontextmanager
async def open_proxy(database_url: str) -> AsyncIterator[Proxy]:
    """A proxy in front of the database at this URL, which asks for no password, on a loopback port."""
    parts = urlsplit(database_url)
    user = parts.username or parse_qs(parts.query)["user"][0]
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.setblocking(False)
        port = listener.getsockname()[1]
        proxy = Proxy(database_url, f"postgresql://{user}@127.0.0.1:{port}{parts.path}?sslmode=disable")
        async with trio.open_nursery() as nursery:
            nursery.start_soon(proxy.serve, listener, nursery)
            try:
                yield proxy
            finally:
                nursery.cancel_scope.cancel()
                for late in proxy.late:
                    late.forget()
