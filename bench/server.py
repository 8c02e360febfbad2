"""(d) and (e): how long `dreamwalker serve` takes to its first answer, and what it holds when it has nothing to do.

One rule: it is started as the platform starts it: on a private socket, with a database that is there and migrated,
which it opens at the first request.
"""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import trio

from .child import process_of
from .database import Postgres
from .figures import Figure

_TOKEN = "a-token-that-the-bench-made-up-4f1d0c6e9a7b"
_REQUEST = f"GET /api/status HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {_TOKEN}\r\nConnection: close\r\n\r\n"
_START_SECONDS = 60.0
_LOOK_AGAIN_SECONDS = 0.002
_AT_REST_SECONDS = 2.0
"""A server whose memory has not grown for so long has imported what it imports in the background."""


async def cold_start(postgres: Postgres, *, samples: int, at_rest: int) -> list[Figure]:
    """Starts of the server and of an empty Python in turns; the first don't count. `at_rest` of them go on to rest."""
    passes, starts, held = [], [], []
    database_url = await postgres.database()
    for sample in range(samples + 1):
        passes.append(await _python_pass())
        async with served(database_url) as (pid, took):
            starts.append(took)
            if sample < at_rest:
                held.append(await memory_at_rest(pid))
    return [
        Figure(name="python_pass_ms", values=passes[1:], unit="ms"),
        Figure(name="cold_start_ms", values=starts[1:], unit="ms", bar=700),
        Figure(name="idle_rss_mb", values=held, unit="MB"),
    ]


async def _python_pass() -> float:
    began = time.perf_counter()
    await trio.run_process([sys.executable, "-c", "pass"])
    return (time.perf_counter() - began) * 1000


@asynccontextmanager
async def served(database_url: str) -> AsyncIterator[tuple[int, float]]:
    """A server that has answered its first request: its process id, and the milliseconds that took from its start."""
    with tempfile.TemporaryDirectory(prefix="dreamwalker-bench-") as folder:
        socket = Path(folder) / "socket"
        environ = {
            "PATH": os.defpath,
            "DREAMWALKER_HOME": folder,
            "DREAMWALKER_DATABASE_URL": database_url,
            "DREAMWALKER_TOKEN": _TOKEN,
            "DREAMWALKER_GENERATION": "6a2b00000000000000000000",
            "ANTHROPIC_API_KEY": "a key that is not used",
        }
        command = [sys.executable, "-m", "dreamwalker", "serve", "--port", "0", "--socket", str(socket)]
        began = time.perf_counter()
        process = await trio.lowlevel.open_process(command, env=environ, stdout=subprocess.DEVNULL)
        async with process_of(process):
            with trio.fail_after(_START_SECONDS):
                answer = await _ask(socket, process)
            took = (time.perf_counter() - began) * 1000
            if b" 200" not in answer.partition(b"\r\n")[0]:
                raise RuntimeError(f"the server answered {answer!r}")
            yield process.pid, took


async def _ask(socket: Path, process: trio.Process) -> bytes:
    """The answer to the request, as soon as the server takes it."""
    while True:
        try:
            stream = await trio.open_unix_socket(socket)
            break
        except OSError as error:  # not there yet
            if process.poll() is not None:
                raise RuntimeError("the server ended before it was ready") from error
            await trio.sleep(_LOOK_AGAIN_SECONDS)
    async with stream:
        await stream.send_all(_REQUEST.encode())
        return b"".join([chunk async for chunk in stream])


async def memory_at_rest(pid: int) -> float:
    """Resident megabytes of a process once they have stopped growing."""
    most, since = 0.0, time.monotonic()
    while time.monotonic() - since < _AT_REST_SECONDS:
        held = await _resident_mb(pid)
        if held > most:
            most, since = held, time.monotonic()
        await trio.sleep(_AT_REST_SECONDS / 20)
    return held


async def _resident_mb(pid: int) -> float:
    said = await trio.run_process(["ps", "-o", "rss=", "-p", str(pid)], capture_stdout=True)
    return int(said.stdout) / 1024
