"""Kill the server right after a reminder and a job are due; then see that each came up once, late or not.

One rule: whenever the server died, a slot has one fate, its text came up once and its job ran once. The last line is
`N rounds, 0 violations`; with a violation the exit code is 1.
"""

import argparse
import re
import sys
import tempfile
import time
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx2
import trio

from tests.kill.__main__ import entries_of, settled
from tests.kill.server import Server
from tests.messages_api import Answer, say, serve_messages_api

AFTER_MS = (0, 50, 200, 1000)
_FOREVER = 60.0


def rule(request: dict[str, Any]) -> Answer:
    """The scripted model: a job reports its prompt, whatever else is told."""
    task = re.search(r"This is job (\d+) speaking", str(request["messages"][-1]))
    return say("Told.") if task is None else say(f"Report of {task[1]}.")


class Deaths:
    """Some rounds on one server; `late` collects how many seconds late things came up."""

    def __init__(self, server: Server, client: httpx2.AsyncClient) -> None:
        self._server, self._client = server, client
        self.made: list[tuple[int, int]] = []
        self.late: Counter[int] = Counter()

    async def round(self, number: int) -> None:
        """Make a reminder and a job that are due in a moment, and kill the server so soon after that moment."""
        reminder = await self._make("reminders", number, {"text": f"reminder {number} is due"})
        job = await self._make("jobs", number, {"title": f"Job {number}", "text": f"This is job {number} speaking"})
        self.made.append((reminder["id"], job["id"]))
        left = (datetime.fromisoformat(job["next_at"]) - datetime.now(UTC)).total_seconds()
        await trio.sleep(max(left, 0.0) + AFTER_MS[number % len(AFTER_MS)] / 1000)
        self._server.kill()
        self._server.start()

    async def _make(self, what: str, number: int, fields: dict[str, str]) -> dict[str, Any]:
        body = {"request_id": f"{what}-{number}", "when": "in 3s", **fields}
        answer = await self._server.request(self._client, "POST", f"/api/{what}", json=body)
        assert answer.status_code == 201, answer.text
        made: dict[str, Any] = answer.json()
        return made

    async def violations(self) -> list[str]:
        """Wait until everything has come up, and look at it."""
        found: list[str] = []
        for reminder, job in self.made:
            for what, id in (("reminders", reminder), ("jobs", job)):
                slots = await self._settled_slots(what, id)
                if [(slot["fate"], slot["count"]) for slot in slots] != [("ran", 1)]:
                    found.append(f"{what} {id}: {slots}")
                self.late.update(slot["late_seconds"] for slot in slots)
        runs = Counter(run["kind"] for run in await settled(self._server, self._client))
        if runs["job"] != len(self.made):
            found.append(f"{runs['job']} runs of {len(self.made)} jobs")
        said = Counter[str]()
        for entry in await entries_of(self._server, self._client):
            for number in range(len(self.made)):
                said[f"reminder {number}"] += f"reminder {number} is due" in entry["text"]
                said[f"job {number}"] += f"Report of {number}." in entry["text"]
        found.extend(
            f"{what} {number} came up {said[f'{what} {number}']} times"
            for what in ("reminder", "job")
            for number in range(len(self.made))
            if said[f"{what} {number}"] != 1
        )
        return found

    async def _settled_slots(self, what: str, id: int) -> list[dict[str, Any]]:
        deadline = time.monotonic() + _FOREVER
        while True:
            answer = await self._server.request(self._client, "GET", f"/api/{what}/{id}/slots")
            slots: list[dict[str, Any]] = answer.json()["slots"]
            if (slots and all(slot["settled_at"] for slot in slots)) or time.monotonic() > deadline:
                return slots
            await trio.sleep(0.1)  # a real process: nothing tells when it is done


async def run(rounds: int) -> tuple[list[str], Counter[int]]:
    """Kill so many times; returns the violations, and how many seconds late things came up."""
    with tempfile.TemporaryDirectory() as folder:
        async with serve_messages_api() as api, httpx2.AsyncClient(timeout=10, trust_env=False) as client:
            api.script(rule)
            server = Server(Path(folder), api.url)
            server.start()
            deaths = Deaths(server, client)
            try:
                for number in range(rounds):
                    await deaths.round(number)
                return await deaths.violations(), deaths.late
            finally:
                server.end()


def main() -> int:
    """The command."""
    parser = argparse.ArgumentParser(prog="make due", description=__doc__)
    parser.add_argument("--rounds", type=int, default=50)
    rounds = parser.parse_args().rounds
    began = time.monotonic()
    found, late = trio.run(run, rounds)
    for violation in found:
        print(f"  {violation}")
    print("seconds late: " + ", ".join(f"{seconds} ({count})" for seconds, count in sorted(late.items())))
    print(f"{time.monotonic() - began:.0f} s")
    print(f"{rounds} rounds, {len(found)} violations")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
