"""What becomes of reminders and jobs, through the real actors, storage and Claude client; time is moved by hand."""

import json
from datetime import UTC, datetime

import pytest
import trio

from actors.scheduler import Scheduler
from storage.errors import NotAsExpected
from storage.operation import Commit
from storage.runs import ListRuns
from storage.text import loads
from storage.things import _UPCOMING, Upcoming
from tests.actors.house import Inside, inside, open_house
from tests.actors.timed import ledger, ledger_until, make, passed, settled, thing, told
from tests.hand_clock import HandClock
from tests.messages_api import Gate, answer, fail, say, serve_messages_api, use
from tests.storage.harness import outside
from tools.things import change, remove
from tools.timing import Timing, read_timing
from tools.zones import zone_named

# The clock starts on Sunday, 2026-11-29, 13:00 in Vienna.
HOUR, DAY = 3600, 86_400


def at(when: str, it: Inside) -> Timing:
    return read_timing(when, zone_named("Europe/Vienna"), it.clock.now())


async def test_a_reminder_set_by_the_agent_says_back_the_exact_instant_with_zone_and_weekday(database_url: str) -> None:
    async with inside(database_url) as it:
        it.api.script(
            answer(use("set_reminder", {"when": "9:30", "text": "Call Anna"})), say("Tomorrow at half past nine.")
        )
        await it.say("Remind me at 9:30 to call Anna")
        await it.settled()
        _, (call,) = await it.transcript()
        assert call.failed is False
        said = loads(call.result or "")["content"][0]["text"]
        assert "Monday 2026-11-30 09:30 Europe/Vienna (2026-11-30T08:30:00Z)" in said
        assert "09:30 has passed today, so this is tomorrow." in said


async def test_a_due_reminder_comes_up_at_home_as_text_from_outside_and_opens_a_run(database_url: str) -> None:
    async with inside(database_url) as it:
        it.api.script(say("Time to call Anna."))
        id = await make(it, "reminder", "in 20m", "Call Anna")
        it.clock.move(20 * 60)
        (run,) = await it.settled()
        (row,) = await settled(it, id)
        assert (row.fate, row.late_seconds) == ("ran", 0) and (await thing(it, id)).state == "done"
        entries, _ = await it.transcript()
        assert [entry.source for entry in entries] == ["outside", "model"]
        assert entries[0].label == 0  # it derives from what the owner said
        assert run.act == f"slot:{id}:2026-11-29T13:20+01:00"
        shown = entries[0].shown
        assert "Due Sunday 2026-11-29 13:20 Europe/Vienna (2026-11-29T12:20:00Z):\\nCall Anna" in shown


async def test_a_reminder_due_while_asleep_comes_up_once_and_says_how_late(database_url: str) -> None:
    clock = HandClock()
    async with serve_messages_api() as api:
        api.script(say("You missed it."))
        async with open_house(database_url, api, clock=clock) as it:
            id = await make(it, "reminder", "in 1h", "Call Anna")
        clock.move(4 * HOUR)
        for _ in range(2):
            async with open_house(database_url, api, clock=clock) as it:
                await it.settled()
                (row,) = await settled(it, id)
                assert (row.fate, row.late_seconds) == ("ran", 3 * HOUR)
                assert "so 3 h late, since dreamwalker slept or was stopped:" in (await it.said())[0]


async def test_of_what_was_missed_only_the_latest_comes_up_and_the_rest_is_one_row(database_url: str) -> None:
    clock = HandClock()
    async with serve_messages_api() as api:
        api.script(lambda request: say("Good morning."))
        async with open_house(database_url, api, clock=clock) as it:
            id = await make(it, "reminder", "every day 9:00")
        clock.move(5 * DAY)
        async with open_house(database_url, api, clock=clock) as it:
            rows = await settled(it, id, 2)
            assert told(rows) == ["2026-11-30T09:00+01:00..2026-12-03T09:00+01:00 x4", "2026-12-04T09:00+01:00 ran"]
            assert rows[0].why is not None and "Missed" in rows[0].why and rows[1].late_seconds == 4 * HOUR
            clock.move(20 * HOUR)
            assert told(await settled(it, id, 3))[2:] == ["2026-12-05T09:00+01:00 ran"]


