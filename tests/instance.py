"""A real `dreamwalker serve` on a database that others use too: to be frozen, stopped and killed by signals.

For example::

    async with instance(database_url, api.url, tmp_path / "old", generation=OLD) as old:
        await old.say("Hi")
        old.signal(signal.SIGSTOP)
"""

import itertools
import os
import signal
import socket
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import attrs
import httpx2
import trio

from tests.kill.server import free_port
from tests.log_lines import lines_of
from tests.world import TOKEN, Events, Json

ROOT = Path(__file__).parent.parent
PATIENCE_SECONDS = 30.0
OLD, NEW = "66a0aaaa", "66b0aaaa"
"""Generations: the deploy ids of an older and of a newer one."""

READY = "model.ready"
"""What it logs when nothing has to be imported any more."""

_numbers = itertools.count(1)


@attrs.define(kw_only=True, eq=False)
class Instance:
    """A running process."""

    process: trio.Process
    port: int
    client: httpx2.AsyncClient
    log: Path

    def signal(self, number: int) -> None:
        """Send it a signal."""
        self.process.send_signal(number)

    async def ended(self) -> int:
        """Wait until it has ended; its exit code."""
        return await self.process.wait()

    async def get(self, path: str) -> httpx2.Response:
        """Ask it once, as the owner."""
        return await self.client.get(path)

    async def say(self, text: str) -> httpx2.Response:
        """Send the main agent a message, once."""
        body = {"request_id": f"instance-{next(_numbers)}", "text": text}
        return await self.client.post("/api/agents/dreamwalker/messages", json=body)

    async def runs(self) -> list[Json]:
        """Its runs, the newest first."""
        runs: list[Json] = (await self.get("/api/runs")).json()["runs"]
        return runs

    async def replies(self) -> list[str]:
        """What the main agent has said, as it stands."""
        entries = (await self.get("/api/agents/dreamwalker/entries")).json()["entries"]
        return [entry["text"] for entry in entries if entry["kind"] == "reply"]

    @asynccontextmanager
    async def stream(self, start_no: int = 0) -> AsyncIterator[Events]:
        """The live stream of the main agent."""
        async with await trio.open_tcp_stream("127.0.0.1", self.port) as wire:
            events = Events(wire)
            await events.open(f"/api/agents/dreamwalker/stream?from={start_no}", self.headers())
            yield events

    def headers(self) -> dict[str, str]:
        """What a live stream is asked for with."""
        return {"Authorization": f"Bearer {TOKEN}"}

    def lines(self) -> list[Json]:
        """What it has logged."""
        return lines_of(self.log.read_text().rpartition("\n")[0])

    async def logged(self, event: str) -> None:
        """Wait until it has logged this."""
        with trio.fail_after(PATIENCE_SECONDS):
            while not any(line["event"] == event for line in self.lines()):
                await trio.sleep(0.02)  # another process: nothing tells when it writes

    async def listens(self) -> None:
        """Wait until it listens."""
        with trio.fail_after(PATIENCE_SECONDS):
            while self.process.returncode is None:
                with socket.socket() as probe:
                    if probe.connect_ex(("127.0.0.1", self.port)) == 0:
                        return
                await trio.sleep(0.02)  # nothing tells when a process begins to listen
        raise AssertionError(f"it ended by itself: {self.log.read_text()}")


@asynccontextmanager
async def instance(
    database_url: str, model_url: str, home: Path, *, generation: str = OLD, **limits: Any
) -> AsyncIterator[Instance]:
    """Start one; it is killed when the block is left. `home` is made; its log stays there."""
    home.mkdir(parents=True, exist_ok=True)
    port = free_port()
    environ = {
        "PATH": os.environ.get("PATH", os.defpath),
        "HOME": str(home),
        "DREAMWALKER_HOME": str(home),
        "DREAMWALKER_DATABASE_URL": database_url,
        "DREAMWALKER_TOKEN": TOKEN,
        "DREAMWALKER_GENERATION": generation,
        "DREAMWALKER_ZONE": "Europe/Vienna",
        "ANTHROPIC_API_KEY": "a-key-that-the-tests-made-up",
        "ANTHROPIC_BASE_URL": model_url,
    } | {f"DREAMWALKER_LIMIT_{name.upper()}": str(value) for name, value in limits.items()}
    log = home / f"log-{port}"
    with log.open("wb") as out:
        process = await trio.lowlevel.open_process(
            [sys.executable, "-m", "dreamwalker", "serve", "--port", str(port)],
            env=environ,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=out,
            cwd=ROOT,
        )
    try:
        async with httpx2.AsyncClient(
            base_url=f"http://127.0.0.1:{port}",
            headers={"Authorization": f"Bearer {TOKEN}"},
            timeout=PATIENCE_SECONDS,
            trust_env=False,
        ) as client:
            started = Instance(process=process, port=port, client=client, log=log)
            await started.listens()
            yield started
    finally:
        with trio.CancelScope(shield=True):
            if process.returncode is None:
                process.send_signal(signal.SIGKILL)
            await process.wait()
