"""Hostile pages: whatever they send, a worker has a fixed sentence or the text within 20 s and 150 MB, and nobody else
waits for it.
"""

import gzip
import resource
import time
import zlib
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import trio

from dreamwalker.web.page_html import TAGS_MAX
from tests.messages_api import say
from tests.web.internet import Internet, Talk, http
from tests.web.pdfs import pdf
from tests.world import world
from tools.fetch_url import FetchFailed, Page
from tools.limits import Limits

SECONDS = 20.0
MEGABYTES = 150
LAG_SECONDS = 1.0
"""How long anybody else may wait for the loop: the machine of the tests has others to serve, too."""
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n"


def endless(first: bytes, piece: bytes) -> Talk:
    """Sends something, and then a piece again and again, as fast as it is taken."""

    async def talk(stream: trio.SocketStream) -> None:
        await stream.send_all(first)
        while True:
            await stream.send_all(piece)

    return talk


def drip(first: bytes, seconds: float) -> Talk:
    """Sends something, and then a byte now and then."""

    async def talk(stream: trio.SocketStream) -> None:
        await stream.send_all(first)
        while True:
            await trio.sleep(seconds)
            await stream.send_all(b"x")

    return talk


def whole(data: bytes) -> Talk:
    """Sends just this, and closes."""

    async def talk(stream: trio.SocketStream) -> None:
        await stream.send_all(data)

    return talk


def gigabyte() -> bytes:
    """1 GiB of nothing, packed."""
    packing = zlib.compressobj(9, zlib.DEFLATED, 31)
    return b"".join(packing.compress(bytes(1 << 20)) for _ in range(1024)) + packing.flush()


def chunked(pieces: bytes) -> bytes:
    return HEAD + b"Transfer-Encoding: chunked\r\n\r\n" + pieces


