"""Scenarios: what a question is bound to, and what does not answer it."""

import attrs

from tests.gate.world import Scene, Slip, Stage, look_up, note, send
from tests.messages_api import answer, say, use
from tools.limits import Limits

WEEK_SECONDS = 7 * 86_400


async def _up_to_the_question(it: Scene, *acts: object, after: str = "Done.") -> None:
    it.api.script(answer(look_up()), answer(*(acts or (send(),))), say(after))  # type: ignore[arg-type]
    await it.tell("Read it")


async def yes_in_words_answers_nothing(stage: Stage) -> None:
    async with stage.open() as it:
        await _up_to_the_question(it, after="It waits for you.")
        await it.asked()
        await it.tell("Yes, do it!")
        await it.settled(1)
        await it.asked()
        await it.nothing_left()


async def the_same_act_after_yes_in_words_points_at_the_open_question(stage: Stage) -> None:
    async with stage.open() as it:
        it.api.script(answer(look_up()), answer(send("hi")), answer(send("hi")), say("It waits for you."))
        await it.tell("Read it")
        (question,) = await it.asked()
        await it.tell("Yes!")
        await it.settled(1)
        await it.asked()
        await it.nothing_left()
        _, calls = await it.transcript()
        assert calls[-1].result is not None and f"question {question.id}" in calls[-1].result


async def the_same_act_twice_in_one_reply_is_one_question(stage: Stage) -> None:
    async with stage.open() as it:
        await _up_to_the_question(it, send("hi"), send("hi"))
        (question,) = await it.asked()
        await it.answer(question, "yes")
        await it.settled(1)
        if it.world.left != ["anna: hi"]:
            raise Slip(f"went out: {it.world.left}")


async def what_is_not_plainly_yes_is_no(stage: Stage) -> None:
    for words in ("", " ", "YES please", "ja", "y", "1", "yes\nno"):
        async with stage.open() as it:
            runs = len(await it.runs())
            await it.tell("", kind="fresh")
            await _up_to_the_question(it)
            (question,) = await it.asked(runs=runs + 1)
            await it.answer(question, words)
            await it.settled(runs + 1)
            await it.nothing_left()


async def no_means_that_nothing_is_done(stage: Stage) -> None:
    async with stage.open() as it:
        await _up_to_the_question(it, send(), note())
        for question in await it.asked(2):
            await it.answer(question, "no")
        await it.settled(1)
        await it.nothing_left()


async def after_two_refusals_the_exits_close(stage: Stage) -> None:
    async with stage.open() as it:
        it.api.script(
            answer(look_up()), answer(send("one")), answer(send("two")), answer(send("three"), note()), say("I stop.")
        )
        await it.tell("Read it")
        for _ in range(2):
            (question,) = await it.asked()
            await it.answer(question, "no")
        await it.settled(1)
        await it.asked(0)
        await it.nothing_left()


async def refusals_before_a_restart_count(stage: Stage) -> None:
    async with stage.open() as it:
        it.api.script(answer(look_up()), answer(send("one"), send("two"), send("three")))
        await it.tell("Read it")
        for question in (await it.asked(3))[:2]:
            await it.answer(question, "no")
    stage.api.script(answer(send("four")), say("I stop."))
    async with stage.open() as it:
        (question,) = await it.asked()
        await it.answer(question, "yes")
        await it.settled(1)
        if it.world.left != ["anna: three"]:
            raise Slip(f"went out: {it.world.left}")


async def a_note_that_was_written_meanwhile_is_not_overwritten(stage: Stage) -> None:
    async with stage.open() as it:
        await _up_to_the_question(it, note("buy everything"), after="Later.")
        (question,) = await it.asked()
        await it.tell("Never mind")
        await it.settled(1)
        await it.tell("", kind="fresh")
        it.api.script(answer(note("milk")), say("Noted."), say("I see."))
        await it.tell("Note for shopping: milk")
        await it.settled(2)
        answered = await it.answer(question, "yes")
        assert answered.question.state == "changed"
        if await it.notes() != {"Shopping": "milk"}:
            raise Slip("the yes was to another version of the note")


async def a_newer_question_about_the_same_note_takes_the_place_of_the_older(stage: Stage) -> None:
    async with stage.open() as it:
        it.api.script(answer(look_up()), answer(note("five")), answer(look_up()), answer(note("six")), say("Noted."))
        await it.tell("Read it")
        (older,) = await it.asked()
        await it.tell("Read it again, it has changed")
        await it.until(lambda runs: runs[0].turn == 4)
        (newer,) = await it.asked()
        assert (await it.answer(older, "yes")).question.state == "superseded"
        await it.nothing_left()
        await it.answer(newer, "yes")
        await it.settled(1)
        assert await it.notes() == {"Shopping": "six"}


async def a_stopped_run_takes_its_questions_with_it(stage: Stage) -> None:
    async with stage.open() as it:
        await _up_to_the_question(it)
        (question,) = await it.asked()
        await it.stop()
        assert (await it.answer(question, "yes")).question.state == "stopped"
        await it.nothing_left()


