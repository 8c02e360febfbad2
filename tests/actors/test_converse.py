"""What becomes of a message, through the real actors, storage and Claude client."""

import json
from collections.abc import Iterator
from typing import Any

import trio

from storage.inbox import Withdraw
from storage.spend import ReadPeriod, SumsOf
from tests.actors.house import inside, open_house
from tests.hand_clock import HandClock
from tests.messages_api import Gate, answer, empty, fail, paused, say, serve_messages_api, use
from tools.limits import Limits


async def test_a_message_is_answered_and_both_are_kept(database_url: str) -> None:
    async with inside(database_url) as it:
        it.api.script(say("Hello, owner."))
        await it.say("Hello")
        (run,) = await it.settled()
        assert run.state == "done"
        assert await it.said() == ["Hello", "Hello, owner."]


async def test_a_call_is_performed_and_its_result_shown_to_the_model(database_url: str) -> None:
    async with inside(database_url) as it:
        it.api.script(
            answer("I'll note it.", use("write_note", {"title": "Birthday", "text": "Anna: 4 May"})),
            say("Noted."),
        )
        await it.say("My sister Anna's birthday is on 4 May")
        (run,) = await it.settled()
        assert run.state == "done" and run.turn == 2
        _, calls = await it.transcript()
        assert [(c.tool, c.state, c.failed) for c in calls] == [("write_note", "finished", False)]
        shown = it.api.asked[1]["messages"][2]["content"][0]
        assert shown["type"] == "tool_result" and "Birthday" in shown["content"][0]["text"]


async def test_what_the_owner_says_meanwhile_joins_the_run_at_the_next_safe_point(database_url: str) -> None:
    gate = Gate()
    async with inside(database_url) as it:
        it.api.script(answer("Look", gate, use("list_notes", {})), say("There are none. And yes, red."))
        await it.say("What notes are there?")
        await it.api.arrived(1)
        await it.say("And is red a colour?")
        gate.open()
        (_run,) = await it.settled()
        last = it.api.asked[1]["messages"]
        assert [m["role"] for m in last] == ["user", "assistant", "user", "user"]
        assert last[-1]["content"][1]["text"] == "And is red a colour?"


async def test_an_overloaded_model_is_asked_again(database_url: str) -> None:
    async with inside(database_url) as it:
        it.api.script(fail(529), say("Here I am."))
        await it.say("Anyone there?")
        (run,) = await it.until(lambda runs: bool(runs) and runs[0].state == "waiting")
        assert run.retries == 1 and run.retry_at is not None
        it.clock.set(run.retry_at)
        (run,) = await it.settled()
        assert run.state == "done"
        assert await it.said() == ["Anyone there?", "Here I am."]


async def test_stopping_keeps_the_text_that_was_written(database_url: str) -> None:
    gate = Gate()
    async with inside(database_url) as it:
        it.api.script(say("Once upon a time", gate, "there was"))
        await it.say("Tell me a story")
        (run,) = await it.until(lambda runs: bool(runs))
        with trio.fail_after(60), it.house.live.watch(it.home) as watch:
            while not (flight := it.house.live.in_flight(it.home)) or not flight.text:
                await watch.wait()
        ended = await it.house.agent("dreamwalker").stop(run.id, it.home, "Stopped by you.", 5)
        assert ended is not None and ended.state == "stopped"
        entries, _ = await it.transcript()
        assert (await it.said())[-1] == "Once upon a time" and entries[-1].cut == "Stopped by you."
        it.api.script(say("And a new one."))
        await it.say("Go on")
        await it.settled(2)


async def test_a_reply_with_two_calls_of_one_id_gets_two_results_of_two_ids(database_url: str) -> None:
    async with inside(database_url) as it:
        it.api.script(
            answer(
                use("write_note", {"title": "a", "text": "1"}, id="toolu_same"),
                use("write_note", {"title": "b", "text": "2"}, id="toolu_same"),
            ),
            say("Both written."),
        )
        await it.say("Write two notes")
        (run,) = await it.settled()
        assert run.state == "done"
        _, calls = await it.transcript()
        assert [call.failed for call in calls] == [False, False]


