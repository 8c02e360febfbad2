"""One row says who may write. Every commit renews it, holds it, and fails if another has taken it."""

import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import asyncpg
import pytest
import trio
import trio_asyncio

from storage.errors import LeaseHeld, LeaseLost, TookTooLong, Unavailable
from storage.operation import Commit, Transaction
from storage.options import Options
from tests.proxy import CUT_AFTER, CUT_BEFORE, open_proxy
from tests.storage.harness import ADD, Add, Do, Rows, Script, add, house, outside, rows

LEASE = "SELECT holder, generation, commit_no FROM dreamwalker_lease"
EXPIRE = "UPDATE dreamwalker_lease SET expires_at = clock_timestamp() RETURNING 1"
SECONDS_LEFT = "SELECT extract(epoch FROM expires_at - clock_timestamp())::float8 FROM dreamwalker_lease"
WAITING = "SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query ~ 'dreamwalker_lease'"


async def until_someone_waits_for_the_row(url: str) -> None:
    while not await outside(url, WAITING):
        pass


# -- who may take it


async def test_an_older_generation_is_refused_and_told_how_long(url: str) -> None:
    async with house(url, generation="68ff", lease_seconds=60.0), house(url, generation="68fe", opened=False) as older:
        with pytest.raises(LeaseHeld) as caught:
            await older.open()
        assert 50 < caught.value.seconds <= 60
        with pytest.raises(LeaseLost):
            await older.do(add(("a",)))


@pytest.mark.parametrize("generation", ["68ff", "6900"], ids=["same", "newer"])
async def test_the_same_and_a_newer_generation_take_it_over(url: str, generation: str) -> None:
    async with house(url, generation="68ff") as first, house(url, generation=generation) as second:
        assert await outside(url, LEASE) == [(second.connection.holder, generation, 2)]
        assert second.connection.commit_no == 2
        for operation in (add(("a",)), Add(("a",)), Commit()):
            with pytest.raises(LeaseLost):
                await first.do(operation)
        assert (await second.do(add(("b",)))).no == 3
        assert (await first.do(Rows())).value == [{"name": "b", "no": 3}], "reading needs no lease"


async def test_one_that_has_run_out_may_be_taken_by_anybody(url: str) -> None:
    async with house(url, generation="68ff") as newer:
        await outside(url, EXPIRE)
        async with house(url, generation="68fe") as older:
            assert (await older.do(add(("a",)))).no == 3
        with pytest.raises(LeaseLost):
            await newer.do(add(("b",)))


async def test_one_that_has_run_out_and_was_taken_by_nobody_is_still_ours(url: str) -> None:
    async with house(url) as holder:
        await outside(url, EXPIRE)
        assert (await holder.do(add(("a",)))).no == 2
        [(left,)] = await outside(url, SECONDS_LEFT)
        assert left > 50


async def test_one_that_was_given_up_may_be_taken_by_anybody(url: str) -> None:
    async with house(url, generation="68ff") as newer:
        await newer.bridge.call(newer.connection.close)
        async with house(url, generation="68fe") as older:
            assert older.connection.commit_no == 3


async def test_the_holder_may_take_it_again(url: str) -> None:
    async with house(url, generation="68ff") as holder:
        await holder.open()
        assert (await holder.do(add(("a",)))).no == 3


async def test_losing_the_connection_on_top_of_the_lease_hides_nothing(url: str) -> None:
    async with open_proxy(url) as proxy, house(proxy.url) as first, house(url):
        script = proxy.on_request = Script({2: CUT_BEFORE})
        with pytest.raises(LeaseLost):
            await first.do(Add(("a",)))
        assert [request.sql for request in script.seen][1::2] == ["ROLLBACK", "ROLLBACK"]


async def test_one_that_held_it_before_waits_its_turn(url: str) -> None:
    async with house(url, generation="68fe") as holder, house(url, generation="68ff", opened=False) as fenced:
        with pytest.raises(LeaseHeld):
            await fenced.open(formerly="a holder that was replaced")
        await holder.bridge.call(holder.connection.close)
        await fenced.open(formerly="a holder that was replaced")
        assert (await fenced.do(add(("a",)))).no == 4


