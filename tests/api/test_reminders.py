"""Reminders and jobs over HTTP: made, listed, changed, paused, removed, and what became of their times."""

from typing import Any

import pytest
import trio

from tests.hand_clock import HandClock
from tests.messages_api import say
from tests.world import Json, World, world

# The clock starts on Sunday, 2026-11-29, 13:00 in Vienna.
JOB = {"request_id": "j", "title": "Weather", "text": "Will it rain?", "when": "0 7 * * *"}


async def remind(w: World, when: str = "in 20m", text: str = "Tea", *, status: int = 201, **fields: Any) -> Json:
    body = {"request_id": f"r-{when}-{text}".replace(" ", "_"), "when": when, "text": text} | fields
    return await w.post("/api/reminders", body, status=status)


async def test_a_reminder_is_set_in_words_and_said_back_as_the_exact_instant(database_url: str) -> None:
    async with world(database_url, clock=HandClock()) as w:
        made = await remind(w)
        assert made["said"] == "Sunday 2026-11-29 13:20 Europe/Vienna (2026-11-29T12:20:00Z), in 20 min."
        assert made["next_at"] == "2026-11-29T12:20:00Z" and made["state"] == "active" and made["label"] == 0
        tokyo = await remind(w, "tomorrow 9:00", "Call", zone="Asia/Tokyo")
        assert tokyo["said"].startswith("Monday 2026-11-30 09:00 Asia/Tokyo (2026-11-30T00:00:00Z)")
        noted = await remind(w, "9:30", "Bread")
        assert noted["said"].endswith("09:30 has passed today, so this is tomorrow.")
        listed = (await w.get("/api/reminders"))["reminders"]
        assert [reminder["text"] for reminder in listed] == ["Bread", "Call", "Tea"]
        assert await w.get(f"/api/reminders/{made['id']}") == listed[2]


async def test_the_same_request_makes_one_reminder_even_when_its_time_has_passed(database_url: str) -> None:
    clock = HandClock()
    async with world(database_url, say("Noted."), clock=clock) as w:
        first = await remind(w, "today 13:30", request_id="1")
        clock.move(3600)
        again = await remind(w, "today 13:30", request_id="1")
        assert again["id"] == first["id"]
        other = await remind(w, "today 18:00", "Else", request_id="1", status=409)
        assert other["error"]["code"] == "conflict"


@pytest.mark.parametrize(
    ("fields", "word"),
    [
        ({"when": "yesterday 9:00"}, "nearest future reading"),
        ({"when": "soon"}, "can't be read as a time"),
        ({"when": "0 9 * * * *"}, "five fields"),
        ({"zone": "Atlantis"}, "no zone"),
        ({"text": " "}, "1 to 4,000 characters"),
        ({"text": "x" * 4_001}, "1 to 4,000 characters"),
        ({"when": "x" * 501}, "too long"),
        ({"number": 1}, "There is no `number` here"),
    ],
)
async def test_what_can_not_be_is_refused_in_words(database_url: str, fields: Json, word: str) -> None:
    async with world(database_url, clock=HandClock()) as w:
        body = {"request_id": "1", "when": "in 20m", "text": "Tea"} | fields
        answer = await w.post("/api/reminders", body, status=422)
        assert word in answer["error"]["message"]
        assert (await w.get("/api/reminders"))["reminders"] == []


async def test_an_agent_that_does_not_exist_has_no_reminders(database_url: str) -> None:
    async with world(database_url, clock=HandClock()) as w:
        await remind(w, agent="nobody", status=404)
        await w.get("/api/reminders", agent="nobody", status=404)
        assert (await w.get("/api/reminders", agent="dreamwalker"))["reminders"] == []


async def test_a_reminder_is_changed_and_cancelled_and_both_may_be_asked_twice(database_url: str) -> None:
    clock = HandClock()
    async with world(database_url, clock=clock) as w:
        made = await remind(w)
        path = f"/api/reminders/{made['id']}"
        for _ in range(2):
            changed = (await w.client.patch(path, json={"when": "15:00", "text": "Coffee"})).json()
            assert changed["text"] == "Coffee" and changed["said"].startswith("Sunday 2026-11-29 15:00")
        moved = (await w.client.patch(path, json={"zone": "America/New_York"})).json()
        assert moved["said"].startswith("Sunday 2026-11-29 15:00 America/New_York (2026-11-29T20:00:00Z)")
        assert (await w.client.patch(path, json={})).json() == moved
        for _ in range(2):
            gone = (await w.client.delete(path)).json()
            assert (gone["state"], gone["next_at"], gone["said"]) == ("removed", None, "It is removed.")
        refused = await w.client.patch(path, json={"text": "Else"})
        assert refused.status_code == 409 and "is over" in refused.json()["error"]["message"]
        assert (await w.get("/api/reminders"))["reminders"] == []
        assert [r["id"] for r in (await w.get("/api/reminders", over="true"))["reminders"]] == [made["id"]]
        clock.move(86_400)
        assert (await w.get(f"{path}/slots"))["slots"] == []


