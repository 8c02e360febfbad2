"""The cast: one supervised actor for each agent, whose crashes are its own."""

import trio

from dreamwalker.cast import Given
from tests.actors.house import inside, open_house
from tests.actors.speaking import MAIN, Stage, all_over, hire, runs_of
from tests.messages_api import Gate, answer, say, serve_messages_api, use


async def test_each_agent_has_an_actor_of_its_own_from_the_moment_it_is_made(database_url: str) -> None:
    async with serve_messages_api() as api:
        async with open_house(database_url, api) as it:
            await hire(it, "a", "b")
            await it.house.cast.retire("b", it.clock.now())
            assert set(it.house.cast.actors) == {MAIN, "a"} and it.house.agent("b") is None
        async with open_house(database_url, api) as it:
            assert set(it.house.cast.actors) == {MAIN, "a"} and set(it.house.homes) == {MAIN, "a", "b"}


async def test_a_crash_of_one_agent_does_not_disturb_another(database_url: str) -> None:
    gate, other = Gate(), Gate()
    async with inside(database_url) as it:
        stage = Stage().play(it.api)
        await hire(it, "a")
        stage.says(MAIN, say("One", gate, "."))
        stage.says("a", say("Two", other, "."))
        await it.say("Count")
        await it.say("Count", conversation=it.house.homes["a"], agent="a")
        await gate.reached.wait()
        await other.reached.wait()
        crashed = it.house.agent("a")
        assert crashed is not None
        crashed.mailbox.post("no message that it knows")  # type: ignore[arg-type]
        gate.open()
        (run,) = await it.settled()
        assert run.state == "done" and run.attempt == 0
        stage.says("a", say("Two again."))
        it.clock.move(60)  # type: ignore[attr-defined]
        other.open()
        await all_over(it, 2)
        (again,) = await runs_of(it, "a")
        assert again.run.state == "done", "it was started anew, and took its run up again"


async def test_agents_are_made_changed_and_retired_one_after_the_other(database_url: str) -> None:
    async with inside(database_url) as it:
        cast, now = it.house.cast, it.clock.now()
        async with trio.open_nursery() as nursery:
            for _ in range(5):
                nursery.start_soon(cast.make, "a", Given(job="the same"), now)
        assert list(cast.records) == [MAIN, "a"]
        async with trio.open_nursery() as nursery:
            for _ in range(3):
                nursery.start_soon(cast.retire, "a", now)
                nursery.start_soon(cast.restore, "a")
        at_work = cast.records["a"].retired_at is None
        assert at_work == ("a" in cast.actors)


async def test_tools_follow_who_there_is(database_url: str) -> None:
    async with inside(database_url) as it:

        def names(agent: str, kind: str = "home") -> list[str]:
            return [tool.name for tool in it.house.equipment.tools(kind, agent)]

        assert "message_agent" not in names(MAIN)
        await hire(it, "a")
        assert "message_agent" in names(MAIN) and "message_agent" in names("a")
        assert "message_agent" not in names("a", "job") and "message_agent" not in names("a", "worker")
        stage = Stage().play(it.api)
        stage.says(
            MAIN, say("Hello."), answer(use("message_agent", {"agent": "a", "text": "?"})), say("Nobody is there.")
        )
        await it.say("Hello")
        await it.settled()
        (tool,) = [tool for tool in stage.asked[MAIN][0]["tools"] if tool["name"] == "message_agent"]
        assert "- a: knows all about what as do" in tool["description"]
        await it.house.cast.retire("a", it.clock.now())
        await it.say("Ask it")
        await it.settled(2)
        assert "message_agent" not in str(stage.asked[MAIN][1]["tools"])
        _, (call,) = await it.transcript()
        assert call.failed and call.result is not None and "There is no tool 'message_agent'" in call.result


async def test_an_agent_is_retired_while_it_sets_others_to_work(database_url: str) -> None:
    async with inside(database_url) as it:
        stage = Stage().play(it.api)
        await hire(it, "a", "b")
        delegates = [use("delegate", {"task": f"Task {number}"}) for number in range(6)]
        stage.rules["a"] = lambda asked: answer(use("message_agent", {"agent": "b", "text": "?"}), *delegates)
        stage.rules["b"] = lambda asked: say("B.")
        stage.rules["worker"] = lambda asked: say("Worked.")
        for steps in range(12):
            await it.say("Go on", conversation=it.house.homes["a"], agent="a")
            for _ in range(steps * 12):
                await trio.lowlevel.checkpoint()
            with trio.fail_after(10):
                await it.house.cast.retire("a", it.clock.now())
                assert it.house.agent("a") is None
                await it.house.cast.restore("a")
        assert [run for run in await runs_of(it, "a", "home") if not run.run.ended] == []