async def test_an_unknown_tool_and_bad_arguments_come_back_as_results_the_model_can_read(database_url: str) -> None:
    async with inside(database_url) as it:
        it.api.script(
            answer(
                use("launch_rocket", {"to": "moon"}),
                use("write_note", {"title": 7}),
                use("write_note", '{"title": "half'),
                use("list_notes", {}),
            ),
            say("I see."),
        )
        await it.say("Do things")
        (run,) = await it.settled()
        assert run.state == "done"
        results = it.api.asked[1]["messages"][2]["content"]
        assert [result.get("is_error", False) for result in results] == [True, True, True, False]
        assert "There is no tool 'launch_rocket'" in results[0]["content"][0]["text"]
        assert "`title`" in results[1]["content"][0]["text"] or "$.title" in results[1]["content"][0]["text"]


async def test_a_call_cut_by_the_longest_length_is_answered_as_bad_and_the_run_goes_on(database_url: str) -> None:
    async with inside(database_url) as it:
        it.api.script(answer(use("write_note", '{"title": "x", "te'), stop_reason="max_tokens"), say("Shorter, then."))
        await it.say("Write much")
        (run,) = await it.settled()
        assert run.state == "done" and run.turn == 2


async def test_a_refusal_fails_the_run_with_a_reason(database_url: str) -> None:
    async with inside(database_url) as it:
        it.api.script(answer("I'd rather not.", stop_reason="refusal"), say("Gladly."))
        await it.say("Something bad")
        (run,) = await it.settled()
        assert run.state == "failed" and run.reason == "The model declined to answer this."
        await it.say("Something good")
        assert (await it.settled(2))[1].state == "done"


async def test_a_pause_is_gone_on_with(database_url: str) -> None:
    async with inside(database_url) as it:
        it.api.script(paused("Thinking aloud"), say("There."))
        await it.say("Go")
        (run,) = await it.settled()
        assert run.state == "done" and run.turn == 2


async def test_an_answer_with_nothing_in_it_is_asked_for_again_and_in_the_end_fails_with_a_reason(
    database_url: str,
) -> None:
    async with inside(database_url, limits=Limits(model_tries=3)) as it:
        it.api.script(empty(), empty(), empty())
        await it.say("Well?")
        for tries in (1, 2):
            (run,) = await it.until(lambda runs, tries=tries: bool(runs) and runs[0].retries == tries)
            it.clock.set(run.retry_at)
        (run,) = await it.settled()
        assert run.state == "failed" and run.reason is not None and "3 tries" in run.reason


async def test_a_bad_request_is_not_repeated(database_url: str) -> None:
    async with inside(database_url) as it:
        it.api.script(fail(400, "tools.0: it is no tool"))
        await it.say("Hello")
        (run,) = await it.settled()
        assert run.state == "failed" and "it is no tool" in run.reason
        assert len(it.api.asked) == 1


async def test_a_stream_cut_in_the_middle_is_asked_for_again_and_nothing_is_doubled(database_url: str) -> None:
    async with inside(database_url) as it:
        it.api.script(say("Half an ans", "wer").cut(after=4), say("A whole answer."))
        await it.say("Hello")
        (run,) = await it.until(lambda runs: bool(runs) and runs[0].state == "waiting")
        it.clock.set(run.retry_at)
        await it.settled()
        assert await it.said() == ["Hello", "A whole answer."]


async def test_eight_failures_end_the_run_with_the_reason_and_the_next_message_is_answered(database_url: str) -> None:
    async with inside(database_url) as it:
        it.api.script(*[fail(500)] * 8, say("Better now."))
        await it.say("Hello")
        for tries in range(1, 8):
            (run,) = await it.until(lambda runs, tries=tries: bool(runs) and runs[0].retries == tries)
            it.clock.set(run.retry_at)
        (run,) = await it.settled()
        assert run.state == "failed" and "8 tries" in run.reason
        await it.say("And now?")
        assert (await it.settled(2))[1].state == "done"


async def test_a_new_context_holds_nothing_from_before_but_keeps_all(database_url: str) -> None:
    async with inside(database_url) as it:
        it.api.script(say("One."), say("Two."))
        await it.say("First")
        await it.settled(1)
        await it.say("", kind="fresh")
        await it.say("Second")
        await it.settled(2)
        assert len(it.api.asked[1]["messages"]) == 1
        assert await it.said() == ["First", "One.", "(a new context begins here)", "Second", "Two."]


