"""Named agents by the API: made, talked to, changed, retired and taken back; each keeps to itself."""

from tests.messages_api import Gate, answer, say, text, use
from tests.world import Json, World, world

GARDENER: Json = {"name": "gardener", "job": "looks after the garden", "instructions": "Answer in two sentences."}


async def tell(w: World, agent: str, words: str, request: str, *, status: int = 202) -> Json:
    return await w.post(f"/api/agents/{agent}/messages", {"request_id": request, "text": words}, status=status)


async def settled(w: World, agent: str, count: int = 1) -> Json:
    """Wait until so many runs of an agent have ended; the newest."""
    home = (await w.get(f"/api/agents/{agent}"))["home"]
    house = w.system.house
    assert house is not None
    with house.live.watch(home) as watch:
        while True:
            runs = (await w.get("/api/runs", agent=agent))["runs"]
            if sum(run["closed_at"] is not None for run in runs) >= count:
                newest: Json = runs[0]
                return newest
            await watch.wait()


async def test_an_agent_that_is_made_is_at_work_at_once_by_its_own_instructions(database_url: str) -> None:
    async with world(database_url, say("Prune in March.")) as w:
        made = await w.post("/api/agents", GARDENER, status=201)
        assert made["job"] == "looks after the garden" and made["model"] is None and made["retired"] is False
        assert await w.post("/api/agents", GARDENER, status=201) == made  # the same again is the same agent
        await tell(w, "gardener", "When do I prune roses?", "1")
        await settled(w, "gardener")
        (asked,) = w.api.asked
        assert "You are gardener: looks after the garden" in str(asked["system"])
        assert "Answer in two sentences." in str(asked["system"])
        entries = (await w.get("/api/agents/gardener/entries"))["entries"]
        assert [entry["text"] for entry in entries] == ["When do I prune roses?", "Prune in March."]
        assert (await w.get("/api/agents/dreamwalker/entries"))["entries"] == []


async def test_what_can_not_be_stored_of_an_agent_is_replaced_visibly_in_memory_too(database_url: str) -> None:
    sent = b'{"name": "gardener", "job": "looks\\ud800", "instructions": "Short.\\u0000"}'
    async with world(database_url) as w:
        for _ in range(2):  # the same again is the same agent
            made = await w.client.post("/api/agents", content=sent)
            assert made.status_code == 201, made.text
            assert (made.json()["job"], made.json()["instructions"]) == ("looks\ufffd", "Short.\ufffd")
        changed = await w.client.patch("/api/agents/gardener", content=b'{"job": "\\udfff rests"}')
        assert changed.status_code == 200 and changed.json()["job"] == "\ufffd rests"
        assert (await w.get("/api/agents/gardener"))["job"] == "\ufffd rests"


async def test_notes_of_one_agent_are_none_of_anothers(database_url: str) -> None:
    note = use("write_note", {"title": "Roses", "text": "Prune in March"})
    look = use("search_notes", {"query": "roses"})
    async with world(database_url, answer(note), say("Noted."), answer(look), say("I have none.")) as w:
        await w.post("/api/agents", GARDENER, status=201)
        await tell(w, "gardener", "Roses are pruned in March", "1")
        await settled(w, "gardener")
        await w.say("What do I know of roses?")
        await settled(w, "dreamwalker")
        assert [n["title"] for n in (await w.get("/api/agents/gardener/notes"))["notes"]] == ["Roses"]
        assert (await w.get("/api/agents/dreamwalker/notes"))["notes"] == []
        (call,) = (await w.get("/api/agents/dreamwalker/entries"))["calls"]
        assert "March" not in call["result"]


async def test_a_change_holds_for_the_next_request(database_url: str) -> None:
    async with world(database_url, say("One."), say("Two."), say("Three.")) as w:
        await w.post("/api/agents", GARDENER, status=201)
        for number, change in enumerate(
            ({}, {"model": "claude-sonnet-5-5", "instructions": "Rhyme."}, {"model": None})
        ):
            await w.client.patch("/api/agents/gardener", json=change)
            await tell(w, "gardener", "Say something", str(number))
            await settled(w, "gardener", number + 1)
        assert [asked["model"] for asked in w.api.asked] == [
            "claude-haiku-5-5", "claude-sonnet-5-5", "claude-haiku-5-5",
        ]  # fmt: skip
        assert ["Rhyme." in str(asked["system"]) for asked in w.api.asked] == [False, True, True]
        changed = await w.get("/api/agents/gardener")
        assert changed["job"] == "looks after the garden" and changed["instructions"] == "Rhyme."