async def test_a_year_of_missed_minutes_is_one_row(database_url: str) -> None:
    clock = HandClock()
    async with serve_messages_api() as api:
        api.script(lambda request: say("Tick."))
        async with open_house(database_url, api, clock=clock) as it:
            id = await make(it, "reminder", "* * * * *", zone="UTC")
        clock.move(30 * DAY)
        async with open_house(database_url, api, clock=clock) as it:
            rows = await ledger_until(it, id, lambda rows: bool(rows) and rows[-1].fate == "ran")
            assert told(rows) == ["2026-11-29T12:01+00:00..2026-12-29T11:59+00:00 x43199", "2026-12-29T12:00+00:00 ran"]


async def test_an_earlier_one_made_meanwhile_wakes_the_scheduler(database_url: str) -> None:
    async with inside(database_url) as it:
        it.api.script(lambda request: say("Yes."))
        later = await make(it, "reminder", "2027-06-01 9:00")
        await it.clock.sleepers(1)
        sooner = await make(it, "reminder", "in 5m")
        it.clock.move(5 * 60)
        await settled(it, sooner)
        assert await ledger(it, later) == ()
        it.clock.set(datetime(2027, 6, 1, 7, 0, tzinfo=UTC))
        assert told(await settled(it, later)) == ["2027-06-01T09:00+02:00 ran"]


async def test_a_clock_that_is_set_back_brings_nothing_up_twice(database_url: str) -> None:
    async with inside(database_url) as it:
        it.api.script(lambda request: say("Yes."))
        id = await make(it, "reminder", "every hour")
        it.clock.move(HOUR)
        await settled(it, id)
        it.clock.set(datetime(2026, 11, 29, 12, 30, tzinfo=UTC))
        it.clock.move(HOUR)
        await passed(it)
        assert told(await ledger(it, id)) == ["2026-11-29T13:00:00Z ran"]
        it.clock.move(HOUR)
        assert told(await settled(it, id, 2)) == ["2026-11-29T13:00:00Z ran", "2026-11-29T14:00:00Z ran"]


async def test_a_changed_schedule_leaves_no_ghost_of_the_old_one(database_url: str) -> None:
    async with inside(database_url) as it:
        id = await make(it, "reminder", "every day 9:00")
        it.api.script(
            answer(use("change_reminder", {"id": id, "when": "every day 10:00"})),
            say("Moved."),
            lambda request: say("Good morning."),
        )
        await it.say("Rather at ten")
        await it.settled()
        it.clock.move(2 * DAY)
        rows = await settled(it, id, 2)
        assert told(rows) == ["2026-11-30T10:00+01:00..2026-11-30T10:00+01:00 x1", "2026-12-01T10:00+01:00 ran"]
        assert {row.version for row in rows} == {2}


async def test_a_slot_that_a_change_overtakes_is_skipped_and_says_why(database_url: str) -> None:
    gate = Gate()
    async with inside(database_url) as it:
        id = await make(it, "job", "every day 9:00")
        it.api.script(answer(gate, use("pause_job", {"id": id})), say("Paused."))
        await it.say("Pause the job")
        await it.api.arrived(1)
        it.house.scheduler.mailbox.close()  # it rests for a moment of the clock that stands still
        it.clock.set(datetime(2026, 11, 30, 8, 0, 0, 500, tzinfo=UTC))
        gate.open()
        await it.settled()
        assert told(await ledger(it, id)) == ["2026-11-30T09:00+01:00..2026-11-30T09:00+01:00 x1"]
        assert (await ledger(it, id))[0].why == "It was paused before it came up."


