"""The mailbox: post, ask, ring, close, and that nobody waits for ever."""

import math

import attrs
import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from actors.mailbox import AskTimedOut, Mailbox, MailboxClosed, MailboxFull, Reply, Unanswered


@attrs.frozen
class Note:
    text: str


@attrs.frozen(kw_only=True)
class Double:
    number: int
    reply: Reply[int]


@attrs.frozen
class Look:
    key: int


Message = Note | Double | Look


class Trouble(Exception):
    """What an actor crashes with."""


@pytest.fixture
def mailbox() -> Mailbox[Message]:
    return Mailbox[Message]("the clerk", capacity=3, on_ring=Look)


async def clerk(mailbox: Mailbox[Message]) -> None:
    """Doubles numbers until its mailbox closes; crashes on the note "crash"."""
    with mailbox:
        async for message in mailbox:
            match message:
                case Double(number=number, reply=reply):
                    reply.send(number * 2)
                case Note("crash"):
                    raise Trouble("a bad note")


async def drained(mailbox: Mailbox[Message]) -> list[Message]:
    """Everything that waits, taken in order."""
    mailbox.post(Note("last"))
    seen: list[Message] = []
    with mailbox:
        async for message in mailbox:
            if message == Note("last"):
                mailbox.close()
            else:
                seen.append(message)
    return seen


async def doubled(mailbox: Mailbox[Message], number: int, timeout_seconds: float = math.inf) -> int:
    return await mailbox.ask(lambda reply: Double(number=number, reply=reply), timeout_seconds)


async def refused(mailbox: Mailbox[Message], number: int, errors: list[Exception]) -> None:
    """Ask and keep the error that answers."""
    with pytest.raises(Exception) as raised:
        await doubled(mailbox, number)
    errors.append(raised.value)


async def test_messages_are_read_in_the_order_they_were_posted(mailbox: Mailbox[Message]) -> None:
    mailbox.post(Note("one"))
    mailbox.post(Note("two"))
    assert await drained(mailbox) == [Note("one"), Note("two")]


async def test_a_message_past_the_capacity_is_refused_and_those_before_it_stay(mailbox: Mailbox[Message]) -> None:
    small = Mailbox[Message]("the clerk", capacity=1)
    small.post(Note("one"))
    with pytest.raises(MailboxFull, match="the clerk is busy: its queue of 1 is full"):
        small.post(Note("two"))
    with small:
        assert await anext(small) == Note("one")
        small.post(Note("three"))
        assert await anext(small) == Note("three")


async def test_an_idle_actor_wakes_for_a_post(mailbox: Mailbox[Message]) -> None:
    seen: list[Message] = []

    async def actor() -> None:
        with mailbox:
            seen.append(await anext(mailbox))

    async with trio.open_nursery() as nursery:
        nursery.start_soon(actor)
        await wait_all_tasks_blocked()
        mailbox.post(Note("one"))
    assert seen == [Note("one")]


async def test_an_asker_gets_what_the_actor_sends(mailbox: Mailbox[Message], nursery: trio.Nursery) -> None:
    nursery.start_soon(clerk, mailbox)
    assert await doubled(mailbox, 21) == 42
    mailbox.close()


async def test_an_asker_gets_the_very_error_that_the_actor_fails_it_with(mailbox: Mailbox[Message]) -> None:
    trouble, errors = Trouble("not today"), list[Exception]()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(refused, mailbox, 1, errors)
        with mailbox:
            message = await anext(mailbox)
            assert isinstance(message, Double)
            message.reply.fail(trouble)
            message.reply.send(2)  # too late, the first answer counts
    assert errors == [trouble]


async def test_an_asker_past_the_capacity_is_refused_at_once(mailbox: Mailbox[Message]) -> None:
    for text in "abc":
        mailbox.post(Note(text))
    with pytest.raises(MailboxFull):
        await doubled(mailbox, 1)


