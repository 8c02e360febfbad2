"""A mistake of our own: the client hears that there was one, the log hears where, and nobody sees the inside."""

import asyncpg
import h11
import pytest
import trio
import trio_asyncio

from tests.world import world


async def alter(database_url: str, statement: str) -> None:
    async def execute() -> None:
        connection = await asyncpg.connect(database_url)
        await connection.execute(statement)
        await connection.close()

    async with trio_asyncio.open_loop():
        await trio_asyncio.aio_as_trio(execute)()


async def test_an_unforeseen_error_is_told_without_its_inside_and_logged_without_the_text(
    database_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    async with world(database_url) as w:
        await w.get("/api/status")
        await alter(database_url, "ALTER TABLE messages DROP COLUMN digest")
        body = {"request_id": "1", "text": "A private thing"}
        with trio.fail_after(20):
            answer = await w.client.post("/api/agents/dreamwalker/messages", json=body)
        assert answer.status_code == 500
        assert answer.json() == {
            "error": {"code": "internal", "message": "Something went wrong inside dreamwalker; its log says what."}
        }
        (record,) = [record for record in caplog.records if record.msg == "request.failed"]
        assert record.exc_info is not None
        assert record.args == {"method": "POST", "route": "/api/agents/{name}/messages"}
        await w.get("/api/settings")


async def test_a_stream_that_meets_an_unforeseen_error_breaks_off_and_the_server_goes_on(database_url: str) -> None:
    async with world(database_url, heartbeat_seconds=0.05) as w, w.stream() as events:
        await events.of("change")
        await alter(database_url, "ALTER TABLE entries DROP COLUMN shown")
        await w.post("/api/agents/dreamwalker/fresh", {"request_id": "1"}, status=202)
        with pytest.raises(h11.RemoteProtocolError, match="incomplete"):
            while await events.next() is not None:
                pass
        await w.get("/api/settings")
