"""The process that reads a page: it holds nothing of ours, may do next to nothing, and is gone when nobody wants it."""

import os
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
import trio

from dreamwalker.web.reader import Task, read
from tools.fetch_url import FetchFailed
from tools.limits import Limits

LINUX = pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
HOSTILE = b"<div>" * 200_000
"""Takes a minute and more to be parsed."""


def task(body: bytes = HOSTILE, kind: str = "html") -> Task:
    return Task(kind=kind, charset="", address="http://a.example/", body=body, skip_characters=0, limit_characters=999)


def readers(parent: int) -> list[int]:
    """The processes that read for another."""
    found = []
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            stat = Path("/proc", name, "stat").read_bytes()
            command = Path("/proc", name, "cmdline").read_bytes()
        except OSError:
            continue
        if int(stat.rpartition(b")")[2].split()[1]) == parent and b"dreamwalker.web.child" in command:
            found.append(int(name))
    return found


async def until(is_so: Callable[[], object], seconds: float = 10.0) -> None:
    with trio.fail_after(seconds):
        while not is_so():
            await trio.sleep(0.01)


def _at_work(pid: int) -> bool:
    """Whether a reader has closed its doors, and parses."""
    return "Max open files            0 " in Path(f"/proc/{pid}/limits").read_text()


async def _while_reading(do: Callable[[int], Awaitable[None]]) -> None:
    """Do something while a hostile page is read, and give the page up then."""
    async with trio.open_nursery() as nursery:
        nursery.start_soon(read, task(), Limits(reader_seconds=30))
        await until(lambda: readers(os.getpid()))
        (pid,) = readers(os.getpid())
        await until(lambda: _at_work(pid))
        await do(pid)
        nursery.cancel_scope.cancel()
    assert not readers(os.getpid())


@LINUX
async def test_it_knows_nothing_of_ours_and_may_open_and_write_nothing() -> None:
    async def look(pid: int) -> None:
        assert Path(f"/proc/{pid}/environ").read_bytes() == b""
        assert {Path(f"/proc/{pid}/fd/{fd}").readlink().name.partition(":")[0] for fd in (0, 1)} == {"pipe"}
        assert sorted(os.listdir(f"/proc/{pid}/fd")) == ["0", "1", "2"]
        limits = Path(f"/proc/{pid}/limits").read_text()
        assert "Max file size             0 " in limits and "Max core file size        0 " in limits

    await _while_reading(look)


@LINUX
async def test_it_is_gone_when_nobody_wants_the_page_any_more() -> None:
    async def nothing(pid: int) -> None:
        pass

    await _while_reading(nothing)


OWNER = """
import trio
from dreamwalker.web.reader import read
from tests.web.test_reader import task
from tools.limits import Limits
trio.run(read, task(), Limits(reader_seconds=60))
"""


@LINUX
async def test_it_dies_with_whoever_started_it() -> None:
    owner = subprocess.Popen([sys.executable, "-c", OWNER], cwd=Path(__file__).parent.parent.parent)
    try:
        await until(lambda: readers(owner.pid))
        (pid,) = readers(owner.pid)
        await until(lambda: _at_work(pid))
    finally:
        owner.kill()
        owner.wait()
    await until(lambda: not Path(f"/proc/{pid}").exists(), seconds=2.0)


async def test_a_small_page_is_read_at_once() -> None:
    await read(task(b"<p>hello"), Limits())
    began = time.monotonic()
    for _ in range(5):
        assert (await read(task(b"<p>hello"), Limits())).text == "hello"
    assert time.monotonic() - began < 5.0


async def test_what_needs_too_much_memory_is_given_up() -> None:
    with pytest.raises(FetchFailed, match="could not be read"):
        await read(task(b"<p>x" * 100_000), Limits(reader_memory_bytes=30_000_000))


async def test_an_answer_that_is_none_is_not_believed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A page that took the process over can say what it likes; only the shape of an answer is taken."""
    for said in (
        "",
        "no json",
        "[]",
        '{"failed": "obey me"}',
        '{"title": 1, "text": "", "characters": 0, "cut": false}',
    ):
        liar = tmp_path / "liar"
        liar.write_text(f"#!/bin/sh\ncat > /dev/null\ncat <<'END'\n{said}\nEND\n")
        liar.chmod(0o755)
        monkeypatch.setattr(sys, "executable", str(liar))
        with pytest.raises(FetchFailed, match="could not be read"):
            await read(task(b"<p>x"), Limits())
    title = "t" * 100_000
    liar.write_text(
        f'#!/bin/sh\ncat > /dev/null\necho \'{{"title": "{title}", "text": "", "characters": -5, "cut": true}}\'\n'
    )
    made = await read(task(b"<p>x"), Limits())
    assert len(made.title) == 300 and made.characters == 0
