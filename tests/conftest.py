"""One Postgres for the whole session, and for each test that asks a database of its own.

The fixtures are plain ones that run asyncio to its end, so that trio tests can use them too.
"""

import asyncio
import itertools
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import asyncpg
import pytest

from storage import migrate
from storage.embedded import Embedded

_MIGRATIONS = Path(__file__).parent.parent / "migrations"
_numbers = itertools.count(1)


@pytest.fixture(scope="session")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Embedded]:
    """A running Postgres."""
    folder = tmp_path_factory.mktemp("postgres")
    server = Embedded.start(folder, fast=True)
    yield server
    server.close()
    shutil.rmtree(folder)


@pytest.fixture(scope="session")
def migrated(cluster: Embedded) -> str:
    """The name of a database into which the real migrations were applied, to copy from."""

    async def apply() -> None:
        connection = await asyncpg.connect(_url(cluster, "migrated"))
        await migrate.apply(connection, migrate.read_migrations(_MIGRATIONS))
        await connection.close()

    _execute(cluster, "CREATE DATABASE migrated")
    asyncio.run(apply())
    return "migrated"


@pytest.fixture
def database_url(cluster: Embedded, migrated: str) -> Iterator[str]:
    """The URL of a fresh database with the real migrations applied."""
    with _database(cluster, migrated) as url:
        yield url


@pytest.fixture
def empty_database_url(cluster: Embedded) -> Iterator[str]:
    """The URL of a fresh database in which there is nothing."""
    with _database(cluster, "template0") as url:
        yield url


@contextmanager
def _database(cluster: Embedded, template: str) -> Iterator[str]:
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
