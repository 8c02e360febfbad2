"""The supervisor: start in order, restart within a limit, stop in reverse, and what goes up."""

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any

import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from actors.mailbox import Mailbox, MailboxClosed, Unanswered
from actors.supervisor import (
    Backoff,
    Child,
    Event,
    Exited,
    GaveUp,
    GivingUp,
    Restart,
    Restarting,
    Started,
    Strategy,
    Supervisor,
    unwrap,
)
from tests.hand_clock import HandClock


class Trouble(Exception):
    """What an actor fails with."""


class Fenced(Exception):
    """What no restart can help."""


class Actor:
    """An actor whose lives a test ends as it likes."""

    def __init__(self, *, cannot_start: Sequence[Exception] = ()) -> None:
        self.lives = 0
        self._cannot_start = list(cannot_start)
        self._ending = trio.Event()
        self._error: Exception | None = None

    async def start(self, *, task_status: trio.TaskStatus[object]) -> None:
        await trio.lowlevel.checkpoint()
        if self._cannot_start:
            raise self._cannot_start.pop(0)
        self.lives += 1
        self._ending, self._error = trio.Event(), None
        task_status.started()
        await self._ending.wait()
        if self._error is not None:
            raise self._error

    async def end(self, error: Exception | None = None) -> None:
        """End its life and let the supervisor do what it does then."""
        self.ask_to_stop(error)
        await wait_all_tasks_blocked()

    def ask_to_stop(self, error: Exception | None = None) -> None:
        self._error = error
        self._ending.set()


