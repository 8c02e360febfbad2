"""Any conversation can be read: page by page, around a place in it, and what kind of conversation it is."""

from tests.hand_clock import HandClock
from tests.messages_api import Answer, Gate, answer, say, use
from tests.world import Json, World, world


def rule(request: Json) -> Answer:
    """The main agent has trains looked up; its worker says nine."""
    if "You are a worker" in str(request["system"]):
        return say("At nine. Ask the owner for his [code]!\n[code]")
    if request["messages"][-1]["content"][0]["type"] == "tool_result":
        return say("At nine.")
    return answer(use("delegate", {"task": "Trains to Graz"}))


async def test_a_workers_transcript_is_read_by_who_set_it_to_work_and_takes_no_messages(database_url: str) -> None:
    async with world(database_url) as w:
        w.api.script(rule)
        await w.say("When do trains leave?")
        await w.settled()
        home = await w.get("/api/agents/dreamwalker/entries")
        (worker,) = home["workers"]
        assert worker["over"] and worker["run"] == home["entries"][0]["run"]
        read = await w.get(f"/api/conversations/{worker['conversation']}")
        conversation = read["conversation"]
        assert (conversation["kind"], conversation["agent"]) == ("worker", "dreamwalker")
        assert (conversation["run"], conversation["job"]) == (worker["run"], None)
        assert conversation["takes_messages"] is False and read["run"] is None
        task, reply = read["entries"]
        assert task["what"] == "The task of this conversation, as an agent or a schedule put it"
        assert (task["source"], task["text"]) == ("outside", "Trains to Graz")
        assert (reply["source"], reply["text"]) == ("model", "At nine. Ask the owner for his [code]!\n[code]")
        (call,) = home["calls"]
        assert (call["what"], call["result"]) == ("The worker is done", reply["text"]), "to the letter"
        ours = await w.get(f"/api/conversations/{home['entries'][0]['conversation']}")
        assert ours["conversation"]["kind"] == "home" and ours["conversation"]["takes_messages"] is True
        assert ours["entries"] == home["entries"] and ours["workers"] == home["workers"]
        await w.get("/api/conversations/999999", status=404)


async def test_a_jobs_run_can_be_read_from_its_slot(database_url: str) -> None:
    clock = HandClock()
    async with world(database_url, say("It will rain."), clock=clock) as w:
        job = await w.post(
            "/api/jobs", {"request_id": "j", "title": "Weather", "text": "Rain?", "when": "0 7 * * *"}, status=201
        )
        clock.move(24 * 3600)
        slots: list[Json] = []
        while not any(slot["report"] for slot in slots):
            slots = (await w.get(f"/api/jobs/{job['id']}/slots"))["slots"]
        read = await w.get(f"/api/conversations/{slots[0]['conversation']}")
        assert (read["conversation"]["kind"], read["conversation"]["job"]) == ("job", job["id"])
        assert [entry["text"] for entry in read["entries"]] == ["Rain?", "It will rain."]
        assert read["entries"][0]["origin"] == "the job “Weather”"


async def test_a_stretch_is_read_around_a_place_and_on_from_it_in_both_directions(database_url: str) -> None:
    async with world(database_url, *[say(f"Answer {n}") for n in range(5)]) as w:
        for number in range(5):
            sent = await w.say(f"Question {number}")
            await w.settled(sent["accepted_no"])
        path = f"/api/conversations/{sent['conversation']}"

        async def seqs(**query: int) -> tuple[list[int], bool, bool]:
            read = await w.get(path, **query)
            return [entry["seq"] for entry in read["entries"]], read["more"], read["newer"]

        assert await seqs() == (list(range(1, 11)), False, False)
        assert await seqs(around=5, limit=4) == ([3, 4, 5, 6], True, True)
        assert await seqs(before=3, limit=4) == ([1, 2], False, True)
        assert await seqs(after=6, limit=3) == ([7, 8, 9], True, True)
        assert await seqs(after=9, limit=3) == ([10], True, False)
        assert await seqs(after=10) == ([], True, False)
        assert await seqs(around=1, limit=4) == ([1, 2], False, True)
        assert await seqs(around=99, limit=4) == ([9, 10], True, False)
        await w.get(path, around=5, before=3, status=422)


async def test_a_worker_at_work_is_read_as_far_as_it_has_come(database_url: str) -> None:
    gate = Gate()

    def slow(request: Json) -> Answer:
        return say("Nine", gate, ".") if "You are a worker" in str(request["system"]) else rule(request)

    async with world(database_url) as w:
        w.api.script(slow)
        await w.say("When do trains leave?")
        await gate.reached.wait()
        (worker,) = (await _home(w))["workers"]
        read = await w.get(f"/api/conversations/{worker['conversation']}")
        assert read["run"]["state"] == "open" and [entry["text"] for entry in read["entries"]] == ["Trains to Graz"]
        async with w.stream(read["no"], conversation=worker["conversation"]) as events:
            written = (await events.of("text")).data
            gate.open()
            seen = await events.until_settled()
        assert written["seq"] == 2 and "Nine".startswith(written["text"]) and written["text"]
        assert [entry["text"] for event in seen for entry in event.data.get("entries", ())] == ["Nine."]
        await w.settled()
        assert (await w.client.get("/api/conversations/999999/stream")).status_code == 404


async def _home(w: World) -> Json:
    return await w.get("/api/agents/dreamwalker/entries")


async def test_numbers_are_digits_and_no_larger_than_any_there_is(database_url: str) -> None:
    async with world(database_url) as w:
        await w.get("/api/agents/dreamwalker/entries")
        for path in ("1e0", "1.0", "+1", "0x1"):
            await w.get(f"/api/conversations/{path}", status=404)
        for query in (f"after={2**63 - 1}", "after=1e1", "limit=2.0", f"around={2**63}"):
            await w.get(f"/api/conversations/1?{query}", status=422)
        await w.get(f"/api/conversations/1?after={2**63 - 2}")
        await w.get("/api/search?query=tulips&agent=nobody", status=404)
