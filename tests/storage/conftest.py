"""One database for most tests of storage, emptied before each: making one takes far longer than a test."""

import asyncio
from collections.abc import Iterator

import asyncpg
import pytest

from storage.embedded import Embedded

_EMPTY = """
SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid();
DELETE FROM settings;
UPDATE dreamwalker_lease SET holder = '', generation = '', commit_no = 0, expires_at = '1970-01-01 00:00:00+00';
"""


async def _execute(url: str, script: str) -> None:
    raw = await asyncpg.connect(url)
    await raw.execute(script)
    await raw.close()


@pytest.fixture(scope="session")
def storage_database(cluster: Embedded, migrated: str) -> Iterator[str]:
    asyncio.run(_execute(cluster.dsn, f"CREATE DATABASE storage TEMPLATE {migrated}"))
    yield cluster.dsn.replace("///postgres?", "///storage?")
    asyncio.run(_execute(cluster.dsn, "DROP DATABASE storage WITH (FORCE)"))


@pytest.fixture
def url(storage_database: str) -> str:
    """The URL of a database with the real migrations, without settings, its lease free, commit number 0."""
    asyncio.run(_execute(storage_database, _EMPTY))
    return storage_database
