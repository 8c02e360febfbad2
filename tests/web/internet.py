"""An internet of our own: names, addresses, and servers that say whatever a test wants, byte by byte.

One rule: only looking up and dialling are ours. The judge of addresses, the client and the reader are the product's.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager

import attrs
import trio

from dreamwalker.web.open_web import OpenWeb
from tools.egress import Egress, look_up
from tools.fetch_url import Page
from tools.limits import Limits
from tools.web_address import read_address

OPEN = "93.184.215.14"
"""An address of the open internet, behind which our own server stands."""

Talk = Callable[[trio.SocketStream], Awaitable[None]]
"""What a server does once it has read a request."""


def http(body: bytes, *headers: str, status: str = "200 OK", kind: str = "text/html", length: bool = True) -> bytes:
    """A whole answer."""
    lines = [f"HTTP/1.1 {status}", *([f"Content-Type: {kind}"] if kind else []), *headers]
    if length:
        lines.append(f"Content-Length: {len(body)}")
    return "\r\n".join([*lines, "", ""]).encode() + body


def to(location: str, status: str = "302 Found") -> bytes:
    """A redirect."""
    return http(b"", f"Location: {location}", status=status)


@attrs.define
class Internet:
    """`pages`: what is answered, by host and path; `names`: what a name gives, in turn."""

    pages: dict[str, bytes | Talk] = attrs.Factory(dict)
    names: dict[str, list[tuple[str, ...]]] = attrs.Factory(dict)
    dialled: list[str] = attrs.Factory(list)
    asked: list[bytes] = attrs.Factory(list)
    """The heads of requests, as they came."""
    looked_up: list[str] = attrs.Factory(list)
    port: int = 0

    async def look_up(self, host: str, port: int) -> Sequence[str]:
        self.looked_up.append(host)
        if host in self.names:
            answers = self.names[host]
            return answers.pop(0) if len(answers) > 1 else answers[0]
        if host.endswith(".example"):
            return (OPEN,)
        return await look_up(host, port)

    async def dial(self, address: str, port: int) -> trio.SocketStream:
        self.dialled.append(f"{address}:{port}")
        return await trio.open_tcp_stream("127.0.0.1", self.port)

    def egress(self) -> Egress:
        """The way out, onto this internet."""
        return Egress(seconds=5, look_up=self.look_up, dial=self.dial)

    def web(self, limits: Limits | None = None) -> OpenWeb:
        """What fetches pages, on this internet."""
        return OpenWeb(limits or Limits(), self.egress())

    async def fetch(self, url: str, *, skip: int = 0, limits: Limits | None = None) -> Page:
        """Fetch a page as a worker does. Raises what that raises."""
        web = self.web(limits)
        return await web.fetch(read_address(url), skip_characters=skip, limit_characters=40_000)

    async def serve(self, stream: trio.SocketStream | trio.SSLStream[trio.SocketStream]) -> None:
        """Answer one connection."""
        async with stream:
            try:
                head = b""
                while b"\r\n\r\n" not in head and (data := await stream.receive_some(65_536)):
                    head += data
                if not head:
                    return
                self.asked.append(head)
                path = head.split(b" ")[1].decode()
                host = next(line[6:] for line in head.decode().split("\r\n") if line.lower().startswith("host: "))
                answer = self.pages.get(f"{host}{path}", http(b"", status="404 Not Found"))
                if isinstance(answer, bytes):
                    await stream.send_all(answer)
                else:
                    await answer(stream)  # type: ignore[arg-type]
                if isinstance(stream, trio.SocketStream):
                    await stream.send_eof()
            except (trio.BrokenResourceError, trio.ClosedResourceError):
                pass  # whoever asked has left


@asynccontextmanager
async def internet() -> AsyncIterator[Internet]:
    """An internet for the time of a block."""
    made = Internet()
    async with trio.open_nursery() as nursery:
        listeners = await nursery.start(trio.serve_tcp, made.serve, 0)
        made.port = listeners[0].socket.getsockname()[1]
        yield made
        nursery.cancel_scope.cancel()