async def test_a_retired_agent_answers_no_more_and_stays_readable(database_url: str) -> None:
    gate = Gate()
    async with world(database_url, say("Hello."), answer(text("As I said", gate, "…"))) as w:
        await w.post("/api/agents", GARDENER, status=201)
        await tell(w, "gardener", "Hello", "1")
        await settled(w, "gardener")
        await tell(w, "gardener", "Again", "2")
        await gate.reached.wait()
        waiting = (await tell(w, "gardener", "And again", "3"))["message"]["id"]
        retired = await w.post("/api/agents/gardener/retire")
        assert retired["retired"] is True and await w.post("/api/agents/gardener/retire") == retired
        runs = (await w.get("/api/runs", agent="gardener"))["runs"]
        assert [(run["state"], run["reason"]) for run in runs] == [
            ("stopped", "Its agent was retired."),
            ("done", None),
        ]
        entries = (await w.get("/api/agents/gardener/entries"))["entries"]
        assert [entry["text"] for entry in entries][:3] == ["Hello", "Hello.", "Again"]
        assert entries[3]["text"].startswith("As I sa")  # what was written until then is kept
        refused = await tell(w, "gardener", "Still there?", "4", status=409)
        assert refused["error"]["code"] == "retired"
        first = await tell(w, "gardener", "Hello", "1")  # what it had accepted is still known
        assert first["message"]["state"] == "placed"
        assert (await tell(w, "gardener", "And again", "3"))["message"]["id"] == waiting
        reminder = {"request_id": "r", "when": "in 20m", "text": "Tea", "agent": "gardener"}
        assert (await w.post("/api/reminders", reminder, status=409))["error"]["code"] == "retired"


async def test_a_retired_agent_is_taken_back_with_all_that_it_knew(database_url: str) -> None:
    async with world(database_url, say("Hello."), say("I remember.")) as w:
        await w.post("/api/agents", GARDENER, status=201)
        await tell(w, "gardener", "Hello", "1")
        await settled(w, "gardener")
        await w.post("/api/agents/gardener/retire")
        assert (await w.post("/api/agents/gardener/restore"))["retired"] is False
        await tell(w, "gardener", "Are you there?", "2")
        await settled(w, "gardener", 2)
        assert "Hello." in str(w.api.asked[1]["messages"])


async def test_agents_are_found_again_at_the_next_opening(database_url: str) -> None:
    async with world(database_url, say("Here.")) as w:
        await w.post("/api/agents", GARDENER, status=201)
        await w.post("/api/agents", {"name": "cook", "job": "cooks"}, status=201)
        await w.post("/api/agents/cook/retire")
    async with world(database_url, say("Here.")) as w:
        there = {agent["name"]: agent for agent in (await w.get("/api/agents"))["agents"]}
        assert list(there) == ["dreamwalker", "gardener", "cook"]
        assert there["cook"]["retired"] and there["gardener"]["instructions"] == "Answer in two sentences."
        await tell(w, "gardener", "Are you there?", "1")
        assert (await settled(w, "gardener"))["state"] == "done"
        await tell(w, "cook", "Are you there?", "2", status=409)


async def test_what_can_not_be_an_agent_is_refused_in_words(database_url: str) -> None:
    async with world(database_url, agents=2) as w:
        for name in ("Gardener", "", "a b", "-x", "x" * 33, "gärtner", "a\n"):
            await w.post("/api/agents", GARDENER | {"name": name}, status=422)
        await w.post("/api/agents", GARDENER | {"job": " "}, status=422)
        await w.post("/api/agents", GARDENER | {"instructions": "x" * 20_001}, status=422)
        refused = await w.post("/api/agents", GARDENER | {"grants": ["everything"]}, status=422)
        assert "netlify" in refused["error"]["message"]
        await w.post("/api/agents", GARDENER, status=201)
        await w.post("/api/agents", GARDENER | {"job": "another"}, status=409)
        await w.post("/api/agents", GARDENER | {"name": "third"}, status=429)
        assert (await w.post("/api/agents/dreamwalker/retire", status=409))["error"]["code"] == "main"
        await w.post("/api/agents/nobody/retire", status=404)
        await w.post("/api/agents/gardener/retire")
        assert (await w.post("/api/agents", GARDENER, status=409))["error"]["code"] == "conflict"  # it must be restored
        await w.post("/api/agents", GARDENER | {"name": "third"}, status=201)
        await w.post("/api/agents/gardener/restore", status=429)


async def test_the_main_agent_can_be_given_instructions_and_a_model(database_url: str) -> None:
    async with world(database_url, say("Ahoy.")) as w:
        change = {"instructions": "Talk like a pirate.", "model": "claude-opus-5"}
        answered = await w.client.patch("/api/agents/dreamwalker", json=change)
        assert answered.status_code == 200 and answered.json()["model"] == "claude-opus-5"
        await w.say("Hello")
        await w.settled()
        (asked,) = w.api.asked
        assert asked["model"] == "claude-opus-5" and "Talk like a pirate." in str(asked["system"])
