"""What the tests of storage share: an opened connection with its bridge, behind a proxy, and a look from outside."""

import itertools
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any, TypeVar

import asyncpg
import attrs
import trio
import trio_asyncio

from storage.connection import Bridge, Connection, Done, Options
from storage.operation import Bell, Commit, Operation, Read, Reader, Row, Transaction, Write
from tests.proxy import PASS, Action, Request

T = TypeVar("T")
_holders = itertools.count(1)

ADD = "INSERT INTO settings (name, value, no) VALUES (?, ?, :no)"
NUMBERS = "SELECT name, no FROM settings ORDER BY no, name"


async def no_check(raw: Any) -> None:
    """The schema is taken to be right."""


def add(names: tuple[str, ...]) -> Commit:
    """Rows, as a composed commit, with a bell for each."""
    return Commit(tuple(Write(ADD, (name, "1")) for name in names), tuple(Bell(name) for name in names))


@attrs.frozen
class Do(Operation[T]):
    """An operation that is what the function says."""

    callback: Callable[[Transaction], Awaitable[T]]

    async def perform(self, tx: Transaction) -> T:
        return await self.callback(tx)


@attrs.frozen
class Add(Operation[int]):
    """Rows, as a transaction, with a bell for each; returns its number."""

    names: tuple[str, ...]

    async def perform(self, tx: Transaction) -> int:
        for name in self.names:
            await tx.run(ADD, name, "1")
            tx.ring(Bell(name))
        return tx.no


@attrs.frozen
class Rows(Read[list[Row]]):
    """What a query finds."""

    sql: str = NUMBERS

    async def read(self, reader: Reader) -> list[Row]:
        return await reader.all(self.sql)


@attrs.define
class Script:
    """What becomes of the requests of a proxy from now on, by number; `seen` is what has come."""

    plan: dict[int, Action] = attrs.Factory(dict)
    seen: list[Request] = attrs.Factory(list)

    def __call__(self, request: Request) -> Action:
        self.seen.append(request)
        return self.plan.get(len(self.seen), PASS)


@attrs.frozen(kw_only=True)
class House:
    """An opened connection and the bridge it lives in."""

    connection: Connection
    bridge: Bridge

    async def do(self, operation: Operation[T] | Read[T]) -> Done[T]:
        return await self.bridge.call(lambda: self.connection.perform(operation))

    async def open(self, *, reclaim: bool = False) -> None:
        await self.bridge.call(lambda: self.connection.open(no_check, reclaim=reclaim))


@asynccontextmanager
async def house(url: str, *, opened: bool = True, **options: Any) -> AsyncIterator[House]:
    """A connection of its own to the database at this URL, with times so short that a test can wait for them."""
    times = {"reach_seconds": 8.0, "silent_seconds": 4.0, "statement_seconds": 2.0, "transaction_seconds": 3.0}
    made = Options(dsn=lambda: url, **{**times, **options})
    it = House(connection=Connection(made, f"holder{next(_holders)}"), bridge=Bridge())
    async with trio.open_nursery() as nursery:
        await nursery.start(it.bridge.run)
        try:
            if opened:
                await it.open()
            yield it
        finally:
            with trio.CancelScope(shield=True):
                it.connection.cut()
                it.bridge.stop()


async def outside(url: str, sql: str, *params: Any) -> list[tuple[Any, ...]]:
    """Ask the database over a connection of the test's own, past everything under test."""

    async def ask() -> list[tuple[Any, ...]]:
        raw = await asyncpg.connect(url)
        try:
            return [tuple(row) for row in await raw.fetch(sql, *params)]
        finally:
            await raw.close()

    async with trio_asyncio.open_loop():
        rows: list[tuple[Any, ...]] = await trio_asyncio.aio_as_trio(ask)()
        return rows


async def rows(url: str) -> list[tuple[Any, ...]]:
    """Names and numbers of the settings that are there, in the order in which they came."""
    return await outside(url, NUMBERS)
