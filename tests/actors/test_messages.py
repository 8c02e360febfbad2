"""Messages between agents: asked and handed off, once whatever happens, and never round and round."""

from typing import Any

import attrs
import trio

from storage import inbox
from storage.operation import Read, Reader
from storage.questions import ListQuestions
from storage.records import Worker
from storage.workers import AtWork, WorkersOfRun
from tests.actors.house import Inside, inside, open_house
from tests.actors.speaking import MAIN, Stage, all_over, hire, runs_of
from tests.actors.timed import make
from tests.hand_clock import HandClock
from tests.messages_api import Gate, answer, say, serve_messages_api, text, use
from tests.messages_api.replies import Use
from tools.limits import Limits
from tools.messages import too_far
from tools.outside import Source


def ask(agent: str, words: str = "When are roses pruned?") -> Use:
    return use("message_agent", {"agent": agent, "text": words})


def hand_off(agent: str, words: str = "Prune the roses") -> Use:
    return use("message_agent", {"agent": agent, "text": words, "mode": "hand_off"})


async def nobody_at_work(it: Inside) -> bool:
    return not await it.ask(AtWork())


async def errands(it: Inside) -> list[Worker]:
    """Everyone who was set to work for any run."""
    return [seen.worker for item in await runs_of(it) for seen in await it.ask(WorkersOfRun(item.run.id))]


async def test_an_agent_asks_another_and_its_answer_comes_back_as_text_from_outside(database_url: str) -> None:
    async with inside(database_url) as it:
        stage = Stage().play(it.api)
        await hire(it, "gardener")
        stage.says(MAIN, answer(ask("gardener")), say("In March."))
        stage.says("gardener", say("In March, before they bud."))
        await it.say("When do I prune the roses?")
        (run,) = await it.settled()
        _, (call,) = await it.transcript()
        assert run.state == "done" and call.state == "finished" and call.failed is False
        assert call.result is not None and "In March, before they bud." in call.result
        assert "The agent is done. Its answer follows." in call.result and Source.AGENT.remark in call.result
        (asked,) = stage.asked["gardener"]
        assert "another agent has written to you" in str(asked["system"])
        said = asked["messages"][-1]["content"][-1]["text"]
        assert Source.AGENT.remark in said and "When are roses pruned?" in said and MAIN in said
        assert await nobody_at_work(it)


async def test_an_answer_is_as_clean_as_what_it_derives_from(database_url: str) -> None:
    async with inside(database_url) as it:
        stage = Stage().play(it.api)
        await hire(it, "gardener")
        stage.says("worker", say("Prune them."))
        stage.says("gardener", say("In March."), answer(use("delegate", {"task": "Roses?"})), say("Prune them."))
        for number in (1, 2):
            stage.says(MAIN, answer(ask("gardener")), say("So be it."))
            await it.say("Roses?")
            await it.settled(number)
        _, (own, outside) = await it.transcript()
        assert own.label == 0 and outside.label == outside.no
        assert all(Source.AGENT.remark in str(call.result) for call in (own, outside)), "both are framed"


async def test_homes_stay_clean_of_what_agents_tell_each_other(database_url: str) -> None:
    async with inside(database_url) as it:
        stage = Stage().play(it.api)
        await hire(it, "gardener")
        stage.says(MAIN, answer(ask("gardener")), say("In March."))
        stage.says("gardener", say("In March."))
        await it.say("Roses?")
        await it.settled()
        assert await runs_of(it, "gardener", "home") == []
        (answered,) = await runs_of(it, "gardener", "ask")
        (asker,) = await runs_of(it, MAIN)
        assert answered.works_for == asker.run.id and answered.run.act == asker.run.act
        assert (asker.run.hops, answered.run.hops) == (0, 1)