HOSTILE: dict[str, tuple[Callable[[], bytes | Talk], str | None]] = {
    # name: (what is sent, a part of the fixed sentence; None: the text, or any of them)
    "1 GiB in 2 KB of brotli": (lambda: http(bytes(2048), "Content-Encoding: br"), "not asked for"),
    "1 GiB in zstd": (lambda: http(b"\x28\xb5\x2f\xfd" + bytes(2048), "Content-Encoding: zstd"), "not asked for"),
    "1 GiB in gzip": (lambda: http(gigabyte(), "Content-Encoding: gzip", kind="text/plain"), "no text"),
    "gzip in gzip": (lambda: http(gzip.compress(gigabyte()), "Content-Encoding: gzip"), "no text"),
    "gzip in gzip, said": (lambda: http(gzip.compress(gigabyte()), "Content-Encoding: gzip, gzip"), "not asked for"),
    "gzip of many parts": (lambda: http(gzip.compress(b"x") * 100_000, "Content-Encoding: gzip"), None),
    "broken gzip": (lambda: http(gzip.compress(b"hello")[:12] + b"!" * 50, "Content-Encoding: gzip"), "packed"),
    "many headers": (lambda: endless(HEAD, b"X-A: b\r\n" * 1000), "headers"),
    "one long header": (lambda: endless(HEAD + b"X-A: ", b"b" * 65_536), "headers"),
    "a long status line": (lambda: endless(b"HTTP/1.1 200 ", b"O" * 65_536), "headers"),
    "more and more to come": (lambda: endless(b"", b"HTTP/1.1 102 Processing\r\n\r\n" * 500), "headers"),
    "many trailers": (lambda: endless(chunked(b"0\r\n"), b"X-A: b\r\n" * 1000), None),
    "long chunk extensions": (lambda: endless(chunked(b"1;"), b"x" * 65_536), None),
    "chunks of one byte": (lambda: endless(chunked(b""), b"1\r\n<\r\n" * 10_000), None),
    "a byte every second": (lambda: drip(HEAD + b"\r\n", 1.0), "15 seconds"),
    "a byte of headers every second": (lambda: drip(b"HTTP/1.1 200 OK\r\nX-A: ", 1.0), "15 seconds"),
    "silence": (lambda: drip(b"", 1_000), "15 seconds"),
    "no end": (lambda: endless(HEAD + b"\r\n", b"<p>hello " * 7_000), None),
    "5 MB of <": (lambda: http(b"<" * 5_000_000), None),
    "5 MB of <a>": (lambda: http(b"<a href=x>" * 500_000), None),
    "5 MB of &": (lambda: http(b"&" * 5_000_000), None),
    "5 MB of <!--": (lambda: http(b"<!--" * 1_250_000), None),
    "200,000 nested divs": (lambda: http(b"<div>" * 200_000), "could not be read"),
    "200,000 nested bs": (lambda: http(b"<b>" * 200_000), None),
    "100,000 nested tables": (lambda: http(b"<table><tr><td>" * 100_000), None),
    "100,000 nested lists": (lambda: http(b"<ul><li>" * 100_000 + b"end"), None),
    "300,000 attributes": (lambda: http(b"<p " + b" ".join(b"a%d=1" % n for n in range(300_000)) + b">"), None),
    "an attribute of 5 MB": (lambda: http(b'<a href="' + b"x" * 4_999_000 + b'">y</a>'), None),
    "a length that is too long": (lambda: whole(HEAD + b"Content-Length: 1000000\r\n\r\n<p>short"), "broke off"),
    "a length that is too short": (lambda: whole(HEAD + b"Content-Length: 3\r\n\r\n<p>hello"), None),
    "a length below zero": (lambda: whole(HEAD + b"Content-Length: -5\r\n\r\n<p>hello"), "broke off"),
    "two lengths": (lambda: whole(HEAD + b"Content-Length: 5\r\nContent-Length: 7\r\n\r\n<p>hi"), "broke off"),
    "a length without end": (lambda: whole(HEAD + b"Content-Length: " + b"9" * 300 + b"\r\n\r\nx"), "broke off"),
    "bad chunks": (lambda: whole(chunked(b"zz\r\nhello")), "broke off"),
    "no http": (lambda: whole(b"220 mail.example ESMTP\r\n"), "broke off"),
    "HTTP/0.9": (lambda: whole(b"<h1>hello</h1>"), "broke off"),
    "nothing": (lambda: whole(b""), "broke off"),
    "a broken PDF": (lambda: http(pdf("hello")[:300], kind="application/pdf"), "none that could be read"),
    "a PDF of noise": (lambda: http(b"%PDF-1.7\n" + bytes(range(256)) * 10_000, kind="application/pdf"), "none that"),
    "a PDF with a loop": (lambda: http(_looped(), kind="application/pdf"), None),
    "a PDF with a bomb": (lambda: http(_bomb(), kind="application/pdf"), None),
    "a long PDF": (lambda: http(b"%PDF-1.7\n" + b"x" * 6_000_000, kind="application/pdf"), "too long"),
    "binary that says it is text": (lambda: http(bytes(range(256)) * 4_000, kind="text/plain"), "no text"),
}  # fmt: skip


def _looped() -> bytes:
    """Its tree of pages has itself as a child."""
    return pdf("hello").replace(b"/Kids [4 0 R]", b"/Kids [2 0 R]")


def _bomb() -> bytes:
    """A page that is drawn by a stream of 1 GiB, packed."""
    packing = zlib.compressobj(9)
    drawn = b"".join(packing.compress(b"(x) Tj " * 149_797) for _ in range(1024)) + packing.flush()
    plain = pdf("hello")
    at = plain.index(b"<< /Length", plain.index(b"/Contents"))
    end = plain.index(b"endstream", at)
    return plain[:at] + b"<< /Filter /FlateDecode /Length %d >>\nstream\n" % len(drawn) + drawn + b"\n" + plain[end:]