async def test_one_that_held_it_before_and_was_not_replaced_has_it_at_once(url: str) -> None:
    async with house(url, generation="68ff") as before, house(url, generation="68fe", opened=False) as again:
        await again.open(formerly=before.connection.holder)
        assert (await again.do(add(("a",)))).no == 3


async def test_giving_it_up_takes_nothing_from_a_new_holder(url: str) -> None:
    async with house(url) as first, house(url) as second:
        await first.bridge.call(first.connection.close)
        assert (await second.do(add(("a",)))).no == 3


async def test_taking_it_twice_because_the_answer_was_lost_does_no_harm(url: str) -> None:
    async with open_proxy(url) as proxy, house(proxy.url, opened=False) as holder:
        script = proxy.on_request = Script({5: CUT_AFTER})
        await holder.open()
        assert script.seen[4].sql == "COMMIT;"
        assert (await holder.do(add(("a",)))).no == 3


async def test_opening_fails_with_what_the_check_of_the_schema_says_and_takes_nothing(url: str) -> None:
    async def check(raw: Any) -> None:
        assert await raw.fetchval("SELECT count(*) FROM settings") == 0
        raise FileNotFoundError("no migrations folder")

    async with house(url, opened=False) as holder:
        with pytest.raises(FileNotFoundError, match="no migrations folder"):
            await holder.bridge.call(lambda: holder.connection.open(check))
    assert await outside(url, LEASE) == [("", "", 0)]


# -- what a commit does with it


@pytest.mark.parametrize("operation", [Commit(), add(("a",)), Add(("a",))], ids=["nothing", "composed", "transaction"])
async def test_every_commit_renews_it(url: str, operation: Commit) -> None:
    async with house(url) as holder:
        before = holder.connection.renewed_at
        await outside(url, EXPIRE)
        began = time.monotonic()
        await holder.do(operation)
        assert 0 < holder.connection.lease_age_seconds <= time.monotonic() - began
        [(left,)] = await outside(url, SECONDS_LEFT)
        assert 50 < left <= 60
        assert holder.connection.renewed_at > before


async def test_reading_renews_nothing(url: str) -> None:
    async with house(url) as holder:
        before = holder.connection.renewed_at
        await holder.do(Rows())
        assert (holder.connection.renewed_at, holder.connection.commit_no) == (before, 1)


async def test_renewing_costs_no_round_trip_of_its_own(url: str) -> None:
    async def round_trips(operation: Any) -> int:
        before = proxy.round_trips
        await holder.do(operation)
        return proxy.round_trips - before

    async with open_proxy(url) as proxy, house(proxy.url) as holder:
        assert await round_trips(add(("a", "b"))) == 2, "a statement that is new to the connection"
        assert await round_trips(add(("c", "d"))) == 1
        assert await round_trips(Add(("e", "f"))) == 5
        assert await round_trips(Add(("g", "h"))) == 4


async def test_its_row_is_held_until_the_commit(url: str) -> None:
    async with house(url) as holder, house(url, opened=False) as newer:
        inside, go_on = trio.Event(), trio.Event()

        async def slow(tx: Transaction) -> None:
            await tx.run(ADD, "a", "1")
            inside.set()
            await wait_in_asyncio(go_on)
            await tx.run(ADD, "b", "1")

        async with trio.open_nursery() as nursery:
            nursery.start_soon(holder.do, Do(slow))
            await inside.wait()
            nursery.start_soon(newer.open)
            await until_someone_waits_for_the_row(url)
            go_on.set()
        assert await rows(url) == [("a", 2), ("b", 2)]
        assert newer.connection.commit_no == 3
        with pytest.raises(LeaseLost):
            await holder.do(add(("c",)))


async def test_a_holder_that_is_paused_inside_a_transaction_is_ended_and_replaced(url: str) -> None:
    async with house(url, idle_seconds=0.2) as paused, house(url, opened=False) as newer:
        inside, go_on = trio.Event(), trio.Event()

        async def slow(tx: Transaction) -> None:
            await tx.run(ADD, "a", "1")
            inside.set()
            await wait_in_asyncio(go_on)
            await tx.run(ADD, "b", "1")

        async with trio.open_nursery() as nursery:

            @nursery.start_soon
            async def pause() -> None:
                with pytest.raises(LeaseLost):
                    await paused.do(Do(slow))

            await inside.wait()
            await newer.open()
            await newer.do(add(("newer",)))
            go_on.set()
        assert await rows(url) == [("newer", 3)]


