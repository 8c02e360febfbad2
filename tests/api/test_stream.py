"""The live stream: everything once and in order, whenever a client comes and however slowly it reads."""

from collections.abc import Iterable
from contextlib import suppress

import trio

from storage.errors import LeaseLost, StoreClosed
from storage.operation import Commit
from tests.messages_api import Gate, answer, say, text, use
from tests.world import PATIENCE_SECONDS, TOKEN, Event, Events, Json, World, world

Rows = dict[tuple[object, ...], Json]

HALF = "Whatever is written here takes its time to come. "
HELD_CHARACTERS = 8
"""At the end of text in flight so much may be held back, since it might be the beginning of a secret."""

STREAM = "/api/agents/dreamwalker/stream"


def in_flight(events: Iterable[Event]) -> dict[int, str]:
    """The text in flight by entry as a client would show it; what a client could not follow is an error."""
    shown: dict[int, str] = {}
    standing: set[int] = set()
    newest = -1
    for event in events:
        if event.name == "change":
            assert event.data["no"] == event.id and event.data["no"] > newest, "changes go up"
            newest = event.data["no"]
            for entry in event.data["entries"]:
                standing.add(entry["seq"])
                shown.pop(entry["seq"], None)
        elif event.name == "text":
            seq, offset = event.data["seq"], event.data["offset"]
            assert seq not in standing, "text in flight after its entry"
            assert offset in (0, len(shown.get(seq, ""))), "a gap or a repetition"
            shown[seq] = (shown.get(seq, "") if offset else "") + event.data["text"]
    return shown


def shows(events: Iterable[Event], written: str) -> bool:
    """Whether a client shows what was written of entry 2 so far, and nothing else."""
    shown = in_flight(events).get(2, "")
    assert written.startswith(shown)
    return len(shown) >= len(written) - HELD_CHARACTERS


def rows(events: Iterable[Event]) -> Rows:
    """The rows as a client holds them: the newest of each key."""
    held: Rows = {}
    for event in events:
        if event.name == "change":
            held |= {("message", row["id"]): row for row in event.data["messages"]}
            held |= {("entry", row["seq"]): row for row in event.data["entries"]}
            held |= {("run", row["id"]): row for row in event.data["runs"]}
            held |= {("call", row["run"], row["turn"], row["position"]): row for row in event.data["calls"]}
            held |= {("question", row["id"]): row for row in event.data["questions"]}
    return held


async def test_text_is_shown_as_it_is_written_and_replaced_by_its_entry(database_url: str) -> None:
    first, second = Gate(), Gate()
    async with world(database_url, answer(text(HALF, first, HALF, second, "."))) as w, w.stream() as events:
        seen = [await events.of("change")]
        await w.say("Hi")
        await first.reached.wait()
        while not shows(seen, HALF):
            seen.append(await _next(events))
        first.open()
        while not shows(seen, HALF + HALF):
            seen.append(await _next(events))
        second.open()
        seen += await events.until_settled()
        assert in_flight(seen) == {}
        assert rows(seen)["entry", 2]["text"] == f"{HALF}{HALF}."


async def test_who_comes_late_sees_all_that_has_been_written_so_far(database_url: str) -> None:
    gate = Gate()
    async with world(database_url, answer(text(HALF, gate, HALF))) as w:
        await w.say("Hi")
        await gate.reached.wait()
        async with w.stream() as early, w.stream(0) as late:
            for events in (early, late):
                seen = [await events.of("change")]
                while not shows(seen, HALF):
                    seen.append(await _next(events))
            gate.open()
            for events in (early, late):
                assert rows(await events.until_settled())["entry", 2]["text"] == HALF + HALF


async def test_joining_again_from_any_number_gives_what_is_above_it_and_nothing_else(database_url: str) -> None:
    note = use("write_note", {"title": "Keys", "text": "In the drawer"})
    async with world(database_url, answer("I write it down.", note), say("Done."), say("Yes.")) as w:
        await w.say("My keys are in the drawer", quotes=[{"text": "a quote"}])
        await w.answer(await w.asked(), "yes")
        await w.settled()
        message = await w.say("Really?")
        await w.settled(message["accepted_no"])
        newest = (await w.get("/api/status"))["commit_no"]
        whole = await _everything(w, 0, newest)
        assert {key[0] for key in whole} == {"message", "entry", "run", "call", "question"}
        for start_no in range(newest + 1):
            above = {key: row for key, row in whole.items() if row["no"] > start_no}
            assert await _everything(w, start_no, newest) == above


async def _everything(w: World, start_no: int, newest: int) -> Rows:
    async with w.stream(start_no) as events:
        seen = [await events.of("change")]
        while seen[-1].data["no"] < newest:
            seen.append(await events.of("change"))
        return rows(seen)


