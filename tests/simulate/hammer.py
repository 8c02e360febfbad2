"""`make hammer`: two instances of one deploy, asked by fifty clients by turns, for a minute.

One rule: every client finishes, every message is answered within ten seconds of the last take-over, nothing is doubled,
and the lease changes hands once a minute at most.
"""

import argparse
import random
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import attrs
import trio

from tests.simulate.acts import AGENT, Say
from tests.simulate.databases import open_databases
from tests.simulate.drive import FIRST_GENERATION, open_theatre, settle
from tests.simulate.features import FEATURES
from tests.simulate.judges import judge
from tests.simulate.plan import Schedule
from tests.simulate.process import REAL_LIMITS, Process
from tests.simulate.stage import Stage
from tests.simulate.story import read_story
from tools.limits import Limits

ANSWERED_SECONDS = 10.0
_ANSWERED = """
SELECT 1 FROM messages m JOIN runs r ON r.id = m.run WHERE m.source_key = $1 AND r.closed_at IS NOT NULL
"""
_TAKEN = "SELECT count(*) AS times FROM audit.leases WHERE holder <> was_holder AND holder <> '' AND was_holder <> ''"


class Hammer:
    """Fifty clients and two instances."""

    def __init__(self, stage: Stage, *, clients: int, seconds: float) -> None:
        self.stage, self.clients, self.seconds = stage, clients, seconds
        self.finished = 0
        self.slowest_seconds = 0.0
        self.taken = 0
        self._numbers = iter(range(1, 10**9))
        self._changed_at = time.monotonic()

    async def run(self) -> None:
        """Hammer, and judge."""
        stage = self.stage
        stage.current = await stage.begin(FIRST_GENERATION)
        await stage.begin(FIRST_GENERATION)
        until = time.monotonic() + self.seconds
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._watch_the_lease)
            async with trio.open_nursery() as clients:
                clients.start_soon(self._begin_anew, until)
                for number in range(self.clients):
                    clients.start_soon(self._client, random.Random(number), until)
            nursery.cancel_scope.cancel()
        await settle(stage)
        (taken,) = await stage.outsider.rows(_TAKEN)
        self.taken = taken["times"]
        if self.taken > max(1, self.seconds / 60):
            stage.violations.append(f"the lease changed hands {self.taken} times in {self.seconds:g} s")
        if self.finished < self.clients:
            stage.violations.append(f"{self.finished} of {self.clients} clients finished")

    async def _client(self, chance: random.Random, until: float) -> None:
        """Send messages one after the other, each to either instance, and wait for each to be answered."""
        while time.monotonic() < until:
            number = next(self._numbers)
            said = self.stage.said[number] = Say(number=number)
            await self._post(chance, f"{AGENT}/messages", {"request_id": said.request_id, "text": said.text})
            await self._answered(f"request:{said.request_id}")
        self.finished += 1

    async def _begin_anew(self, until: float) -> None:
        """Begin a fresh context now and then, so that the conversation does not outgrow a minute."""
        chance, number = random.Random(0), 0
        while time.monotonic() < until:
            number += 1
            await self._post(chance, f"{AGENT}/fresh", {"request_id": f"fresh-{number}"})
            await trio.sleep(1)

    async def _post(self, chance: random.Random, path: str, body: dict[str, str]) -> None:
        with trio.fail_after(ANSWERED_SECONDS * 2):
            while True:
                life = chance.choice(self.stage.lives)
                answer = await self.stage.send(life, "POST", path, body)
                if answer is not None and answer.status_code == 202:
                    return
                if answer is not None and answer.status_code != 503:
                    self.stage.violations.append(f"a client was answered {answer.status_code}: {answer.text}")
                await trio.sleep(0.02)

    async def _answered(self, key: str) -> None:
        accepted_at = time.monotonic()
        while not await self.stage.outsider.rows(_ANSWERED, key):
            waited = time.monotonic() - max(accepted_at, self._changed_at)
            if waited > ANSWERED_SECONDS:
                self.stage.violations.append(f"{key} was not answered within {ANSWERED_SECONDS:g} s")
                return
            await self.stage.news(0.05)
        self.slowest_seconds = max(self.slowest_seconds, time.monotonic() - max(accepted_at, self._changed_at))

    async def _watch_the_lease(self) -> None:
        holder = ""
        while True:
            (lease,) = await self.stage.outsider.rows("SELECT holder FROM dreamwalker_lease")
            if lease["holder"] != holder:
                holder, self._changed_at = lease["holder"], time.monotonic()
            await trio.sleep(0.05)


@attrs.frozen(kw_only=True)
class Result:
    """What came of it."""

    messages: int
    taken: int
    slowest_seconds: float
    violations: tuple[str, ...]


async def hammer(database_url: str, *, clients: int, seconds: float) -> Result:
    """Hammer two instances on an empty, migrated database."""
    async with hammering(database_url, clients=clients, seconds=seconds) as it:
        story = await read_story(it.stage)
        found = [*it.stage.violations, *judge(story)]
        for feature in FEATURES:
            found += feature.judge(story)
        return Result(
            messages=len(it.stage.said),
            taken=it.taken,
            slowest_seconds=it.slowest_seconds,
            violations=tuple(found),
        )


@asynccontextmanager
async def hammering(database_url: str, *, clients: int, seconds: float) -> AsyncIterator[Hammer]:
    """The hammered stage, when all is over and its lives have ended."""
    schedule = Schedule(seed=0, acts=(), plans={}, blows=(), watched=False, stops_in_the_end=True)
    limits = attrs.evolve(
        REAL_LIMITS, **{name: getattr(Limits(), name) for name in ("reach_seconds", "silence_seconds")}
    )
    async with open_theatre(database_url, Process) as theatre, trio.open_nursery() as nursery:
        stage = theatre.stage(schedule, limits, nursery)
        it = Hammer(stage, clients=clients, seconds=seconds)
        await it.run()
        await stage.end()
        nursery.cancel_scope.cancel()
        yield it


def main() -> int:
    """The command."""
    parser = argparse.ArgumentParser(prog="make hammer", description=__doc__)
    parser.add_argument("--clients", type=int, default=50)
    parser.add_argument("--seconds", type=float, default=60)
    options = parser.parse_args()
    with open_databases() as databases:
        url = databases.make()
        result = trio.run(lambda: hammer(url, clients=options.clients, seconds=options.seconds))
    for violation in result.violations[:20]:
        print(f"  {violation[:400]}")
    print(f"{options.clients} clients, {result.messages} messages, {result.taken} take-overs")
    print(f"the slowest answer came {result.slowest_seconds:.1f} s after it was accepted, or after the last take-over")
    print(f"{len(result.violations)} violations")
    return 1 if result.violations else 0


if __name__ == "__main__":
    sys.exit(main())
