"""The machine's clock, and the one that tests move by hand."""

from datetime import UTC, datetime, timedelta

import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from actors.clock import STEP_SECONDS, Clock, SystemClock
from tests.hand_clock import HandClock

NOON = datetime(2026, 11, 29, 12, tzinfo=UTC)


class WallByHand(SystemClock):
    """The system's clock on a machine whose wall clock a test sets."""

    def __init__(self) -> None:
        self.wall = NOON

    def now(self) -> datetime:
        return self.wall


async def wake_at(clock: Clock, when: datetime, woken: list[datetime]) -> None:
    await clock.sleep_until(when)
    woken.append(when)


async def wake_after(clock: Clock, seconds: float, woken: list[float]) -> None:
    await clock.sleep(seconds)
    woken.append(seconds)


async def test_the_system_clock_tells_aware_utc_and_seconds_that_only_grow() -> None:
    clock: Clock = SystemClock()
    assert clock.now().tzinfo is UTC
    first = clock.monotonic()
    assert clock.monotonic() >= first


async def test_sleeping_until_a_past_moment_or_for_no_time_returns_through_a_checkpoint() -> None:
    for clock in (SystemClock(), HandClock()):
        past = clock.now() - timedelta(days=1)
        await clock.sleep_until(past)
        await clock.sleep(0)
        await clock.sleep(-1)
        for asleep in (clock.sleep_until(past), clock.sleep(0)):
            with trio.CancelScope() as scope:
                scope.cancel()
                await asleep
            assert scope.cancelled_caught


async def test_a_naive_moment_is_refused() -> None:
    naive = datetime(2026, 11, 29, 12)
    for clock in (SystemClock(), HandClock()):
        with pytest.raises(TypeError):
            await clock.sleep_until(naive)


async def test_a_forward_jump_of_the_wall_clock_is_noticed_within_a_step(
    mock_clock: MockClock, nursery: trio.Nursery
) -> None:
    clock, woken = WallByHand(), list[datetime]()
    months_away = NOON + timedelta(days=200)
    nursery.start_soon(wake_at, clock, months_away, woken)
    await wait_all_tasks_blocked()
    clock.wall = months_away  # the machine had slept
    mock_clock.jump(STEP_SECONDS)
    await wait_all_tasks_blocked()
    assert woken == [months_away]


async def test_a_wall_clock_set_back_does_not_wake_a_sleeper_early(
    mock_clock: MockClock, nursery: trio.Nursery
) -> None:
    clock, woken = WallByHand(), list[datetime]()
    soon = NOON + timedelta(seconds=30)
    nursery.start_soon(wake_at, clock, soon, woken)
    await wait_all_tasks_blocked()
    clock.wall = NOON - timedelta(hours=1)
    mock_clock.jump(30)
    await wait_all_tasks_blocked()
    assert woken == []
    clock.wall = soon
    mock_clock.jump(STEP_SECONDS)
    await wait_all_tasks_blocked()
    assert woken == [soon]


async def test_the_hand_clock_stands_still_until_it_is_moved(nursery: trio.Nursery) -> None:
    clock, woken = HandClock(NOON), list[float]()
    nursery.start_soon(wake_after, clock, 30, woken)
    await clock.sleepers(1)
    clock.move(29)
    await wait_all_tasks_blocked()
    assert woken == []
    clock.move(1)
    await wait_all_tasks_blocked()
    assert woken == [30]
    assert clock.now() == NOON + timedelta(seconds=30)
    assert clock.monotonic() == 30


@pytest.mark.parametrize("order", [(1, 2, 3, 4), (4, 3, 2, 1), (2, 4, 1, 3)])
async def test_sleepers_wake_in_the_order_they_are_due(nursery: trio.Nursery, order: tuple[int, ...]) -> None:
    clock, woken = HandClock(NOON), list[float]()
    for count, seconds in enumerate(order, start=1):
        nursery.start_soon(wake_after, clock, seconds, woken)
        await clock.sleepers(count)
    clock.move(10)
    await wait_all_tasks_blocked()
    assert woken == [1, 2, 3, 4]


async def test_setting_the_hand_clock_moves_the_wall_only(nursery: trio.Nursery) -> None:
    clock, at, after = HandClock(NOON), list[datetime](), list[float]()
    tomorrow = NOON + timedelta(days=1)
    nursery.start_soon(wake_at, clock, tomorrow, at)
    nursery.start_soon(wake_after, clock, 30, after)
    await clock.sleepers(2)
    clock.set(NOON - timedelta(days=1))
    await clock.sleepers(2)
    clock.set(tomorrow)
    await wait_all_tasks_blocked()
    assert at == [tomorrow]
    assert after == []
    assert clock.now() == tomorrow
    assert clock.monotonic() == 0
    clock.move(30)


async def test_a_cancelled_sleeper_is_forgotten_and_the_next_still_wakes(nursery: trio.Nursery) -> None:
    clock, woken = HandClock(NOON), list[float]()
    with trio.CancelScope() as scope:
        async with trio.open_nursery() as cancelled:
            cancelled.start_soon(clock.sleep, 1)
            nursery.start_soon(wake_after, clock, 2, woken)
            await clock.sleepers(2)
            clock.move(2)  # the first is due, and cancelled before it runs
            scope.cancel()
    await wait_all_tasks_blocked()
    assert woken == [2]


async def test_a_woken_sleeper_is_not_counted_until_it_sleeps_again(nursery: trio.Nursery) -> None:
    clock, rounds = HandClock(NOON), list[datetime]()

    async def loop() -> None:
        for _ in range(2):
            await clock.sleep(60)
            rounds.append(clock.now())

    nursery.start_soon(loop)
    for _ in range(2):
        await clock.sleepers(1)
        clock.move(60)
    await wait_all_tasks_blocked()
    assert rounds == [NOON + timedelta(minutes=1), NOON + timedelta(minutes=2)]
