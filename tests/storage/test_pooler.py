"""Behind a transaction-mode pooler each transaction may meet another session: it is found out, and all works."""

import os
import random
import shutil
import socket
import subprocess
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import asyncpg
import pytest
import trio
from pi_durable.context import BACKGROUND_CONTEXT as CONTEXT

from storage.errors import LeaseHeld, LeaseLost, NotAsExpected
from storage.operation import Commit, Write
from tests.proxy import CUT_AFTER, PASS, Action, Request, open_proxy
from tests.storage import peer
from tests.storage.harness import ADD, Add, Rows, add, house, outside, rows
from tests.storage.test_conformance import NAMES

pytestmark = pytest.mark.extra

_SETTINGS = """
[databases]
* = host=127.0.0.1 port={server_port}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {port}
unix_socket_dir =
auth_type = trust
auth_file = {folder}/users
pool_mode = transaction
default_pool_size = 2
"""


@asynccontextmanager
async def pooler(server_url: str) -> AsyncIterator[str]:
    """A pgbouncer with two sessions in front of a database on a loopback port; its URL."""
    program = shutil.which("pgbouncer", path="/usr/sbin:/usr/bin:/usr/local/bin")
    assert program, "pgbouncer is not installed"
    folder = Path(tempfile.mkdtemp())
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    (folder / "users").write_text('"postgres" ""\n')
    settings = folder / "settings.ini"
    settings.write_text(_SETTINGS.format(folder=folder, port=port, server_port=urlsplit(server_url).port))
    anybody: Any = {}
    if os.geteuid() == 0:  # it refuses to be root
        anybody = {"user": 65534, "group": 65534, "extra_groups": []}
        folder.chmod(0o755)
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen([program, settings], stdout=log, stderr=log, cwd="/", **anybody)
    try:
        await _answers(port, process, folder / "log")
        yield f"postgresql://postgres@127.0.0.1:{port}{urlsplit(server_url).path}?sslmode=disable"
    finally:
        process.kill()
        process.wait()
        shutil.rmtree(folder)


async def _answers(port: int, process: "subprocess.Popen[bytes]", log: Path) -> None:
    while process.poll() is None:
        try:
            await (await trio.open_tcp_stream("127.0.0.1", port)).aclose()
        except OSError:
            await trio.lowlevel.checkpoint()
        else:
            return
    raise AssertionError(log.read_text())


class Crowd:
    """Other clients of the pooler, who take and leave its sessions so that ours change. In asyncio."""

    def __init__(self, url: str, chance: random.Random) -> None:
        self._url, self._chance = url, chance
        self._others: list[Any] = []

    async def join(self) -> None:
        for _ in range(2):
            self._others.append(await asyncpg.connect(self._url, statement_cache_size=0))

    async def move(self) -> None:
        """At most one of them holds a session at a time: which one is left to us is a matter of chance."""
        one = self._chance.choice(self._others)
        for other in self._others:
            if other is not one and other.is_in_transaction():
                await other.execute("COMMIT")
        await one.execute("COMMIT" if one.is_in_transaction() else "BEGIN; SELECT 1")

    async def leave(self) -> None:
        for other in self._others:
            await other.close()


async def test_it_is_found_out_by_the_first_statement_that_meets_another_session(url: str) -> None:
    async with open_proxy(url) as server, pooler(server.url) as pooled, house(pooled) as writer:
        await writer.do(add(("a",)))
        other: list[Any] = []

        async def take_the_session() -> None:
            other.append(await asyncpg.connect(pooled, statement_cache_size=0))
            await other[0].execute("BEGIN; SELECT 1")

        await writer.bridge.call(take_the_session)
        assert (await writer.do(add(("b",)))).no == 3
        assert writer.connection.drops == 1
        assert (await writer.do(Add(("c", "d")))).no == 4
        assert writer.connection.drops == 1
        await writer.bridge.call(other[0].close)
    assert await rows(url) == [("a", 2), ("b", 3), ("c", 4), ("d", 4)]


@pytest.mark.parametrize("known", [None, True], ids=["found out", "told"])
async def test_operations_work_while_sessions_change_under_them(url: str, known: bool | None) -> None:
    chance = random.Random(5)
    async with open_proxy(url) as server, pooler(server.url) as pooled, house(pooled, pooler=known) as writer:
        crowd = Crowd(pooled, chance)
        await writer.bridge.call(crowd.join)
        expected = []
        for number in range(2, 62):
            await writer.bridge.call(crowd.move)
            names = (f"{number:02}-a", f"{number:02}-b")
            assert (await writer.do(chance.choice([add, Add])(names))).no == number
            expected += [(name, number) for name in names]
            assert len((await writer.do(Rows())).value) == len(expected)
            with pytest.raises(NotAsExpected):
                await writer.do(Commit((Write(ADD, ("never", "1")), Write("DELETE FROM settings WHERE no > :no"))))
        await writer.bridge.call(crowd.leave)
        assert writer.connection.drops <= (0 if known else 1)
    assert await rows(url) == expected


async def test_the_lease_works_through_it(url: str) -> None:
    async with open_proxy(url) as server, pooler(server.url) as pooled:
        async with house(pooled, pooler=True, generation="b") as first:
            await first.do(add(("a",)))
            async with house(pooled, pooler=True, generation="a", opened=False) as older:
                with pytest.raises(LeaseHeld):
                    await older.open()
            async with house(pooled, pooler=True, generation="c") as newer:
                with pytest.raises(LeaseLost):
                    await first.do(Add(("b",)))
                assert (await newer.do(add(("c",)))).no == 4
                await newer.bridge.call(newer.connection.close)
    assert await outside(url, "SELECT holder FROM dreamwalker_lease") == [("",)]


async def test_a_commit_whose_answer_is_lost_on_the_way_through_it_lands_once(url: str) -> None:
    async with open_proxy(url) as server, pooler(server.url) as pooled, open_proxy(pooled) as line:
        async with house(line.url, pooler=True) as writer:
            fates: list[Action] = [CUT_AFTER]

            def script(request: Request) -> Action:
                return fates.pop() if fates and request.runs and "fence" in request.sql else PASS

            line.on_request = script
            assert (await writer.do(add(("a",)))).no == 2
    assert await rows(url) == [("a", 2)]


async def test_storage_conforms_through_it(url: str) -> None:
    async with open_proxy(url) as server, pooler(server.url) as pooled:
        crowd = Crowd(pooled, random.Random(7))

        async def with_storage(use: Callable[[Any], Awaitable[None]]) -> None:
            await peer.make_tables(url)
            await crowd.move()
            storage = await peer.open_storage(pooled)
            await crowd.move()
            await use(storage)
            await storage.close(CONTEXT)

        cases = peer.cases(with_storage)
        async with house(pooled, opened=False) as unopened:
            await unopened.bridge.call(crowd.join)
            for name in NAMES:
                await unopened.bridge.call(cases[name].run)
            await unopened.bridge.call(crowd.leave)
