"""Entries, runs, notes, money and settings: what is read is what stands in rows."""

import json

from tests.messages_api import Answer, Gate, answer, fail, say, text, use
from tests.world import Json, World, world

ENTRIES = "/api/agents/dreamwalker/entries"
NOTES = "/api/agents/dreamwalker/notes"


async def test_status_and_agents_say_what_there_is(database_url: str) -> None:
    async with world(database_url) as w:
        assert await w.get("/api/health") == {"status": "up"}
        assert w.system.state == "asleep"
        status = await w.get("/api/status")
        assert status["state"] == "awake" and status["zone"] == "Europe/Vienna" and status["practice"] is False
        (agent,) = (await w.get("/api/agents"))["agents"]
        assert agent["name"] == "dreamwalker" and agent["home"] == status["home"]["dreamwalker"]


async def test_the_transcript_is_read_page_by_page_without_the_lines_that_tell_the_time(database_url: str) -> None:
    async with world(database_url, say("One."), say("Two."), say("Three.")) as w:
        for number in ("first", "second", "third"):
            message = await w.say(f"The {number}")
            await w.settled(message["accepted_no"])
        pages, before = [], None
        while True:
            page = await w.get(ENTRIES, limit=4, **({} if before is None else {"before": before}))
            pages.append([entry["text"] for entry in page["entries"]])
            before = page["entries"][0]["seq"]
            if not page["more"]:
                break
        assert pages == [["The second", "Two.", "The third", "Three."], ["The first", "One."]]
        assert page["messages"] == [] and page["run"] is None


async def test_a_page_holds_the_calls_of_its_own_replies_and_the_runs_of_its_entries_that_ended_badly(
    database_url: str,
) -> None:
    note = use("write_note", {"title": "Keys", "text": "In the drawer"})
    async with world(database_url, answer("One", note), answer("Two", note), say("Three"), fail(400, "no")) as w:
        await w.say("Write it twice")
        await w.settled()
        await w.say("And fail")
        await w.settled(runs=2)
        page = await w.get(ENTRIES, limit=2)
        assert [entry["text"] for entry in page["entries"]] == ["Three", "And fail"]
        assert page["calls"] == [] and [run["state"] for run in page["ended"]] == ["failed"]
        page = await w.get(ENTRIES, limit=1, before=page["entries"][0]["seq"])
        assert [entry["text"] for entry in page["entries"]] == ["Two"]
        assert [call["turn"] for call in page["calls"]] == [page["entries"][0]["turn"]] and page["ended"] == []
        whole = await w.get(ENTRIES)
        assert len(whole["calls"]) == 2 and whole["more"] is False


async def test_a_page_is_never_longer_than_the_limit_whatever_is_asked_for(database_url: str) -> None:
    async with world(database_url, say("One."), page_entries=1) as w:
        await w.say("Hi")
        await w.settled()
        page = await w.get(ENTRIES, limit=1000)
        assert len(page["entries"]) == 1 and page["more"] is True


async def test_a_run_is_shown_with_its_calls_and_what_it_cost(database_url: str) -> None:
    note = use("write_note", {"title": "Keys", "text": "In the drawer"})
    async with world(database_url, answer("I write.", note), say("Done.")) as w:
        await w.say("My keys are in the drawer")
        await w.settled()
        (listed,) = (await w.get("/api/runs", agent="dreamwalker"))["runs"]
        assert listed["state"] == "done" and listed["agent"] == "dreamwalker" and listed["kind"] == "home"
        whole = await w.get(f"/api/runs/{listed['id']}")
        (call,) = whole["calls"]
        assert call["tool"] == "write_note" and json.loads(call["arguments"])["title"] == "Keys"
        assert call["state"] == "finished" and call["failed"] is False and "Keys" in call["result"]
        (cost,) = whole["cost"]
        assert cost["requests"] == 2 and cost["output_tokens"] > 0 and cost["unsettled_dollars"] == 0
        assert 0 < cost["cost_dollars"] == whole["run"]["cost_dollars"] == listed["cost_dollars"]


