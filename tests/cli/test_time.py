"""Reminders, jobs and pushes from the command line, with a phone and a clock that is moved by hand."""

import json
import os
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import attrs
import trio
from click.testing import Result

from tests.cli.conftest import Machine, environment
from tests.messages_api import Gate, say
from tests.ntfy import Status
from tests.phoned import Phone, phone
from tests.world import PATIENCE_SECONDS

MINUTE = 60


@attrs.frozen
class Terminal:
    """A terminal beside a dreamwalker with a phone."""

    p: Phone
    machine: Machine

    async def call(self, *arguments: str) -> Result:
        """Run a command to its end."""
        return await trio.to_thread.run_sync(lambda: self.machine.call(*arguments))

    async def said(self, *arguments: str) -> str:
        """What a command prints that succeeds."""
        result = await self.call(*arguments)
        assert result.exit_code == 0, (arguments, result.output)
        return result.stdout.rstrip("\n")

    async def read(self, *arguments: str) -> Any:
        """What a command prints as JSON."""
        return json.loads(await self.said(*arguments, "--json"))


@asynccontextmanager
async def terminal(database_url: str, **fields: Any) -> AsyncIterator[Terminal]:
    async with phone(database_url, **fields) as p:
        env = environment(Path(os.devnull), DREAMWALKER_URL=p.w.url, DREAMWALKER_TOKEN=p.w.token)
        yield Terminal(p, Machine(env))


async def test_a_reminder_is_set_pushed_snoozed_pushed_again_and_done(database_url: str) -> None:
    async with terminal(database_url) as t:
        said = await t.said("remind", "in 20m", "take", "the", "tea", "out")
        number = said.split()[1].rstrip(":")
        assert said == f"Reminder {number}: Sunday 2026-11-29 13:20 Europe/Vienna (2026-11-29T12:20:00Z), in 20 min."
        t.p.clock.move(20 * MINUTE)
        shown = await t.p.ntfy.shown(1)
        assert shown.value is not None and shown.value["message"] == "take the tea out"
        assert (await t.p.ntfy.press("Snooze 10 min")).status_code == 200 and t.p.ntfy.screen == {}
        assert "2026-11-29 13:30" in await t.said("reminders")
        t.p.clock.move(10 * MINUTE)
        again = await t.p.ntfy.shown(1)
        assert again.value is not None and again.value["message"] == "take the tea out"
        assert (await t.p.ntfy.press("Done")).json() == {"said": "Done."}
        t.p.clock.move(86_400)
        await t.said("reminders")
        newest, oldest = (await t.said("pushes")).splitlines()
        assert "sent, done" in newest and "sent, snooze" in oldest and "take the tea out" in oldest
        assert len(t.p.ntfy.came) == 2
        assert (await t.said("reminders")).startswith("There are no reminders.")
        assert len((await t.read("reminders", "--over"))["reminders"]) == 2
        (slot,) = (await t.read("reminders", "slots", number))["slots"]
        assert slot["fate"] == "ran"
        assert (await t.said("reminders", "slots", number)).endswith("(2026-11-29T12:20:00Z): ran")


async def test_reminders_are_changed_and_cancelled(database_url: str) -> None:
    async with terminal(database_url) as t:
        one = (await t.read("remind", "tomorrow 9:00", "call Anna"))["id"]
        two = (await t.read("remind", "--zone", "Asia/Tokyo", "2027-01-05 08:00", "the plane leaves"))["id"]
        said = await t.said("reminders", "change", str(one), "--when", "tomorrow 10:00", "--text", "call Anna now")
        assert said.startswith(f"Reminder {one}: Monday 2026-11-30 10:00 Europe/Vienna")
        listed = await t.said("reminders")
        assert listed.splitlines()[0].split() == ["NUMBER", "NEXT", "RULE", "STATE", "TEXT"]
        assert re.search(rf"^{one} +Mon 2026-11-30 10:00( CET)? +once +active  call Anna now$", listed, re.MULTILINE)
        assert re.search(rf"^{two} +Tue 2027-01-05 00:00( CET)? +once \(Asia/Tokyo\) +active  the plane", listed, re.M)
        shown = await t.said("reminders", str(two))
        assert "Tuesday 2027-01-05 08:00 Asia/Tokyo (2027-01-04T23:00:00Z)" in shown and shown.endswith("plane leaves")
        assert (await t.read("reminders", "show", str(two)))["id"] == two
        assert (await t.said("reminders", "cancel", str(one), str(two))).count("Cancelled: ") == 2
        assert (await t.said("reminders")).startswith("There are no reminders.")
        assert (await t.call("reminders", "cancel", "999999")).exit_code == 4
        nothing = await t.call("reminders", "change", str(one))
        assert nothing.exit_code == 2 and "--when, --text, --zone" in nothing.stderr


