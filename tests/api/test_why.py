"""Why something is as it is: led back, over agents, reminders and restarts, to what the owner did."""

from datetime import timedelta
from typing import Any

import trio

from tests.api.test_agents import GARDENER, settled
from tests.hand_clock import HandClock
from tests.messages_api import Gate, answer, say, text, use
from tests.messages_api.server import Request
from tests.world import Json, world

ASK = use("message_agent", {"agent": "gardener", "text": "When are roses pruned?"})
NOTE = use("write_note", {"title": "Roses", "text": "Pruned in March"})


def keys(account: Json) -> list[str]:
    return [message["cause"] for message in account["came_in"]]


async def test_a_note_is_led_back_over_two_agents_to_the_owners_words(database_url: str) -> None:
    async with world(database_url, answer(ASK), answer(NOTE), say("In March."), say("In March, it says.")) as w:
        await w.post("/api/agents", GARDENER, status=201)
        said = await w.say("Ask the gardener about the roses")
        main = await settled(w, "dreamwalker")
        (note,) = (await w.get("/api/agents/gardener/notes"))["notes"]
        why = await w.get(f"/api/why/note/{note['id']}.1")
        assert why["about"] == "version 1 of the note “Roses” of gardener"
        nearest, first = why["runs"]
        assert nearest["run"]["agent"] == "gardener" and nearest["run"]["kind"] == "ask"
        assert (nearest["run"]["hops"], nearest["run"]["act"]) == (1, f"message:{said['id']}")
        assert nearest["wrote"] == [{"note": note["id"], "title": "Roses", "version": 1, "at": note["at"]}]
        (message,) = nearest["came_in"]
        assert (message["kind"], message["source"], message["outside"]) == ("agent", "dreamwalker", False)
        assert message["cause"] == f"call:{main['id']}.1.0"
        assert first["run"]["id"] == main["id"] and first["came_in"][0]["source"] == "you"
        assert first["workers"][0]["agent"] == "gardener" and first["workers"][0]["over"]
        assert [reply["text"] for reply in nearest["said"]] == ["", "In March."]
        assert why["act"] == f"message:{said['id']}"
        cost = sum(part["cost_dollars"] for account in why["runs"] for part in account["cost"])
        assert round(cost - sum(part["cost_dollars"] for part in why["act_cost"]), 9) == 0 < cost
        assert (await w.get(f"/api/why/note/{note['id']}"))["about"] == why["about"]
        await w.get(f"/api/why/note/{note['id']}.2", status=404)


async def test_a_question_says_what_from_outside_it_is_about_and_who_answered_when(database_url: str) -> None:
    async with world(database_url, answer(NOTE), say("Noted.")) as w:
        await w.say("Note what it says", quotes=[{"from": "a letter", "text": "Roses are pruned in March"}])
        question = await w.asked()
        open_one = await w.get(f"/api/why/question/{question}")
        assert open_one["runs"][0]["asked"][0]["answered_by"] is None
        await w.answer(question, "yes")
        run = await settled(w, "dreamwalker")
        why = await w.get(f"/api/why/question/{question}")
        (account,) = why["runs"]
        (asked,) = account["asked"]
        assert asked["answered_by"] == "a client" and asked["question"]["answer"] == "yes"
        assert asked["question"]["closed_at"] is not None
        assert [(one["what"], one["origin"]) for one in account["outside"]] == [
            ("Something that you pasted or attached", "a letter")
        ]
        assert account["came_in"][0]["quotes"] == [{"from": "a letter", "text": "Roses are pruned in March"}]
        call = await w.get(f"/api/why/call/{run['id']}.1.0")
        assert call["about"] == f"call {run['id']}.1.0: write_note" and call["runs"] == why["runs"]


async def test_a_push_is_led_back_to_the_reminder_and_the_run_that_made_it(database_url: str) -> None:
    clock = HandClock()
    phone = {"ntfy_topic": "a-topic-of-the-tests-x7Kq", "ntfy_url": "http://127.0.0.1:9"}
    remind = use("set_reminder", {"text": "Tea", "when": "in 20m"})
    script = (answer(remind), say("I will."), say("Tea!"))
    async with world(database_url, *script, clock=clock, changes=phone) as w:
        await w.say("Remind me of tea in 20 minutes")
        first = await settled(w, "dreamwalker")
        clock.move(timedelta(minutes=21).total_seconds())
        await settled(w, "dreamwalker", 2)
        (push,) = (await w.get("/api/pushes"))["pushes"]
        why = await w.get(f"/api/why/push/{push['id']}")
        assert [account["run"]["id"] for account in why["runs"]][-1] == first["id"]
        (thing,) = why["things"]
        assert thing["kind"] == "reminder" and thing["text"] == "Tea"
        assert why["runs"][0]["came_in"][0]["kind"] == "reminder" and why["runs"][-1]["made"][0]["id"] == thing["id"]
        await w.get("/api/why/push/slot:9:never", status=404)


async def test_a_report_is_led_back_to_the_job_that_the_owner_made(database_url: str) -> None:
    clock = HandClock()
    phone = {"ntfy_topic": "a-topic-of-the-tests-x7Kq", "ntfy_url": "http://127.0.0.1:9"}
    async with world(database_url, say("There is a storm."), clock=clock, changes=phone) as w:
        made = {"request_id": "j", "title": "Weather", "text": "Is there a storm?", "when": "every 1 hours"}
        job = await w.post("/api/jobs", made, status=201)
        clock.move(3_660)
        await settled(w, "dreamwalker")
        with trio.fail_after(20):
            while not (pushes := (await w.get("/api/pushes"))["pushes"]):
                await trio.sleep(0.02)
        why = await w.get(f"/api/why/push/{pushes[0]['id']}")
        (account,), (thing,) = why["runs"], why["things"]
        assert account["run"]["kind"] == "job" and thing["id"] == job["id"] and thing["title"] == "Weather"
        assert [reply["text"] for reply in account["said"]] == ["There is a storm."]
        assert why["act"] == pushes[0]["id"] and why["act_cost"][0]["requests"] == 1