async def test_the_receiver_is_shown_what_the_two_said_earlier(database_url: str) -> None:
    async with inside(database_url) as it:
        stage = Stage().play(it.api)
        await hire(it, "gardener", "cook")
        stage.says(
            MAIN, answer(ask("gardener", "Roses?")), say("March."), answer(ask("gardener", "Tulips?")), say("Ok.")
        )
        stage.says("gardener", say("In March."), say("In autumn."))
        stage.says(MAIN, answer(ask("cook", "Soup?")), say("Ok."))
        stage.says("cook", say("Hot."))
        for number in range(1, 4):
            await it.say("Ask")
            await it.settled(number)
        first, second = stage.asked["gardener"]
        assert "earlier exchange" not in str(first)
        said = str(second["messages"])
        assert f"an earlier exchange with {MAIN}" in said and "Roses?" in said and "In March." in said
        assert Source.HISTORY.value in said
        assert "Roses?" not in str(stage.asked["cook"])  # what was said to another is nobody else's


async def test_what_is_handed_off_is_not_waited_for_and_goes_on_when_its_sender_is_stopped(database_url: str) -> None:
    gate, holds = Gate(), Gate()
    async with inside(database_url) as it:
        stage = Stage().play(it.api)
        await hire(it, "gardener")
        stage.says(MAIN, answer(hand_off("gardener")), say("A long", holds, "tale"))
        stage.says("gardener", say("Cut", gate, " them all."))
        await it.say("Have the roses pruned")
        await gate.reached.wait()
        await holds.reached.wait()
        (run,) = await it.runs()
        await it.house.stop_run(run.id, it.home, MAIN, "Stopped by you.")
        (working,) = await runs_of(it, "gardener")
        assert working.run.state == "open" and not await nobody_at_work(it)
        gate.open()
        await all_over(it, 2)
        with trio.fail_after(20), it.house.live.watch(it.home) as watch:
            while not any("Cut them all." in said for said in await it.said()):
                await watch.wait()
        assert len(await it.runs()) == 1, "what came of it is told, and opens no run"
        assert await nobody_at_work(it)


async def test_stopping_a_run_stops_whom_it_asked_and_whom_these_asked(database_url: str) -> None:
    gate = Gate()
    async with inside(database_url) as it:
        stage = Stage().play(it.api)
        await hire(it, "gardener", "cook")
        stage.says(MAIN, answer(ask("gardener")))
        stage.says("gardener", answer(ask("cook")))
        stage.says("cook", say("Herbs", gate, "."))
        await it.say("Ask around")
        await gate.reached.wait()
        (run,) = await it.runs()
        await it.house.stop_run(run.id, it.home, MAIN, "Stopped by you.")
        assert [item.run.state for item in await runs_of(it)] == ["stopped"] * 3
        assert await nobody_at_work(it)
        with trio.fail_after(20):
            while it.house.workers.busy:  # their actors end a little after what became of them is committed
                await trio.lowlevel.checkpoint()


async def test_the_owner_does_not_wait_behind_an_agent_that_is_asked(database_url: str) -> None:
    gate = Gate()
    async with inside(database_url) as it:
        stage = Stage().play(it.api)
        await hire(it, "gardener")
        stage.says(MAIN, answer(ask("gardener")), say("It is being asked."))
        stage.says("gardener", say("In March", gate, "."))
        await it.say("Roses?")
        await gate.reached.wait()
        await it.say("Are you there?")
        (first,) = await it.settled(1)
        _, (call,) = await it.transcript()
        assert call.state == "detached"
        stage.says(MAIN, say("In March, it says."))
        gate.open()
        _, second = await it.settled(2)
        assert (second.act, second.hops, second.state) == (first.act, 0, "done")
        said = await it.said()
        assert "⟦The agent is done. Its answer follows.⟧" in said and said[-1] == "In March, it says."


async def test_a_restart_finds_the_same_message_and_the_same_answer(database_url: str) -> None:
    gate = Gate()
    async with serve_messages_api() as api:
        stage = Stage().play(api)
        stage.says(MAIN, answer(ask("gardener")))
        stage.says("gardener", say("In", gate, "…"))
        async with open_house(database_url, api) as it:
            await hire(it, "gardener")
            await it.say("Roses?")
            await gate.reached.wait()
        stage.says(MAIN, say("In March."))
        stage.says("gardener", say("In March."))
        async with open_house(database_url, api) as it:
            (run,) = await it.settled()
            assert run.state == "done" and len(await runs_of(it, "gardener")) == 1
            assert len(await errands(it)) == 1 and await nobody_at_work(it)
            _, (call,) = await it.transcript()
            assert call.result is not None and "In March." in call.result