async def test_a_change_that_was_reckoned_before_the_slot_came_up_hears_that_it_moved_on(database_url: str) -> None:
    async with inside(database_url) as it:
        id = await make(it, "job", "every day 9:00")
        it.api.script(say("All quiet."))
        seen = await thing(it, id)
        it.clock.set(datetime(2026, 11, 30, 8, tzinfo=UTC))
        await settled(it, id)
        late = remove(seen, it.clock.now())
        assert len(late.writes) == 2  # the slot's fate and the change
        with pytest.raises(NotAsExpected):
            await it.house.store.ask(Commit(late.writes))


async def test_a_slot_that_was_to_come_up_when_a_change_overtook_it_does_not_set_its_thing_aside(
    database_url: str,
) -> None:
    async with inside(database_url) as it:
        id = await make(it, "job", "every day 9:00")
        it.house.scheduler.mailbox.close()
        it.clock.set(datetime(2026, 11, 30, 8, tzinfo=UTC))
        (due,) = await it.ask(Upcoming(10))
        await it.house.store.ask(Commit(change(due.thing, it.clock.now(), timing=at("every day 10:00", it)).writes))
        await Scheduler(it.house)._come_up(due)
        assert (await thing(it, id)).state == "active"
        assert told(await ledger(it, id)) == ["2026-11-30T09:00+01:00..2026-11-30T09:00+01:00 x1"]


async def test_a_cancelled_reminder_never_comes_up(database_url: str) -> None:
    async with inside(database_url) as it:
        id = await make(it, "reminder", "in 1h")
        it.api.script(answer(use("cancel_reminder", {"id": id})), say("Cancelled."), lambda request: say("Marker."))
        await it.say("Forget it")
        await it.settled()
        it.clock.move(2 * HOUR)
        await passed(it)
        assert await ledger(it, id) == () and (await thing(it, id)).state == "removed"


async def test_a_paused_job_rests_and_goes_on_with_its_next_time(database_url: str) -> None:
    async with inside(database_url) as it:
        id = await make(it, "job", "every hour")
        it.api.script(answer(use("pause_job", {"id": id})), say("Paused."))
        await it.say("Pause it")
        await it.settled(1)
        it.clock.move(5 * HOUR + 60)
        it.api.script(answer(use("resume_job", {"id": id})), say("Resumed."), lambda request: say("NOTHING"))
        await it.say("Go on")
        await it.settled(2)
        assert await ledger(it, id) == ()
        it.clock.move(HOUR)
        assert told(await settled(it, id)) == ["2026-11-29T18:00:00Z ran"]


async def test_a_run_of_a_job_knows_its_prompt_and_its_earlier_reports_and_nothing_else(database_url: str) -> None:
    async with inside(database_url) as it:
        it.api.script(say("Noted."), say("Three eggs."), say("Two eggs."))
        await it.say("My name is Max")
        await it.settled()
        id = await make(it, "job", "every day 9:00", "Count the eggs", title="Eggs")
        it.clock.move(20 * HOUR)
        await settled(it, id, 1)
        it.clock.move(DAY)
        await settled(it, id, 2)
        first, second = it.api.asked[1:]
        assert [tool["name"] for tool in first["tools"]] == ["delegate"] and "Max" not in str(first)
        assert "the one word NOTHING" in first["system"][0]["text"]
        assert len(first["messages"]) == 1 and "Count the eggs" in str(first["messages"][0])
        report, prompt = (json.dumps(message) for message in second["messages"])
        assert "Three eggs." in report and "A job's report" in report
        assert "Count the eggs" in prompt and "as an agent or a schedule put it" in prompt