async def test_a_time_that_can_not_be_is_refused_with_what_may_have_been_meant(database_url: str) -> None:
    async with terminal(database_url) as t:
        past = await t.call("remind", "today 9:00", "bread")
        assert past.exit_code == 1 and "nearest future reading is Monday 2026-11-30 09:00" in past.stderr
        vague = await t.call("remind", "soon", "bread")
        assert vague.exit_code == 1 and "can't be read as a time" in vague.stderr
        assert (await t.call("remind", "in 20m")).exit_code == 2
        bare = await t.call("remind", "tomorrow", "9:00", "call", "Anna")
        assert bare.exit_code == 1 and "names no time of day" in bare.stderr
        assert bare.stderr.endswith('needs quotation marks: dreamwalker remind "tomorrow 9:00" call Anna.\n')
        assert "quotation" not in past.stderr


async def test_a_job_is_made_by_cron_every_rrule_or_words_and_its_next_five_are_shown(database_url: str) -> None:
    async with terminal(database_url) as t:
        for option, schedule, rule in (
            ("--cron", "0 8 * * 1-5", "0 8 * * 1-5"),
            ("--every", "2 hours", "every 2 hours"),
            ("--rrule", "FREQ=MONTHLY;BYDAY=-1FR;BYHOUR=18;BYMINUTE=0", "FREQ=MONTHLY"),
            ("--when", "every monday 9:00", "0 9 * * 1"),
        ):
            made = await t.read("jobs", "add", f"by {option[2:]}", "What is new?", option, schedule)
            assert made["rule"].startswith(rule) and made["said"].startswith("By the rule"), made
        said = await t.said("jobs", "add", "Night", "Sleep?", "--zone", "America/New_York", "--cron", "30 23 * * *")
        assert "“Night”: By the rule 30 23 * * * (America/New_York), next Sunday 2026-11-29 23:30" in said
        number = said.split()[1]
        coming = (await t.said("jobs", "next", number)).splitlines()
        assert len(coming) == 5 and coming[0] == "Sunday 2026-11-29 23:30 America/New_York (2026-11-30T04:30:00Z)"
        assert len((await t.said("jobs", "next", number, "--count", "8")).splitlines()) == 8
        listed = await t.said("jobs")
        assert len(listed.splitlines()) == 6 and max(map(len, listed.splitlines())) < 100
        assert re.search(r"Mon 2026-11-30 05:30( CET)? +30 23 \* \* \* \(America/New_York\) +active +Night", listed)
        assert (await t.said("jobs", number)).endswith("Sleep?")
        for wrong in (["--cron", "x", "--every", "y"], []):
            refused = await t.call("jobs", "add", "A", "B", *wrong)
            assert refused.exit_code == 2 and "--cron, --every, --rrule, --when" in refused.stderr
        assert (await t.call("jobs", "add", "A", "B", "--cron", "61 * * * *")).exit_code == 1
        for option, says in (("--cron", "has five fields"), ("--rrule", "FREQ=WEEKLY;BYDAY=MO")):
            refused = await t.call("jobs", "add", "A", "B", option, "x y")
            assert refused.exit_code == 2 and says in refused.stderr and "“x y”" in refused.stderr


async def test_a_job_is_run_paused_resumed_changed_and_removed(database_url: str) -> None:
    async with terminal(database_url) as t:
        job = await t.read("jobs", "add", "Weather", "Will it rain?", "--cron", "0 7 * * *")
        number = str(job["id"])
        t.p.clock.move(18 * 3600)
        shown = await t.p.ntfy.shown(1)
        assert shown.value is not None and shown.value["title"] == "Job “Weather”" and shown.buttons == ["Open"]
        slots = await t.said("jobs", "slots", number)
        assert slots == "Monday 2026-11-30 07:00 Europe/Vienna (2026-11-30T06:00:00Z): ran\n    Noted."
        assert "It is paused." in await t.said("jobs", "pause", number)
        assert await t.said("jobs", "next", number) == "It does not run any more."
        assert "next Tuesday 2026-12-01 07:00" in await t.said("jobs", "resume", number)
        changed = await t.said("jobs", "change", number, "--when", "every 2 hours", "--prompt", "And now?")
        assert "every 2 hours" in changed
        assert (await t.said("jobs", "show", number)).endswith("And now?")
        assert "It is removed." in await t.said("jobs", "remove", number)
        assert (await t.said("jobs")).startswith("There are no jobs.")
        assert (await t.call("jobs", "pause", number)).exit_code == 1
        assert (await t.call("jobs", "next", "999999")).exit_code == 4


