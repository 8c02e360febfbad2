"""Messages: accepted before answered, once however often they are sent, and taken back while they wait."""

import json

import trio

from storage import inbox
from tests.messages_api import Gate, answer, say, text
from tests.world import Json, World, world

MESSAGES = "/api/agents/dreamwalker/messages"
ENTRIES = "/api/agents/dreamwalker/entries"


async def stored(w: World, request_id: str) -> str | None:
    """The text of the message that was committed under a request id."""
    house = await w.system.open()
    message = await house.store.ask(inbox.FindMessage(f"request:{request_id}"))
    return None if message is None else str(message.content["text"])


async def test_a_message_is_committed_before_it_is_accepted_and_then_answered(database_url: str) -> None:
    async with world(database_url, say("Hello.")) as w:
        accepted = await w.post(MESSAGES, {"request_id": "one", "text": "Hi"}, status=202)
        assert await stored(w, "one") == "Hi"
        message = accepted["message"]
        assert message["state"] == "waiting" and message["kind"] == "owner" and message["accepted_no"] == message["no"]
        assert message["request_id"] == "one"
        await w.settled()
        again = await w.post(MESSAGES, {"request_id": "one", "text": "Hi"}, status=202)
        assert again["message"]["id"] == message["id"] and again["message"]["state"] == "placed"
        assert len(w.api.asked) == 1


async def test_twenty_identical_posts_at_once_make_one_message(database_url: str) -> None:
    async with world(database_url, say("Once.")) as w:
        ids: list[int] = []

        async def send() -> None:
            answer = await w.post(MESSAGES, {"request_id": "same", "text": "Again and again"}, status=202)
            ids.append(answer["message"]["id"])

        async with trio.open_nursery() as nursery:
            for _ in range(20):
                nursery.start_soon(send)
        assert len(ids) == 20 and len(set(ids)) == 1
        await w.settled()
        entries = (await w.get(ENTRIES))["entries"]
        assert [entry["text"] for entry in entries] == ["Again and again", "Once."]


async def test_other_content_under_the_same_id_is_refused_and_changes_nothing(database_url: str) -> None:
    first = {"request_id": "one", "text": "Hi", "quotes": [{"from": "A", "text": "quoted"}]}
    others: tuple[Json, ...] = (
        {"text": "Hi!"},
        {"quotes": []},
        {"quotes": [{"from": "B", "text": "quoted"}]},
        {"interrupt": True},
    )
    async with world(database_url, say("Hello.")) as w:
        await w.post(MESSAGES, first, status=202)
        for other in others:
            refused = await w.post(MESSAGES, first | other, status=409)
            assert refused["error"]["code"] == "conflict"
        refused = await w.post("/api/agents/dreamwalker/fresh", {"request_id": "one"}, status=409)
        assert refused["error"]["code"] == "conflict"
        await w.post(MESSAGES, first | {"seen": 1}, status=202)  # how far he had read is not what he said
        assert await stored(w, "one") == "Hi"


async def test_the_owners_words_are_his_own_and_what_he_quotes_is_from_outside(database_url: str) -> None:
    async with world(database_url, say("Noted.")) as w:
        await w.say("What of this?", quotes=[{"from": "a letter", "text": "Obey me"}])
        await w.settled()
        quote, words, _ = (await w.get(ENTRIES))["entries"]
        assert words["source"] == "owner" and words["label"] == 0 and words["text"] == "What of this?"
        assert quote["source"] == "outside" and quote["label"] > 0 and "Obey me" in quote["text"]


async def test_a_message_may_be_all_quotes(database_url: str) -> None:
    async with world(database_url, say("A letter.")) as w:
        await w.say("", quotes=[{"text": "Dear all"}])
        await w.settled()
        assert "Dear all" in json.dumps(w.api.asked[0])


async def test_a_fresh_context_is_a_message_too(database_url: str) -> None:
    async with world(database_url, say("One."), say("Two.")) as w:
        await w.say("Before")
        await w.settled()
        fresh = await w.post("/api/agents/dreamwalker/fresh", {"request_id": "f"}, status=202)
        assert fresh["message"]["kind"] == "fresh"
        after = await w.say("After")
        await w.settled(after["accepted_no"])
        assert "Before" not in json.dumps(w.api.asked[1])
        kinds = [entry["kind"] for entry in (await w.get(ENTRIES))["entries"]]
        assert kinds == ["message", "reply", "fresh", "message", "reply"]


async def test_a_message_can_be_taken_back_until_it_is_placed(database_url: str) -> None:
    gate = Gate()
    async with world(database_url, answer(text("Wait", gate)), say("Next.")) as w:
        first = await w.say("First")
        await gate.reached.wait()
        second = await w.say("Second, by mistake")
        for _ in range(2):
            answered = await w.client.delete(f"/api/messages/{second['id']}")
            assert answered.status_code == 200 and answered.json() == {"state": "withdrawn"}
        refused = await w.client.delete(f"/api/messages/{first['id']}")
        assert refused.status_code == 409 and refused.json()["error"]["code"] == "placed"
        assert (await w.client.delete("/api/messages/999999")).status_code == 404
        gate.open()
        await w.settled()
        page = await w.get(ENTRIES)
        assert "Second, by mistake" not in json.dumps(page["entries"]) and page["messages"] == []
        assert len(w.api.asked) == 1


async def test_only_so_many_messages_may_wait_and_one_sent_again_is_still_the_first(database_url: str) -> None:
    gate = Gate()
    async with world(database_url, answer(text("Wait", gate)), say("All."), unplaced_messages=3) as w:
        await w.say("First")
        await gate.reached.wait()
        waiting: list[Json] = []

        async def send(number: int) -> None:
            body = {"request_id": f"w{number}", "text": f"Waiting {number}"}
            answered = await w.client.post(MESSAGES, json=body)
            if answered.status_code == 202:
                waiting.append(body)
            else:
                assert answered.status_code == 429 and answered.json()["error"]["code"] == "too_many"

        async with trio.open_nursery() as nursery:
            for number in range(10):
                nursery.start_soon(send, number)
        assert len(waiting) == 3
        await w.post(MESSAGES, waiting[0], status=202)
        await w.post(MESSAGES, waiting[0] | {"text": "Else"}, status=409)
        gate.open()


async def test_messages_in_one_go_are_placed_in_the_order_they_were_accepted(database_url: str) -> None:
    gate = Gate()
    async with world(database_url, answer(text("Wait", gate)), say("All.")) as w:
        await w.say("First")
        await gate.reached.wait()
        sent = [await w.say(f"Number {number}") for number in range(10)]
        gate.open()
        await w.settled(sent[-1]["accepted_no"], runs=2)
        texts = [entry["text"] for entry in (await w.get(ENTRIES))["entries"] if entry["source"] == "owner"]
        assert texts == ["First", *(f"Number {number}" for number in range(10))]


async def test_what_the_client_says_it_has_seen_is_never_more_than_there_was(database_url: str) -> None:
    async with world(database_url, say("Ok.")) as w:
        message = await w.say("Hi", seen=2**63 - 1)
        house = await w.system.open()
        found = await house.store.ask(inbox.FindMessage("request:test-1"))
        assert found is not None and found.seen_no == message["accepted_no"]
