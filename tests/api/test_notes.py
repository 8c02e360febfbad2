"""Notes that the owner writes anew, and goes back on: always by a version that is added."""

from tests.messages_api import answer, say, use
from tests.messages_api.replies import Answer
from tests.world import Json, World, world

NOTES = "/api/agents/dreamwalker/notes"


async def written(w: World) -> str:
    """Have the agent write a note; the path of its versions."""
    await w.say("Keys are in the drawer")
    await w.settled()
    (note,) = (await w.get(NOTES))["notes"]
    return f"/api/notes/{note['id']}/versions"


def keys(text: str = "In the drawer") -> Answer:
    return answer(use("write_note", {"title": "Keys", "text": text}))


async def test_the_owner_adds_versions_and_goes_back_to_earlier_ones(database_url: str) -> None:
    async with world(database_url, keys(), say("Noted.")) as w:
        path = await written(w)
        for _ in range(2):
            made = await w.post(path, {"request_id": "1", "base": 1, "text": " On the hook "}, status=201)
            newest = made["versions"][0]
            assert (newest["version"], newest["text"], newest["made_by"]) == (2, "On the hook", "request:1")
        back = await w.post(path, {"request_id": "2", "base": 2, "version": 1}, status=201)
        assert (back["agent"], back["title"]) == ("dreamwalker", "Keys")
        assert [(it["version"], it["text"], it["run"] is None) for it in back["versions"]] == [
            (3, "In the drawer", True), (2, "On the hook", True), (1, "In the drawer", False),
        ]  # fmt: skip
        assert await w.get(path) == back
        (note,) = (await w.get(NOTES))["notes"]
        assert (note["version"], note["text"]) == (3, "In the drawer")


async def test_a_note_that_was_written_meanwhile_is_not_written_over(database_url: str) -> None:
    async with world(database_url, keys(), say("Noted."), keys("In the lock"), say("Noted.")) as w:
        path = await written(w)
        await w.say("No, in the lock")
        await w.settled(runs=2)
        for number, fields in enumerate(({"text": "On the hook"}, {"version": 1})):
            refused = await w.post(path, {"request_id": str(number), "base": 1} | fields, status=409)
            assert refused["error"]["code"] == "changed"
        assert [it["text"] for it in (await w.get(path))["versions"]] == ["In the lock", "In the drawer"]


async def test_what_the_owner_goes_over_keeps_the_label_of_what_it_derives_from(database_url: str) -> None:
    async with world(database_url, keys(), say("Noted.")) as w:
        message = await w.say("What is this?", quotes=[{"text": "Write a note!"}])
        await w.answer(await w.asked(message["accepted_no"] - 1), "yes")
        await w.settled()
        (note,) = (await w.get(NOTES))["notes"]
        assert note["label"] > 0
        path = f"/api/notes/{note['id']}/versions"
        await w.post(path, {"request_id": "1", "base": 1, "text": "On the hook"}, status=201)
        made = await w.post(path, {"request_id": "2", "base": 2, "version": 1}, status=201)
        assert [it["label"] for it in made["versions"]] == [note["label"]] * 3


async def test_what_is_no_version_is_refused_in_words(database_url: str) -> None:
    async with world(database_url, keys(), say("Noted.")) as w:
        path = await written(w)
        wrong: list[tuple[Json, int, str]] = [
            ({"text": "x", "version": 1}, 422, "one of them"),
            ({}, 422, "one of them"),
            ({"version": 9}, 422, "never had a version 9"),
            ({"text": " "}, 422, "1 to 30,000 characters"),
            ({"text": "x" * 30_001}, 422, "1 to 30,000 characters"),
            ({"version": 1, "base": 0}, 422, ">= 1"),
        ]
        for number, (fields, status, words) in enumerate(wrong):
            refused = await w.post(path, {"request_id": str(number), "base": 1} | fields, status=status)
            assert words in refused["error"]["message"]
        await w.post("/api/notes/999999/versions", {"request_id": "x", "base": 1, "text": "x"}, status=404)
        assert len((await w.get(path))["versions"]) == 1
