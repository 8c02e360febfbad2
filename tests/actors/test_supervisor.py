"""The supervisor: starting in order, stopping in reverse, and children that come and go."""

from typing import Any

import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from actors.mailbox import Mailbox, MailboxClosed, Unanswered
from actors.supervisor import Child, Exited, Restart, Restarting, Started, Strategy, unwrap
from tests.actors.tree import Actor, Tree, Trouble, child, living


async def never_up(*, task_status: trio.TaskStatus[object]) -> None:
    await trio.sleep_forever()


async def test_children_start_in_order_and_stop_in_reverse() -> None:
    tree = Tree(*(child(name, Actor()) for name in "abc"))
    async with trio.open_nursery() as nursery:
        await nursery.start(tree.run)
        assert tree.told() == [Started("a"), Started("b"), Started("c")]
        nursery.cancel_scope.cancel()
    assert tree.told() == [Exited("c", None), Exited("b", None), Exited("a", None)]
    assert nursery.cancel_scope.cancelled_caught
    assert tree.error is None


async def test_a_child_starts_only_once_the_one_before_it_is_up(nursery: trio.Nursery) -> None:
    opened, second = trio.Event(), Actor()

    async def slow(*, task_status: trio.TaskStatus[object]) -> None:
        await opened.wait()
        task_status.started()
        await trio.sleep_forever()

    nursery.start_soon(Tree(Child(name="a", start=slow), child("b", second)).run)
    await wait_all_tasks_blocked()
    assert second.lives == 0
    opened.set()
    await wait_all_tasks_blocked()
    assert second.lives == 1
    nursery.cancel_scope.cancel()


async def test_a_first_start_that_fails_goes_up_as_the_very_error_after_the_others_stopped() -> None:
    trouble, third = Trouble("no database"), Actor()
    tree = Tree(child("a", Actor()), child("b", Actor(cannot_start=trouble)), child("c", third))
    await tree.run()
    assert tree.error is trouble
    assert trouble.__context__ is None
    assert third.lives == 0
    assert tree.told() == [Started("a"), Exited("b", trouble), Exited("a", None)]


async def test_a_child_that_ends_without_coming_up_is_named() -> None:
    async def shy(*, task_status: trio.TaskStatus[object]) -> None:
        await trio.lowlevel.checkpoint()

    tree = Tree(Child(name="shy", start=shy))
    await tree.run()
    assert isinstance(tree.error, RuntimeError)
    assert str(tree.error) == "shy ended before it was up"


async def test_cancelling_during_the_start_stops_what_had_started_and_asks_nothing_of_one_not_up() -> None:
    asked: list[str] = []
    tree = Tree(child("a", Actor()), Child(name="b", start=never_up, ask_to_stop=lambda: asked.append("b")))
    async with trio.open_nursery() as nursery:
        nursery.start_soon(tree.run)
        await wait_all_tasks_blocked()
        nursery.cancel_scope.cancel()
    assert tree.told() == [Started("a"), Exited("b", None), Exited("a", None)]
    assert asked == []


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
            Tree(Child(name="a", start=stubborn, ask_to_stop=lambda: diary.append("asked"), stop_seconds=5)).run
        )
        nursery.cancel_scope.cancel()
        with trio.CancelScope(shield=True):
            await wait_all_tasks_blocked()
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

    tree = Tree(Child(name="a", start=plain, stop_seconds=1000))
    async with living(tree):
        pass
    assert tree.told() == [Exited("a", None)]


async def test_a_child_that_has_ended_by_itself_is_not_asked_any_more() -> None:
    first, second, asked = Actor(), Actor(), list[str]()

    def stop_both() -> None:
        first.ask_to_stop()
        second.ask_to_stop()

    tree = Tree(
        Child(name="a", start=first.start, ask_to_stop=lambda: asked.append("a")),
        Child(name="b", start=second.start, ask_to_stop=stop_both),
    )
    async with living(tree):
        pass
    assert asked == []


async def test_a_child_that_talks_to_its_supervisor_while_stopping_is_refused_at_once() -> None:
    stopping, refused = trio.Event(), list[Exception]()

    async def talker(*, task_status: trio.TaskStatus[object]) -> None:
        task_status.started()
        await stopping.wait()
        with pytest.raises(MailboxClosed) as raised:
            await tree.supervisor.remove("b")
        refused.append(raised.value)

    tree = Tree(Child(name="a", start=talker, ask_to_stop=stopping.set))
    async with living(tree):
        pass
    assert len(refused) == 1


async def test_an_actor_at_a_mailbox_stops_when_it_closes_and_lives_again_when_restarted() -> None:
    mailbox = Mailbox[int]("a", capacity=9, on_ring=int)

    async def actor(*, task_status: trio.TaskStatus[object]) -> None:
        with mailbox:
            task_status.started()
            async for key in mailbox:
                assert 1 // key

    tree = Tree(Child(name="a", start=actor, ask_to_stop=mailbox.close))
    async with living(tree):
        mailbox.ring(0)
        await wait_all_tasks_blocked()
        mailbox.ring(0)  # nobody lives, and nobody will hear it
        await tree.pass_time(1)
    exited, *others = tree.told()
    assert isinstance(exited, Exited)
    assert isinstance(exited.error, ZeroDivisionError)
    assert others == [Restarting("a", 1), Started("a"), Exited("a", None)]


async def test_a_supervisor_is_itself_a_child_and_starts_anew_with_its_first_children() -> None:
    first, added = Actor(), Actor()
    inner = Tree(child("first", first), restarts_max=0)
    outer = Tree(Child(name="inner", start=inner.supervisor.run))
    async with living(outer):
        await inner.supervisor.add(child("added", added))
        await first.end(Trouble())
        assert isinstance(outer.told()[0], Exited)
        await outer.pass_time(1)
        assert (first.lives, added.lives) == (2, 1)
    assert inner.told()[-1] == Exited("first", None)


