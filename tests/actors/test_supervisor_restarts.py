"""The supervisor: who is restarted when, and what goes up."""

from collections.abc import Callable

import pytest

from actors.supervisor import (
    Backoff,
    Child,
    Exited,
    GaveUp,
    GivingUp,
    Restart,
    Restarting,
    Started,
    Strategy,
    unwrap,
)
from tests.actors.tree import Actor, Fenced, Tree, Trouble, child, living


def deep(error: Exception) -> Exception:
    return ExceptionGroup("outer", [ExceptionGroup("inner", [error])])


def beside(error: Exception) -> Exception:
    return ExceptionGroup("both", [Trouble(), error])


def bare(error: Exception) -> Exception:
    return error


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
    tree = Tree(child("a", actor, restart))
    async with living(tree):
        await actor.end(error)
        assert tree.told() == [Exited("a", error), *([Restarting("a", 1)] if again else [])]
        await tree.pass_time(1)
        assert actor.lives == (2 if again else 1)
        assert await tree.supervisor.remove("a") is again  # else it is forgotten


async def test_one_for_one_leaves_the_others_alone() -> None:
    first, second = Actor(), Actor()
    tree = Tree(child("a", first), child("b", second))
    async with living(tree):
        await first.end(Trouble())
        await tree.pass_time(1)
        assert (first.lives, second.lives) == (2, 1)


async def test_while_one_child_rests_another_is_restarted() -> None:
    first, second = Actor(), Actor()
    tree = Tree(child("a", first), child("b", second))
    async with living(tree):
        for seconds in (1, 2):
            await first.end(Trouble())
            await tree.pass_time(seconds)
        await first.end(Trouble())  # rests for 4 s
        await second.end(Trouble())
        await tree.pass_time(1)
        assert (first.lives, second.lives) == (3, 2)


async def test_rest_for_one_stops_the_later_ones_in_reverse_and_starts_them_again_in_order() -> None:
    trouble, actors = Trouble(), [Actor() for _ in "abcd"]
    tree = Tree(*map(child, "abcd", actors), strategy=Strategy.REST_FOR_ONE)
    async with living(tree):
        await actors[1].end(trouble)
        assert tree.told() == [Exited("b", trouble), Restarting("b", 1), Exited("d", None), Exited("c", None)]
        await tree.pass_time(1)
        assert tree.told() == [Started("b"), Started("c"), Started("d")]


async def test_rest_for_one_forgets_a_temporary_child_that_it_stopped() -> None:
    actors = [Actor() for _ in "abc"]
    tree = Tree(
        child("a", actors[0]),
        child("b", actors[1], Restart.TEMPORARY),
        child("c", actors[2], Restart.TRANSIENT),
        strategy=Strategy.REST_FOR_ONE,
    )
    async with living(tree):
        await actors[0].end(Trouble())
        await tree.pass_time(1)
        assert [actor.lives for actor in actors] == [2, 1, 2]


async def test_rest_for_one_starts_nobody_before_the_one_it_may_lean_on_is_up_again() -> None:
    actors = [Actor() for _ in "ab"]
    tree = Tree(*map(child, "ab", actors), strategy=Strategy.REST_FOR_ONE)
    async with living(tree):
        await actors[0].end(Trouble())
        await tree.pass_time(1)
        await actors[1].end(Trouble())  # due in 1 s
        await actors[0].end(Trouble())  # due in 2 s
        tree.told()
        await tree.pass_time(1)
        assert tree.told() == []
        await tree.pass_time(1)
        assert tree.told() == [Started("a"), Started("b")]


async def test_both_of_two_crashes_at_once_are_restarted_in_order() -> None:
    actors = [Actor() for _ in "ab"]
    tree = Tree(*map(child, "ab", actors), strategy=Strategy.REST_FOR_ONE)
    async with living(tree):
        actors[0].ask_to_stop(Trouble())
        await actors[1].end(Trouble())
        tree.told()
        await tree.pass_time(1)
        assert tree.told() == [Started("a"), Started("b")]


async def test_a_transient_child_that_ended_in_peace_as_another_crashed_is_not_started_again() -> None:
    actors = [Actor() for _ in "ab"]
    tree = Tree(child("a", actors[0]), child("b", actors[1], Restart.TRANSIENT), strategy=Strategy.REST_FOR_ONE)
    async with living(tree):
        actors[1].ask_to_stop()
        await actors[0].end(Trouble())
        await tree.pass_time(1)
        assert [actor.lives for actor in actors] == [2, 1]


