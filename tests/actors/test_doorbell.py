"""Messages that a ring brings along: placed without being read back, and once."""

import logging

import attrs
import pytest
import trio

from dreamwalker.house import MAIN_AGENT
from storage import inbox
from storage.text import dumps
from tests.actors.house import Inside, inside
from tests.messages_api import say
from tests.proxy import Request, open_proxy

ROUNDS = 20


def _reads_what_waits(request: Request) -> bool:
    return "placed_seq IS NULL AND withdrawn_at IS NULL ORDER BY accepted_no" in request.sql


async def _at_rest(it: Inside) -> None:
    actor = it.house.agent(MAIN_AGENT)
    assert actor is not None
    while actor.busy:
        await trio.lowlevel.checkpoint()


async def test_a_message_is_placed_without_being_read_back(database_url: str) -> None:
    async with open_proxy(database_url) as proxy, inside(proxy.url) as it:
        it.api.script(say("One."), say("Two."))
        await it.say("1")
        await it.settled(1)
        await _at_rest(it)
        readings = proxy.note(_reads_what_waits)
        await it.say("2")
        await it.settled(2)
        assert await it.said() == ["1", "One.", "2", "Two."]
        assert readings == []


async def test_a_ring_without_a_letter_reads_what_waits(database_url: str) -> None:
    async with open_proxy(database_url) as proxy, inside(proxy.url) as it:
        it.api.script(say("One."))
        await it.say("1")
        await it.settled(1)
        await _at_rest(it)
        readings = proxy.note(_reads_what_waits)
        actor = it.house.agent(MAIN_AGENT)
        assert actor is not None
        actor.hear(it.home)
        while not readings:
            await trio.lowlevel.checkpoint()


async def test_a_message_that_is_read_while_its_letter_comes_is_placed_once(
    database_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    async with inside(database_url) as it:
        it.api.script(*(say(f"{number}.") for number in range(ROUNDS)))
        actor = it.house.agent(MAIN_AGENT)
        assert actor is not None
        hear = actor.hear

        async def ring() -> None:
            hear(it.home)

        for number in range(ROUNDS):
            async with trio.open_nursery() as nursery:  # in an order that trio draws
                nursery.start_soon(it.say, str(number))
                nursery.start_soon(ring)
            await it.settled(number + 1)
        assert await it.said() == [text for number in range(ROUNDS) for text in (str(number), f"{number}.")]
        assert not [record for record in caplog.records if record.msg == "conversation.changed"]


@pytest.mark.parametrize("steps", range(8))
async def test_a_letter_that_comes_while_the_work_begins_is_not_lost(database_url: str, steps: int) -> None:
    async with inside(database_url) as it:
        it.api.answer_with(lambda _: say("Fine."))
        await it.say("1")
        await it.settled(1)
        await _at_rest(it)
        actor = it.house.agent(MAIN_AGENT)
        assert actor is not None
        letters = []
        for text in ("2", "3"):  # accepted, and nobody has rung yet
            id = it.house.store.next_id()
            accepted = inbox.accept(
                id=id,
                agent=MAIN_AGENT,
                conversation=it.home,
                source_key=f"request:{text}",
                digest="-",
                kind="owner",
                body=dumps({"text": text, "quotes": []}),
                outside=False,
                now=it.clock.now(),
            )
            number = await it.house.store.ask(attrs.evolve(accepted, bells=()))
            letters += [bell.letter(number) for bell in accepted.bells if bell.letter is not None]
        actor.hear(it.home, letters[0])
        for _ in range(steps):
            await trio.lowlevel.checkpoint()
        actor.hear(it.home, letters[1])
        await it.until(lambda runs: len(runs) > 1 and all(run.ended for run in runs))
        await _at_rest(it)
        assert [text for text in await it.said() if text != "Fine."] == ["1", "2", "3"]
