"""`make hammer`: two instances of one deploy, asked by fifty clients by turns, for a minute.

One rule: every client finishes, every message is answered within ten seconds of the last take-over, nothing is doubled,
and the lease changes hands once a minute at most.
"""

import argparse
import random
import re
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

import attrs
import httpx2
import trio

from tests.instance import READY, Instance, instance
from tests.messages_api import Answer, answer, say, serve_messages_api, use
from tests.simulate.databases import open_databases
from tests.simulate.outsider import Outsider, open_outsider

ANSWERED_SECONDS = 10.0
POLL_SECONDS = 0.05
FRESH_SECONDS = 1.0
"""How often a fresh context is begun, so that the conversation does not outgrow a minute."""

_LEASE = "SELECT holder FROM dreamwalker_lease"
_ANSWERED = """
SELECT m.source_key AS key FROM messages m JOIN runs r ON r.id = m.run
WHERE m.source_key = ANY($1::text[]) AND r.closed_at IS NOT NULL
"""
_TAKEN = "SELECT count(*) AS times FROM audit.leases WHERE holder <> was_holder AND holder <> '' AND was_holder <> ''"
_RUNS = "SELECT id, state, reason FROM runs WHERE state <> 'done'"
_PLACED = "SELECT body, placed_seq FROM messages WHERE kind = 'owner' ORDER BY accepted_no"
_REPLIES = """
SELECT run, count(*) AS times FROM entries WHERE kind = 'reply' AND shown NOT LIKE '%tool_use%'
GROUP BY run HAVING count(*) > 1
"""
_NOTES = "SELECT title, count(*) AS versions FROM notes JOIN note_versions v ON v.note = notes.id GROUP BY title"


def rule(request: dict[str, Any]) -> Answer:
    """The scripted model: writes one note for the newest message, then says that it is done."""
    newest = request["messages"][-1]["content"]
    if newest[0]["type"] == "tool_result":
        return say("Done.")
    number = re.findall(r"note (\d+)", str(newest))[-1]
    return answer("I write.", use("write_note", {"title": f"n{number}", "text": f"the number {number}"}))


@attrs.define
class _Waiting:
    """A message that was accepted and not answered yet."""

    accepted_at: float
    answered: trio.Event = attrs.Factory(trio.Event)


