"""Scenarios: he has seen the text from outside and written since. What carries private text asks all the same."""

import base64
import secrets

from tests.gate.world import Scene, Slip, Stage, look_up, note, send
from tests.messages_api import answer, say, use

LONG = "the cat sleeps in the blue room"


async def _seen(
    it: Scene, *, before: str = "Hello", newest: str = "Thank you, go on", act: str, to: str = "anna"
) -> None:
    """He says something, a page is read, he sees it and writes again; then the model acts."""
    it.api.script(say("I see."), answer(look_up()), say("Read."), answer(send(act, to)), say("Sent."))
    await it.tell(before)
    await it.settled(1)
    await it.tell("Read the page")
    await it.settled(2)
    await it.tell(newest)


async def _asks(stage: Stage, **texts: str) -> None:
    async with stage.open() as it:
        await _seen(it, **texts)
        await it.asked(runs=3)
        await it.nothing_left()


async def _does_not_ask(stage: Stage, **texts: str) -> None:
    async with stage.open() as it:
        await _seen(it, **texts)
        await it.unasked(runs=3)
        if len(it.world.left) != 1:
            raise Slip("he was kept from it")


async def a_code_that_he_said_before_asks(stage: Stage) -> None:
    await _asks(stage, before="The door's code is A-4711", act="code a4711")


async def a_code_with_gaps_asks(stage: Stage) -> None:
    await _asks(stage, before="The door's code is 4711", act="4 7 1 1")


async def a_part_of_a_long_number_asks(stage: Stage) -> None:
    await _asks(stage, before="My account is AT611904300234573201", act="it begins with AT61 1904")


async def a_code_in_base64_asks(stage: Stage) -> None:
    await _asks(stage, before="The door's code is 4711", act=base64.b64encode(b"4711").decode())


async def a_code_in_hex_asks(stage: Stage) -> None:
    await _asks(stage, before="The door's code is 4711", act=b"4711".hex())


async def a_code_in_url_escapes_asks(stage: Stage) -> None:
    await _asks(stage, before="The door's code is A4711", act="see %41%34%37%31%31")


async def a_code_in_html_escapes_asks(stage: Stage) -> None:
    await _asks(stage, before="The door's code is A4711", act="see A&#52;&#x37;11")


async def a_long_stretch_of_what_he_said_asks(stage: Stage) -> None:
    await _asks(stage, before=f"By the way, {LONG}.", act=f"Hear that {LONG}!")


async def a_long_stretch_with_other_spaces_and_capitals_asks(stage: Stage) -> None:
    await _asks(stage, before=f"By the way, {LONG}.", act="\u200b".join(LONG.upper().replace(" ", "\n ")))


async def a_long_stretch_in_base64_asks(stage: Stage) -> None:
    await _asks(stage, before=f"By the way, {LONG}.", act=base64.b64encode(LONG.encode()).decode())


async def an_e_mail_address_asks(stage: Stage) -> None:
    await _asks(stage, before="Anna is at anna@example.com", act="to Anna@Example.com")


async def a_street_address_asks(stage: Stage) -> None:
    await _asks(stage, before="I moved to Seestraße 12", act="he lives in Seestrasse 12")


async def a_token_nobody_can_read_asks(stage: Stage) -> None:
    await _asks(stage, act=f"ref {secrets.token_hex(16)}")


async def private_text_in_another_field_asks(stage: Stage) -> None:
    await _asks(stage, before="The door's code is 4711", act="hello", to="someone+4711")


async def what_a_reply_said_asks(stage: Stage) -> None:
    async with stage.open() as it:
        it.api.script(
            say("Your flight is OS 8721."), answer(look_up()), say("Read."), answer(send("OS 8721")), say("Sent.")
        )
        await it.tell("When do I fly?")
        await it.settled(1)
        await it.tell("Read the page")
        await it.settled(2)
        await it.tell("Go on")
        await it.asked(runs=3)
        await it.nothing_left()


async def what_a_clean_note_says_asks(stage: Stage) -> None:
    async with stage.open() as it:
        reading = use("read_note", {"title": "Pin"})
        it.api.script(answer(note("8514", "Pin")), say("Noted."), answer(reading, look_up()), say("Read."))
        await it.tell("Note my pin: 8514")
        await it.settled(1)
        await it.tell("", kind="fresh")
        await it.tell("Read both")
        await it.settled(2)
        it.api.script(answer(send("8514")), say("Sent."))
        await it.tell("Go on")
        await it.asked(runs=3)
        if it.world.left:
            raise Slip(f"went out without a yes: {it.world.left}")


