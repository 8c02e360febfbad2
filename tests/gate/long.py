"""Scenarios: a long conversation was summed up. What came from outside is in the summary, and no question is lost."""

import json

import attrs

from tests.gate.world import PAGE, Slip, Stage, look_up, note, send
from tests.messages_api import Gate, answer, say
from tools.limits import Limits

SHORT = Limits(compact_at_tokens=500, recent_tokens=0, words_tokens=150)
"""A page is more than fits: after it all is summed up, but for what he said last."""
LONG_PAGE = PAGE * 25


async def a_page_that_was_summed_up_asks(stage: Stage) -> None:
    stage.world.page = LONG_PAGE
    async with stage.open(limits=SHORT) as it:
        it.api.script(answer(look_up()), say("The page says: buy."), answer(send()), say("Sent."))
        await it.tell("Read it")
        await it.asked()
        await it.nothing_left()


async def it_asks_after_a_restart_too(stage: Stage) -> None:
    gate = Gate()
    stage.world.page = LONG_PAGE
    async with stage.open(limits=SHORT) as it:
        it.api.script(answer(look_up()), say("The page says: buy."), say("I think", gate, "…"))
        await it.tell("Read it")
        await it.api.arrived(3)
    stage.api.script(answer(send()), say("Sent."))
    async with stage.open(limits=SHORT) as it:
        await it.asked()
        await it.nothing_left()


async def he_is_told_that_the_summary_holds_text_from_outside(stage: Stage) -> None:
    stage.world.page = LONG_PAGE
    async with stage.open(limits=SHORT) as it:
        it.api.script(answer(look_up()), say("The page says: buy."), answer(send()), say("Sent."))
        await it.tell("Read it")
        (question,) = await it.asked()
        if not any("summed up" in source["what"] for source in json.loads(question.why)["outside"]):
            raise Slip(f"he is not told where the text from outside is: {question.why}")


async def a_code_that_only_the_summary_holds_asks(stage: Stage) -> None:
    stage.world.page = LONG_PAGE
    async with stage.open(limits=attrs.evolve(SHORT, words_tokens=0)) as it:
        it.api.script(say("I see."), answer(look_up()), say("His code is A-4711."), say("Read."))
        await it.tell("The door's code is A-4711")
        await it.settled(1)
        await it.tell("Read the page")
        await it.settled(2)
        it.api.script(answer(send("code a4711")), say("Sent."))
        await it.tell("Thank you, go on")
        await it.asked(runs=3)
        await it.nothing_left()


async def his_newest_words_cover_what_he_had_seen_before_them_though_it_was_summed_up(stage: Stage) -> None:
    stage.world.page = LONG_PAGE
    async with stage.open(limits=SHORT) as it:
        it.api.script(answer(look_up()), say("The page says: buy."), say("Read."))
        await it.tell("Read it")
        await it.settled(1)
        it.api.script(answer(send()), say("Sent."))
        await it.tell("Greet Anna")
        await it.unasked(runs=2)
        if len(it.world.left) != 1:
            raise Slip("he was kept from it")


async def what_he_wrote_before_the_page_does_not_cover_its_summary(stage: Stage) -> None:
    stage.world.page = LONG_PAGE
    async with stage.open(limits=attrs.evolve(SHORT, words_tokens=0)) as it:
        it.api.script(answer(look_up()), say("The page says: buy."), answer(note()), say("Noted."))
        await it.tell("Read it", seen=2**62)
        await it.asked()
        await it.nothing_left()


async def a_second_summary_of_the_first_asks(stage: Stage) -> None:
    stage.world.page = LONG_PAGE
    async with stage.open(limits=SHORT) as it:
        it.api.script(answer(look_up()), say("The page says: buy."), say("Read."))
        await it.tell("Read it")
        await it.settled(1)
        before = it.house.store.commit_no
        stage.world.page = "A dull page. " * 150
        it.api.script(answer(look_up()), say("One page says buy, the other is dull."), answer(send()), say("Sent."))
        await it.tell("And this one", seen=before)
        await it.asked(runs=2)
        await it.nothing_left()


async def a_summary_without_anything_from_outside_asks_nothing(stage: Stage) -> None:
    async with stage.open(limits=SHORT) as it:
        it.api.script(say("I see."), say("He told me a long story."), answer(send("A-4711")), say("Sent."))
        await it.tell("The code is A-4711. " * 90)
        await it.settled(1)
        await it.tell("Send Anna the code")
        await it.unasked(runs=2)
        if len(it.world.left) != 1:
            raise Slip("he was kept from it")
