"""A turn whose one call does nothing outside the database: one commit, and the long way where that can't be."""

from datetime import UTC, datetime

import pytest

from storage.notes import ListNotes
from storage.spend import ReadPeriod, SumsOf
from tests.actors.house import Inside, inside, open_house
from tests.hand_clock import HandClock
from tests.messages_api import Gate, answer, say, serve_messages_api, text, use
from tests.proxy import commits, open_proxy

NOTE = {"title": "Bike", "text": "It is blue."}


async def _is_right(it: Inside, turns: int) -> None:
    """One note, one result, and the books at what was billed."""
    (run,) = await it.runs()
    assert (run.state, run.turn) == ("done", turns)
    (note,) = await it.ask(ListNotes("dreamwalker", 9))
    assert (note.title, note.version) == ("Bike", 1)
    _, calls = await it.transcript()
    assert [(call.state, call.failed) for call in calls] == [("finished", False)]
    (sums,) = await it.ask(SumsOf("run", run.id))
    assert (sums.requests, sums.unsettled) == (turns, 0)


async def test_a_run_with_one_note_is_four_commits(database_url: str) -> None:
    async with serve_messages_api() as api, open_proxy(database_url) as proxy, open_house(proxy.url, api) as it:
        api.script(say("Hello."), answer("I'll note it.", use("write_note", NOTE)), say("Noted."))
        await it.say("Hello")
        await it.settled(1)
        made = proxy.note(commits)
        await it.say("My bike is blue")
        await it.settled(2)
        assert len(made) == 4


@pytest.mark.parametrize("calls", [1, 2])
async def test_what_was_said_after_a_turn_joins_it(database_url: str, calls: int) -> None:
    gate = Gate()
    async with inside(database_url) as it:
        it.api.script(answer(text("Let me look", gate), *[use("list_notes", {})] * calls), say("There are none."))
        await it.say("Which notes are there?")
        await it.api.arrived(1)
        await it.say("Be quick.")
        gate.open()
        (run,) = await it.settled()
        assert run.turn == 2
        assert it.api.asked[1]["messages"][-1]["content"][-1]["text"] == "Be quick."


async def test_a_limit_met_by_the_next_request_keeps_the_turn_and_waits(database_url: str) -> None:
    gate = Gate()
    async with inside(database_url) as it:
        it.api.script(answer(text("I'll note it", gate), use("write_note", NOTE)), say("Noted."))
        await it.say("My bike is blue")
        await it.api.arrived(1)
        await it.house.choose("day_limit_dollars", 0)
        gate.open()
        (run,) = await it.until(lambda runs: bool(runs) and runs[0].state == "waiting")
        assert "limit of the day" in run.reason and run.turn == 1
        assert await it.said() == ["My bike is blue", "I'll note it"]
        await it.house.choose("day_limit_dollars", 5)
        await it.settled()
        await _is_right(it, 2)


async def test_a_day_that_ends_in_the_turn_is_billed_for_what_was_asked_on_it(database_url: str) -> None:
    gate, clock = Gate(), HandClock(datetime(2026, 11, 30, 22, 59, tzinfo=UTC))  # a minute before midnight in Vienna
    async with inside(database_url, clock=clock) as it:
        it.api.script(answer(text("I'll note it", gate), use("write_note", NOTE)), say("Noted."))
        await it.say("My bike is blue")
        await it.api.arrived(1)
        clock.move(120)
        gate.open()
        await it.settled()
        await _is_right(it, 2)
        (run,) = await it.runs()
        (sums,) = await it.ask(SumsOf("run", run.id))
        november, december = [await it.ask(ReadPeriod(day)) for day in ("2026-11-30", "2026-12-01")]
        assert november.used > 0 and december.used > 0 and november.used + december.used == sums.cost