async def test_the_rest_doubles_with_each_failure_up_to_a_maximum_and_starts_over_after_a_good_time() -> None:
    actor = Actor()
    tree = Tree(child("a", actor), restarts_max=9)
    rests: list[float] = []

    async def fail() -> None:
        await actor.end(Trouble())
        rests.extend(event.seconds for event in tree.told() if isinstance(event, Restarting))
        await tree.pass_time(rests[-1])

    async with living(tree):
        for _ in range(5):
            await fail()
        await tree.pass_time(60)
        await fail()
    assert rests == [1, 2, 4, 4, 4, 1]
    assert Backoff(base_seconds=1, max_seconds=300).seconds(10_000) == 300


async def test_a_restart_that_fails_to_start_is_one_more_failure() -> None:
    again = Trouble("still no database")
    actor = Actor()
    tree = Tree(child("a", actor))
    async with living(tree):
        actor.cannot_start = again
        await actor.end(None)
        await tree.pass_time(1)
        assert tree.told() == [Exited("a", None), Restarting("a", 1), Exited("a", again), Restarting("a", 2)]
        await tree.pass_time(2)
        assert tree.told() == [Started("a")]


# -- giving up, and what goes up


async def test_past_the_limit_it_stops_the_others_and_gives_up_with_the_last_error() -> None:
    trouble, actor = Trouble("disk full"), Actor()
    tree = Tree(child("a", actor), child("b", Actor()), restarts_max=1)
    async with living(tree):
        await actor.end(Trouble())
        await tree.pass_time(1)
        tree.told()
        await actor.end(trouble)
        assert isinstance(tree.error, GaveUp)  # by itself, before it is cancelled
    assert tree.told() == [Exited("a", trouble), GivingUp("a", trouble), Exited("b", None)]
    assert tree.error.child == "a"
    assert tree.error.__cause__ is trouble
    assert str(tree.error) == "a failed too often (2 within 60 s), the last time: disk full"


async def test_a_child_that_just_keeps_ending_is_given_up_too() -> None:
    actor = Actor()
    tree = Tree(child("a", actor), restarts_max=0)
    async with living(tree):
        await actor.end()
    assert isinstance(tree.error, GaveUp)
    assert tree.error.__cause__ is None
    assert str(tree.error) == "a failed too often (1 within 60 s), the last time: it just ended"


async def test_a_trouble_that_hits_every_child_once_ends_nobody() -> None:
    actors = [Actor() for _ in "abcd"]
    tree = Tree(*map(child, "abcd", actors), restarts_max=1)
    async with living(tree):
        for actor in actors:
            await actor.end(Trouble())
        await tree.pass_time(1)
        assert [actor.lives for actor in actors] == [2, 2, 2, 2]


@pytest.mark.parametrize("wrap", [bare, deep, beside])
@pytest.mark.parametrize("restart", list(Restart))
async def test_a_fatal_error_goes_straight_up_as_it_is(
    restart: Restart, wrap: Callable[[Exception], Exception]
) -> None:
    fenced, actor = Fenced("another writes now"), Actor()
    tree = Tree(child("a", Actor()), child("b", actor, restart))
    async with living(tree):
        await actor.end(wrap(fenced))
        assert tree.error is fenced
        assert tree.told()[-1] == Exited("a", None)


async def test_a_restart_that_fails_with_a_fatal_error_goes_straight_up() -> None:
    fenced, actor = Fenced(), Actor()
    tree = Tree(child("a", actor))
    async with living(tree):
        actor.cannot_start = fenced
        await actor.end(Trouble())
        await tree.pass_time(1)
        assert tree.error is fenced


async def test_of_several_fatal_errors_the_first_goes_up_alone() -> None:
    fenced, first, second = Fenced(), Actor(), Actor()
    tree = Tree(Child(name="a", start=first.start, ask_to_stop=lambda: first.ask_to_stop(Fenced())), child("b", second))
    async with living(tree):
        await second.end(fenced)
        assert tree.error is fenced


async def test_a_fatal_error_of_a_child_being_stopped_for_another_goes_up() -> None:
    fenced, first, second = Fenced(), Actor(), Actor()
    tree = Tree(
        child("a", first),
        Child(name="b", start=second.start, ask_to_stop=lambda: second.ask_to_stop(fenced)),
        strategy=Strategy.REST_FOR_ONE,
    )
    async with living(tree):
        await first.end(Trouble())
        assert tree.error is fenced


async def test_an_error_out_of_a_childs_own_nursery_is_told_as_itself() -> None:
    trouble, actor = Trouble(), Actor()
    tree = Tree(child("a", actor))
    async with living(tree):
        await actor.end(deep(trouble))
        assert tree.told()[0] == Exited("a", trouble)


def test_a_group_of_one_is_that_one_and_a_group_of_several_stays() -> None:
    trouble = Trouble()
    both = beside(trouble)
    assert unwrap(trouble) is trouble
    assert unwrap(deep(trouble)) is trouble
    assert unwrap(ExceptionGroup("outer", [both])) is both
