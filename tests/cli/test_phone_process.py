"""A real server process, a real clock, a phone on loopback: from the terminal to the thumb and back, over a death."""

import os
import signal
import socket
import threading
import time
from collections.abc import Callable
from typing import Any

import httpx2
import pytest
import trio

from tests.cli.conftest import Machine, stop
from tests.ntfy import Ntfy, serve_ntfy

pytestmark = pytest.mark.slow

WAIT_SECONDS = 40.0


class Phone:
    """The scripted ntfy in a thread, for tests that wait for processes. Use as `with Phone() as phone`."""

    ntfy: Ntfy

    def __init__(self) -> None:
        self._up = threading.Event()
        self._thread = threading.Thread(target=lambda: trio.run(self._serve), daemon=True)

    def __enter__(self) -> "Phone":
        self._thread.start()
        assert self._up.wait(WAIT_SECONDS)
        return self

    def __exit__(self, *_: object) -> None:
        trio.from_thread.run_sync(self._end.set, trio_token=self._token)
        self._thread.join(WAIT_SECONDS)

    async def _serve(self) -> None:
        async with serve_ntfy() as self.ntfy:
            self._token, self._end = trio.lowlevel.current_trio_token(), trio.Event()
            self._up.set()
            await self._end.wait()


def until(condition: Callable[[], Any]) -> Any:
    """Look until something is so."""
    deadline = time.monotonic() + WAIT_SECONDS
    while not (found := condition()):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    return found


def free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port: int = taken.getsockname()[1]
        return port


def test_a_reminder_reaches_the_phone_once_though_the_server_dies_and_its_button_reaches_the_next(
    machine: Machine,
) -> None:
    with Phone() as phone:
        port, ntfy = free_port(), phone.ntfy
        env = {
            "DREAMWALKER_NTFY_URL": ntfy.url,
            "DREAMWALKER_NTFY_TOPIC": ntfy.topic,
            "DREAMWALKER_NTFY_TOKEN": ntfy.token,
            "DREAMWALKER_PUBLIC_URL": f"http://127.0.0.1:{port}",
        }
        first = machine.serve("--port", str(port), **env)
        made = machine.call("remind", "in 2s", "take the tea out")
        assert made.exit_code == 0, made.output
        until(lambda: len(ntfy.came) >= 1)
        os.kill(first.pid, signal.SIGKILL)
        first.communicate()
        second = machine.serve("--port", str(port), **env)
        pushes = until(lambda: "sent" in (said := machine.call("pushes").stdout) and said)
        assert pushes.count("\n") == 1 and len(ntfy.screen) == 1 and len(ntfy.came) <= 2
        ((_, shown),) = ntfy.screen.items()
        assert shown.value is not None and shown.value["message"].startswith("take the tea out")
        done = next(action for action in shown.value["actions"] if action["label"] == "Done")
        assert httpx2.post(done["url"], timeout=WAIT_SECONDS).json() == {"said": "Done."}
        assert "sent, done" in machine.call("pushes").stdout
        _, said = stop(second)
        assert ntfy.topic not in said and ntfy.token not in said and done["url"][-43:] not in said
