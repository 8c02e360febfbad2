"""The scripted Messages API in a thread, for tests that wait for terminals.

One rule: the script and its gates belong to the thread of the server; tests hand over what is to be done there.
"""

import threading
from collections.abc import Callable
from typing import Any

import trio

from tests.messages_api import Gate, serve_messages_api
from tests.messages_api.__main__ import echo
from tests.messages_api.replies import Reply, Rule

WAIT_SECONDS = 60.0


class ScriptedModel:
    """A Messages API on loopback. Use as `with ScriptedModel() as model`."""

    def __init__(self) -> None:
        self._up = threading.Event()
        self._thread = threading.Thread(target=lambda: trio.run(self._serve), daemon=True)

    def __enter__(self) -> "ScriptedModel":
        self._thread.start()
        assert self._up.wait(WAIT_SECONDS)
        return self

    def __exit__(self, *_: object) -> None:
        self._do(self._end.set)
        self._thread.join(WAIT_SECONDS)

    @property
    def url(self) -> str:
        """Where it listens."""
        return self._api.url

    def begin(self) -> None:
        """Echo whatever is not scripted."""
        self._do(self._api.script, echo)

    def script(self, *replies: Reply | Rule) -> None:
        """Say what is answered next; see `MessagesApi.script`."""
        self._do(self._api.script, *replies)

    def reached(self, gate: Gate) -> None:
        """Wait until a stream has come to a gate."""

        async def wait() -> None:
            with trio.fail_after(WAIT_SECONDS):
                await gate.reached.wait()

        trio.from_thread.run(wait, trio_token=self._token)

    def open(self, gate: Gate) -> None:
        """Let a stream go on."""
        self._do(gate.open)

    def _do(self, call: Callable[..., object], *arguments: Any) -> None:
        trio.from_thread.run_sync(call, *arguments, trio_token=self._token)

    async def _serve(self) -> None:
        async with serve_messages_api() as self._api:
            self._token = trio.lowlevel.current_trio_token()
            self._end = trio.Event()
            self._up.set()
            await self._end.wait()
