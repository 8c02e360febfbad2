"""Postgres as the product runs it, fsyncs and all, with a migrated database for whoever asks.

One rule: the bench looks at it over connections of its own, never over the one that is measured.
"""

import asyncio
import itertools
import shutil
import tempfile
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import asyncpg
import trio

from storage import migrate
from storage.embedded import Embedded

T = TypeVar("T")

_MIGRATIONS = Path(__file__).resolve().parent.parent / "migrations"


class Postgres:
    """A running server."""

    def __init__(self, server: Embedded) -> None:
        self._server = server
        self._numbers = itertools.count(1)

    async def bare(self) -> str:
        """Make a fresh database with nothing in it. Returns its URL."""
        name = f"bench_{next(self._numbers)}"
        await ask(self._server.dsn, f"CREATE DATABASE {name}")
        return self._server.dsn.replace("///postgres?", f"///{name}?")

    async def database(self) -> str:
        """Make a fresh database with the real migrations applied. Returns its URL."""
        url = await self.bare()

        async def apply(connection: Any) -> None:
            await migrate.apply(connection, migrate.read_migrations(_MIGRATIONS))

        await _outside(url, apply)
        return url


@contextmanager
def postgres() -> Iterator[Postgres]:
    """A Postgres in a folder for temporary files, gone with all it held when the block ends."""
    folder = Path(tempfile.mkdtemp(prefix="dreamwalker-bench-"))
    try:
        server = Embedded.start(folder)
        try:
            yield Postgres(server)
        finally:
            server.close()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


async def ask(url: str, sql: str) -> Any:
    """The first value of the first row that a statement gives."""

    async def fetch(connection: Any) -> Any:
        return await connection.fetchval(sql)

    return await _outside(url, fetch)


async def _outside(url: str, work: Callable[[Any], Awaitable[T]]) -> T:
    """Do something with a connection made for it, in a thread with a loop of its own."""

    async def connected() -> T:
        connection = await asyncpg.connect(url)
        try:
            return await work(connection)
        finally:
            await connection.close()

    return await trio.to_thread.run_sync(lambda: asyncio.run(connected()))
