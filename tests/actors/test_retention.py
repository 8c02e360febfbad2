"""Retention: what nobody needs any more goes after the time that the owner chose, and nothing that he needs ever."""

import asyncio
from datetime import timedelta
from typing import Any

import asyncpg
import trio
import trio.testing

from storage.retention import Preview, Prune, Pruned
from storage.workers import AtWork
from tests.actors.delegating import Cast
from tests.actors.house import Inside, open_house
from tests.hand_clock import HandClock
from tests.messages_api import answer, say, serve_messages_api, use

_KEPT = ("agents", "budget", "conversations", "note_versions", "notes", "questions", "runs", "settings", "spend",
         "things", "workers")  # fmt: skip
"""Tables that retention touches nothing of."""


async def rows(url: str, sql: str, *params: Any) -> list[dict[str, Any]]:
    """What a connection of the test's own sees."""

    async def fetch() -> list[dict[str, Any]]:
        raw = await asyncpg.connect(url)
        try:
            return [dict(row) for row in await raw.fetch(sql, *params)]
        finally:
            await raw.close()

    return await trio.to_thread.run_sync(lambda: asyncio.run(fetch()))


async def _delegated(it: Inside, cast: Cast, word: str) -> None:
    cast.says(answer(use("delegate", {"task": f"{word} tulips"})), say("It says so."))
    cast.does(word, answer("I look.", use("no_such_tool", {})), say("Red ones."))
    there = len(await it.runs())
    await it.say("Look up tulips", seen_no=it.house.store.commit_no)
    await it.settled(there + 1)
    assert not await it.ask(AtWork())


async def test_what_finished_workers_wrote_goes_and_all_else_stays(database_url: str) -> None:
    clock = HandClock()
    async with serve_messages_api() as api, open_house(database_url, api, clock=clock) as it:
        cast = Cast().play(api)
        await _delegated(it, cast, "Old")
        clock.move(100 * 86_400)
        await _delegated(it, cast, "New")
        before = clock.now() - timedelta(days=30)
        kept = {name: await rows(database_url, f"SELECT * FROM {name} ORDER BY 1, 2, 3") for name in _KEPT}
        home = await it.transcript()
        there = await it.ask(Preview(before))
        assert there == Pruned(workers=5), "a task, three entries, a call"
        gone = await it.house.store.ask(Prune(before=before, limit=500))
        assert gone == there and await it.ask(Preview(before)) == Pruned()
        assert await it.transcript() == home
        assert {name: await rows(database_url, f"SELECT * FROM {name} ORDER BY 1, 2, 3") for name in _KEPT} == kept
        old, new = await rows(database_url, "SELECT conversation FROM workers ORDER BY conversation")
        left = await rows(database_url, "SELECT DISTINCT conversation FROM entries ORDER BY 1")
        assert [row["conversation"] for row in left] == [it.home, new["conversation"]] and old not in left


async def test_it_is_done_when_he_chooses_a_time_and_again_each_day(database_url: str) -> None:
    clock = HandClock()
    async with serve_messages_api() as api, open_house(database_url, api, clock=clock) as it:
        cast = Cast().play(api)
        await _delegated(it, cast, "Old")
        clock.move(29.5 * 86_400)
        await it.house.choose("keep_days", 30)
        await clock.sleepers(1)
        assert len(await _transcripts(database_url)) == 2, "it is not old enough yet"
        clock.move(86_400)
        with trio.fail_after(10):
            while len(await _transcripts(database_url)) == 2:
                await trio.testing.wait_all_tasks_blocked(0.01)


async def _transcripts(url: str) -> list[dict[str, Any]]:
    return await rows(url, "SELECT DISTINCT conversation FROM entries")


async def test_settled_pushes_and_old_slots_go_but_for_the_newest_of_each(database_url: str) -> None:
    clock = HandClock()
    async with serve_messages_api() as api, open_house(database_url, api, clock=clock) as it:
        now = clock.now()
        push = """INSERT INTO pushes (id, kind, title, text, buttons, buttons_until, state, tries, next_at, made_at,
            settled_at, no) VALUES ($1, 'test', '', '', '[]', $2, $3, 1, $4, $2, $5, 1)"""
        old, new = now - timedelta(days=90), now - timedelta(days=3)
        await rows(database_url, push, "old", old, "sent", None, old)
        await rows(database_url, push, "new", new, "sent", None, new)
        await rows(database_url, push, "waiting", old, "waiting", now + timedelta(days=9), None)
        slot = """INSERT INTO slots (thing, slot, at, version, fate, late_seconds, count, settled_at, no)
            SELECT 7, 's' || n, $1::timestamptz + make_interval(hours => n), 1, 'ran', 0, 1,
                $1::timestamptz + make_interval(hours => n), 1 FROM generate_series(1, 30) n"""
        await rows(database_url, slot, old)
        before = now - timedelta(days=30)
        first = await it.house.store.ask(Prune(before=before, limit=6))
        assert first == Pruned(pushes=1, slots=6, more=True)
        assert await it.house.store.ask(Prune(before=before, limit=6)) == Pruned(slots=4)
        assert await rows(database_url, "SELECT id FROM pushes ORDER BY id") == [{"id": "new"}, {"id": "waiting"}]
        (left,) = await rows(database_url, "SELECT count(*) AS n, min(slot) AS oldest FROM slots")
        assert left == {"n": 20, "oldest": "s11"}
