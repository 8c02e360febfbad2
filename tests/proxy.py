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
    Then(CUT_AFTER, call)  that, and before the client learns of it the function is called
    Await(event) it is forwarded once the trio.Event is set (`Await(event, CUT_AFTER)`: what becomes of it then)

For the whole of it: `delay_seconds` (per round trip, for measuring), `round_trips`, `accepted` (connections),
`door` (what becomes of new connections: OPEN, SHUT: ended at once, as with no database there, STUCK: accepted and
left unanswered until the door is opened), `cut_all()` (every connection drops now).
"""

import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from enum import Enum, auto
from urllib.parse import parse_qs, urlsplit

import attrs
import trio

from tests.wires import Client, Gone, Server, dial, last_of


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

    def __init__(self, request: Request, server: Server) -> None:
        self.request, self._server = request, server
        self.delivered = False

    async def deliver(self) -> bytes:
        """Let it happen now; returns the types of the answer's messages once the server has answered.

        "C": a statement was carried out, "E": refused; none: the server had hung up. Then its side is closed too.
        """
        assert not self.delivered
        self.delivered = True
        kinds, last = bytearray(), last_of(self.request.kinds)
        with suppress(Gone):
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

    def note(self, wanted: Callable[[Request], bool]) -> list[Request]:
        """The requests of a kind that are run from now on; all are passed."""
        noted: list[Request] = []

        def look(request: Request) -> Action:
            if request.runs and wanted(request):
                noted.append(request)
            return PASS

        self.on_request = look
        return noted

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
                nursery.start_soon(self._look_after, Client(client))

    async def _look_after(self, client: Client) -> None:
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
                    with suppress(Gone):
                        await self._relay(client, number)
                finally:
                    self._live.discard(scope)
        finally:
            client.close()

    async def _relay(self, client: Client, number: int) -> None:
        server = Server(await dial(self._target))
        keep = False
        try:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(server.speak_to, client, nursery.cancel_scope)
                keep = await self._converse(client, server, number)
                nursery.cancel_scope.cancel()
        finally:
            if not keep:
                server.close()

    async def _converse(self, client: Client, server: Server, number: int) -> bool:
        """One request after the other, until one of the two is gone. True if the server's side shall be kept."""
        with suppress(Gone):
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
                    await self._carry_out(fate, request, server, client, heeded=call is not _nothing)
                finally:
                    call()
        return False

    async def _decide(self, request: Request, server: Server) -> "tuple[Fate | Fail, Callable[[], None]]":
        action = self.on_request(request)
        if isinstance(action, Await):
            with server.silent():
                await action.event.wait()
            action = action.then
        return (action.fate, action.call) if isinstance(action, Then) else (action, _nothing)

    async def _carry_out(
        self, fate: "Fate | Fail", request: Request, server: Server, client: Client, *, heeded: bool
    ) -> None:
        """Do it. What is passed is waited for only if its answer is `heeded`: the client will wait for it anyway."""
        match fate:
            case Fail(code, message):
                await client.refuse(code, message, server.status)
            case Fate.CUT_BEFORE:
                raise Gone
            case Fate.FREEZE:
                await client.wait_for_its_end()
                raise Gone
            case _:
                if self.delay_seconds:
                    await trio.sleep(self.delay_seconds)
                if request.kinds == "X":
                    await server.send(request.data)
                    raise Gone
                self.round_trips += 1
                if fate is Fate.PASS and not heeded:
                    await server.send(request.data)
                    return
                server.swallows = fate is Fate.CUT_AFTER
                await server.ask(request.data, request.kinds)
                if fate is Fate.CUT_AFTER:
                    raise Gone


def commits(request: Request) -> bool:
    """Whether it is a commit of ours: each renews the lease, and nothing else does."""
    return "UPDATE dreamwalker_lease" in request.sql


def _nothing() -> None:
    pass


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