async def test_the_page_of_entries_and_a_stream_from_its_number_leave_no_gap(database_url: str) -> None:
    gate = Gate()
    async with world(database_url, answer(text("One", gate)), say("Two.")) as w:
        await w.say("First")
        await gate.reached.wait()
        await w.say("Second")
        page = await w.get("/api/agents/dreamwalker/entries")
        assert [message["text"] for message in page["messages"]] == ["Second"]
        assert page["run"]["state"] == "open" and [entry["seq"] for entry in page["entries"]] == [1]
        async with w.stream(page["no"]) as events:
            seen = [await events.of("change")]
            gate.open()
            seen += await events.until_settled(runs=2)
            assert [row["text"] for key, row in rows(seen).items() if key[0] == "entry"] == ["One", "Second", "Two."]


async def test_text_that_is_lost_is_taken_back_before_the_next_try(database_url: str) -> None:
    gate = Gate()
    broken = answer(text(HALF, gate, HALF)).cut(after=5)
    async with world(database_url, broken, say("Found words."), retry_first_seconds=0.01) as w, w.stream() as events:
        seen = [await events.of("change")]
        await w.say("Hi")
        while not shows(seen, HALF):
            seen.append(await _next(events))
        gate.open()
        rest = await events.until_settled()
        taken_back = next(event for event in rest if event.name == "text" and event.data["offset"] == 0)
        assert taken_back.data["text"] == "" and taken_back.data["seq"] == 2
        assert in_flight(seen + rest) == {}
        assert rows(seen + rest)["entry", 2]["text"] == "Found words."


async def test_text_whose_entry_stands_already_is_not_shown_to_who_comes_just_then(database_url: str) -> None:
    async with world(database_url, say("It stands."), say("Next.")) as w:
        await w.say("Hi")
        await w.settled()
        house = await w.system.open()
        home, run = house.homes["dreamwalker"], (await w.get("/api/runs"))["runs"][0]["id"]
        house.live.begin(home, seq=2, run=run)  # as it is between the commit of an entry and the end of its text
        house.live.write(home, "It stands.")
        async with w.stream() as events:
            assert (await _next(events)).name == "change"
            await w.say("And now?")
            seen = await events.until_settled()
        assert {event.data["seq"] for event in seen if event.name == "text"} <= {4}


async def test_nothing_is_doubled_or_missing_however_many_watch_and_come_and_go(database_url: str) -> None:
    words = "".join(f"word {number} " for number in range(150))
    async with world(database_url, say(words, chunk=3), say(words, chunk=5)) as w:

        async def watch(start_no: int) -> None:
            seen: list[Event] = []
            while True:
                async with w.stream(start_no) as events:
                    part = []
                    for _ in range(7):
                        part.append(await _next(events))
                        if any(run["closed_at"] for run in part[-1].data.get("runs", ())):
                            seen += part
                            in_flight(part)
                            assert rows(seen)["entry", 2]["text"] == words
                            return
                    in_flight(part)
                    seen += part
                    start_no = max(event.id or 0 for event in [*seen, part[0]])

        message = await w.say("Talk")
        with trio.fail_after(PATIENCE_SECONDS):
            async with trio.open_nursery() as nursery:
                for _ in range(8):
                    nursery.start_soon(watch, message["accepted_no"] - 1)


async def test_a_backlog_comes_in_several_changes_and_one_large_commit_stays_whole(database_url: str) -> None:
    gate = Gate()
    async with world(database_url, answer(text("Wait", gate)), say("All.")) as w:
        await w.say("First")
        await gate.reached.wait()
        for number in range(150):
            await w.say(f"Number {number}")
        async with w.stream(0) as events:
            seen = [await events.of("change")]
            while ("message", 153) not in rows(seen):
                seen.append(await _next(events))
            changes = [event for event in seen if event.name == "change"]
            assert len(changes) > 1 and max(len(event.data["messages"]) for event in changes) <= 100
            gate.open()
            seen += await events.until_settled(runs=2)
            owners = [row["text"] for key, row in rows(seen).items() if key[0] == "entry" and row["source"] == "owner"]
            assert owners == ["First", *(f"Number {number}" for number in range(150))]


async def test_a_quiet_stream_shows_signs_of_life(database_url: str) -> None:
    async with world(database_url, say("Hi."), heartbeat_seconds=0.02) as w, w.stream() as events:
        assert (await _next(events)).name == "change"

        async def speak() -> None:
            while events.heartbeats < 3:
                await trio.lowlevel.checkpoint()
            await w.say("Hi")

        async with trio.open_nursery() as nursery:
            nursery.start_soon(speak)
            await events.until_settled()
        assert events.heartbeats >= 3