async def test_a_run_tells_which_restarts_it_lived_through(database_url: str) -> None:
    gate = Gate()
    async with world(database_url, answer(text("One", gate, "two"))) as w:
        await w.say("Count")
        await gate.reached.wait()
    async with world(database_url, say("One, two.")) as w:
        run = await settled(w, "dreamwalker")
        (account,) = (await w.get(f"/api/why/run/{run['id']}"))["runs"]
        (taken,) = account["resumptions"]
        assert (taken["generation"], taken["turn"], taken["attempt"]) == ("0", 0, 1)
        assert account["run"]["state"] == "done"
        assert account["run"]["unsettled_dollars"] > 0, "what was cut off is set aside, and shown apart"
        assert account["cost"][0]["unsettled_dollars"] == account["run"]["unsettled_dollars"]


async def test_what_a_stopped_run_may_have_cost_is_not_shown_as_its_cost(database_url: str) -> None:
    gate = Gate()
    async with world(database_url, answer(text("One", gate, "two"))) as w:
        await w.say("Count")
        await gate.reached.wait()
        (run,) = (await w.get("/api/runs"))["runs"]
        stopped = (await w.post(f"/api/runs/{run['id']}/stop"))["run"]
        assert stopped["cost_dollars"] == 0 and stopped["unsettled_dollars"] > 0


async def test_cache_reads_and_writes_are_counted_apart_by_day_agent_kind_act_and_run(database_url: str) -> None:
    async with world(database_url, say("Hello."), say("Hello again.")) as w:
        await w.client.patch("/api/agents/dreamwalker", json={"instructions": "Be brief. " * 1_900})
        acts = []
        for number in (1, 2):
            acts.append(f"message:{(await w.say('Hi'))['id']}")
            await settled(w, "dreamwalker", number)
        runs = [str(run["id"]) for run in (await w.get("/api/runs"))["runs"]]
        day = (await w.get("/api/spend"))["day"]["period"]
        names = {"day": [day], "month": [day[:7]], "agent": ["dreamwalker"], "kind": ["turn"], "act": acts, "run": runs}
        for by, expected in names.items():
            sums = (await w.get("/api/spend", by=by))["sums"]
            assert sorted(row["name"] for row in sums) == sorted(expected)
            assert sum(row["cache_write_tokens"] for row in sums) > 4_096
            assert sum(row["cache_read_tokens"] for row in sums) > 4_096
        newest = next(row for row in sums if row["name"] == runs[0])
        assert newest["cache_read_tokens"] > newest["cache_write_tokens"]


async def test_a_raise_never_lowers_the_limit_and_can_be_taken_back(database_url: str) -> None:
    async with world(database_url) as w:
        period = (await w.get("/api/spend"))["day"]["period"]

        async def raised(dollars: float, status: int = 200) -> Any:
            return await w.post("/api/spend/raise", {"period": period, "dollars": dollars}, status=status)

        day = (await raised(8))["day"]
        assert (day["period"], day["limit_dollars"], day["raised"], day["reached_at"]) == (period, 8, True, None)
        assert (await raised(8))["day"]["limit_dollars"] == 8
        for lower in (7, 1):
            assert (await raised(lower, status=409))["error"]["code"] == "lower"
        assert (await w.get("/api/spend"))["day"]["limit_dollars"] == 8
        taken_back = await w.post("/api/spend/reset", {"period": period})
        assert taken_back["day"]["limit_dollars"] == 5 and not taken_back["day"]["raised"]
        assert (await raised(4, status=409))["error"]["message"].startswith(f"The limit of {period} is $5.00 already")


async def test_at_the_limit_all_waits_he_is_told_once_and_a_raise_lets_it_go_on(database_url: str) -> None:
    async with world(database_url) as w:
        w.api.answer_with(_answer)
        await w.client.patch("/api/settings", json={"day_limit_dollars": 0.0001})
        await w.post("/api/agents", GARDENER, status=201)
        await w.say("Hello")
        body = {"request_id": "g", "text": "Hello"}
        await w.post("/api/agents/gardener/messages", body, status=202)
        with trio.fail_after(20):
            while [run["state"] for run in (await w.get("/api/runs"))["runs"]] != ["waiting", "waiting"]:
                await trio.sleep(0.02)
        assert not w.api.requests, "nothing is asked past the limit"
        (told,) = (await w.get("/api/pushes"))["pushes"]
        assert told["kind"] == "notice" and "The spending limit of the day is reached" in told["title"]
        spend = await w.get("/api/spend")
        assert spend["day"]["reached_at"] is not None and spend["month"]["reached_at"] is None
        await w.post("/api/spend/raise", {"period": spend["day"]["period"], "dollars": 5})
        for agent in ("dreamwalker", "gardener"):
            assert (await settled(w, agent))["state"] == "done"
        assert (await w.get("/api/spend"))["day"]["reached_at"] is None
        assert len((await w.get("/api/pushes"))["pushes"]) == 1


def _answer(request: Request) -> Any:
    return say("Hello.")