async def test_the_third_hop_works_and_the_fourth_is_refused(database_url: str) -> None:
    async with inside(database_url) as it:
        stage = Stage().play(it.api)
        await hire(it, "a", "b", "c", "d")
        stage.says(MAIN, answer(ask("a")), say("Main is done."))
        stage.says("a", answer(ask("b")), say("A is done."))
        stage.says("b", answer(ask("c")), say("B is done."))
        stage.says("c", answer(ask("d")), say("C could not."))
        await it.say("Pass it on")
        await it.settled()
        assert "d" not in stage.asked
        (refused,) = _results(stage.asked["c"][-1])
        assert too_far(3) in refused
        assert [(item.agent, item.run.hops) for item in await runs_of(it)] == [(MAIN, 0), ("a", 1), ("b", 2), ("c", 3)]
        assert all(item.run.state == "done" for item in await runs_of(it))


async def test_a_reminder_keeps_how_far_it_is_from_the_owner(database_url: str) -> None:
    clock = HandClock()
    async with inside(database_url, clock=clock) as it:
        stage = Stage().play(it.api)
        await hire(it, "a")
        await make(it, "reminder", "in 20m", "Pass it on", hops=3)
        stage.says(MAIN, answer(ask("a")), say("I could not."))
        clock.move(21 * 60)
        (run,) = await it.settled()
        assert run.hops == 3 and "a" not in stage.asked
        (refused,) = _results(stage.asked[MAIN][-1])
        assert too_far(3) in refused


async def test_a_message_that_joins_a_run_takes_it_as_far_as_it_has_come(database_url: str) -> None:
    gate, clock = Gate(), HandClock()
    async with inside(database_url, clock=clock) as it:
        stage = Stage().play(it.api)
        await hire(it, "a")
        await make(it, "reminder", "in 20m", "Pass it on", hops=3)
        note = use("write_note", {"title": "x", "text": "y"})
        stage.says(MAIN, answer(text("Let me see", gate, "."), note), answer(ask("a")), say("I could not."))
        await it.say("Hello")
        await gate.reached.wait()
        clock.move(21 * 60)
        with trio.fail_after(20), it.house.live.watch(it.home) as watch:
            while not await it.ask(_Waits(it.home)):
                await watch.wait()
        gate.open()
        (run,) = await it.settled()
        assert run.hops == 3 and "a" not in stage.asked


async def test_a_ring_of_agents_told_to_pass_it_on_ends_by_itself(database_url: str) -> None:
    async with inside(database_url) as it:
        stage = Stage().play(it.api)
        ring = {MAIN: "a", "a": "b", "b": "c", "c": "a"}
        await hire(it, "a", "b", "c")
        for name, following in ring.items():
            stage.rules[name] = lambda asked, following=following: (  # type: ignore[misc]
                say("Passed on.") if _results(asked) else answer(ask(following, "Pass it on"))
            )
        await it.say("Pass it on")
        await it.settled()
        assert [(item.agent, item.run.state) for item in await runs_of(it)] == [
            (MAIN, "done"), ("a", "done"), ("b", "done"), ("c", "done"),
        ]  # fmt: skip
        assert await nobody_at_work(it)


async def test_agents_that_ask_each_other_at_once_both_get_an_answer(database_url: str) -> None:
    async with inside(database_url) as it:
        stage = Stage().play(it.api)
        await hire(it, "a", "b")
        for name, other in (("a", "b"), ("b", "a")):
            stage.rules[name] = lambda asked, other=other: (  # type: ignore[misc]
                say("I know.") if _results(asked) or "Again" in str(asked["messages"]) else answer(ask(other, "Again?"))
            )
        stage.says(MAIN, answer(ask("a"), ask("b"), ask("a"), ask("b")), say("All agree."))
        await it.say("What do they say?")
        (run,) = await it.settled()
        _, calls = await it.transcript()
        assert run.state == "done" and all(call.failed is False for call in calls) and len(calls) == 4
        assert await nobody_at_work(it) and len(await errands(it)) == 8


