"""The storage conformance cases of Pi Durable, unchanged, on our connection, translation and fence."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import asyncpg
import pytest

from storage.embedded import Embedded
from tests.storage import peer
from tests.storage.harness import house, outside


async def _nowhere(use: Any) -> None:
    raise AssertionError("only the names are asked for")


NAMES = list(peer.cases(_nowhere))


@pytest.fixture(scope="module")
def peer_url(cluster: Embedded, migrated: str) -> Iterator[str]:
    """A database with the real migrations for all the cases, since making one takes longer than a case."""

    async def execute(statement: str) -> None:
        raw = await asyncpg.connect(cluster.dsn)
        await raw.execute(statement)
        await raw.close()

    asyncio.run(execute(f"CREATE DATABASE peer TEMPLATE {migrated}"))
    yield cluster.dsn.replace("///postgres?", "///peer?")
    asyncio.run(execute("DROP DATABASE peer WITH (FORCE)"))


def test_there_are_24_cases() -> None:
    assert len(NAMES) == 24


@pytest.mark.parametrize("reopening", [False, True], ids=["", "reopening"])
@pytest.mark.parametrize("name", NAMES)
async def test_storage_conforms(name: str, reopening: bool, peer_url: str) -> None:
    async def with_storage(use: Callable[[Any], Awaitable[None]]) -> None:
        async with peer.opened(peer_url, reopening=reopening) as storage:
            await use(storage)

    [(_, before)] = await outside(peer_url, LEASE)
    async with house(peer_url, opened=False) as unopened:
        await unopened.bridge.call(peer.cases(with_storage)[name].run)
    [(holder, after)] = await outside(peer_url, LEASE)
    assert (holder, after - before > 2) == ("", True), "commits are numbered, and in the end the lease is given up"


LEASE = "SELECT holder, commit_no FROM dreamwalker_lease"
