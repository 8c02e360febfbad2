"""The storage conformance cases of Pi Durable, unchanged, on our connection, translation and fence."""

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from tests.storage import peer
from tests.storage.harness import house, outside


async def _nowhere(use: Any) -> None:
    raise AssertionError("only the names are asked for")


NAMES = list(peer.cases(_nowhere))


def test_there_are_24_cases() -> None:
    assert len(NAMES) == 24


@pytest.mark.parametrize("reopening", [False, True], ids=["", "reopening"])
@pytest.mark.parametrize("name", NAMES)
async def test_storage_conforms(name: str, reopening: bool, url: str) -> None:
    async def with_storage(use: Callable[[Any], Awaitable[None]]) -> None:
        async with peer.opened(url, reopening=reopening) as storage:
            await use(storage)

    async with house(url, opened=False) as unopened:
        await unopened.bridge.call(peer.cases(with_storage)[name].run)
    [(holder, commit_no)] = await outside(url, "SELECT holder, commit_no FROM dreamwalker_lease")
    assert (holder, commit_no > 2) == ("", True), "commits are numbered, and in the end the lease is given up"