class Hammer:
    """Fifty clients and two instances."""

    def __init__(self, outsider: Outsider, *, clients: int, seconds: float) -> None:
        self.outsider, self.clients, self.seconds = outsider, clients, seconds
        self.instances: tuple[Instance, ...] = ()
        self.finished = self.messages = self.sent_away = self.taken = 0
        self.slowest_seconds = 0.0
        self.violations: list[str] = []
        self._waiting: dict[str, _Waiting] = {}
        self._taken_at = time.monotonic()

    async def run(self, database_url: str, home: Path) -> None:
        """Hammer, and judge."""
        await self.outsider.set_up()
        async with (
            serve_messages_api() as api,
            instance(database_url, api.url, home / "one") as one,
            instance(database_url, api.url, home / "two") as two,
        ):
            api.script(rule)
            self.instances = (one, two)
            for it in self.instances:  # importing the SDK takes seconds on a busy machine, and is not what is judged
                await it.logged(READY)
            self._taken_at = time.monotonic()
            until = time.monotonic() + self.seconds
            async with trio.open_nursery() as nursery:
                nursery.start_soon(self._look)
                async with trio.open_nursery() as clients:
                    clients.start_soon(self._begin_anew, until)
                    for number in range(self.clients):
                        clients.start_soon(self._client, random.Random(number), until)
                nursery.cancel_scope.cancel()
            self._judge_logs()
        await self._judge()

    async def _client(self, chance: random.Random, until: float) -> None:
        """Send messages one after the other, each to either instance, and wait for each to be answered."""
        while time.monotonic() < until:
            self.messages += 1
            number = self.messages
            await self._post(chance, "messages", {"request_id": f"r{number}", "text": f"Please write note {number}."})
            waiting = self._waiting[f"request:r{number}"] = _Waiting(time.monotonic())
            with trio.move_on_after(ANSWERED_SECONDS * 3):
                await waiting.answered.wait()
            waited = time.monotonic() - max(waiting.accepted_at, self._taken_at)
            self.slowest_seconds = max(self.slowest_seconds, waited)
            if waited > ANSWERED_SECONDS:
                self.violations.append(f"message {number} was not answered within {ANSWERED_SECONDS:g} s")
        self.finished += 1

    async def _begin_anew(self, until: float) -> None:
        chance, number = random.Random(0), 0
        while time.monotonic() < until:
            number += 1
            await self._post(chance, "fresh", {"request_id": f"fresh-{number}"})
            await trio.sleep(FRESH_SECONDS)

    async def _post(self, chance: random.Random, what: str, body: dict[str, str]) -> None:
        """Ask either instance, as often as it takes: a client that is sent away tries anew at once."""
        with trio.fail_after(ANSWERED_SECONDS * 3):
            while True:
                try:
                    answer = await chance.choice(self.instances).client.post(
                        f"/api/agents/dreamwalker/{what}", json=body
                    )
                except httpx2.HTTPError as error:
                    self.violations.append(f"a client met {error!r}")
                    continue
                if answer.status_code == 202:
                    return
                self.sent_away += 1
                if answer.status_code != 503 or not answer.headers.get("retry-after", "").isdigit():
                    self.violations.append(f"a client was answered {answer.status_code}: {answer.text}")
                await trio.sleep(0.02)  # or fifty clients would do nothing else than be sent away

    async def _look(self) -> None:
        """Look who has the lease, and which messages are answered."""
        holder = ""
        while True:
            (lease,) = await self.outsider.rows(_LEASE)
            if lease["holder"] != holder:
                holder, self._taken_at = lease["holder"], time.monotonic()
            for row in await self.outsider.rows(_ANSWERED, list(self._waiting)):
                self._waiting.pop(row["key"]).answered.set()
            await trio.sleep(POLL_SECONDS)

    def _judge_logs(self) -> None:
        for it in self.instances:
            self.violations += [f"it logged {line}" for line in it.lines() if line["level"] == "error"]

    async def _judge(self) -> None:
        """What stands in the database in the end."""
        (taken,) = await self.outsider.rows(_TAKEN)
        self.taken = taken["times"]
        if self.taken > max(1, self.seconds / 60):
            self.violations.append(f"the lease changed hands {self.taken} times in {self.seconds:g} s")
        if self.finished < self.clients:
            self.violations.append(f"{self.finished} of {self.clients} clients finished")
        self.violations += [f"a run has not ended well: {run}" for run in await self.outsider.rows(_RUNS)]
        placed = await self.outsider.rows(_PLACED)
        numbers = Counter(number for row in placed for number in re.findall(r"note (\d+)", row["body"]))
        if numbers != Counter(str(number) for number in range(1, self.messages + 1)):
            self.violations.append(f"{self.messages} messages were sent, {numbers.total()} are there")
        if [row["placed_seq"] for row in placed] != sorted(row["placed_seq"] for row in placed):
            self.violations.append("messages were placed in another order than they were accepted in")
        self.violations += [f"a run was answered twice: {row}" for row in await self.outsider.rows(_REPLIES)]
        self.violations += [f"doubled: {row}" for row in await self.outsider.rows(_NOTES) if row["versions"] != 1]


async def hammer(database_url: str, home: Path, *, clients: int, seconds: float) -> Hammer:
    """Hammer two instances on an empty, migrated database."""
    async with open_outsider(database_url) as outsider:
        it = Hammer(outsider, clients=clients, seconds=seconds)
        await it.run(database_url, home)
        return it


def main() -> int:
    """The command."""
    parser = argparse.ArgumentParser(prog="make hammer", description=__doc__)
    parser.add_argument("--clients", type=int, default=50)
    parser.add_argument("--seconds", type=float, default=60)
    options = parser.parse_args()
    began = time.monotonic()
    with open_databases() as databases, tempfile.TemporaryDirectory() as home:
        url = databases.make()
        it = trio.run(lambda: hammer(url, Path(home), clients=options.clients, seconds=options.seconds))
    for violation in it.violations[:20]:
        print(f"  {violation[:400]}")
    print(f"{it.clients} clients, {it.messages} messages, {it.sent_away} times sent away, {it.taken} take-overs")
    print(f"the slowest answer came {it.slowest_seconds:.1f} s after its message or the last take-over")
    print(f"{time.monotonic() - began:.0f} s")
    print(f"{len(it.violations)} violations")
    return 1 if it.violations else 0


if __name__ == "__main__":
    sys.exit(main())