async def test_an_interrupt_stops_every_child_and_goes_up() -> None:
    async def interrupted(*, task_status: trio.TaskStatus[object]) -> None:
        task_status.started()
        await trio.lowlevel.checkpoint()
        raise KeyboardInterrupt

    tree = Tree(child("a", Actor()), Child(name="b", start=interrupted))
    with pytest.raises(BaseExceptionGroup) as raised:
        await tree.run()
    assert isinstance(unwrap(raised.value), KeyboardInterrupt)
    assert tree.told()[-1] == Exited("a", None)


async def test_callbacks_that_fail_keep_nobody_from_stopping() -> None:
    def fail(*args: object) -> None:
        raise Trouble("no space left for logs")

    tree = Tree(Child(name="a", start=Actor().start, ask_to_stop=fail, stop_seconds=0), on_event=fail)
    async with living(tree):
        pass
    assert tree.error is None


async def test_an_added_child_is_up_when_add_returns_and_is_kept_like_the_others() -> None:
    actor = Actor()
    tree = Tree(child("a", Actor()))
    async with living(tree):
        await tree.supervisor.add(child("b", actor))
        assert tree.told() == [Started("b")]
        await actor.end(Trouble())
        await tree.pass_time(1)
        assert actor.lives == 2
    assert tree.told()[-2:] == [Exited("b", None), Exited("a", None)]


async def test_an_added_child_that_fails_to_start_is_its_adders_trouble_alone() -> None:
    trouble, first = Trouble(), Actor()
    tree = Tree(child("a", first))
    async with living(tree):
        with pytest.raises(Trouble) as raised:
            await tree.supervisor.add(child("b", Actor(cannot_start=trouble)))
        assert raised.value is trouble
        await tree.supervisor.add(child("b", Actor()))  # the name is free
        assert first.lives == 1


async def test_a_name_can_be_taken_once() -> None:
    with pytest.raises(ValueError, match="two children have one name: a, a"):
        Tree(child("a", Actor()), child("a", Actor()))
    tree = Tree(child("a", Actor()))
    async with living(tree):
        with pytest.raises(ValueError, match="there is a child named a already"):
            await tree.supervisor.add(child("a", Actor()))


async def test_a_child_added_behind_one_that_rests_starts_after_it(nursery: trio.Nursery) -> None:
    first, second = Actor(), Actor()
    tree = Tree(child("a", first), child("b", second), strategy=Strategy.REST_FOR_ONE)
    async with living(tree):
        await second.end(Trouble())
        nursery.start_soon(tree.supervisor.add, child("c", Actor(), Restart.TEMPORARY))
        await wait_all_tasks_blocked()
        await first.end(Trouble())  # which forgets no temporary child that was still to come
        tree.told()
        await tree.pass_time(1)
        assert tree.told() == [Started("a"), Started("b"), Started("c")]


async def test_an_adder_hears_that_its_child_was_removed_before_it_was_up(nursery: trio.Nursery) -> None:
    async def add() -> None:
        with pytest.raises(ValueError, match="b was removed before it was up"):
            await tree.supervisor.add(child("b", Actor()))

    first = Actor()
    tree = Tree(child("a", first), strategy=Strategy.REST_FOR_ONE)
    async with living(tree):
        await first.end(Trouble())
        nursery.start_soon(add)
        await wait_all_tasks_blocked()
        assert await tree.supervisor.remove("b")


async def test_a_removed_child_has_stopped_and_is_not_restarted() -> None:
    actor = Actor()
    tree = Tree(child("a", actor))
    async with living(tree):
        assert await tree.supervisor.remove("a")
        assert tree.told() == [Exited("a", None)]
        assert not await tree.supervisor.remove("a")
        await tree.pass_time(60)
        assert actor.lives == 1


async def test_a_child_removed_while_it_rests_stays_away() -> None:
    actor = Actor()
    tree = Tree(child("a", actor))
    async with living(tree):
        await actor.end(Trouble())
        assert await tree.supervisor.remove("a")
        await tree.pass_time(60)
        assert actor.lives == 1


async def test_adders_are_answered_when_the_supervisor_ends(nursery: trio.Nursery) -> None:
    errors: list[Exception] = []

    async def add(name: str, start: Any) -> None:
        with pytest.raises((Unanswered, MailboxClosed)) as raised:
            await tree.supervisor.add(Child(name=name, start=start))
        errors.append(raised.value)

    tree = Tree()
    async with living(tree):
        nursery.start_soon(add, "in hand", never_up)
        await wait_all_tasks_blocked()
        nursery.start_soon(add, "queued", never_up)
        await wait_all_tasks_blocked()
    nursery.start_soon(add, "late", never_up)
    await wait_all_tasks_blocked()
    assert sorted(type(error).__name__ for error in errors) == ["MailboxClosed", "MailboxClosed", "Unanswered"]


async def test_one_that_stops_answers_first_whom_it_is_to_wait_for() -> None:
    heard: list[Exception] = []

    async def employer(*, task_status: trio.TaskStatus[object]) -> None:
        task_status.started()
        with trio.CancelScope(shield=True):
            try:
                await tree.supervisor.add(Child(name="b", start=never_up))
            except Unanswered as error:
                heard.append(error)

    tree = Tree(Child(name="a", start=employer))
    with trio.fail_after(5):
        async with trio.open_nursery() as nursery:
            await nursery.start(tree.run)
            await wait_all_tasks_blocked()
            nursery.cancel_scope.cancel()
    assert len(heard) == 1
