"""Whose turn it is, and who is told that he waits in vain."""

import math

import pytest
import trio
import trio.testing

from storage.errors import StoreBusy
from storage.queue import PATIENCE_SECONDS, Queue, Unit


async def work() -> None:
    """What it is does not matter here."""


def put(queue: Queue, *, patient: bool = False) -> Unit:
    unit = Unit(work, None, patient=patient)
    queue.put(unit)
    return unit


async def test_what_nobody_waits_for_goes_last_until_it_has_waited_for_long(
    mock_clock: trio.testing.MockClock,
) -> None:
    queue = Queue(math.inf)
    patient, other = put(queue, patient=True), put(queue)
    assert queue.take() == [other]
    assert queue.take() == [patient]
    patient = put(queue, patient=True)
    mock_clock.jump(PATIENCE_SECONDS * 0.9)
    assert queue.take() == [patient] and not queue
    patient, other = put(queue, patient=True), put(queue)
    mock_clock.jump(PATIENCE_SECONDS * 1.1)
    assert queue.take() == [patient]
    assert queue.take() == [other] and not queue


async def test_who_waits_too_long_is_told_so_and_who_waits_for_less_is_not(
    mock_clock: trio.testing.MockClock,
) -> None:
    queue, told = Queue(10), list[Unit]()

    async def wait(unit: Unit) -> None:
        await queue.wait_for(unit, bounded=True)
        if isinstance(unit.error, StoreBusy):
            told.append(unit)

    async with trio.open_nursery() as nursery:
        first = put(queue)
        nursery.start_soon(wait, first)
        await trio.testing.wait_all_tasks_blocked()
        mock_clock.jump(6)
        second, third = put(queue), put(queue)
        nursery.start_soon(wait, second)
        nursery.start_soon(lambda: queue.wait_for(third, bounded=False))
        await trio.testing.wait_all_tasks_blocked()
        assert queue.tell_late() == pytest.approx(4)
        mock_clock.jump(4)
        assert queue.tell_late() == pytest.approx(6)
        await trio.testing.wait_all_tasks_blocked()
        assert told == [first] and first.given_up and not second.done.is_set()
        first.finish("late")  # it had begun, and nobody hears of it any more
        assert queue.take() == [] and queue.take() == [second]
        second.finish()
        mock_clock.jump(100)
        await trio.testing.wait_all_tasks_blocked()
        assert queue.tell_late() is None and not third.done.is_set()
        third.finish()
    assert told == [first]