def memory_kb(what: str) -> int:
    """A line of this process's account."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(f"{what}:"))


def children_kb() -> int:
    """The most that any process took which this one has started and seen end."""
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss


@pytest.fixture
def bounded() -> Iterator[None]:
    """Neither this process nor any that it starts takes more than it may."""
    Path("/proc/self/clear_refs").write_text("5")
    before, others = memory_kb("VmRSS"), children_kb()
    yield
    assert (memory_kb("VmHWM") - before) / 1024 < MEGABYTES
    # A child counts with what its parent held when it was forked, and other tests may have had larger ones before.
    assert children_kb() <= max(others, memory_kb("VmHWM"), 1024 * MEGABYTES)


@asynccontextmanager
async def others_served() -> AsyncIterator[None]:
    """Others on the same loop get their turn all the while."""
    longest = 0.0

    async def tick() -> None:
        nonlocal longest
        while True:
            before = time.monotonic()
            await trio.sleep(0.01)
            longest = max(longest, time.monotonic() - before)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(tick)
        yield
        nursery.cancel_scope.cancel()
    assert longest < LAG_SECONDS, longest


async def outcome(net: Internet, url: str) -> Page | FetchFailed:
    try:
        return await net.fetch(url)
    except FetchFailed as failed:
        return failed


@pytest.mark.slow
@pytest.mark.parametrize("name", HOSTILE)
async def test_a_hostile_page_comes_to_a_fixed_sentence_or_its_text_in_time(
    net: Internet, bounded: None, name: str
) -> None:
    make, says = HOSTILE[name]
    net.pages["bad.example/"] = await trio.to_thread.run_sync(make)
    before = time.monotonic()
    async with others_served():
        came = await outcome(net, "http://bad.example/")
    assert time.monotonic() - before < SECONDS
    if says is not None:
        assert isinstance(came, FetchFailed) and says in str(came), came


WIDE = {
    "300,000 line ends": b"<p>start" + b"<br>" * 300_000 + b"end",
    "300,000 points": b"<ul>start" + b"<li>x" * 300_000,
    "300,000 cells": b"<p>start<table><tr>" + b"<td>x" * 300_000,
    "300,000 rules": b"<p>start" + b"<hr>" * 300_000,
    "300,000 words": b"<p>start" + b"x<wbr>" * 300_000,
    "150,000 terms": b"<p>start<dl>" + b"<dt>a<dd>b" * 150_000,
}
"""Small pages of more nodes than any tree of theirs has room for."""


@pytest.mark.slow
@pytest.mark.parametrize("name", WIDE)
async def test_of_a_small_page_of_very_many_tags_at_least_the_beginning_is_read(
    net: Internet, bounded: None, name: str
) -> None:
    net.pages["wide.example/"] = http(WIDE[name])
    page = await net.fetch("http://wide.example/")
    assert page.text.startswith("start") or page.text.startswith("- x")
    assert page.cut == (WIDE[name].count(b"<") > TAGS_MAX)


async def test_a_reader_that_takes_too_long_is_ended_and_the_next_page_is_read(net: Internet) -> None:
    net.pages["bad.example/"] = http(b"<div>" * 200_000)
    net.pages["good.example/"] = http(b"<p>hello")
    with pytest.raises(FetchFailed, match="could not be read"):
        await net.fetch("http://bad.example/", limits=Limits(reader_seconds=1))
    assert (await net.fetch("http://good.example/")).text == "hello"


async def test_a_length_that_is_too_short_gives_so_much(net: Internet) -> None:
    net.pages["a.example/"] = whole(HEAD + b"Content-Length: 8\r\n\r\n<p>helloSMUGGLED")
    assert (await net.fetch("http://a.example/")).text == "hello"


@pytest.mark.slow
async def test_the_server_serves_others_while_hostile_pages_come_in(net: Internet, database_url: str) -> None:
    names = ("no end", "5 MB of <", "200,000 nested divs", "300,000 attributes", "chunks of one byte", "many headers")
    for number, name in enumerate(names):
        net.pages[f"bad{number}.example/"] = HOSTILE[name][0]()
    slowest = 0.0
    async with world(database_url, say("Hello.")) as w, trio.open_nursery() as nursery:
        await w.get("/api/status")
        under_way = len(names)

        async def fetch(number: int) -> None:
            nonlocal under_way
            await outcome(net, f"http://bad{number}.example/")
            under_way -= 1

        for number in range(len(names)):
            nursery.start_soon(fetch, number)
        while under_way:
            before = time.monotonic()
            await w.get("/api/status")
            slowest = max(slowest, time.monotonic() - before)
            await trio.sleep(0.05)
    assert slowest < 2.0, slowest