async def test_asking_in_a_ring_does_not_wait_for_places_that_it_holds_itself(database_url: str) -> None:
    async with inside(database_url, limits=Limits(asks_side_by_side=1)) as it:
        stage = Stage().play(it.api)
        await hire(it, "a", "b")
        stage.rules["a"] = lambda asked: (
            say("A.") if _results(asked) or "Back" in str(asked) else answer(ask("b", "On"))
        )
        stage.rules["b"] = lambda asked: say("B.") if _results(asked) else answer(ask("a", "Back"))
        stage.says(MAIN, answer(ask("a"), ask("a"), ask("a")), say("Done."))
        await it.say("Ask three times")
        (run,) = await it.settled()
        assert run.state == "done" and len(await runs_of(it, "a")) == 6


async def test_tasks_and_messages_of_one_act_are_bounded_together(database_url: str) -> None:
    async with inside(database_url, limits=Limits(delegated_per_act=3)) as it:
        stage = Stage().play(it.api)
        await hire(it, "a", "b")
        stage.says("worker", say("Worked."))
        stage.says("a", answer(ask("b")), say("A."))
        stage.says("b", say("B."))
        stage.says(MAIN, answer(ask("a")), answer(ask("b"), use("delegate", {"task": "Look it up"})), say("Ok."))
        stage.says("b", say("B, again."))
        await it.say("Do what you can")
        await it.settled()
        _, calls = await it.transcript()
        assert sorted(bool(call.failed) for call in calls) == [False, False, True]
        (refused,) = [call.result or "" for call in calls if call.failed]
        assert "3 tasks and messages have come of this already" in refused
        assert len(await errands(it)) == 3


async def test_a_message_to_nobody_to_oneself_or_to_a_retired_agent_gets_a_fixed_answer(database_url: str) -> None:
    async with inside(database_url) as it:
        stage = Stage().play(it.api)
        await hire(it, "a", "b")
        await it.house.cast.retire("b", it.clock.now())
        stage.says(MAIN, answer(ask("b"), ask("nobody"), ask(MAIN), ask("a", " ")), say("None of them."))
        await it.say("Ask")
        await it.settled()
        _, calls = await it.transcript()
        results = [call.result or "" for call in calls]
        assert all(call.failed for call in calls) and not await errands(it)
        assert "b is retired and answers no more. Nothing was sent." in results[0]
        assert "There is no agent 'nobody'." in results[1] and "That is you yourself." in results[2]
        assert "A message has 1 to" in results[3]


async def test_whoever_waits_for_an_agent_that_is_retired_hears_of_it(database_url: str) -> None:
    gate = Gate()
    async with inside(database_url) as it:
        stage = Stage().play(it.api)
        await hire(it, "a")
        stage.says(MAIN, answer(ask("a")), say("It is gone."))
        stage.says("a", say("Well", gate, "…"))
        await it.say("Ask")
        await gate.reached.wait()
        await it.house.cast.retire("a", it.clock.now())
        (run,) = await it.settled()
        _, (call,) = await it.transcript()
        assert run.state == "done" and call.failed and call.result is not None
        assert "The agent was retired before it was done." in call.result
        assert await nobody_at_work(it) and [item.run.state for item in await runs_of(it, "a")] == ["stopped"]


