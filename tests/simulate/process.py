"""One life of a dreamwalker as a process of its own: a real `dreamwalker serve`, killed and stopped by signals.

One rule: it is told everything by its environment, and it reaches the database through the same proxy as a life in
here, so that the same things can happen to it at the same steps.
"""

import os
import signal
import socket
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import attrs
import trio

from tests.kill.server import free_port
from tests.log_lines import lines_of
from tests.simulate.life import Life
from tests.simulate.nest import Fork, Nest
from tools.limits import Limits

if TYPE_CHECKING:
    from tests.simulate.stage import Stage

LISTENS_SECONDS = 30.0

REAL_LIMITS = Limits(
    renew_seconds=2.0,
    look_seconds=0.1,
    reach_seconds=4.0,
    idle_seconds=1.0,
    statement_seconds=0.9,
    transaction_seconds=1.2,
    silent_seconds=1.5,
    ask_seconds=10.0,
    silence_seconds=1.0,
    stop_seconds=5.0,
    retry_first_seconds=0.02,
    retry_longest_seconds=0.1,
    push_seconds=0.5,
    push_retry_seconds=0.02,
)


class Process(Life):
    """A life that is a process, forked by a nest."""

    def __init__(self, nest: Nest, stage: "Stage", number: int, generation: str) -> None:
        super().__init__(stage, number, generation)
        self._nest = nest
        self._process: Fork | None = None

    def stop(self) -> None:
        super().stop()
        self._signal(signal.SIGTERM)

    def pause(self) -> trio.Event:
        self._signal(signal.SIGSTOP)
        return super().pause()

    def resume(self) -> None:
        super().resume()
        self._signal(signal.SIGCONT)

    def _end_abruptly(self) -> None:
        self._signal(signal.SIGKILL)

    def _signal(self, number: int) -> None:
        if self._process is not None:
            self._process.signal(number)

    async def _live(self, environ: dict[str, str], task_status: "trio.TaskStatus[None]") -> None:
        port = free_port()
        with tempfile.TemporaryDirectory() as home:
            log = Path(home) / "log"
            log.touch()
            more = {"PATH": os.environ.get("PATH", os.defpath), "HOME": home, "DREAMWALKER_HOME": home}
            environ = environ | more | _limits_of(self.stage.limits)
            self._process = await self._nest.fork(["serve", "--port", str(port)], environ, log)
            try:
                if self.dead:  # it was killed before it was born
                    self._signal(signal.SIGKILL)
                await self._listens(port)
                self.url = f"http://127.0.0.1:{port}"
                task_status.started()
                code = await self._process.wait()
            finally:
                self._signal(signal.SIGKILL)
                with trio.CancelScope(shield=True):
                    await self._process.wait()
            self._judge(code, log.read_text(errors="replace"))

    async def _listens(self, port: int) -> None:
        assert self._process is not None
        with trio.fail_after(LISTENS_SECONDS):
            while self._process.code is None:
                with socket.socket() as probe:
                    if probe.connect_ex(("127.0.0.1", port)) == 0:
                        return
                await trio.sleep(0.02)  # nothing tells when a process begins to listen

    def _judge(self, code: int, said: str) -> None:
        """It ends only when it is killed or told to, and complains of nothing."""
        if not self.dead and not (self.stopped and code == 0):
            self.stage.violations.append(f"{self.app} ended by itself with {code}: {said[-400:]}")
        for line in said.splitlines():
            if (logged := lines_of(line)) and logged[0]["level"] == "error":
                self.stage.violations.append(f"{self.app} logged: {line[:400]}")
            elif not logged and not line.startswith("dreamwalker listens"):
                self.stage.violations.append(f"{self.app} printed: {line[:400]}")


def _limits_of(limits: Limits) -> dict[str, str]:
    """Limits as the environment sets them."""
    changed = attrs.asdict(limits, filter=lambda field, value: value != field.default)
    return {f"DREAMWALKER_LIMIT_{name.upper()}": str(value) for name, value in changed.items()}
