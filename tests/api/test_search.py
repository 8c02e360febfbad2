"""Searching by the API and the tools: the owner finds all there is, an agent what it may know."""

from dreamwalker.api.search import around
from tests.messages_api import answer, say, use
from tests.world import world


async def test_the_owner_finds_what_was_said_and_noted(database_url: str) -> None:
    note = answer("I write.", use("write_note", {"title": "Flowers", "text": "Anna likes tulips"}))
    async with world(database_url, note, say("Noted: tulips for Anna."), say("Hm.")) as w:
        await w.say("Anna likes tulips best")
        await w.settled()
        await w.say("Hello", quotes=[{"from": "a letter", "text": "Tulips are on sale"}])
        await w.settled(runs=2)
        found = await w.get("/api/search", query="TULIP")
        assert [hit["source"] for hit in found["entries"]] == ["outside", "model", "owner"]
        assert found["entries"][2]["text"] == "Anna likes tulips best" and found["entries"][0]["label"] > 0
        assert [(hit["agent"], hit["note"]["title"]) for hit in found["notes"]] == [("dreamwalker", "Flowers")]
        page = await w.get("/api/search", query="tulip", limit=1)
        older = await w.get("/api/search", query="tulip", limit=2, before=page["entries"][0]["no"])
        assert page["more"] and page["entries"] + older["entries"] == found["entries"] and older["notes"] == []
        assert (await w.get("/api/search", query="roses"))["entries"] == []
        await w.get("/api/search", query="?!", status=422)


async def test_no_hit_is_lost_between_two_pages(database_url: str) -> None:
    async with world(database_url, say("I see."), say("I see, too.")) as w:
        await w.say("Tulips?")
        await w.settled()
        await w.say("And tulips?", quotes=[{"text": f"tulips {number}"} for number in range(3)])
        await w.settled(runs=2)
        found, before = [], {}
        while True:
            page = await w.get("/api/search", query="tulips", limit=4, **before)
            found.append([hit["text"] for hit in page["entries"]])
            if not page["more"]:
                break
            before = {"before": page["entries"][-1]["no"]}
        assert found == [["And tulips?", "tulips 2", "tulips 1", "tulips 0"], ["Tulips?"]]
        page = await w.get("/api/search", query="tulips", limit=5)
        assert len(page["entries"]) == 5 and page["more"] is False


async def test_an_agent_that_is_not_there_has_nothing_to_be_searched(database_url: str) -> None:
    async with world(database_url) as w:
        for name in ("nobody", ""):
            refused = await w.get("/api/search", query="tea", agent=name, status=404)
            assert refused["error"]["message"] == "There is no agent of that name."


async def test_the_agent_finds_what_was_said_before_a_fresh_start(database_url: str) -> None:
    search = answer(use("search_history", {"query": "tulip"}))
    async with world(database_url, say("I see."), search, say("Tulips.")) as w:
        await w.say("Anna likes tulips best")
        await w.settled()
        await w.post("/api/agents/dreamwalker/fresh", {"request_id": "f"}, status=202)
        await w.say("What does she like?")
        await w.settled(runs=2)
        shown = w.api.asked[-1]["messages"][-1]["content"][0]["content"]
        assert "the owner: " in shown[0]["text"] and "Anna likes tulips best" in shown[0]["text"]
        (call,) = (await w.get("/api/agents/dreamwalker/entries"))["calls"]
        assert ", you: " in call["result"] and "the owner" not in call["result"], "he reads it addressed to him"


def test_a_long_text_is_shown_around_the_first_of_the_words() -> None:
    long = " ".join(f"word{number}" for number in range(500)) + " Tulips " + "x" * 900
    part = around(long, ["unicorn", "tulip"])
    assert part.startswith("…word") and "word499 Tulips xxx" in part and part.endswith("x…")
    assert len(part) == 402
    assert around(long, ["word0"]).startswith("word0 word1") and around(long, ["none"]).startswith("word0 ")
    assert around("short " * 10, ["none"]) == "short " * 10