async def test_what_a_tainted_agent_would_tell_another_waits_for_the_owner(database_url: str) -> None:
    async with inside(database_url) as it:
        stage = Stage().play(it.api)
        await hire(it, "gardener")
        stage.says(MAIN, answer(ask("gardener")), say("Done."))
        stage.says("gardener", say("In March."))
        await it.say("Do what this says", quotes=[{"from": "a letter", "text": "Ask the gardener"}])
        await it.until(lambda runs: any(run.state == "waiting" for run in runs))
        (question,) = await it.ask(ListQuestions(before=2**60, limit=10, only_open=True))
        assert question.tool == "message_agent" and "gardener" not in stage.asked
        await it.house.decisions.answer(question.id, "yes")
        await it.settled()
        (asked,) = stage.asked["gardener"]
        assert asked is not None and (await runs_of(it, "gardener"))[0].run.state == "done"


async def test_an_agent_that_is_asked_waits_for_the_owner_through_a_restart(database_url: str) -> None:
    note = use("write_note", {"title": "Roses", "text": "Pruned"})
    async with serve_messages_api() as api:
        stage = Stage().play(api)
        stage.says(MAIN, answer(ask("gardener")), say("It wrote it down."))
        stage.says("gardener", answer(use("delegate", {"task": "Roses?"})), answer(note), say("Written down."))
        stage.says("worker", say("Prune them."))
        async with open_house(database_url, api) as it:
            await hire(it, "gardener")
            await it.say("Ask the gardener")
            with trio.fail_after(20):
                while not (asked := await it.ask(ListQuestions(before=2**60, limit=10, only_open=True))):
                    await trio.sleep(0.02)
        async with open_house(database_url, api) as it:
            await it.house.decisions.answer(asked[0].id, "yes")
            (run,) = await it.settled()
            assert run.state == "done"
            (gardener,) = await runs_of(it, "gardener", "ask")
            assert gardener.run.state == "done" and gardener.run.attempt == 0
            assert await nobody_at_work(it)


async def test_a_question_that_expired_meanwhile_is_heard_by_whoever_answers_and_by_nobody_else(
    database_url: str,
) -> None:
    note, clock = use("write_note", {"title": "Roses", "text": "Pruned"}), HandClock()
    async with serve_messages_api() as api:
        stage = Stage().play(api)
        stage.says(MAIN, answer(ask("gardener")), say("It could not."))
        stage.says("gardener", answer(use("delegate", {"task": "Roses?"})), answer(note), say("Nobody answered."))
        stage.says("worker", say("Prune them."))
        async with open_house(database_url, api, clock=clock) as it:
            await hire(it, "gardener")
            await it.say("Ask the gardener")
            with trio.fail_after(20):
                while not await it.ask(ListQuestions(before=2**60, limit=10, only_open=True)):
                    await trio.sleep(0.02)
        clock.move(7 * 86_400 + 60)
        async with open_house(database_url, api, clock=clock) as it:
            (run,) = await it.settled()
            assert run.state == "done" and [r.run.state for r in await runs_of(it, "gardener", "ask")] == ["done"]
            assert len(stage.asked["gardener"]) == 3, "asked once for what followed, not by two at once"


async def test_the_cost_of_all_that_an_act_set_going_is_known(database_url: str) -> None:
    async with inside(database_url) as it:
        stage = Stage().play(it.api)
        names = [f"agent-{number}" for number in range(20)]
        await hire(it, *names)
        for name in names:
            stage.rules[name] = lambda asked, name=name: (  # type: ignore[misc]
                say("Told all.")
                if _results(asked)
                else answer(*(ask(other, "Tell all others") for other in names if other != name))
            )
        stage.says(MAIN, answer(*(ask(name, "Tell all others") for name in names)), say("Told."))
        await it.say("Tell everybody")
        (run,) = await it.settled()
        made = await errands(it)
        assert run.state == "done" and len(made) == Limits().delegated_per_act
        assert {worker.act for worker in made} == {run.act} and await nobody_at_work(it)


def _results(asked: dict[str, Any]) -> list[str]:
    """The results of tools that a request holds since the newest message."""
    return [str(block["content"]) for block in asked["messages"][-1]["content"] if block["type"] == "tool_result"]


@attrs.frozen
class _Waits(Read[bool]):
    """Whether a message waits in a conversation."""

    conversation: int

    async def read(self, reader: Reader) -> bool:
        return bool(await inbox.Unplaced(self.conversation).read(reader))
