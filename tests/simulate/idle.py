"""`make idle`: ten minutes with nothing to do, the connection to the database dropped every half minute.

One rule: a client sees no error, the log has one line a drop, and the memory stays as it was.
"""

import argparse
import os
import signal
import sys
import tempfile
import time
from pathlib import Path

import trio

from tests.instance import Instance, instance
from tests.messages_api import say, serve_messages_api
from tests.proxy import open_proxy
from tests.simulate.databases import open_databases

LOST = "database.lost"
STOPS_SECONDS = 10.0
GROWTH_BYTES_MAX = 4_000_000
"""How much more memory it may have at the end than after the first tenth of the time."""


class Idle:
    """One idle server and whoever watches it."""

    def __init__(self, *, seconds: float, every_seconds: float) -> None:
        self.seconds, self.every_seconds = seconds, every_seconds
        self.problems: list[str] = []
        self.drops = self.requests = 0
        self.memory_bytes: list[int] = []

    async def run(self, database_url: str, home: Path) -> None:
        """Start it, let it idle, stop it, judge it."""
        async with (
            serve_messages_api() as api,
            open_proxy(database_url) as proxy,
            instance(proxy.url, api.url, home) as it,
        ):
            api.script(lambda request: say("Here I am."))
            await self._say(it)
            async with trio.open_nursery() as nursery:
                nursery.start_soon(self._watch, it)
                nursery.start_soon(self._ask, it)
                nursery.start_soon(self._weigh, it.process.pid)
                for _ in range(round(self.seconds / self.every_seconds)):
                    await trio.sleep(self.every_seconds)
                    proxy.cut_all()
                    self.drops += 1
                nursery.cancel_scope.cancel()
            await self._say(it)
            it.signal(signal.SIGTERM)
            with trio.move_on_after(STOPS_SECONDS) as patience:
                await it.ended()
            if patience.cancelled_caught:
                self.problems.append(f"it did not stop within {STOPS_SECONDS:g} s")
        self._judge(it)

    async def _say(self, it: Instance) -> None:
        """Send a message, and see that it is answered."""
        async with it.stream() as events:
            answer = await it.say("Are you there?")
            if answer.status_code != 202:
                self.problems.append(f"a message was answered {answer.status_code}")
            await events.until_settled(1 if self.drops == 0 else 2)

    async def _ask(self, it: Instance) -> None:
        while True:
            await trio.sleep(self.every_seconds / 4)
            answer = await it.get("/api/runs?limit=1")
            self.requests += 1
            if answer.status_code != 200:
                self.problems.append(f"a request was answered {answer.status_code}: {answer.text}")

    async def _watch(self, it: Instance) -> None:
        """A live stream that stays open all the time."""
        async with it.stream() as events:
            await events.stays_open()
        self.problems.append("the live stream ended")

    async def _weigh(self, pid: int) -> None:
        while True:
            await trio.sleep(self.seconds / 10)
            pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
            self.memory_bytes.append(pages * os.sysconf("SC_PAGE_SIZE"))

    def _judge(self, it: Instance) -> None:
        lines = it.lines()
        lost = sum(line["event"] == LOST for line in lines)
        if lost != self.drops:
            self.problems.append(f"{self.drops} drops, {lost} lines that say so")
        self.problems += [f"it logged {line}" for line in lines if line["level"] in ("warning", "error")]
        if self.memory_bytes[-1] - self.memory_bytes[0] > GROWTH_BYTES_MAX:
            self.problems.append(f"its memory grew: {self.memory_bytes}")


def main() -> int:
    """The command."""
    parser = argparse.ArgumentParser(prog="make idle", description=__doc__)
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--every", type=float, default=30)
    options = parser.parse_args()
    began = time.monotonic()
    it = Idle(seconds=options.seconds, every_seconds=options.every)
    with open_databases() as databases, tempfile.TemporaryDirectory() as home:
        trio.run(it.run, databases.make(), Path(home))
    for problem in it.problems:
        print(f"  {problem}")
    weights = ", ".join(f"{size / 1e6:.1f}" for size in it.memory_bytes)
    print(f"{it.drops} drops, {it.requests} requests, memory in MB: {weights}")
    print(f"{time.monotonic() - began:.0f} s")
    print(f"{len(it.problems)} problems")
    return 1 if it.problems else 0


if __name__ == "__main__":
    sys.exit(main())