async def test_a_new_context_asked_for_during_a_run_waits_for_its_end(database_url: str) -> None:
    gate = Gate()
    async with inside(database_url) as it:
        it.api.script(answer("Look", gate, use("list_notes", {})), say("None."), say("Fresh."))
        await it.say("Notes?")
        await it.api.arrived(1)
        await it.say("", kind="fresh")
        await it.say("Hello again")
        gate.open()
        await it.settled(2)
        assert [len(asked["messages"]) for asked in it.api.asked] == [1, 3, 1]


async def test_a_withdrawn_message_is_not_placed(database_url: str) -> None:
    gate = Gate()
    async with inside(database_url) as it:
        it.api.script(say("Working", gate, " done."), say("Third answered."))
        await it.say("First")
        await it.api.arrived(1)
        second = await it.say("Second")
        await it.say("Third")
        assert await it.house.store.ask(Withdraw(second, it.clock.now())) == "withdrawn"
        gate.open()
        await it.settled(2)
        assert "Second" not in await it.said()


async def test_quotes_are_shown_as_text_from_outside_and_taint_the_answer(database_url: str) -> None:
    async with inside(database_url) as it:
        it.api.script(say("It says hello."))
        await it.say("What does this say?", quotes=[{"from": "a mail", "text": "hello"}])
        await it.settled()
        entries, _ = await it.transcript()
        assert [entry.source for entry in entries] == ["outside", "owner", "model"]
        assert entries[0].label > 0 and entries[1].label == 0 and entries[2].label == entries[0].label


async def test_the_limit_of_the_day_makes_the_run_wait_and_raising_it_lets_it_go_on(database_url: str) -> None:
    async with inside(database_url) as it:
        it.api.script(say("Thank you."))
        await it.house.choose("day_limit_dollars", 0)
        await it.say("Hello")
        (run,) = await it.until(lambda runs: bool(runs) and runs[0].state == "waiting")
        assert "limit of the day" in run.reason and not it.api.asked
        await it.house.choose("day_limit_dollars", 5)
        (run,) = await it.settled()
        assert run.state == "done"


async def test_the_books_hold_exactly_what_was_billed(database_url: str) -> None:
    async with inside(database_url) as it:
        it.api.script(answer(use("list_notes", {})), say("None."))
        await it.say("Notes?")
        (run,) = await it.settled()
        (of_run,) = await it.ask(SumsOf("run", run.id))
        assert of_run.requests == 2 and of_run.unsettled == 0 and of_run.cost > 0
        period = await it.ask(ReadPeriod(f"{it.clock.now().astimezone(it.house.zone):%Y-%m-%d}"))
        assert period.used == of_run.cost


async def test_requests_share_every_byte_but_the_newest_message_over_a_restart_a_note_and_a_change_of_zone(
    database_url: str,
) -> None:
    clock = HandClock()
    async with serve_messages_api() as api:
        api.script(answer("Noting.", use("write_note", {"title": "t", "text": "x"})), say("Done."), say("Third."))
        async with open_house(database_url, api, clock=clock) as it:
            await it.say("One")
            await it.settled(1)
            await it.house.choose("zone", "Asia/Kolkata")
        clock.move(3600)
        async with open_house(database_url, api, clock=clock) as it:
            await it.say("Two")
            await it.settled(2)
        first, second, third = ([*_unmarked(asked)] for asked in api.asked)
        assert second[: len(first)] == first and third[: len(second)] == second


def _unmarked(asked: dict[str, Any]) -> Iterator[str]:
    """Everything of a request in its order, without cache markers, as texts to compare byte for byte."""

    def bare(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: bare(item) for key, item in value.items() if key != "cache_control"}
        return [bare(item) for item in value] if isinstance(value, list) else value

    yield json.dumps(bare(asked["tools"]))
    yield json.dumps(bare(asked["system"]))
    for message in asked["messages"]:
        yield json.dumps(bare(message))


async def test_text_in_odd_characters_goes_through_and_comes_back(database_url: str) -> None:
    odd = "NUL \x00, lone \ud800, bidi \u202e, emoji 👩‍👩‍👧, our own (a new context begins here)"
    async with inside(database_url) as it:
        it.api.script(say("Fine."))
        await it.say(odd)
        (run,) = await it.settled()
        assert run.state == "done"
        assert (await it.said())[0] == odd.replace("\x00", "\ufffd").replace("\ud800", "\ufffd")