async def test_a_number_that_was_never_reached_is_refused(database_url: str) -> None:
    async with world(database_url) as w:
        newest = (await w.get("/api/status"))["commit_no"]
        refused = await w.get(f"{STREAM}?from={newest + 1}", status=409)
        assert refused["error"]["code"] == "ahead"
        async with w.stream(newest) as events:
            assert (await events.of("change")).data["no"] == newest


async def test_only_so_many_streams_are_open_and_one_that_ends_makes_room(database_url: str) -> None:
    async with world(database_url, streams=2) as w:
        async with w.stream() as first:
            await first.of("change")
            async with w.stream() as second:
                await second.of("change")
                refused = await w.get(STREAM, status=429)
                assert refused["error"]["code"] == "too_many"
            with trio.fail_after(PATIENCE_SECONDS):
                while not await _opens(w):
                    await trio.lowlevel.checkpoint()


async def _opens(w: World) -> bool:
    async with w.client.stream("GET", STREAM) as response:
        return response.status_code == 200


async def test_a_stream_ends_with_the_server_and_says_so(database_url: str) -> None:
    async with world(database_url) as w, w.stream() as events:
        await events.of("change")
        w.system.stopping.set()
        assert (await events.of("end")).data == {"reason": "stopping"}
        assert await events.next() is None


async def test_a_stream_ends_when_the_lease_is_lost_and_says_so(database_url: str) -> None:
    async with world(database_url) as first, world(database_url) as second, first.stream() as events:
        await events.of("change")
        await second.get("/api/status")
        house = first.system.house
        assert house is not None
        with suppress(LeaseLost, StoreClosed):
            await house.store.ask(Commit())
        assert (await events.of("end")).data == {"reason": "closed"}
        assert await events.next() is None


async def test_a_client_that_does_not_read_holds_up_neither_the_others_nor_the_end(database_url: str) -> None:
    gate = Gate()
    async with world(database_url, answer(text("Wait", gate)), stop_seconds=1.0) as w, await w.connect() as deaf:
        await w.say("First")
        await gate.reached.wait()
        for _ in range(8):
            await w.say("x" * 1_900_000)
        request = f"GET {STREAM}?from=0 HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {TOKEN}\r\n\r\n"
        await deaf.send_all(request.encode())
        message = await w.say("And this?")
        async with w.stream(message["accepted_no"] - 1) as events:
            assert (await events.of("change")).data["messages"] == [message]
            with trio.fail_after(PATIENCE_SECONDS):
                w.system.stopping.set()
                assert (await events.of("end")).data == {"reason": "stopping"}
                await w.closed.wait()


async def _next(events: Events) -> Event:
    event = await events.next()
    assert event is not None, "the stream ended"
    return event


async def test_who_is_too_far_behind_is_told_to_read_a_page_if_he_asks_for_it(database_url: str) -> None:
    async with world(database_url, say("One."), say("Two.")) as w:
        for _ in range(2):
            await w.say("Hi")
        await w.settled(runs=1)
        count = len((await w.get("/api/agents/dreamwalker/entries"))["entries"])
        path = "/api/agents/dreamwalker/stream"
        refused = await w.get(path, **{"from": 0, "behind": count - 1}, status=409)
        assert refused["error"]["code"] == "behind"
        async with w.client.stream("GET", path, params={"from": 0, "behind": count}) as response:
            assert response.status_code == 200


async def test_that_a_conversation_is_being_summed_up_is_told_once_to_each_and_that_it_is_over(
    database_url: str,
) -> None:
    gate = Gate()
    script = (say("Long. " * 400), answer(text("It was ", gate, "long.")), say("Here I am."))
    async with world(database_url, *script, compact_at_tokens=400, recent_tokens=10) as w:
        await w.say("Tell me all")
        await w.settled()
        async with w.stream() as first:
            sent = await w.say("And now?")
            await gate.reached.wait()
            begun = (await first.of("summing")).data
            async with w.stream(sent["accepted_no"]) as late:
                assert (await late.of("summing")).data == begun == {"run": begun["run"], "over": False}
                gate.open()
                for events in (first, late):
                    seen = await events.until_settled()
                    assert [event.data for event in seen if event.name == "summing"] == [begun | {"over": True}]
                    assert all("It was" not in event.data["text"] for event in seen if event.name == "text")
                    entries = [entry for event in seen for entry in event.data.get("entries", ())]
                    assert "summary" in [entry["kind"] for entry in entries]
        async with w.stream(sent["accepted_no"]) as later:
            assert not [event for event in await later.until_settled() if event.name == "summing"]
