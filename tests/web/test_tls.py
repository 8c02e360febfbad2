"""Pages over TLS: from a host that can show who it is, and from none else."""

import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import pytest
import trio

from dreamwalker.web.fetching import fetch
from tests.web.internet import OPEN, Internet, http, to
from tools.fetch_url import FetchFailed
from tools.limits import Limits
from tools.web_address import read_address

PEM = Path(__file__).with_name("tls_example.pem")
"""A certificate of tls.example, signed by itself, with its key; made for these tests, and good for a hundred years."""


@asynccontextmanager
async def over_tls(net: Internet) -> AsyncIterator[None]:
    """The internet speaks TLS."""
    speaks = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    speaks.load_cert_chain(PEM)

    async def serve(stream: trio.SocketStream) -> None:
        with suppress(trio.BrokenResourceError):  # the client may not like what it is shown
            await net.serve(trio.SSLStream(stream, speaks, server_side=True, https_compatible=True))

    async with trio.open_nursery() as nursery:
        listeners = await nursery.start(trio.serve_tcp, serve, 0)
        net.port = listeners[0].socket.getsockname()[1]
        yield
        nursery.cancel_scope.cancel()


async def trusting() -> ssl.SSLContext:
    return ssl.create_default_context(cafile=PEM)


async def test_a_page_is_read_over_tls_under_the_name_in_the_address(net: Internet) -> None:
    async with over_tls(net):
        net.pages["tls.example/"] = to("/there")
        net.pages["tls.example/there"] = http(b"<p>hello")
        found = await fetch(read_address("https://tls.example/"), net.egress(), Limits(), trusting)
        assert found.body == b"<p>hello" and net.dialled == [f"{OPEN}:443"] * 2


async def test_a_host_that_is_not_who_it_says_is_refused(net: Internet) -> None:
    async with over_tls(net):
        for url in ("https://other.example/", "https://1.1.1.1/"):
            with pytest.raises(FetchFailed, match="certificate is not valid"):
                await fetch(read_address(url), net.egress(), Limits(), trusting)
        assert net.asked == []


async def test_a_certificate_that_nobody_vouches_for_is_refused(net: Internet) -> None:
    async with over_tls(net):
        with pytest.raises(FetchFailed, match="certificate is not valid"):
            await net.fetch("https://tls.example/")
        assert net.asked == []


async def test_a_host_that_speaks_no_tls_is_told_so(net: Internet) -> None:
    async def serve(stream: trio.SocketStream) -> None:
        async with stream:
            await stream.send_all(http(b"<p>hello"))

    async with trio.open_nursery() as nursery:
        listeners = await nursery.start(trio.serve_tcp, serve, 0)
        net.port = listeners[0].socket.getsockname()[1]
        with pytest.raises(FetchFailed, match="does not speak TLS"):
            await net.fetch("https://tls.example/")
        nursery.cancel_scope.cancel()