async def test_a_crash_answers_the_asker_in_hand_and_those_in_the_queue_differently(mailbox: Mailbox[Message]) -> None:
    in_hand, queued = list[Exception](), list[Exception]()
    async with trio.open_nursery() as nursery:
        with pytest.raises(Trouble):
            with mailbox:
                nursery.start_soon(refused, mailbox, 1, in_hand)
                await anext(mailbox)
                nursery.start_soon(refused, mailbox, 2, queued)
                await wait_all_tasks_blocked()
                raise Trouble("a bad day")
    for error, kind, said in (
        (in_hand[0], Unanswered, "the clerk stopped before it answered"),
        (queued[0], MailboxClosed, "the clerk has stopped"),
    ):
        assert type(error) is kind
        assert str(error) == said
        assert isinstance(error.__cause__, Trouble)


async def test_a_cancelled_actor_answers_its_asker_without_blaming_an_error(mailbox: Mailbox[Message]) -> None:
    errors = list[Exception]()
    async with trio.open_nursery() as nursery:
        with trio.CancelScope() as scope:
            with mailbox:
                nursery.start_soon(refused, mailbox, 1, errors)
                await anext(mailbox)
                scope.cancel()
                await trio.sleep_forever()
    assert type(errors[0]) is Unanswered
    assert errors[0].__cause__ is None


async def test_an_actor_that_ends_in_peace_leaves_no_asker_waiting(mailbox: Mailbox[Message]) -> None:
    errors = list[Exception]()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(refused, mailbox, 1, errors)
        with mailbox:
            await anext(mailbox)
    assert type(errors[0]) is Unanswered


async def test_closing_answers_those_in_the_queue_and_lets_the_actor_answer_the_one_in_hand(
    mailbox: Mailbox[Message],
) -> None:
    errors, answers = list[Exception](), list[int]()

    async def asker() -> None:
        answers.append(await doubled(mailbox, 4))

    async with trio.open_nursery() as nursery:
        nursery.start_soon(asker)
        with mailbox:
            async for message in mailbox:
                nursery.start_soon(refused, mailbox, 5, errors)
                await wait_all_tasks_blocked()
                mailbox.close(Trouble("moving house"))
                await wait_all_tasks_blocked()
                assert type(errors[0]) is MailboxClosed
                assert isinstance(errors[0].__cause__, Trouble)
                assert isinstance(message, Double)
                message.reply.send(8)
    assert answers == [8]
    assert len(errors) == 1


async def test_closing_ends_an_idle_actor(mailbox: Mailbox[Message]) -> None:
    async with trio.open_nursery() as nursery:
        nursery.start_soon(clerk, mailbox)
        await wait_all_tasks_blocked()
        mailbox.close()


async def test_closing_drops_what_was_posted(mailbox: Mailbox[Message]) -> None:
    seen: list[Message] = []
    for text in "abc":
        mailbox.post(Note(text))
    with mailbox:
        async for message in mailbox:
            seen.append(message)
            mailbox.close()
    assert seen == [Note("a")]


async def test_a_closed_mailbox_refuses_posts_and_asks_but_swallows_rings(mailbox: Mailbox[Message]) -> None:
    mailbox.close(Trouble("moving house"))
    with pytest.raises(MailboxClosed, match="the clerk has stopped") as refusal:
        mailbox.post(Note("one"))
    assert isinstance(refusal.value.__cause__, Trouble)
    with pytest.raises(MailboxClosed):
        await doubled(mailbox, 1)
    mailbox.ring(1)


async def test_the_next_life_of_an_actor_opens_its_mailbox_anew_and_empty(mailbox: Mailbox[Message]) -> None:
    mailbox.post(Note("crash"))
    mailbox.post(Note("lost with the crash"))
    mailbox.ring(7)
    with pytest.raises(Trouble):
        await clerk(mailbox)
    with mailbox:
        mailbox.ring(7)
        assert await anext(mailbox) == Look(7)


