"""`make idle`: ten minutes with nothing to do, the connection to the database dropped every half minute.

One rule: a client sees no error, the log has one line a drop, and the memory stays as it was.
"""

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import httpx2
import trio

from tests.kill.server import free_port
from tests.messages_api import say, serve_messages_api
from tests.proxy import open_proxy
from tests.simulate.databases import open_databases
from tests.simulate.life import TOKEN, environ_of

ROOT = Path(__file__).parent.parent.parent
LOST = "database connection lost"
GROWTH_BYTES_MAX = 4_000_000
"""How much more memory it may have at the end than after its first minute."""


class Idle:
    """One idle server and whoever watches it."""

    def __init__(self, database_url: str, log: Path, *, seconds: float, every: float) -> None:
        self.database_url, self.log = database_url, log
        self.seconds, self.every = seconds, every
        self.problems: list[str] = []
        self.drops = 0
        self.memory_bytes: list[int] = []

    async def run(self) -> None:
        """Start it, let it idle, stop it."""
        async with serve_messages_api() as api, open_proxy(self.database_url) as proxy:
            api.script(lambda request: say("Here I am."))
            port = free_port()
            environ = environ_of(proxy.url, api.url, "a-key-that-nobody-else-has", "66a00000")
            with self.log.open("wb") as log:
                process = await trio.lowlevel.open_process(
                    [sys.executable, "-m", "dreamwalker", "serve", "--port", str(port)],
                    env=environ | {"PATH": os.environ.get("PATH", os.defpath), "HOME": str(self.log.parent)},
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                    cwd=ROOT,
                )
            headers = {"Authorization": f"Bearer {TOKEN}"}
            async with httpx2.AsyncClient(base_url=f"http://127.0.0.1:{port}", headers=headers, timeout=10) as client:
                await self._say(client, 1)
                async with trio.open_nursery() as nursery:
                    nursery.start_soon(self._stream, client)
                    nursery.start_soon(self._ask, client)
                    nursery.start_soon(self._weigh, process.pid)
                    for _ in range(round(self.seconds / self.every)):
                        await trio.sleep(self.every)
                        proxy.cut_all()
                        self.drops += 1
                    nursery.cancel_scope.cancel()
                await self._say(client, 2)
            process.send_signal(signal.SIGTERM)
            with trio.move_on_after(10) as patience:
                await process.wait()
            if patience.cancelled_caught:
                self.problems.append("it did not stop within 10 s")
                process.kill()
        self._judge_log()

    async def _say(self, client: httpx2.AsyncClient, number: int) -> None:
        """A message, and its answer; the first waits until the server is up."""
        body = {"request_id": f"idle-{number}", "text": "Are you there?"}
        with trio.fail_after(60):
            while True:
                try:
                    answer = await client.post("/api/agents/dreamwalker/messages", json=body)
                    break
                except httpx2.ConnectError:
                    await trio.sleep(0.05)  # nothing tells when a process begins to listen
            if answer.status_code != 202:
                self.problems.append(f"a message was answered {answer.status_code}")
            while (await client.get("/api/runs?limit=1")).json()["runs"][0]["closed_at"] is None:
                await trio.sleep(0.05)

    async def _ask(self, client: httpx2.AsyncClient) -> None:
        while True:
            answer = await client.get("/api/runs?limit=1")
            if answer.status_code != 200:
                self.problems.append(f"a request was answered {answer.status_code}: {answer.text}")
            await trio.sleep(min(self.every / 4, 5))

    async def _stream(self, client: httpx2.AsyncClient) -> None:
        """A live stream that stays open all the time."""
        async with client.stream("GET", "/api/agents/dreamwalker/stream", timeout=60) as stream:
            async for line in stream.aiter_lines():
                if line.startswith("event: end"):
                    break
        self.problems.append("the live stream ended")

    async def _weigh(self, pid: int) -> None:
        while True:
            await trio.sleep(self.seconds / 10)
            pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
            self.memory_bytes.append(pages * os.sysconf("SC_PAGE_SIZE"))

    def _judge_log(self) -> None:
        lines = [json.loads(line) for line in self.log.read_text().splitlines()]
        lost = sum(line["event"].startswith(LOST) for line in lines)
        if lost != self.drops:
            self.problems.append(f"{self.drops} drops, {lost} lines that say so")
        self.problems += [f"it logged {line}" for line in lines if line["level"] in ("warning", "error")]
        if len(self.memory_bytes) > 1 and self.memory_bytes[-1] - self.memory_bytes[0] > GROWTH_BYTES_MAX:
            self.problems.append(f"its memory grew: {self.memory_bytes}")


async def idle(database_url: str, *, seconds: float, every: float) -> Idle:
    """Let one server idle."""
    with tempfile.TemporaryDirectory() as home:
        it = Idle(database_url, Path(home) / "log", seconds=seconds, every=every)
        await it.run()
        return it


def main() -> int:
    """The command."""
    parser = argparse.ArgumentParser(prog="make idle", description=__doc__)
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--every", type=float, default=30)
    options = parser.parse_args()
    began = time.monotonic()
    with open_databases() as databases:
        url = databases.make()
        it = trio.run(lambda: idle(url, seconds=options.seconds, every=options.every))
    for problem in it.problems:
        print(f"  {problem}")
    weights = ", ".join(f"{size / 1e6:.1f}" for size in it.memory_bytes)
    print(f"{time.monotonic() - began:.0f} s, {it.drops} drops, memory in MB: {weights}")
    print(f"{len(it.problems)} problems")
    return 1 if it.problems else 0


if __name__ == "__main__":
    sys.exit(main())
