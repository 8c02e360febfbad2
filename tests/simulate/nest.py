"""Real processes without the wait: one that has imported all of dreamwalker forks a life whenever it is told to.

A life spends most of a second on imports and certificates; what is simulated begins after them. The fork is a process
like any other: it has its own memory, its own environment and its own files, and dies by signals.

One rule: the nest itself never runs anything else of the product, so that each life begins as if newly started. When
its stdin ends, it kills whatever is left of its brood.
"""

import importlib
import json
import os
import selectors
import signal
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

import attrs
import trio

from dreamwalker.certificates import authorities


class Fork:
    """A forked process. `code` is what it ended with, None while it lives."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self.code: int | None = None
        self._over = trio.Event()

    def signal(self, number: int) -> None:
        """Send it a signal, if it lives."""
        if self.code is None:
            os.kill(self.pid, number)

    def end(self, code: int) -> None:
        """It has ended."""
        self.code = code
        self._over.set()

    async def wait(self) -> int:
        """Wait for its end; returns its code, negative if it was ended by a signal."""
        await self._over.wait()
        assert self.code is not None
        return self.code


class Nest:
    """The trio side of it."""

    def __init__(self, orders: trio.lowlevel.FdStream, news: trio.lowlevel.FdStream) -> None:
        self._orders, self._news = orders, news
        self._send, self._born = trio.open_memory_channel[Fork](1)
        self._forks: dict[int, Fork] = {}
        self._line = trio.Lock()

    async def fork(self, arguments: list[str], environ: Mapping[str, str], log: Path) -> Fork:
        """Begin `dreamwalker ARGUMENTS` in this environment; `log` gets what it prints."""
        order = {"arguments": arguments, "environ": dict(environ), "log": str(log)}
        async with self._line:
            with trio.CancelScope(shield=True):  # a fork whose order went out must be known
                await self._orders.send_all(json.dumps(order).encode() + b"\n")
                return await self._born.receive()

    async def listen(self) -> None:
        """Hear of births and deaths."""
        rest = b""
        async for chunk in self._news:
            *lines, rest = (rest + chunk).split(b"\n")
            for line in lines:
                pid, code = json.loads(line)
                if code is None:
                    self._forks[pid] = Fork(pid)
                    await self._send.send(self._forks[pid])
                else:
                    self._forks.pop(pid).end(code)


@attrs.frozen
class Hatched:
    """A nest that nobody listens to yet: its pid, and the pipes for what it is told and what it tells."""

    pid: int
    orders: int
    news: int


def hatch() -> Hatched:
    """Fork the nest off this process, which must not have run anything of the product yet, nor have threads."""
    for name in (
        "dreamwalker.cli.serve",
        "dreamwalker.server",
        "anthropic.resources.messages",
        "anyio._backends._trio",
    ):
        importlib.import_module(name)
    authorities()
    told, orders = os.pipe()
    news, tells = os.pipe()
    if (pid := os.fork()) != 0:
        os.close(told)
        os.close(tells)
        return Hatched(pid, orders, news)
    code = 1
    try:
        for ours, number in ((told, 0), (tells, 1)):
            os.dup2(ours, number)
        for ours in (told, orders, news, tells):
            os.close(ours)
        _brood()
        code = 0
    finally:
        os._exit(code)


@asynccontextmanager
async def open_nest(hatched: Hatched) -> AsyncIterator[Nest]:
    """Listen to the nest. It is gone with its brood when the block is left."""
    async with (
        trio.lowlevel.FdStream(hatched.orders) as orders,
        trio.lowlevel.FdStream(hatched.news) as news,
        trio.open_nursery() as nursery,
    ):
        nest = Nest(orders, news)
        nursery.start_soon(nest.listen)
        try:
            yield nest
        finally:
            with trio.CancelScope(shield=True):
                await orders.aclose()
                await trio.to_thread.run_sync(os.waitpid, hatched.pid, 0)
            nursery.cancel_scope.cancel()


# -- the process


def _brood() -> None:
    """Fork for each line of stdin; tell of births and deaths on stdout."""
    deaths, wake = os.pipe()
    os.set_blocking(wake, False)
    signal.set_wakeup_fd(wake)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    brood: set[int] = set()
    rest = b""
    with selectors.DefaultSelector() as selector:
        selector.register(0, selectors.EVENT_READ)
        selector.register(deaths, selectors.EVENT_READ)
        while True:
            ready = {key.fd for key, _ in selector.select()}
            if deaths in ready:
                os.read(deaths, 4096)
                _reap(brood)
            if 0 in ready:
                chunk = os.read(0, 65536)
                if not chunk:
                    break
                *lines, rest = (rest + chunk).split(b"\n")
                for line in lines:
                    brood.add(pid := _fork(**json.loads(line)))
                    _tell(pid, None)
    for pid in brood:
        os.kill(pid, signal.SIGKILL)


def _reap(brood: set[int]) -> None:
    while brood:
        pid, status = os.waitpid(-1, os.WNOHANG)
        if pid == 0:
            return
        brood.discard(pid)
        _tell(pid, os.waitstatus_to_exitcode(status))


def _tell(pid: int, code: int | None) -> None:
    os.write(1, json.dumps([pid, code]).encode() + b"\n")


def _fork(arguments: list[str], environ: dict[str, str], log: str) -> int:
    """Begin a life; returns its pid, and in the life itself never."""
    if (pid := os.fork()) != 0:
        return pid
    code = 1
    try:
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        for number, path, flags in ((0, os.devnull, os.O_RDONLY), (1, log, os.O_WRONLY | os.O_APPEND)):
            os.dup2(os.open(path, flags), number)
        os.dup2(1, 2)
        os.environ.clear()
        os.environ.update(environ)
        sys.argv = ["dreamwalker", *arguments]
        code = _live()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def _live() -> int:
    from dreamwalker.cli import main as dreamwalker

    try:
        dreamwalker()
    except SystemExit as left:
        return left.code if isinstance(left.code, int) else int(left.code is not None)
    return 0