async def test_runs_are_listed_newest_first_and_page_by_page(database_url: str) -> None:
    async with world(database_url, say("One."), say("Two."), say("Three.")) as w:
        for _ in range(3):
            message = await w.say("Again")
            await w.settled(message["accepted_no"])
        first = await w.get("/api/runs", limit=2)
        ids = [run["id"] for run in first["runs"]]
        assert ids == sorted(ids, reverse=True) and first["more"] is True
        rest = await w.get("/api/runs", before=ids[-1])
        assert len(rest["runs"]) == 1 and rest["more"] is False and rest["runs"][0]["id"] < ids[-1]
        assert (await w.get("/api/runs", agent="nobody", status=404))["error"]["code"] == "not_found"


async def test_the_list_of_runs_says_what_each_was_asked(database_url: str) -> None:
    def rule(request: Json) -> Answer:
        if "You are a worker" in str(request["system"]):
            return say("Nine.")
        if "trains" in str(request["messages"][-1]):
            return answer(use("delegate", {"task": "Trains\tto Graz"}))
        return say("I see.")

    async with world(database_url) as w:
        w.api.script(rule)
        await w.say("\n When do trains \n leave? " + "👩‍👩‍👧 " * 60)
        await w.settled()
        sent = await w.say("", quotes=[{"from": "a mail", "text": "Dear all,\nhello"}])
        await w.settled(sent["accepted_no"] - 1)
        sent = await w.say("Thanks", quotes=[{"text": "Dear all"}])
        await w.settled(sent["accepted_no"] - 1)
        runs = (await w.get("/api/runs"))["runs"]
        shown = [(run["kind"], run["opening"]) for run in runs]
        assert shown[:3] == [
            ("home", {"kind": "owner", "text": "Thanks", "outside": False}),
            ("home", {"kind": "owner", "text": "Dear all, hello", "outside": True}),
            ("worker", {"kind": "task", "text": "Trains to Graz", "outside": False}),
        ]
        (_, first) = shown[3]
        assert first["text"].startswith("When do trains leave? 👩‍👩‍👧 ") and first["text"].endswith("👩‍👩‍👧…")
        assert len(first["text"]) <= 161
        assert (await w.get(f"/api/runs/{runs[3]['id']}"))["run"]["opening"] == first


async def test_a_run_that_went_on_with_what_came_later_is_listed_by_what_opened_it(database_url: str) -> None:
    gate = Gate()
    note = use("write_note", {"title": "Keys", "text": "Here"})
    async with world(database_url, answer(text("I write it down.", gate), note), say("Both.")) as w:
        await w.say("Write it down")
        await gate.reached.wait()
        await w.say("And be quick")
        gate.open()
        await w.settled()
        (run,) = (await w.get("/api/runs"))["runs"]
        assert run["opening"]["text"] == "Write it down"


async def test_what_is_set_aside_is_told_apart_from_what_was_spent_and_why_it_stays(database_url: str) -> None:
    gate = Gate()
    async with world(database_url, say("One."), answer(text("This much was written.", gate, "Never."))) as w:
        await w.say("Hi")
        await w.settled()
        await w.say("Talk")
        await gate.reached.wait()
        (run, before) = (await w.get("/api/runs"))["runs"]
        day = (await w.get("/api/spend"))["day"]
        aside = run["unsettled_dollars"]
        assert run["cost_dollars"] == 0 and run["lost_dollars"] == 0 < aside
        assert (day["unsettled_dollars"], day["lost_dollars"]) == (aside, 0)
        assert day["spent_dollars"] == before["cost_dollars"] > 0
        assert round(day["used_dollars"] - day["spent_dollars"] - aside, 9) == 0
        await w.post(f"/api/runs/{run['id']}/stop")
        stopped = (await w.get("/api/runs"))["runs"][0]
        assert stopped["unsettled_dollars"] == stopped["lost_dollars"] == aside
        spend = await w.get("/api/spend", by="run")
        assert spend["day"]["lost_dollars"] == spend["month"]["lost_dollars"] == aside
        assert {sum["name"]: sum["lost_dollars"] for sum in spend["sums"]} == {
            str(run["id"]): aside,
            str(before["id"]): 0,
        }


