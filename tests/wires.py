"""The two sides of a connection to Postgres as a proxy has them: what a client asks, and what a server answers.

One rule: bare sockets. What can be read or written at once is, without a detour through the scheduler: thousands of
schedules go through here.
"""

import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from urllib.parse import parse_qs, urlsplit

import trio


class Gone(Exception):
    """One of the two has hung up, or shall think that the other has."""


class Wire:
    """A socket. What it has to give or can take at once is given and taken without waiting."""

    def __init__(self, raw: socket.socket) -> None:
        raw.setblocking(False)
        self._raw = raw

    async def receive(self) -> bytes:
        """What comes next. Raises Gone at its end."""
        while True:
            try:
                chunk = self._raw.recv(65536)
            except BlockingIOError:
                await trio.lowlevel.wait_readable(self._raw)
                continue
            except OSError:
                raise Gone from None
            if not chunk:
                raise Gone
            return chunk

    async def send(self, data: bytes) -> None:
        """Send all of it. Raises Gone when nobody takes it."""
        left = memoryview(data)
        while left:
            try:
                left = left[self._raw.send(left) :]
            except BlockingIOError:
                await trio.lowlevel.wait_writable(self._raw)
            except OSError:
                raise Gone from None

    def close(self) -> None:
        """Hang up."""
        if self._raw.fileno() >= 0:
            trio.lowlevel.notify_closing(self._raw)
            self._raw.close()


class Client(Wire):
    """The side of the client."""

    def __init__(self, raw: socket.socket) -> None:
        super().__init__(raw)
        self._buffer = bytearray()
        self._statements: dict[bytes, str] = {}

    async def startup(self) -> bytes:
        """The first packet, which has no type."""
        return self._take(await self._end_of(0))

    async def request(self) -> tuple[str, str, bytes]:
        """Types, SQL and bytes of the messages up to one that the client waits for an answer to."""
        kinds, sql, end = "", "", 0
        while not kinds or kinds[-1] not in "QSHX":
            start, end = end, await self._end_of(end + 1)
            kind = chr(self._buffer[start])
            if kind in "QPB":
                sql = self._sql(kind, start + 5) or sql
            kinds += kind
        return kinds, sql, self._take(end)

    async def _end_of(self, start: int) -> int:
        """Where what begins with its length at `start` ends. It is in the buffer then."""
        buffer, end = self._buffer, start + 4
        while len(buffer) < end or len(buffer) < (end := start + int.from_bytes(buffer[start : start + 4], "big")):
            buffer += await self.receive()
        return end

    def _take(self, count: int) -> bytes:
        taken = bytes(self._buffer[:count])
        del self._buffer[:count]
        return taken

    def _sql(self, kind: str, start: int) -> str:
        """The statement of a message whose body begins there in the buffer, of a kind that has or names one."""
        first = self._string(start)
        if kind == "Q":
            return first.decode()
        second = self._string(start + len(first) + 1)
        if kind == "B":  # a portal, and the statement that it is made of
            return self._statements.get(second, "")
        self._statements[first] = second.decode()
        return self._statements[first]

    def _string(self, start: int) -> bytes:
        return bytes(self._buffer[start : self._buffer.index(0, start)])

    async def refuse(self, code: str, message: str, status: bytes) -> None:
        fields = b"SERROR\0VERROR\0C" + code.encode() + b"\0M" + message.encode() + b"\0\0"
        error = b"E" + (len(fields) + 4).to_bytes(4, "big") + fields
        await self.send(error + b"Z\0\0\0\x05" + (b"E" if status == b"T" else status))

    async def wait_for_its_end(self) -> None:
        with suppress(Gone):
            while True:
                await self.receive()


class Server(Wire):
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
        self._last, self._answered = last_of(kinds), trio.Event()
        await self.send(data)
        await self._answered.wait()

    async def speak_to(self, client: Client, ended: trio.CancelScope) -> None:
        """Pass on all that it says, asked or not, until it hangs up."""
        with suppress(Gone):
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


def last_of(kinds: str) -> bytes:
    """The types of messages with which the answer to a request of these types ends."""
    return b"TnE" if kinds.endswith("H") else b"Z"


async def dial(url: str) -> socket.socket:
    """Connect to the database at this URL."""
    parts = urlsplit(url)
    if parts.hostname:
        raw = socket.create_connection((parts.hostname, parts.port or 5432))
        raw.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return raw
    settings = parse_qs(parts.query)
    raw = socket.socket(socket.AF_UNIX)
    raw.connect(f"{settings['host'][0]}/.s.PGSQL.{settings.get('port', ['5432'])[0]}")
    return raw