async def at_seven_days_and_a_minute_a_yes_is_too_late(stage: Stage) -> None:
    async with stage.open() as it:
        await _up_to_the_question(it)
        (question,) = await it.asked()
    stage.clock.move(WEEK_SECONDS + 60)
    async with stage.open() as it:
        assert (await it.answer(question, "yes")).question.state == "expired"
        await it.settled(1)
        await it.nothing_left()


async def a_week_and_three_restarts_later_a_yes_still_does_what_was_shown(stage: Stage) -> None:
    async with stage.open() as it:
        await _up_to_the_question(it, send("hi"), note("tea"))
        sending, writing = await it.asked(2)
    for _ in range(3):
        stage.clock.move(WEEK_SECONDS / 3 - 1)
        async with stage.open() as it:
            await it.asked(2)
            await it.nothing_left()
    async with stage.open() as it:
        await it.answer(writing, "yes")
        await it.answer(sending, "yes")
        await it.settled(1)
        if it.world.left != ["anna: hi"] or await it.notes() != {"Shopping": "tea"}:
            raise Slip(f"went out: {it.world.left}")


async def a_late_yes_is_carried_out_by_a_run_of_its_own_exactly_once(stage: Stage) -> None:
    async with stage.open() as it:
        await _up_to_the_question(it, send("hi"), after="Later.")
        (question,) = await it.asked()
        await it.tell("Never mind")
        await it.settled(1)
        await it.nothing_left()
        it.api.script(say("It is sent."))
        for _ in range(3):
            await it.answer(question, "yes")
        asking, acting = await it.settled(2)
        if it.world.left != ["anna: hi"]:
            raise Slip(f"went out: {it.world.left}")
        assert acting.act == asking.act and acting.turn == 1


async def only_the_bytes_that_were_shown_run(stage: Stage) -> None:
    async with stage.open() as it:
        odd = '{"text": "a\\u202eb", "to":   "anna", "text": "the last one counts"}'
        await _up_to_the_question(it, use("send", odd))
        (question,) = await it.asked()
        assert question.act == '{"to":"anna","text":"the last one counts"}'
        await it.answer(question, "yes")
        await it.settled(1)
        if it.world.left != ["anna: the last one counts"]:
            raise Slip(f"went out: {it.world.left}")


async def no_more_than_so_many_questions_are_open(stage: Stage) -> None:
    async with stage.open(limits=attrs.evolve(Limits(), questions_open=3)) as it:
        await _up_to_the_question(it, *(send(f"{number}") for number in range(8)))
        await it.asked(3)
        await it.nothing_left()


async def what_could_not_be_done_anyway_is_not_asked_about(stage: Stage) -> None:
    async with stage.open() as it:
        await _up_to_the_question(it, use("send", {"to": "anna"}), use("write_note", {"title": "", "text": "x"}))
        await it.unasked()
        await it.nothing_left()


async def an_untainted_owner_is_never_asked(stage: Stage) -> None:
    async with stage.open() as it:
        for number in range(6):
            it.api.script(answer(note(f"text {number}"), send(f"code 471{number}")), answer(note("more")), say("Done."))
            await it.tell(f"Note and send 471{number}", seen=0)
            await it.settled(number + 1)
        await it.unasked(runs=6)
        assert len(it.world.left) == 6


async def an_owner_who_is_reminded_and_has_jobs_is_never_asked(stage: Stage) -> None:
    async with stage.open() as it:
        reminder = use("set_reminder", {"when": "in 20m", "text": "water the 12 plants"})
        job = use("make_job", {"title": "Eggs", "text": "Count the eggs.", "when": "every 2 hours"})
        it.api.script(answer(reminder, job, note()), say("All set."))
        await it.tell("Remind me of the 12 plants, and count the eggs", seen=0)
        await it.settled(1)
        it.api.script(answer(note("watered")), say("Time for the plants."))
        it.clock.move(1200)
        await it.settled(2)
        for number in (3, 4):
            it.api.script(say(f"{number} eggs."))
            it.clock.move(7200)
            await it.heard(f"{number} eggs.")
        it.api.script(answer(note("7 eggs"), use("list_jobs", {})), answer(send("7 eggs of 7000")), say("Done."))
        await it.tell("Note it and tell Anna", seen=0)
        await it.unasked(runs=3)
        assert it.world.left == ["anna: 7 eggs of 7000"]


async def an_exit_beside_the_source_has_not_seen_it(stage: Stage) -> None:
    async with stage.open() as it:
        it.api.script(answer(look_up(), send("hi")), say("Both done."))
        await it.tell("Read it and say hi")
        await it.unasked()
        assert it.world.left == ["anna: hi"]


async def a_new_context_is_clean(stage: Stage) -> None:
    async with stage.open() as it:
        it.api.script(answer(look_up()), say("Read."), answer(send("hi")), say("Sent."))
        await it.tell("Read it")
        await it.settled(1)
        await it.tell("", kind="fresh")
        await it.tell("Say hi to Anna", seen=0)
        await it.unasked(runs=2)
        assert it.world.left == ["anna: hi"]