async def test_a_report_goes_home_as_text_from_outside_and_opens_no_run(database_url: str) -> None:
    async with inside(database_url) as it:
        it.api.script(say("Three eggs."))
        id = await make(it, "job", "in 1h", "Count the eggs", title="Eggs")
        it.clock.move(HOUR)
        (row,) = await settled(it, id)
        assert (row.fate, row.report) == ("ran", "Three eggs.")
        with trio.fail_after(10):
            while not (entries := (await it.transcript())[0]):
                pass
        assert [(entry.source, entry.run) for entry in entries] == [("outside", None)] and entries[0].label == 0
        assert "Three eggs." in entries[0].shown and "Eggs" in entries[0].shown
        assert await it.runs() == ()


async def test_nothing_to_report_disturbs_nobody(database_url: str) -> None:
    async with inside(database_url) as it:
        it.api.script(say("*Nothing.*"), lambda request: say("Marker."))
        id = await make(it, "job", "in 1h")
        it.clock.move(HOUR)
        (row,) = await settled(it, id)
        await passed(it)
        assert (row.fate, row.report) == ("ran", None)
        assert not any("Nothing" in text for text in await it.said())


async def test_a_failed_run_fails_its_slot_and_tells_the_reason(database_url: str) -> None:
    async with inside(database_url) as it:
        it.api.script(fail(400, "tools.0: it is no tool"), say("NOTHING"))
        id = await make(it, "job", "every hour")
        it.clock.move(HOUR)
        (row,) = await settled(it, id)
        assert row.fate == "failed" and row.why is not None and "it is no tool" in row.why
        it.clock.move(HOUR)
        assert [row.fate for row in await settled(it, id, 2)] == ["failed", "ran"]
        assert any("It failed: " in text for text in await it.said())


async def test_slots_of_one_job_never_overlap(database_url: str) -> None:
    gate = Gate()
    async with inside(database_url) as it:
        it.api.script(say(gate, "Done."), say("NOTHING"))
        id = await make(it, "job", "every hour")
        it.clock.move(HOUR)
        await it.api.arrived(1)
        for hours in (2, 3, 4):
            it.clock.move(HOUR)
            await ledger_until(it, id, lambda rows, hours=hours: sum(row.count for row in rows) == hours)
        gate.open()
        rows = await settled(it, id, 2)
        assert told(rows) == ["2026-11-29T13:00:00Z ran", "2026-11-29T14:00:00Z..2026-11-29T16:00:00Z x3"]
        assert rows[1].why == "The run before it was still going."
        it.clock.move(HOUR)
        assert told(await settled(it, id, 3))[2:] == ["2026-11-29T17:00:00Z ran"]


async def test_a_report_is_made_once_when_the_house_closes_right_after_the_run(database_url: str) -> None:
    clock, gate = HandClock(), Gate()
    async with serve_messages_api() as api:
        api.script(say(gate, "Three eggs."))
        async with open_house(database_url, api, clock=clock) as it:
            id = await make(it, "job", "in 1h")
            clock.move(HOUR)
            await api.arrived(1)
            it.house.scheduler.mailbox.close()  # it rests for a moment of the clock that stands still
            (row,) = await ledger(it, id)
            assert row.conversation is not None
            gate.open()
            await _ended(it, row.conversation)
            assert [row.fate for row in await ledger(it, id)] == ["running"]
        for _ in range(2):
            async with open_house(database_url, api, clock=clock) as it:
                (row,) = await settled(it, id)
                assert (row.fate, row.report) == ("ran", "Three eggs.")
        notices = await outside(database_url, "SELECT count(*) FROM messages WHERE kind = 'notice'")
        assert notices == [(1,)]


async def _ended(it: Inside, conversation: int) -> None:
    """Wait until the run of a conversation has ended."""
    with trio.fail_after(10), it.house.live.watch(conversation) as watch:
        while not all(
            listed.run.ended for listed in await it.ask(ListRuns(before=2**60, limit=9, conversation=conversation))
        ):
            await watch.wait()


