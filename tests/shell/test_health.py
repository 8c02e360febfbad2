"""What a server finds when it looks at itself: each thing that can be wrong is said, with what to do."""

from datetime import timedelta
from typing import Any

import asyncpg
import pytest
import trio

from actors.clock import SystemClock
from dreamwalker.claude import Credentials
from tests.hand_clock import HandClock
from tests.messages_api import fail
from tests.messages_api.replies import Failure
from tests.messages_api.server import Request
from tests.world import World, world


async def found(w: World) -> dict[str, dict[str, Any]]:
    return {finding["subject"]: finding for finding in (await w.get("/api/doctor"))["findings"]}


async def test_all_is_well(database_url: str) -> None:
    async with world(database_url, clock=SystemClock()) as w:
        findings = await found(w)
        assert {finding["state"] for finding in findings.values()} == {"ok"}
        assert findings.keys() == {"database", "lease", "migrations", "clock", "zone data", "model"}
        assert w.api.billed == []


async def test_a_model_that_is_down_is_wrong(database_url: str) -> None:
    async with world(database_url, clock=SystemClock()) as w:
        w.system.credentials.seen(Credentials(api_key="a-key-that-the-tests-made-up", base_url="http://127.0.0.1:9"))
        model = (await found(w))["model"]
        assert model["state"] == "wrong" and "cannot be reached" in model["says"] and "internet" in model["advice"]


@pytest.mark.parametrize(
    ("answered", "state", "says"),
    [
        (fail(401, "invalid x-api-key"), "wrong", "does not accept the key"),
        (fail(500, "broken"), "wrong", "failed"),
        (fail(404, "Not found"), "ok", "it answers"),
    ],
)
async def test_a_model_says_by_its_list_whether_it_would_answer(
    database_url: str, answered: Failure, state: str, says: str
) -> None:
    async with world(database_url, clock=SystemClock()) as w:

        async def answering(request: Request) -> Failure:
            return answered

        w.api.reply_to = answering  # type: ignore[method-assign,assignment]
        model = (await found(w))["model"]
        assert model["state"] == state and says in model["says"]


async def test_a_clock_that_is_off_is_wrong(database_url: str) -> None:
    clock = HandClock(SystemClock().now() + timedelta(minutes=5))
    async with world(database_url, clock=clock) as w:
        finding = (await found(w))["clock"]
        assert finding["state"] == "wrong" and "s ahead of the database's" in finding["says"] and finding["advice"]


async def test_a_schema_of_a_newer_version_is_a_hint(database_url: str) -> None:
    async with world(database_url) as w:
        await found(w)

        async def newer() -> None:
            raw = await asyncpg.connect(database_url)
            await raw.execute("INSERT INTO dreamwalker_migrations (name) VALUES ('9999_later')")
            await raw.close()

        import asyncio

        await trio.to_thread.run_sync(lambda: asyncio.run(newer()))
        finding = (await found(w))["migrations"]
        assert finding["state"] == "hint" and "9999_later" in finding["says"]