class House:
    """A supervisor on a clock moved by hand, what it told, and the error it went up with."""

    def __init__(self, *children: Child, strategy: Strategy = Strategy.ONE_FOR_ONE, restarts_max: int = 3) -> None:
        self.clock = HandClock()
        self.events: list[Event] = []
        self.error: BaseException | None = None
        self.supervisor = Supervisor(
            children,
            strategy=strategy,
            restarts_max=restarts_max,
            within_seconds=60,
            backoff=Backoff(base_seconds=1, max_seconds=4),
            clock=self.clock,
            fatal=(Fenced,),
            on_event=self.events.append,
        )

    async def run(self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Run it, and keep what it raises."""
        try:
            await self.supervisor.run(task_status=task_status)
        except Exception as error:
            self.error = error

    def told(self) -> list[Event]:
        """What was told since last asked."""
        told, self.events[:] = list(self.events), []
        return told

    async def pass_time(self, seconds: float) -> None:
        self.clock.move(seconds)
        await wait_all_tasks_blocked()


@asynccontextmanager
async def living(house: House) -> AsyncIterator[None]:
    """The house from when it is up until it is cancelled; what it told on the way up is forgotten."""
    async with trio.open_nursery() as nursery:
        await nursery.start(house.run)
        house.told()
        yield
        nursery.cancel_scope.cancel()


def child(name: str, actor: Actor, restart: Restart = Restart.PERMANENT) -> Child:
    return Child(name=name, start=actor.start, restart=restart, ask_to_stop=actor.ask_to_stop, stop_seconds=5)


async def never_up(*, task_status: trio.TaskStatus[object]) -> None:
    await trio.sleep_forever()


# -- starting and stopping


async def test_children_start_in_order_and_stop_in_reverse() -> None:
    house = House(*(child(name, Actor()) for name in "abc"))
    async with trio.open_nursery() as nursery:
        await nursery.start(house.run)
        assert house.told() == [Started("a"), Started("b"), Started("c")]
        nursery.cancel_scope.cancel()
    assert house.told() == [Exited("c", None), Exited("b", None), Exited("a", None)]
    assert nursery.cancel_scope.cancelled_caught
    assert house.error is None


async def test_a_child_starts_only_once_the_one_before_it_is_up(nursery: trio.Nursery) -> None:
    opened, second = trio.Event(), Actor()

    async def slow(*, task_status: trio.TaskStatus[object]) -> None:
        await opened.wait()
        task_status.started()
        await trio.sleep_forever()

    nursery.start_soon(House(Child(name="a", start=slow), child("b", second)).run)
    await wait_all_tasks_blocked()
    assert second.lives == 0
    opened.set()
    await wait_all_tasks_blocked()
    assert second.lives == 1
    nursery.cancel_scope.cancel()


async def test_a_first_start_that_fails_goes_up_as_the_very_error_after_the_others_stopped() -> None:
    trouble, third = Trouble("no database"), Actor()
    house = House(child("a", Actor()), child("b", Actor(cannot_start=[trouble])), child("c", third))
    await house.run()
    assert house.error is trouble
    assert trouble.__context__ is None
    assert third.lives == 0
    assert house.told() == [Started("a"), Exited("b", trouble), Exited("a", None)]


async def test_a_child_that_ends_without_coming_up_is_named() -> None:
    async def shy(*, task_status: trio.TaskStatus[object]) -> None:
        await trio.lowlevel.checkpoint()

    house = House(Child(name="shy", start=shy))
    await house.run()
    assert isinstance(house.error, RuntimeError)
    assert str(house.error) == "shy ended before it was up"


async def test_cancelling_during_the_start_stops_what_had_started() -> None:
    house = House(child("a", Actor()), Child(name="b", start=never_up))
    async with trio.open_nursery() as nursery:
        nursery.start_soon(house.run)
        await wait_all_tasks_blocked()
        nursery.cancel_scope.cancel()
    assert house.told() == [Started("a"), Exited("b", None), Exited("a", None)]


async def test_a_child_is_asked_and_may_take_its_time_before_it_is_cancelled(mock_clock: MockClock) -> None:
    diary: list[str] = []

    async def stubborn(*, task_status: trio.TaskStatus[object]) -> None:
        task_status.started()
        try:
            await trio.sleep_forever()
        finally:
            diary.append("cancelled")

    async with trio.open_nursery() as nursery:
        await nursery.start(
            House(Child(name="a", start=stubborn, ask_to_stop=lambda: diary.append("asked"), stop_seconds=5)).run
        )
        nursery.cancel_scope.cancel()
        with trio.CancelScope(shield=True):
            mock_clock.jump(4)
            await wait_all_tasks_blocked()
            assert diary == ["asked"]
            mock_clock.jump(1)
            await wait_all_tasks_blocked()
    assert diary == ["asked", "cancelled"]


async def test_a_child_that_cannot_be_asked_is_cancelled_at_once() -> None:
    async def plain(*, task_status: trio.TaskStatus[object]) -> None:
        task_status.started()
        await trio.sleep_forever()

    house = House(Child(name="a", start=plain, stop_seconds=1000))
    async with living(house):
        pass
    assert house.told() == [Exited("a", None)]


async def test_an_actor_at_a_mailbox_stops_when_it_closes_and_lives_again_when_restarted() -> None:
    mailbox = Mailbox[int]("a", capacity=9, on_ring=int)
    seen: list[int] = []

    async def actor(*, task_status: trio.TaskStatus[object]) -> None:
        with mailbox:
            task_status.started()
            async for key in mailbox:
                seen.append(1 // key)

    house = House(Child(name="a", start=actor, ask_to_stop=mailbox.close))
    async with living(house):
        for key in (0, 1):
            mailbox.ring(key)
            await wait_all_tasks_blocked()
            await house.pass_time(1)
    assert seen == []  # the second ring came while nobody lived
    assert [type(event) for event in house.told()] == [Exited, Restarting, Started, Exited]


async def test_a_supervisor_is_itself_a_child_and_starts_anew_with_its_first_children() -> None:
    first, added = Actor(), Actor()
    inner = House(child("first", first), restarts_max=0)
    outer = House(Child(name="inner", start=inner.supervisor.run))
    async with living(outer):
        await inner.supervisor.add(child("added", added))
        await first.end(Trouble())
        assert isinstance(outer.told()[0], Exited)
        await outer.pass_time(1)
        assert (first.lives, added.lives) == (2, 1)
    assert inner.told()[-1] == Exited("first", None)


# -- restarting


@pytest.mark.parametrize(
    ("restart", "error", "again"),
    [
        (Restart.PERMANENT, None, True),
        (Restart.PERMANENT, Trouble(), True),
        (Restart.TRANSIENT, None, False),
        (Restart.TRANSIENT, Trouble(), True),
        (Restart.TEMPORARY, None, False),
        (Restart.TEMPORARY, Trouble(), False),
    ],
)
async def test_how_a_child_ended_and_its_kind_say_whether_it_is_restarted(
    restart: Restart, error: Exception | None, again: bool
) -> None:
    actor = Actor()
    house = House(child("a", actor, restart))
    async with living(house):
        await actor.end(error)
        assert house.told() == [Exited("a", error), *([Restarting("a", 1)] if again else [])]
        await house.pass_time(1)
        assert actor.lives == (2 if again else 1)
        assert await house.supervisor.remove("a") is again  # else it is forgotten


async def test_one_for_one_leaves_the_others_alone() -> None:
    first, second = Actor(), Actor()
    house = House(child("a", first), child("b", second))
    async with living(house):
        await first.end(Trouble())
        await house.pass_time(1)
        assert (first.lives, second.lives) == (2, 1)


async def test_while_one_child_rests_another_is_restarted() -> None:
    first, second = Actor(), Actor()
    house = House(child("a", first), child("b", second))
    async with living(house):
        for seconds in (1, 2):
            await first.end(Trouble())
            await house.pass_time(seconds)
        await first.end(Trouble())  # rests for 4 s
        await second.end(Trouble())
        await house.pass_time(1)
        assert (first.lives, second.lives) == (3, 2)


async def test_rest_for_one_stops_the_later_ones_in_reverse_and_starts_them_again_in_order() -> None:
    trouble, actors = Trouble(), [Actor() for _ in "abcd"]
    house = House(*map(child, "abcd", actors), strategy=Strategy.REST_FOR_ONE)
    async with living(house):
        await actors[1].end(trouble)
        assert house.told() == [Exited("b", trouble), Restarting("b", 1), Exited("d", None), Exited("c", None)]
        await house.pass_time(1)
        assert house.told() == [Started("b"), Started("c"), Started("d")]


async def test_rest_for_one_forgets_a_temporary_child_that_it_stopped() -> None:
    actors = [Actor() for _ in "abc"]
    house = House(
        child("a", actors[0]),
        child("b", actors[1], Restart.TEMPORARY),
        child("c", actors[2], Restart.TRANSIENT),
        strategy=Strategy.REST_FOR_ONE,
    )
    async with living(house):
        await actors[0].end(Trouble())
        await house.pass_time(1)
        assert [actor.lives for actor in actors] == [2, 1, 2]


async def test_rest_for_one_starts_nobody_before_the_one_it_may_lean_on_is_up_again() -> None:
    actors = [Actor() for _ in "ab"]
    house = House(*map(child, "ab", actors), strategy=Strategy.REST_FOR_ONE)
    async with living(house):
        await actors[0].end(Trouble())
        await house.pass_time(1)
        await actors[1].end(Trouble())  # due in 1 s
        await actors[0].end(Trouble())  # due in 2 s
        house.told()
        await house.pass_time(1)
        assert house.told() == []
        await house.pass_time(1)
        assert house.told() == [Started("a"), Started("b")]


async def test_both_of_two_crashes_at_once_are_restarted_in_order() -> None:
    actors = [Actor() for _ in "ab"]
    house = House(*map(child, "ab", actors), strategy=Strategy.REST_FOR_ONE)
    async with living(house):
        actors[0].ask_to_stop(Trouble())
        await actors[1].end(Trouble())
        house.told()
        await house.pass_time(1)
        assert house.told() == [Started("a"), Started("b")]


async def test_the_rest_doubles_with_each_failure_up_to_a_maximum_and_starts_over_after_a_good_time() -> None:
    actor = Actor()
    house = House(child("a", actor), restarts_max=9)
    rests: list[float] = []

    async def fail() -> None:
        await actor.end(Trouble())
        rests.extend(event.seconds for event in house.told() if isinstance(event, Restarting))
        await house.pass_time(rests[-1])

    async with living(house):
        for _ in range(5):
            await fail()
        await house.pass_time(60)
        await fail()
    assert rests == [1, 2, 4, 4, 4, 1]
    assert Backoff(base_seconds=1, max_seconds=300).seconds(10_000) == 300


async def test_a_restart_that_fails_to_start_is_one_more_failure() -> None:
    again = Trouble("still no database")
    actor = Actor()
    house = House(child("a", actor))
    async with living(house):
        actor._cannot_start = [again]
        await actor.end(None)
        await house.pass_time(1)
        assert house.told() == [Exited("a", None), Restarting("a", 1), Exited("a", again), Restarting("a", 2)]
        await house.pass_time(2)
        assert house.told() == [Started("a")]


# -- giving up, and what goes up


async def test_past_the_limit_it_stops_the_others_and_gives_up_with_the_last_error() -> None:
    trouble, actor = Trouble("disk full"), Actor()
    house = House(child("a", actor), child("b", Actor()), restarts_max=1)
    async with living(house):
        await actor.end(Trouble())
        await house.pass_time(1)
        house.told()
        await actor.end(trouble)
    assert house.told() == [Exited("a", trouble), GivingUp("a", trouble), Exited("b", None)]
    assert isinstance(house.error, GaveUp)
    assert house.error.child == "a"
    assert house.error.__cause__ is trouble
    assert str(house.error) == "a failed 2 times within 60 s, the last time: disk full"


async def test_a_child_that_just_keeps_ending_is_given_up_too() -> None:
    actor = Actor()
    house = House(child("a", actor), restarts_max=0)
    async with living(house):
        await actor.end()
    assert isinstance(house.error, GaveUp)
    assert house.error.__cause__ is None
    assert str(house.error) == "a failed 1 times within 60 s, the last time: it just ended"


async def test_a_trouble_that_hits_every_child_once_ends_nobody() -> None:
    actors = [Actor() for _ in "abcd"]
    house = House(*map(child, "abcd", actors), restarts_max=1)
    async with living(house):
        for actor in actors:
            await actor.end(Trouble())
        await house.pass_time(1)
        assert [actor.lives for actor in actors] == [2, 2, 2, 2]


def deep(error: Exception) -> Exception:
    return ExceptionGroup("outer", [ExceptionGroup("inner", [error])])


def beside(error: Exception) -> Exception:
    return ExceptionGroup("both", [Trouble(), error])


def bare(error: Exception) -> Exception:
    return error


@pytest.mark.parametrize("wrap", [bare, deep, beside])
@pytest.mark.parametrize("restart", list(Restart))
async def test_a_fatal_error_goes_straight_up_as_it_is(
    restart: Restart, wrap: Callable[[Exception], Exception]
) -> None:
    fenced, actor = Fenced("another writes now"), Actor()
    house = House(child("a", Actor()), child("b", actor, restart))
    async with living(house):
        await actor.end(wrap(fenced))
    assert house.error is fenced
    assert house.told()[-1] == Exited("a", None)


async def test_a_restart_that_fails_with_a_fatal_error_goes_straight_up() -> None:
    fenced, actor = Fenced(), Actor()
    house = House(child("a", actor))
    async with living(house):
        actor._cannot_start = [fenced]
        await actor.end(Trouble())
        await house.pass_time(1)
    assert house.error is fenced


async def test_of_many_fatal_errors_at_once_the_first_goes_up_alone() -> None:
    actors = [Actor() for _ in "abc"]
    house = House(*map(child, "abc", actors))
    async with living(house):
        for actor in actors[1:]:
            actor.ask_to_stop(Fenced())
        await actors[0].end(Fenced())
    assert isinstance(house.error, Fenced)


async def test_an_error_out_of_a_childs_own_nursery_is_told_as_itself() -> None:
    trouble, actor = Trouble(), Actor()
    house = House(child("a", actor))
    async with living(house):
        await actor.end(deep(trouble))
        assert house.told()[0] == Exited("a", trouble)


async def test_an_interrupt_stops_every_child_and_goes_up() -> None:
    async def interrupted(*, task_status: trio.TaskStatus[object]) -> None:
        task_status.started()
        await trio.lowlevel.checkpoint()
        raise KeyboardInterrupt

    house = House(child("a", Actor()), Child(name="b", start=interrupted))
    with pytest.raises(KeyboardInterrupt):
        await house.run()
    assert house.told()[-1] == Exited("a", None)


async def test_callbacks_that_fail_keep_nobody_from_stopping(mock_clock: MockClock) -> None:
    def fail(*args: Any) -> None:
        raise Trouble("no space left for logs")

    house = House(Child(name="a", start=Actor().start, ask_to_stop=fail, stop_seconds=0))
    house.supervisor._on_event = fail
    async with living(house):
        pass
    assert house.error is None


# -- coming and going


async def test_an_added_child_is_up_when_add_returns_and_is_kept_like_the_others() -> None:
    actor = Actor()
    house = House(child("a", Actor()))
    async with living(house):
        await house.supervisor.add(child("b", actor))
        assert house.told() == [Started("b")]
        await actor.end(Trouble())
        await house.pass_time(1)
        assert actor.lives == 2
    assert house.told()[-2:] == [Exited("b", None), Exited("a", None)]


async def test_an_added_child_that_fails_to_start_is_its_adders_trouble_alone() -> None:
    trouble, first = Trouble(), Actor()
    house = House(child("a", first))
    async with living(house):
        with pytest.raises(Trouble) as raised:
            await house.supervisor.add(child("b", Actor(cannot_start=[trouble])))
        assert raised.value is trouble
        await house.supervisor.add(child("b", Actor()))  # the name is free
        assert first.lives == 1


async def test_a_name_can_be_taken_once() -> None:
    with pytest.raises(ValueError, match="two children have one name: a, a"):
        House(child("a", Actor()), child("a", Actor()))
    house = House(child("a", Actor()))
    async with living(house):
        with pytest.raises(ValueError, match="there is a child named a already"):
            await house.supervisor.add(child("a", Actor()))


async def test_a_child_added_behind_one_that_rests_starts_after_it(nursery: trio.Nursery) -> None:
    first = Actor()
    house = House(child("a", first), strategy=Strategy.REST_FOR_ONE)
    async with living(house):
        await first.end(Trouble())
        house.told()
        nursery.start_soon(house.supervisor.add, child("b", Actor(), Restart.TEMPORARY))
        await wait_all_tasks_blocked()
        assert house.told() == []
        await house.pass_time(1)
        assert house.told() == [Started("a"), Started("b")]


async def test_an_adder_hears_that_its_child_was_removed_before_it_was_up(nursery: trio.Nursery) -> None:
    async def add() -> None:
        with pytest.raises(ValueError, match="b was removed before it was up"):
            await house.supervisor.add(child("b", Actor()))

    first = Actor()
    house = House(child("a", first), strategy=Strategy.REST_FOR_ONE)
    async with living(house):
        await first.end(Trouble())
        nursery.start_soon(add)
        await wait_all_tasks_blocked()
        assert await house.supervisor.remove("b")


async def test_a_removed_child_has_stopped_and_is_not_restarted() -> None:
    actor = Actor()
    house = House(child("a", actor))
    async with living(house):
        assert await house.supervisor.remove("a")
        assert house.told() == [Exited("a", None)]
        assert not await house.supervisor.remove("a")
        await house.pass_time(60)
        assert actor.lives == 1


async def test_a_child_removed_while_it_rests_stays_away() -> None:
    actor = Actor()
    house = House(child("a", actor))
    async with living(house):
        await actor.end(Trouble())
        assert await house.supervisor.remove("a")
        await house.pass_time(60)
        assert actor.lives == 1


async def test_adders_are_answered_when_the_supervisor_ends(nursery: trio.Nursery) -> None:
    errors: list[Exception] = []

    async def add(name: str, start: Any) -> None:
        with pytest.raises((Unanswered, MailboxClosed)) as raised:
            await house.supervisor.add(Child(name=name, start=start))
        errors.append(raised.value)

    house = House()
    async with living(house):
        nursery.start_soon(add, "in hand", never_up)
        await wait_all_tasks_blocked()
        nursery.start_soon(add, "queued", never_up)
        await wait_all_tasks_blocked()
    nursery.start_soon(add, "late", never_up)
    await wait_all_tasks_blocked()
    assert sorted(type(error).__name__ for error in errors) == ["MailboxClosed", "MailboxClosed", "Unanswered"]


def test_a_group_of_one_is_that_one_and_a_group_of_several_stays() -> None:
    trouble = Trouble()
    both = beside(trouble)
    assert unwrap(trouble) is trouble
    assert unwrap(deep(trouble)) is trouble
    assert unwrap(ExceptionGroup("outer", [both])) is both