async def test_one_that_is_over_is_not_cancelled_and_its_record_stays(database_url: str) -> None:
    async with terminal(database_url) as t:
        tea = str((await t.read("remind", "in 20m", "tea"))["id"])
        once = str((await t.read("jobs", "add", "Once", "What is new?", "--when", "in 20m"))["id"])
        t.p.clock.move(20 * MINUTE)
        await t.p.ntfy.shown(2)
        for noun, verb, number in (("reminders", "cancel", tea), ("jobs", "remove", once)):
            refused = await t.call(noun, verb, number)
            assert refused.exit_code == 1 and refused.stdout == ""
            assert refused.stderr.startswith(f"The {noun[:-1]} {number} is over already.")
            assert (await t.read(noun, "show", number))["state"] == "done"


async def test_stop_without_a_number_leaves_a_job_alone_and_says_how_to_stop_it(database_url: str) -> None:
    async with terminal(database_url) as t:
        gate = Gate()
        t.p.w.api.script(say("Rain, ", gate, "perhaps."))
        await t.said("jobs", "add", "Weather", "Will it rain?", "--when", "in 20m")
        t.p.clock.move(20 * MINUTE)
        with trio.fail_after(PATIENCE_SECONDS):
            await gate.reached.wait()
        run = (await t.read("runs"))["runs"][0]["id"]
        nothing, goes_on = (await t.said("stop")).splitlines()
        assert nothing == "dreamwalker is doing nothing in its conversation with you."
        assert goes_on.startswith(f"Run {run} goes on: a job: ")
        assert goes_on.endswith(f"`dreamwalker stop {run}` stops it.")
        assert (await t.read("runs", str(run)))["run"]["state"] == "open"
        assert (await t.said("stop", str(run))).startswith(f"Run {run} is stopped: a job: ")


async def test_a_test_push_says_whether_it_was_sent(database_url: str) -> None:
    async with terminal(database_url) as t:
        assert (await t.said("pushes")) == "Nothing was pushed yet."
        assert (await t.said("pushes", "test")).startswith("Sent.")
        t.p.clock.move(1)
        t.p.ntfy.script(Status(403))
        failed = await t.call("pushes", "test")
        assert failed.exit_code == 1
        assert failed.stderr.startswith("The test was not sent: failed: The ntfy server does not allow publishing")
        doctor = await t.call("doctor")
        assert (
            doctor.exit_code == 1 and "✗ phone: the newest push failed: The ntfy server does not allow" in doctor.stdout
        )


async def test_the_doctor_says_how_to_set_a_phone_up(database_url: str) -> None:
    words = {
        "✓ phone: pushes go to ntfy\n": {},
        "! phone: none is set up": {"ntfy_topic": None},
        "! phone: pushes go to ntfy, but without buttons": {"public_url": None},
    }
    for expected, changes in words.items():
        async with terminal(database_url, changes=changes) as t:
            said = (await t.call("doctor")).stdout  # the clock is moved by hand, which it also finds
            assert expected in said and t.p.ntfy.topic not in said
            if changes.get("ntfy_topic", "") is None:
                assert "DREAMWALKER_NTFY_TOPIC" in said
                assert (await t.call("pushes", "test")).exit_code == 1
            await t.said("settings", "pushes", "false")
            off = "! phone: pushes are turned off" if "ntfy_topic" not in changes else "! phone: none is set up"
            assert off in (await t.call("doctor")).stdout
            await t.said("settings", "pushes", "true")


async def test_what_a_reminder_says_can_not_hijack_the_terminal(database_url: str) -> None:
    async with terminal(database_url) as t:
        await t.said("remind", "in 20m", "\x1b]0;gotcha\x07 \u202egnp.exe")
        t.p.clock.move(20 * MINUTE)
        with trio.fail_after(PATIENCE_SECONDS):
            await t.p.ntfy.shown(1)
        for said in (await t.said("reminders", "--over"), await t.said("pushes"), await t.said("pushes", "--json")):
            assert "\x1b" not in said and "\u202e" not in said


def test_the_nouns_of_time_and_the_phone_teach_by_example(machine: Machine) -> None:
    help = machine.call("--help").stdout
    for noun in ("remind", "reminders", "jobs", "pushes"):
        assert f"\n  {noun} " in help
        said = machine.call(noun, "-h")
        assert said.exit_code == 0 and "Example" in said.stdout
