"""SIGTERM in the middle of twenty runs, to a real process: it ends in time, and the next one finishes them all."""

import signal
from pathlib import Path
from typing import Any

import pytest
import trio

from tests.instance import instance
from tests.messages_api import Answer, Gate, answer, say, serve_messages_api, text
from tests.messages_api.replies import Rule
from tests.proxy import FREEZE, Door, open_proxy
from tests.world import LIFETIME_SECONDS, Json

pytestmark = pytest.mark.slow

JOBS = 19
STOPS_SECONDS = 10.0


def halting(gates: list[Gate]) -> Rule:
    """Every answer halts in its middle."""

    def rule(request: Json) -> Answer:
        gates.append(gate := Gate())
        return answer(text("Half an", gate, " answer"))

    return rule


async def make_jobs(it: Any) -> None:
    """Jobs that are all due at once, in a moment."""
    for number in range(JOBS):
        body = {"request_id": f"job-{number}", "when": "in 3s", "title": f"Job {number}", "text": f"This is {number}"}
        assert (await it.client.post("/api/jobs", json=body)).status_code == 201


async def test_sigterm_in_the_middle_of_twenty_runs_ends_it_in_time_and_the_next_start_finishes_them(
    database_url: str, tmp_path: Path
) -> None:
    limits: dict[str, Any] = {"conversations_side_by_side": JOBS + 1, "due_at_once": JOBS}
    gates: list[Gate] = []
    with trio.fail_after(LIFETIME_SECONDS):
        async with serve_messages_api() as api:
            api.script(halting(gates))
            async with instance(database_url, api.url, tmp_path / "first", **limits) as first:
                await make_jobs(first)
                assert (await first.say("Hi")).status_code == 202
                await api.arrived(JOBS + 1)
                for gate in gates:
                    await gate.reached.wait()
                async with first.stream() as events, first.stream() as more:
                    await events.of("text")
                    first.signal(signal.SIGTERM)
                    began = trio.current_time()
                    for stream in (events, more):
                        assert (await stream.of("end")).data == {"reason": "stopping"}
                        assert await stream.next() is None, "it ended as it should"
                    assert await first.ended() == 0
                    assert trio.current_time() - began < STOPS_SECONDS
                assert [line for line in first.lines() if line["level"] == "error"] == []
            api.script(lambda request: say("All of it."))
            async with instance(database_url, api.url, tmp_path / "second", **limits) as second:
                assert (await second.get("/api/status")).status_code == 200
                reports, answered = set[str](), False
                async with second.stream() as events:
                    while len(reports) < JOBS or not answered:
                        change = (await events.of("change")).data
                        came = [entry for entry in change["entries"] if entry["source"] == "outside"]
                        reports.update(f"{entry['origin']}: {entry['text']}" for entry in came)
                        answered = answered or any(run["state"] == "done" for run in change["runs"])
                runs = await second.runs()
                assert [run["state"] for run in runs] == ["done"] * (JOBS + 1)
                assert await second.replies() == ["All of it."]
                for number in range(JOBS):
                    assert sum(f"Job {number}”" in report and "All of it." in report for report in reports) == 1


@pytest.mark.parametrize("door", [Door.SHUT, Door.STUCK])
async def test_sigterm_ends_it_in_time_whatever_the_database_does(
    database_url: str, tmp_path: Path, door: Door
) -> None:
    gates: list[Gate] = []
    with trio.fail_after(LIFETIME_SECONDS):
        async with serve_messages_api() as api, open_proxy(database_url) as proxy:
            api.script(halting(gates))
            async with instance(proxy.url, api.url, tmp_path) as it:
                assert (await it.say("Hi")).status_code == 202
                await api.arrived(1)
                async with it.stream() as events:
                    await events.of("text")
                    proxy.door, proxy.on_request = door, lambda request: FREEZE
                    if door is Door.SHUT:
                        proxy.cut_all()
                    it.signal(signal.SIGTERM)
                    began = trio.current_time()
                    assert (await events.of("end")).data == {"reason": "stopping"}
                    await it.ended()
                    assert trio.current_time() - began < STOPS_SECONDS