async def test_what_became_of_a_reminder_can_be_seen(database_url: str) -> None:
    clock = HandClock()
    async with world(database_url, say("Tea time."), clock=clock) as w:
        made = await remind(w)
        clock.move(20 * 60)
        await w.settled()
        (slot,) = (await w.get(f"/api/reminders/{made['id']}/slots"))["slots"]
        assert (slot["slot"], slot["fate"], slot["late_seconds"]) == ("2026-11-29T13:20+01:00", "ran", 0)
        assert slot["said"].startswith("Sunday 2026-11-29 13:20 Europe/Vienna")
        assert (await w.get(f"/api/reminders/{made['id']}"))["state"] == "done"


async def test_a_job_is_made_paused_resumed_changed_and_removed(database_url: str) -> None:
    async with world(database_url, clock=HandClock()) as w:
        made = await w.post("/api/jobs", JOB, status=201)
        assert made["said"].startswith("By the rule 0 7 * * * (Europe/Vienna), next Monday 2026-11-30 07:00")
        assert (await w.post("/api/jobs", JOB, status=201))["id"] == made["id"]
        path = f"/api/jobs/{made['id']}"
        coming = (await w.get(f"{path}/upcoming"))["slots"]
        assert [slot["slot"][:10] for slot in coming] == [
            f"2026-{day}" for day in ("11-30", "12-01", "12-02", "12-03", "12-04")
        ]
        assert coming[0]["said"] == "Monday 2026-11-30 07:00 Europe/Vienna (2026-11-30T06:00:00Z)"
        assert len((await w.get(f"{path}/upcoming", count=30))["slots"]) == 30
        for _ in range(2):
            paused = await w.post(f"{path}/pause")
            assert (paused["state"], paused["next_at"]) == ("paused", None)
        assert (await w.get(f"{path}/upcoming"))["slots"] == []
        for _ in range(2):
            assert (await w.post(f"{path}/resume"))["state"] == "active"
        changed = (await w.client.patch(path, json={"when": "every 2 hours", "title": "  Clouds  "})).json()
        assert changed["rule"] == "every 2 hours" and changed["title"] == "Clouds"
        assert (await w.client.delete(path)).json()["state"] == "removed"
        await w.post(f"{path}/pause", status=409)
        assert (await w.get("/api/jobs"))["jobs"] == [] and len((await w.get("/api/jobs", over="true"))["jobs"]) == 1


async def test_a_jobs_run_and_its_report_can_be_seen(database_url: str) -> None:
    clock = HandClock()
    async with world(database_url, say("It will rain."), clock=clock) as w:
        made = await w.post("/api/jobs", JOB, status=201)
        clock.move(18 * 3600)
        path = f"/api/jobs/{made['id']}"
        with trio.fail_after(20):
            while not (slots := (await w.get(f"{path}/slots"))["slots"]) or slots[0]["fate"] == "running":
                pass
        assert [(slot["fate"], slot["report"]) for slot in slots] == [("ran", "It will rain.")]


async def test_a_reminder_is_no_job_and_a_job_is_no_reminder(database_url: str) -> None:
    async with world(database_url, clock=HandClock()) as w:
        reminder, job = await remind(w), await w.post("/api/jobs", JOB, status=201)
        await w.get(f"/api/jobs/{reminder['id']}", status=404)
        await w.get(f"/api/reminders/{job['id']}", status=404)
        await w.get(f"/api/jobs/{reminder['id']}/slots", status=404)
        await w.get("/api/jobs/999999/upcoming", status=404)
        assert (await w.client.delete(f"/api/reminders/{job['id']}")).status_code == 404


async def test_a_secret_in_a_reminder_is_taken_out_before_it_is_stored(database_url: str) -> None:
    async with world(database_url, clock=HandClock()) as w:
        made = await remind(w, text=f"The token is {w.token}.", request_id="1")
        assert made["text"] == "The token is [redacted API TOKEN]."


async def test_more_than_a_page_is_read_page_by_page(database_url: str) -> None:
    async with world(database_url, clock=HandClock(), page_entries=3) as w:
        ids = [(await remind(w, text=f"text {n}"))["id"] for n in range(7)]
        seen, before = [], {}
        while True:
            page = await w.get("/api/reminders", **before)
            seen += [reminder["id"] for reminder in page["reminders"]]
            if not page["more"]:
                break
            before = {"before": seen[-1]}
        assert seen == ids[::-1]


async def test_there_is_an_end_to_how_many_may_be_set(database_url: str) -> None:
    async with world(database_url, clock=HandClock(), pending_things=2) as w:
        for n in range(2):
            await remind(w, text=f"text {n}")
        refused = await remind(w, text="one more", status=429)
        assert "already" in refused["error"]["message"]
