"""The connections that pages come over: made by the one way out, and counted byte by byte.

One rule: nothing here looks up a name or connects by itself, and whatever comes in has been allowed for.
"""

import ssl
from collections.abc import Callable, Iterable
from typing import Any

import httpcore2
import trio

from tools.egress import Egress

READ_BYTES = 16_384
"""Taken in at a time, so that nobody else waits long while it is looked at."""


class TooMuch(Exception):
    """More came in than was allowed for."""


class NoTls(Exception):
    """No TLS could be agreed on. `certificate`: since that of the other side is not valid."""

    def __init__(self, certificate: bool) -> None:
        super().__init__()
        self.certificate = certificate


class Allowance:
    """How many bytes may still come in."""

    def __init__(self, left_bytes: int) -> None:
        self.left_bytes = left_bytes

    def take(self, size_bytes: int) -> None:
        """Take so many off. Raises TooMuch."""
        self.left_bytes -= size_bytes
        if self.left_bytes < 0:
            raise TooMuch


class _Stream(httpcore2.AsyncNetworkStream):
    """One connection. What comes out of it is counted, within TLS where there is TLS."""

    def __init__(self, stream: trio.abc.Stream, take: Callable[[int], None]) -> None:
        self._stream, self._take = stream, take

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        try:
            data = bytes(await self._stream.receive_some(min(max_bytes, READ_BYTES)))
        except (trio.BrokenResourceError, trio.ClosedResourceError) as error:
            raise httpcore2.ReadError(str(error)) from error
        self._take(len(data))
        return data

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:
        try:
            await self._stream.send_all(buffer)
        except (trio.BrokenResourceError, trio.ClosedResourceError) as error:
            raise httpcore2.WriteError(str(error)) from error

    async def aclose(self) -> None:
        """Close it at once: a good-bye that the other side does not take is not waited for."""
        await trio.aclose_forcefully(self._stream)

    async def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore2.AsyncNetworkStream:
        stream = trio.SSLStream(
            self._stream, ssl_context, server_hostname=server_hostname, https_compatible=True, server_side=False
        )
        try:
            await stream.do_handshake()
        except BaseException as error:
            await trio.aclose_forcefully(stream)
            if isinstance(error, trio.BrokenResourceError):
                raise NoTls(isinstance(error.__cause__, ssl.SSLCertVerificationError)) from error
            raise
        return _Stream(stream, self._take)

    def get_extra_info(self, info: str) -> Any:
        return None


class Wire(httpcore2.AsyncNetworkBackend):
    """Connects by the way out, which judges every address."""

    def __init__(self, egress: Egress, take: Callable[[int], None]) -> None:
        self._egress, self._take = egress, take

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore2.AsyncNetworkStream:
        """Raises EgressRefused, EgressFailed."""
        return _Stream(await self._egress.connect(host, port), self._take)
