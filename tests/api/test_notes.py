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
            ({"version": 1, "base": 0}, 422, "at least 1"),
        ]
        for number, (fields, status, words) in enumerate(wrong):
            refused = await w.post(path, {"request_id": str(number), "base": 1} | fields, status=status)
            assert words in refused["error"]["message"]
        await w.post("/api/notes/999999/versions", {"request_id": "x", "base": 1, "text": "x"}, status=404)
        assert len((await w.get(path))["versions"]) == 1


async def test_a_note_is_removed_and_brought_back_with_all_that_it_ever_said(database_url: str) -> None:
    find = [answer(use(tool, given)) for tool, given in (
        ("read_note", {"title": "keys"}), ("search_notes", {"query": "drawer"}), ("list_notes", {}),
    )]  # fmt: skip
    async with world(database_url, keys(), say("Noted."), *find, say("There is none.")) as w:
        path = (await written(w)).removesuffix("/versions")
        for _ in range(2):
            gone = (await w.client.delete(path)).json()
            assert gone["removed"] and [it["text"] for it in gone["versions"]] == ["In the drawer"]
        assert (await w.get(NOTES))["notes"] == [] == (await w.get(NOTES, query="drawer"))["notes"]
        assert (await w.get("/api/search", query="drawer"))["notes"] == []
        (there,) = (await w.get(NOTES, removed="true"))["notes"]
        assert there["removed"] and there["title"] == "Keys"
        await w.say("Where are they?")
        await w.settled(runs=2)
        told = [message["content"][0]["content"][0]["text"] for message in w.api.asked[-1]["messages"][-5::2]]
        assert told == [
            "There is no note “keys”. search_notes or list_notes may find it.",
            "No note holds all of: drawer",
            "There are no notes yet.",
        ]
        for _ in range(2):
            back = await w.post(f"{path}/restore")
            assert not back["removed"] and back["versions"] == gone["versions"]
        assert [it["title"] for it in (await w.get(NOTES))["notes"]] == ["Keys"]
        assert (await w.get(NOTES, removed="true"))["notes"] == []
        assert (await w.client.delete("/api/notes/999999")).status_code == 404
        await w.post("/api/notes/999999/restore", status=404)
        await w.get(NOTES, removed="true", query="keys", status=422)


async def test_a_removed_note_comes_back_when_it_is_written_anew_by_either(database_url: str) -> None:
    async with world(database_url, keys(), say("Noted."), keys("On the hook"), say("Noted.")) as w:
        path = await written(w)
        await w.client.delete(path.removesuffix("/versions"))
        await w.say("Keys are on the hook")
        await w.settled(runs=2)
        assert [it["text"] for it in (await w.get(path))["versions"]] == ["On the hook", "In the drawer"]
        assert (await w.get(path))["removed"] is False
        await w.client.delete(path.removesuffix("/versions"))
        made = await w.post(path, {"request_id": "1", "base": 2, "version": 1}, status=201)
        assert made["removed"] is False and made["versions"][0]["text"] == "In the drawer"


async def test_a_yes_to_a_change_of_a_note_that_was_removed_meanwhile_changes_nothing(database_url: str) -> None:
    script = [keys(), say("Noted."), keys("On the hook"), say("It had changed.")]
    async with world(database_url, *script) as w:
        path = await written(w)
        message = await w.say("And this?", quotes=[{"text": "The keys are on the hook."}])
        number = await w.asked(message["accepted_no"] - 1)
        await w.client.delete(path.removesuffix("/versions"))
        refused = await w.answer(number, "yes", status=409)
        assert refused["error"]["code"] == "changed"
        stands = await w.get(path)
        assert stands["removed"] and [it["text"] for it in stands["versions"]] == ["In the drawer"]
