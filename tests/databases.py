"""Databases for tests: one Postgres server, and on it as many databases as are wanted, copied from a migrated one."""

import asyncio
import itertools
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import asyncpg

from storage import migrate
from storage.embedded import Embedded

_MIGRATIONS = Path(__file__).parent.parent / "migrations"
_numbers = itertools.count(1)


def make_migrated(cluster: Embedded) -> str:
    """Make a database into which the real migrations were applied, to copy from; returns its name."""

    async def apply() -> None:
        connection = await asyncpg.connect(_url(cluster, "migrated"))
        await migrate.apply(connection, migrate.read_migrations(_MIGRATIONS))
        await connection.close()

    _execute(cluster, "CREATE DATABASE migrated")
    asyncio.run(apply())
    return "migrated"


@contextmanager
def fresh_database(cluster: Embedded, template: str) -> Iterator[str]:
    """The URL of a copy of a database, gone when the block is left."""
    name = f"test_{next(_numbers)}"
    _execute(cluster, f"CREATE DATABASE {name} TEMPLATE {template} STRATEGY file_copy")
    yield _url(cluster, name)
    _execute(cluster, f"DROP DATABASE {name} WITH (FORCE)")


def _url(cluster: Embedded, database: str) -> str:
    return cluster.dsn.replace("///postgres?", f"///{database}?")


def _execute(cluster: Embedded, statement: str) -> None:
    async def execute() -> None:
        connection = await asyncpg.connect(cluster.dsn)
        await connection.execute(statement)
        await connection.close()

    asyncio.run(execute())