async def test_stopping_a_run_keeps_what_was_written_and_ends_it_for_good(database_url: str) -> None:
    gate = Gate()
    async with world(database_url, answer(text("This much was written before it ended.", gate, "Never."))) as w:
        await w.say("Talk")
        await gate.reached.wait()
        async with w.stream() as events:
            await events.of("text")
            run = (await w.get("/api/runs"))["runs"][0]
            stopped = (await w.post(f"/api/runs/{run['id']}/stop"))["run"]
            assert stopped["state"] == "stopped" and stopped["reason"] == "Stopped by you."
            await events.until_settled()
        again = (await w.post(f"/api/runs/{run['id']}/stop"))["run"]
        assert again == stopped
        cut = (await w.get(ENTRIES))["entries"][-1]
        assert cut["kind"] == "reply" and cut["cut"] and cut["text"].startswith("This much was")
        await w.post("/api/runs/999999/stop", status=404)
        await w.get("/api/runs/999999", status=404)


async def test_notes_are_found_and_keep_everything_they_ever_said(database_url: str) -> None:
    first = use("write_note", {"title": "Keys", "text": "In the drawer"})
    second = use("write_note", {"title": "keys", "text": "On the hook, 100% sure"})
    other = use("write_note", {"title": "Shoes", "text": "Size 43"})
    async with world(database_url, answer(first, other), answer(second), say("Done.")) as w:
        await w.say("Keys are in the drawer, no, on the hook")
        await w.settled()
        notes = await w.get(NOTES)
        assert {note["title"] for note in notes["notes"]} == {"Keys", "Shoes"} and notes["more"] is False
        (found,) = (await w.get(NOTES, query="HOOK 100%"))["notes"]
        assert found["version"] == 2 and found["label"] == 0
        assert (await w.get(NOTES, query="drawer"))["notes"] == []
        assert (await w.get(NOTES, query="%"))["notes"] == []
        assert (await w.get(NOTES, query="\x00"))["notes"] == []
        versions = (await w.get(f"/api/notes/{found['id']}/versions"))["versions"]
        assert [version["text"] for version in versions] == ["On the hook, 100% sure", "In the drawer"]
        assert all(version["made_by"].startswith("call:") and version["run"] for version in versions)
        await w.get("/api/notes/999999/versions", status=404)


async def test_a_run_that_waits_for_money_goes_on_when_the_limit_is_raised(database_url: str) -> None:
    async with world(database_url, say("Thank you.")) as w:
        await _set(w, day_limit_dollars=0)
        async with w.stream() as events:
            await w.say("Hi")
            waiting: list[Json] = []
            while not waiting:
                waiting = [run for run in (await events.of("change")).data["runs"] if run["state"] == "waiting"]
            assert "limit" in waiting[0]["reason"].lower()
            assert w.api.asked == []
            day = (await w.get("/api/spend"))["day"]
            assert day["limit_dollars"] == 0 and day["used_dollars"] == 0
            raised = await w.post("/api/spend/raise", {"period": day["period"], "dollars": 2.5})
            assert raised["day"]["limit_dollars"] == 2.5
            await events.until_settled()
        spend = await w.get("/api/spend", by="model", month=day["period"][:7])
        (cost,) = spend["sums"]
        assert cost["name"] == "claude-haiku-5-5" and cost["requests"] == 1
        assert spend["day"]["used_dollars"] == spend["month"]["used_dollars"] == cost["cost_dollars"] > 0


async def test_only_days_and_months_that_exist_have_limits(database_url: str) -> None:
    async with world(database_url) as w:
        for period in ("2026-13", "2026-02-30", "2026-2", "today", "", "2026-11-29\n", "0000-01", "2026-11-29T00"):
            await w.post("/api/spend/raise", {"period": period, "dollars": 1}, status=422)
        for dollars in (-1, 1e7, True, "1", None):
            await w.post("/api/spend/raise", {"period": "2026-11", "dollars": dollars}, status=422)
        await w.get("/api/spend", month="2026-13", status=422)
        await w.get("/api/spend", by="weekday", status=422)
        spend = await w.get("/api/spend", month="2020-01")
        nothing = dict.fromkeys(("used_dollars", "spent_dollars", "unsettled_dollars", "lost_dollars"), 0)
        untouched = {"period": "2020-01", "limit_dollars": 50, "raised": False, "reached_at": None}
        assert spend["month"] == untouched | nothing and spend["sums"] == []