async def test_a_time_out_answers_the_asker_and_a_late_answer_goes_nowhere(
    mailbox: Mailbox[Message], mock_clock: MockClock
) -> None:
    errors = list[Exception]()

    async def asker() -> None:
        with pytest.raises(AskTimedOut, match="the clerk did not answer within 5 s") as raised:
            await doubled(mailbox, 1, timeout_seconds=5)
        errors.append(raised.value)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(asker)
        with mailbox:
            message = await anext(mailbox)
            mock_clock.jump(5)
            await wait_all_tasks_blocked()
            assert len(errors) == 1
            assert isinstance(message, Double)
            message.reply.send(2)


async def test_a_queued_question_whose_asker_has_gone_is_withdrawn(
    mailbox: Mailbox[Message], mock_clock: MockClock, nursery: trio.Nursery
) -> None:
    with trio.CancelScope() as cancelled:
        async with trio.open_nursery() as askers:
            askers.start_soon(doubled, mailbox, 1)
            await wait_all_tasks_blocked()
            cancelled.cancel()

    async def asker() -> None:
        with pytest.raises(AskTimedOut):
            await doubled(mailbox, 2, timeout_seconds=5)

    async with trio.open_nursery() as askers:
        askers.start_soon(asker)
        await wait_all_tasks_blocked()
        mock_clock.jump(5)
    assert await drained(mailbox) == []


async def test_rings_of_one_key_coalesce_and_keep_the_order_of_the_first(mailbox: Mailbox[Message]) -> None:
    for key in (2, 1, 2, 2, 1):
        mailbox.ring(key)
    assert await drained(mailbox) == [Look(2), Look(1)]


async def test_rings_and_posts_are_read_in_the_order_they_came(mailbox: Mailbox[Message]) -> None:
    mailbox.post(Note("one"))
    mailbox.ring(1)
    mailbox.post(Note("two"))
    mailbox.ring(1)
    assert await drained(mailbox) == [Note("one"), Look(1), Note("two")]


async def test_a_ring_during_the_work_on_an_earlier_one_is_heard_again(mailbox: Mailbox[Message]) -> None:
    mailbox.ring(1)
    with mailbox:
        assert await anext(mailbox) == Look(1)
        mailbox.ring(1)
        assert await anext(mailbox) == Look(1)


async def test_rings_are_never_refused_and_take_no_room_from_posts() -> None:
    mailbox = Mailbox[Message]("the clerk", capacity=2, on_ring=Look)
    mailbox.post(Note("one"))
    for key in range(5):
        mailbox.ring(key)
    assert await drained(mailbox) == [Note("one"), *map(Look, range(5))]


async def test_a_cancelled_reader_loses_no_message(mailbox: Mailbox[Message]) -> None:
    with trio.CancelScope() as scope:
        with mailbox:
            mailbox.post(Note("one"))
            scope.cancel()
            with pytest.raises(trio.Cancelled):
                await anext(mailbox)
            with trio.CancelScope(shield=True):
                assert await anext(mailbox) == Note("one")


async def test_a_mailbox_is_read_only_where_its_end_is_noticed(mailbox: Mailbox[Message]) -> None:
    mailbox.post(Note("one"))
    with pytest.raises(RuntimeError, match="inside `with mailbox:`"):
        await anext(mailbox)


async def test_a_second_actor_at_one_mailbox_is_refused(mailbox: Mailbox[Message]) -> None:
    with mailbox, pytest.raises(RuntimeError, match="the clerk already has an actor"):
        with mailbox:
            pass
    with pytest.raises(MailboxClosed):
        mailbox.post(Note("one"))


async def test_an_actor_without_a_message_for_rings_cannot_be_rung() -> None:
    with pytest.raises(TypeError, match="the clerk has no message for a ring"):
        Mailbox[Message]("the clerk", capacity=1).ring(1)