async def wait_in_asyncio(event: trio.Event) -> None:
    """As a paused process: it neither asks nor answers."""
    await trio_asyncio.trio_as_aio(event.wait)()


async def test_a_statement_that_takes_too_long_is_ended_by_the_database(url: str) -> None:
    async with house(url, statement_seconds=0.2) as holder:
        with pytest.raises(TookTooLong, match="statement timeout"):
            await holder.do(Do(lambda tx: tx.get("SELECT pg_sleep(60)")))
        assert (await holder.do(add(("a",)))).no == 2
        assert holder.connection.drops == 0


async def test_one_that_took_too_long_because_its_process_stood_still_is_run_once_more(url: str) -> None:
    tries = []

    async def too_long_at_first(tx: Transaction) -> None:
        tries.append(tx.no)
        await tx.run(ADD, "a", "1")
        if len(tries) == 1:
            await tx.get("SELECT pg_sleep(60)")

    async with house(url, statement_seconds=0.2) as holder:
        assert (await holder.do(Do(too_long_at_first))).no == 2
    assert tries == [2, 2]
    assert await rows(url) == [("a", 2)]


@asynccontextmanager
async def row_held_by_a_stranger(url: str) -> AsyncIterator[None]:
    async with trio_asyncio.open_loop():
        raw = await trio_asyncio.aio_as_trio(asyncpg.connect)(url)
        await trio_asyncio.aio_as_trio(raw.execute)("BEGIN; SELECT FROM dreamwalker_lease FOR UPDATE")
        yield
        await trio_asyncio.aio_as_trio(raw.close)()


@pytest.mark.parametrize("asks", ["commit", "open"])
async def test_a_row_that_is_held_for_longer_than_a_statement_may_take_is_waited_for(url: str, asks: str) -> None:
    async with house(url, statement_seconds=0.2) as holder, trio.open_nursery() as nursery:
        async with row_held_by_a_stranger(url):
            nursery.start_soon(*((holder.do, Add(("a",))) if asks == "commit" else (holder.open,)))
            while not holder.connection.drops:
                await trio.lowlevel.checkpoint()
        assert (await holder.do(Add(("b",)))).no == 3


async def test_a_row_that_is_held_for_good_makes_the_database_unavailable(url: str) -> None:
    async with house(url, statement_seconds=0.1, reach_seconds=0.3) as holder, row_held_by_a_stranger(url):
        with pytest.raises(Unavailable, match="held by one that hangs"):
            await holder.do(Add(("a",)))
    assert await rows(url) == []


async def test_one_that_was_never_opened_writes_nothing(url: str) -> None:
    async with house(url, opened=False) as unopened:
        for operation in (add(("a",)), Add(("a",))):
            with pytest.raises(LeaseLost):
                await unopened.do(operation)
    assert await rows(url) == []


async def test_a_row_that_is_not_there_counts_as_lost(url: str) -> None:
    async with open_proxy(url) as proxy, house(proxy.url) as holder:
        await outside(url, "DELETE FROM dreamwalker_lease RETURNING 1")
        try:
            for operation in (add(("a",)), Add(("a",))):
                with pytest.raises(LeaseLost):
                    await holder.do(operation)
            proxy.on_request = Script({1: CUT_AFTER})
            with pytest.raises(LeaseLost):
                await holder.do(add(("a",)))
        finally:
            await outside(url, "INSERT INTO dreamwalker_lease VALUES (1, '', '', 0, now()) RETURNING 1")
    assert await rows(url) == []


def test_the_times_leave_room_for_one_another() -> None:
    o = Options(dsn=str)
    assert o.statement_seconds < o.transaction_seconds <= o.idle_seconds < o.silent_seconds < o.reach_seconds / 2


def test_an_older_postgres_is_not_asked_for_a_time_out_that_it_does_not_know() -> None:
    assert "transaction_timeout = 8500" in Options(dsn=str).timeouts((17, 0))
    assert "SET LOCAL transaction" not in Options(dsn=str).timeouts((16, 9))
