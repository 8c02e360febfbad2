"""The bridge does one unit at a time, in the order asked, and cancels none midway."""

import asyncio

import pytest
import trio
import trio.testing
import trio_asyncio

from storage.connection import Bridge
from storage.errors import StoreClosed


async def start(bridge: Bridge, nursery: trio.Nursery) -> None:
    await nursery.start(bridge.run)


async def test_units_run_one_at_a_time_in_the_order_asked() -> None:
    bridge, done = Bridge(), []

    async def ask(number: int) -> None:
        async def unit() -> None:
            done.append(number)
            for _ in range(3):
                await asyncio.sleep(0)
            done.append(number)

        await bridge.call(unit)

    async with trio.open_nursery() as nursery:
        await start(bridge, nursery)
        async with trio.open_nursery() as callers:
            for number in range(20):
                callers.start_soon(ask, number)
                await trio.lowlevel.checkpoint()
        bridge.stop()
    assert done == [number for number in range(20) for _ in "ab"]


async def test_a_unit_whose_caller_gives_up_ends_by_itself_and_one_that_has_not_begun_is_skipped() -> None:
    bridge, done = Bridge(), []
    begun, go_on = trio.Event(), trio.Event()

    async def long() -> None:
        begun.set()
        await trio_asyncio.trio_as_aio(go_on.wait)()
        done.append("long")

    async def short() -> None:
        done.append("short")

    async def last() -> None:
        done.append("last")

    async with trio.open_nursery() as nursery:
        await start(bridge, nursery)
        async with trio.open_nursery() as callers:
            callers.start_soon(bridge.call, long)
            await begun.wait()
            callers.start_soon(bridge.call, short)
            await trio.testing.wait_all_tasks_blocked()
            callers.cancel_scope.cancel()
        assert done == []
        go_on.set()
        await bridge.call(last)
        bridge.stop()
    assert done == ["long", "last"]


async def test_being_cancelled_it_ends_the_unit_under_way_and_refuses_the_rest() -> None:
    bridge, done = Bridge(), []
    begun, go_on = trio.Event(), trio.Event()

    async def long() -> str:
        begun.set()
        await trio_asyncio.trio_as_aio(go_on.wait)()
        for _ in range(10):
            await asyncio.sleep(0)
        done.append("long")
        return "fine"

    async def refused() -> None:
        with pytest.raises(StoreClosed):
            await bridge.call(long)
        done.append("refused")

    async with trio.open_nursery() as callers:
        async with trio.open_nursery() as nursery:
            await start(bridge, nursery)

            @callers.start_soon
            async def ask() -> None:
                assert await bridge.call(long) == "fine"

            await begun.wait()
            callers.start_soon(refused)
            await trio.testing.wait_all_tasks_blocked()
            nursery.cancel_scope.cancel()
            go_on.set()
    assert done == ["long", "refused"]
    with pytest.raises(StoreClosed):
        await bridge.call(long)


async def test_being_cancelled_before_it_began_it_ends() -> None:
    bridge = Bridge()
    async with trio.open_nursery() as nursery:
        nursery.cancel_scope.cancel()
        await start(bridge, nursery)
    with pytest.raises(StoreClosed):
        await bridge.call(lambda: asyncio.sleep(0))


@pytest.mark.parametrize("error", [KeyError("mine"), asyncio.CancelledError(), SystemExit(3), KeyboardInterrupt()])
async def test_what_a_unit_raises_comes_out_as_it_is_and_the_next_one_goes_on(error: BaseException) -> None:
    bridge = Bridge()

    async def fail() -> None:
        raise error

    async def fine() -> int:
        return 1

    async with trio.open_nursery() as nursery:
        await start(bridge, nursery)
        with pytest.raises(type(error)) as caught:
            await bridge.call(fail)
        assert caught.value is error
        assert await bridge.call(fine) == 1
        bridge.stop()


async def test_a_stray_error_in_the_driver_does_not_end_it(caplog: pytest.LogCaptureFixture) -> None:
    bridge = Bridge()

    async def stray() -> None:
        asyncio.get_running_loop().call_soon(lambda: 1 / 0)
        await asyncio.sleep(0)

    async def fine() -> int:
        return 1

    async with trio.open_nursery() as nursery:
        await start(bridge, nursery)
        await bridge.call(stray)
        assert await bridge.call(fine) == 1
        bridge.stop()
    assert [record.msg for record in caplog.records] == ["database.broke"]