async def test_settings_are_set_together_or_not_at_all(database_url: str) -> None:
    async with world(database_url) as w:
        before = await w.get("/api/settings")
        limits = {"day_limit_dollars": 5, "month_limit_dollars": 50}
        chosen = {"zone": "Europe/Vienna", "ask": "since-message", "pushes": True, "snooze_minutes": 10, "keep_days": 0}
        assert before == chosen | limits
        for bad in ({"zone": "Mars/Olympus"}, {"zone": "../etc/passwd"}, {"zone": "\ud800"}, {"zone": None}, {"x": 1}):
            refused = await w.client.patch("/api/settings", content=json.dumps({"day_limit_dollars": 1, **bad}))
            assert refused.status_code == 422, bad
        assert (await w.client.patch("/api/settings", content=b'{"day_limit_dollars": 1e400}')).status_code == 422
        assert await w.get("/api/settings") == before
        after = await _set(w, zone="Asia/Tokyo", day_limit_dollars=7.5)
        assert after == before | {"zone": "Asia/Tokyo", "day_limit_dollars": 7.5}
        assert (await w.get("/api/status"))["zone"] == "Asia/Tokyo"
        assert await _set(w) == after


async def _set(w: World, **values: object) -> object:
    answered = await w.client.patch("/api/settings", json=values)
    assert answered.status_code == 200, answered.text
    return answered.json()


async def test_a_worker_is_shown_under_its_call_while_it_works_and_after(database_url: str) -> None:
    gate = Gate()

    def rule(request: Json) -> Answer:
        if "You are a worker" in str(request["system"]):
            return say("Nine", gate, ".")
        if request["messages"][-1]["content"][0]["type"] == "tool_result":
            return say("At nine.")
        return answer(use("delegate", {"task": "Trains to Graz"}))

    async with world(database_url) as w:
        w.api.script(rule)
        async with w.stream() as stream:
            await w.say("When do trains leave?")
            await gate.reached.wait()
            page = await w.get("/api/agents/dreamwalker/entries")
            (working,) = page["workers"]
            (call,) = page["calls"]
            assert (working["run"], working["turn"], working["position"]) == (call["run"], call["turn"], 0)
            assert working["state"] == "open" and not working["over"]
            gate.open()
            seen = [one for event in await stream.until_settled() for one in event.data.get("workers", ())]
        assert seen[0]["state"] in ("queued", "open") and seen[-1]["over"]
        theirs, ours = (await w.get("/api/runs"))["runs"]
        assert theirs["kind"] == "worker" and theirs["works_for"] == ours["id"] and ours["works_for"] is None
        whole = await w.get(f"/api/runs/{ours['id']}")
        (worker,) = whole["workers"]
        assert worker["worker_run"] == theirs["id"] and worker["state"] == "done" and worker["replies"] == 1


async def test_a_workers_own_run_can_be_stopped(database_url: str) -> None:
    gate = Gate()

    def rule(request: Json) -> Answer:
        if "You are a worker" in str(request["system"]):
            return say("Nine", gate, ".")
        if request["messages"][-1]["content"][0]["type"] == "tool_result":
            return say("It was stopped.")
        return answer(use("delegate", {"task": "Trains to Graz"}))

    async with world(database_url) as w:
        w.api.script(rule)
        sent = await w.say("When do trains leave?")
        await gate.reached.wait()
        theirs = (await w.get("/api/runs"))["runs"][0]
        stopped = (await w.post(f"/api/runs/{theirs['id']}/stop"))["run"]
        assert stopped["state"] == "stopped" and stopped["kind"] == "worker"
        await w.settled(sent["accepted_no"])
        assert (await w.get("/api/runs"))["runs"][1]["state"] == "done"
