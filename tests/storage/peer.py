"""Pi Durable's portable storage on our facade: a peer whose demands prove it.

Its tables, prefixed `pi_`, are made from its own definitions by a connection of the tests' own, for the product's
connection changes no schema. Everything here lives in asyncio: run it as a unit of a `Bridge`.
"""

import itertools
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import asyncpg
from pi_durable.context import BACKGROUND_CONTEXT
from pi_durable.storage.sqlite import SqliteStorage
from pi_durable.storage.sqlite.migrations import apply_sqlite_migrations_for_schema
from pi_durable.storage.sqlite.schema import create_sqlite_schema
from pi_durable.testing import StorageConformanceCase, create_storage_conformance

from storage.connection import Connection, Options
from storage.facade import Database
from storage.sql import translate
from tests.storage.harness import no_check

PREFIX = "pi_"
_holders = itertools.count(1)


class _TestsOwn:
    """As much of a database as making the peer's tables takes, past everything under test."""

    def __init__(self, raw: Any) -> None:
        self._raw = raw

    async def transaction(self, callback: Callable[[Any], Awaitable[None]]) -> None:
        async with self._raw.transaction():
            await callback(self)

    async def exec(self, sql: str) -> None:
        sql = re.sub(r"\bSTRICT\b", "", sql)
        sql = re.sub(r"\bINTEGER\b", "BIGINT", sql)
        await self._raw.execute(re.sub(r"json_valid\((\w+)\)", r"\1 IS JSON", sql))

    async def run(self, sql: str, *params: Any) -> None:
        await self._raw.execute(translate(sql).text, *params)

    async def get(self, sql: str, *params: Any) -> Any:
        return await self._raw.fetchrow(translate(sql).text, *params)


async def make_tables(url: str) -> None:
    """Make the peer's tables in the database at this URL, anew if they are there."""
    raw = await asyncpg.connect(url)
    schema = create_sqlite_schema(PREFIX)
    await raw.execute(f"DROP TABLE IF EXISTS {', '.join(schema.tables.values())}")
    database: Any = _TestsOwn(raw)
    await apply_sqlite_migrations_for_schema(database, schema)
    await raw.close()


async def open_database(url: str, **options: Any) -> Database:
    """Our facade, with a connection of its own that holds the lease."""
    connection = Connection(Options(dsn=lambda: url, **options), f"peer{next(_holders)}")
    await connection.open(no_check)
    return Database(connection)


async def open_storage(url: str, **options: Any) -> SqliteStorage:
    """The peer's storage on our facade."""
    database: Any = await open_database(url, **options)  # its handles are typed as ours, not the peer's
    return await SqliteStorage.open(database, {"prefix": PREFIX})


class Reopening:
    """The peer's storage, closed and opened anew after every commit."""

    def __init__(self, storage: SqliteStorage, url: str) -> None:
        self._storage, self._url, self._closed = storage, url, False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._storage, name)

    async def commit(self, writes: Any, context: Any) -> Any:
        try:
            return await self._storage.commit(writes, context)
        finally:
            if not self._closed:
                await self._storage.close(context)
                self._storage = await open_storage(self._url)

    async def close(self, context: Any) -> None:
        self._closed = True
        await self._storage.close(context)


@asynccontextmanager
async def opened(url: str, *, reopening: bool = False) -> AsyncIterator[Any]:
    """The peer's storage on a database with its tables, closed in the end."""
    await make_tables(url)
    storage = await open_storage(url)
    used = Reopening(storage, url) if reopening else storage
    try:
        yield used
    finally:
        await used.close(BACKGROUND_CONTEXT)


def cases(with_storage: Callable[[Any], Awaitable[None]]) -> dict[str, StorageConformanceCase]:
    """The peer's own cases, unchanged, by name. `with_storage` calls what it gets with a fresh storage."""
    made = create_storage_conformance({"assertions": _Assertions(), "with_storage": with_storage})
    return {case.name: case for case in made}


class _Assertions:
    def ok(self, value: object, message: str | None = None) -> None:
        assert value, message

    def strict_equal(self, actual: object, expected: object) -> None:
        assert actual == expected
        assert type(actual) is type(expected)

    def deep_equal(self, actual: object, expected: object) -> None:
        assert actual == expected

    def partial_deep_equal(self, actual: object, expected: object) -> None:
        assert _matches(actual, expected), (actual, expected)

    def greater_than(self, actual: float, expected: float) -> None:
        assert actual > expected

    async def rejects(self, operation: Awaitable[object], message_includes: str) -> None:
        try:
            await operation
        except Exception as error:
            assert message_includes in str(error)
        else:
            raise AssertionError(f"nothing was raised, let alone {message_includes!r}")


def _matches(actual: Any, expected: Any) -> bool:
    match expected:
        case dict():
            return all(key in actual and _matches(actual[key], value) for key, value in expected.items())
        case list() | tuple():
            return len(actual) == len(expected) and all(map(_matches, actual, expected))
    return bool(actual == expected)