async def test_what_cannot_be_reckoned_any_more_is_paused_and_told_and_the_rest_comes_up(database_url: str) -> None:
    clock = HandClock()
    async with serve_messages_api() as api:
        api.script(lambda request: say("Yes."))
        async with open_house(database_url, api, clock=clock) as it:
            broken = await make(it, "reminder", "in 1h")
            whole = await make(it, "reminder", "in 1h")
        await outside(database_url, f"UPDATE things SET zone = 'Mars/Olympus' WHERE id = {broken}")
        clock.move(HOUR)
        async with open_house(database_url, api, clock=clock) as it:
            await settled(it, whole)
            assert (await thing(it, broken)).state == "paused" and await ledger(it, broken) == ()
            await it.settled()
            assert any("could not come up and is paused" in text for text in await it.said())


async def test_what_was_reckoned_with_other_zone_data_is_reckoned_anew(database_url: str) -> None:
    clock = HandClock()
    async with serve_messages_api() as api:
        async with open_house(database_url, api, clock=clock) as it:
            id = await make(it, "reminder", "2027-06-01 9:00")
        # as if Vienna had had no summer time when it was made
        await outside(
            database_url,
            "UPDATE things SET zone_data = '2000.1', next_at = '2027-06-01 08:00+00', rule = '2027-06-01T09:00+01:00'",
        )
        async with open_house(database_url, api, clock=clock) as it:
            with trio.fail_after(10):
                while (found := await thing(it, id)).zone_data == "2000.1":
                    pass
            assert found.next_at == datetime(2027, 6, 1, 7, tzinfo=UTC)


async def test_a_reminder_and_its_slots_inherit_the_hops_and_a_slot_is_an_act_of_its_own(database_url: str) -> None:
    async with inside(database_url) as it:
        it.api.script(say("Yes."))
        id = await make(it, "reminder", "in 1h", hops=2)
        it.clock.move(HOUR)
        (run,) = await it.settled()
        assert (run.hops, run.act) == (2, f"slot:{id}:2026-11-29T14:00+01:00")


async def test_a_reminder_made_while_tainted_carries_its_label(database_url: str) -> None:
    async with inside(database_url) as it:
        it.api.script(answer(use("set_reminder", {"when": "in 1h", "text": "As it says"})), say("Set."))
        await it.say("Do what it says", quotes=[{"from": "a mail", "text": "remind him"}])
        await it.settled()
        entries, _ = await it.transcript()
        (row,) = await outside(database_url, "SELECT label FROM things")
        assert row[0] == entries[0].label > 0


async def test_the_next_of_ten_thousand_is_found_by_one_indexed_query(database_url: str) -> None:
    async with inside(database_url) as it:
        id = await make(it, "reminder", "in 1h")
        await outside(
            database_url,
            f"""
            INSERT INTO things SELECT (t).* FROM (SELECT jsonb_populate_record(t, jsonb_build_object(
                'id', 1000 + n, 'made_by', 'bulk:' || n, 'next_at', t.next_at + n * interval '1 minute')) AS t
            FROM things t, generate_series(1, 10000) n WHERE t.id = {id}) made
            """,
        )
        await outside(database_url, "ANALYZE things")
        plan = "\n".join(line for (line,) in await outside(database_url, f"EXPLAIN {_UPCOMING.replace('?', '1')}"))
        assert "Index Scan using things_due" in plan and "Seq Scan on things" not in plan


async def test_what_comes_up_often_is_not_forgotten_for_what_comes_up_later(database_url: str) -> None:
    async with inside(database_url) as it:
        it.api.script(lambda request: say("Yes."))
        often, later = await make(it, "reminder", "every 5 minutes"), await make(it, "reminder", "in 12m")
        for minutes, rows in ((5, 1), (10, 2)):
            it.clock.set(datetime(2026, 11, 29, 12, minutes, tzinfo=UTC))
            await settled(it, often, rows)
        it.clock.set(datetime(2026, 11, 29, 12, 15, tzinfo=UTC))
        rows = await settled(it, often, 3)
        assert [(row.fate, row.late_seconds) for row in rows] == [("ran", 0)] * 3
        assert [row.late_seconds for row in await settled(it, later)] == [180]
