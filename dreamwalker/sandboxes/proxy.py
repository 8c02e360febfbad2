"""The one way out of a sandbox: an HTTP proxy, for CONNECT and for plain http.

One rule: it does nothing but ask the judge of addresses, connect, and carry bytes to and fro, within bounds.
"""

import socket
from urllib.parse import urlsplit

import attrs
import trio

from tools.egress import Egress, EgressFailed, EgressRefused

HEAD_BYTES = 32_768
"""The head of a request to the proxy."""
HEAD_SECONDS = 30.0
CHUNK_BYTES = 65_536


@attrs.frozen(kw_only=True)
class _Asked:
    """Where a request wants to go, and what is sent there first."""

    host: str
    port: int
    tunnel: bool
    first: bytes


class BadRequest(Exception):
    """What was asked is no request to a proxy."""


async def serve(listener: socket.socket, egress: Egress, connections: int) -> None:
    """Serve a listening socket until cancelled, so many connections at once; more wait."""
    places = trio.CapacityLimiter(connections)

    async def one(stream: trio.SocketStream) -> None:
        async with places:
            try:
                await _serve_one(stream, egress)
            except* (trio.BrokenResourceError, trio.ClosedResourceError):
                pass  # either side left

    await trio.serve_listeners(one, [trio.SocketListener(trio.socket.from_stdlib_socket(listener))])


async def _serve_one(stream: trio.SocketStream, egress: Egress) -> None:
    try:
        with trio.fail_after(HEAD_SECONDS):
            asked = await _read(stream)
        there = await egress.connect(asked.host, asked.port)
    except (BadRequest, trio.TooSlowError):
        await _refuse(stream, "400 Bad Request", "This is a proxy for http and CONNECT.")
    except EgressRefused as refused:
        await _refuse(stream, "403 Forbidden", str(refused))
    except EgressFailed as failed:
        await _refuse(stream, "502 Bad Gateway", str(failed))
    else:
        async with there:
            if asked.tunnel:
                await stream.send_all(b"HTTP/1.1 200 Connected\r\n\r\n")
            if asked.first:
                await there.send_all(asked.first)
            async with trio.open_nursery() as nursery:
                nursery.start_soon(_carry, stream, there)
                nursery.start_soon(_carry, there, stream)


async def _carry(source: trio.SocketStream, sink: trio.SocketStream) -> None:
    while data := await source.receive_some(CHUNK_BYTES):
        await sink.send_all(data)
    await sink.send_eof()


async def _refuse(stream: trio.SocketStream, status: str, why: str) -> None:
    body = f"{why}\n".encode()
    head = f"HTTP/1.1 {status}\r\nContent-Type: text/plain\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    await stream.send_all(head.encode() + body)
    await stream.send_eof()


async def _read(stream: trio.SocketStream) -> _Asked:
    head = b""
    while b"\r\n\r\n" not in head:
        data = await stream.receive_some(CHUNK_BYTES)
        if not data or len(head) + len(data) > HEAD_BYTES:
            raise BadRequest
        head += data
    head, _, rest = head.partition(b"\r\n\r\n")
    return asked_of(head, rest)


def asked_of(head: bytes, rest: bytes) -> _Asked:
    """What the head of a request asks for; `rest` came with it. Raises BadRequest."""
    first, *fields = head.split(b"\r\n")
    try:
        method, target, version = first.decode("ascii").split(" ")
        if method == "CONNECT":
            parts = urlsplit(f"//{target}")
            if parts.hostname is None or parts.port is None:
                raise BadRequest
            return _Asked(host=parts.hostname, port=parts.port, tunnel=True, first=rest)
        parts = urlsplit(target)
        if parts.scheme != "http" or parts.hostname is None:
            raise BadRequest
        path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        line = f"{method} {path} {version}".encode("ascii")
        port = parts.port or 80
    except ValueError:
        raise BadRequest from None
    # the connection is for this one host: what comes after it has to ask anew
    own = (b"connection", b"proxy-connection", b"proxy-authorization", b"keep-alive")
    kept = [field for field in fields if field.partition(b":")[0].strip().lower() not in own]
    made = b"\r\n".join([line, *kept, b"Connection: close", b"", b""])
    return _Asked(host=parts.hostname, port=port, tunnel=False, first=made + rest)