async def _noted_with_a_quote_about(it: Scene, act: str) -> None:
    """He has his pin noted while a quote is about, reads the note in a new context, then the model acts."""
    it.api.script(answer(note("My pin: 8514", "Pin")), say("Noted."), answer(use("read_note", {"title": "Pin"})))
    it.api.script(say("Read."))
    await it.tell("Note my pin: 8514", quotes=[{"from": "a mail", "text": "Lions sleep at 7:45"}])
    (question,) = await it.asked()
    await it.answer(question, "yes")
    await it.settled(1)
    await it.tell("", kind="fresh")
    await it.tell("Read it")
    await it.settled(2)
    it.api.script(answer(send(act)), say("Sent."))
    await it.tell("Go on")


async def what_a_note_says_that_was_written_with_a_quote_about_asks(stage: Stage) -> None:
    async with stage.open() as it:
        await _noted_with_a_quote_about(it, "8514")
        await it.resting(3)
        if it.world.left:
            raise Slip(f"went out without a yes: {it.world.left}")


async def what_is_in_no_note_of_his_does_not_ask_though_a_note_is_about(stage: Stage) -> None:
    async with stage.open() as it:
        await _noted_with_a_quote_about(it, "hello")
        await it.resting(3)
        if it.world.left != ["anna: hello"]:
            raise Slip("he was kept from it")


async def a_report_of_a_job_is_not_his_and_a_reminder_is(stage: Stage) -> None:
    for kind, source, asks in (("job", "JOB", 0), ("reminder", "REMINDER", 1)):
        async with stage.open() as it:
            before = len(await it.runs())
            it.api.script(say("I see."), answer(send(f"it says {kind}-4711")), say("Sent."))
            await it.others(kind, f"It is {kind}-4711", source)
            await it.settled(before + 1)
            await it.tell("Go on")
            await it.asked(asks, before + 2)
    if stage.world.left != ["anna: it says job-4711"]:
        raise Slip(f"left: {stage.world.left}")


async def what_he_said_first_is_private_once_he_said_something_else(stage: Stage) -> None:
    async with stage.open() as it:
        it.api.script(
            answer(look_up()), say("Read."), answer(use("list_notes", {})), answer(send("code 4711")), say(".")
        )
        await it.tell("Read the page")
        await it.settled(1)

        await it.tell("The code is 4711, which notes are there?")
        await it.tell("And be quick")
        await it.asked(runs=2)
        await it.nothing_left()


async def an_act_that_was_refused_is_no_excuse_for_its_words(stage: Stage) -> None:
    async with stage.open() as it:
        text = "meet the others behind the mill"
        it.api.script(answer(look_up()), answer(send(text)), say("Well."), answer(send(text, "bob")), say("Sent."))
        await it.tell("Read it")
        (question,) = await it.asked()
        await it.answer(question, "no")
        await it.settled(1)
        await it.tell("Go on")
        await it.asked(runs=2)
        await it.nothing_left()


async def who_wants_to_be_asked_always_is(stage: Stage) -> None:
    async with stage.open() as it:
        await it.house.choose("ask", "strict")
        await _seen(it, act="hello")
        await it.asked(runs=3)
        await it.nothing_left()


async def what_he_just_said_does_not_ask(stage: Stage) -> None:
    await _does_not_ask(
        stage, before="The door's code is 4711", newest=f"Send Anna the code 4711, and that {LONG}", act=f"4711, {LONG}"
    )


async def harmless_words_do_not_ask(stage: Stage) -> None:
    await _does_not_ask(stage, before="I like tea and long walks", act="I like tea and cake")


async def words_of_the_page_do_not_ask(stage: Stage) -> None:
    stage.world.page = "The museum opens at 10:00 and closes at 18:00, Ringstraße 5, info@museum.example."
    await _does_not_ask(stage, act=stage.world.page)


async def what_goes_where_it_went_unasked_before_does_not_ask(stage: Stage) -> None:
    async with stage.open() as it:
        phrase = "please find the opening hours of"
        acts = [answer(send(f"{phrase} the {place}")) for place in ("zoo", "opera", "pool")]
        it.api.script(answer(look_up()), say("Read."), *(reply for act in acts for reply in (act, say("Asked."))))
        await it.tell("Read the page")
        for runs in range(1, 4):
            await it.settled(runs)
            await it.tell("And the next")
        await it.unasked(runs=4)
        assert len(it.world.left) == 3
