"""`serve`: the server in this terminal, until it is told to stop.

One rule: it says where it listens and where the token is kept, never the token. It ends within the time it promises.
"""

import errno
import os
import signal
import sys
import threading
from pathlib import Path

import attrs
import click
import trio

from actors.child import unwrap

from .. import config as configuration
from .. import logs, server, system
from ..config import Config
from ..not_ready import NotReady
from . import local, tokens
from .options import Whole
from .problems import Misconfigured, Problem, Unreachable
from .terminal import remark, say

_MARGIN_SECONDS = 0.5
"""So long before the promised time a stop that hangs is cut short."""


@click.command(
    epilog="""\b
Examples:
  dreamwalker serve                    on http://127.0.0.1:8765
  dreamwalker serve --port 9000
  ANTHROPIC_API_KEY=… dreamwalker serve

Ctrl-C stops it. `dreamwalker doctor` checks the environment variables that set it up."""
)
@click.option("--host", metavar="ADDRESS", help="Where to listen; 127.0.0.1 lets in this machine alone.")
@click.option("--port", type=Whole(0, 65535), help="On which port; 0 takes any that is free.")
@click.option("--socket", metavar="PATH", type=click.Path(path_type=Path), help="Listen on a Unix socket instead.")
@click.option("--attached", is_flag=True, hidden=True, help="End when stdin does.")
@click.option("--for", "noun", hidden=True, help="The command that starts it for itself.")
@click.option("--ready-fd", type=int, hidden=True, help="Write a line to this descriptor once it listens.")
def serve(
    host: str | None, port: int | None, socket: Path | None, attached: bool, noun: str | None, ready_fd: int | None
) -> None:
    """Run the server in this terminal."""
    config = configuration.read()
    config = attrs.evolve(
        config, host=config.host if host is None else host, port=config.port if port is None else port
    )
    own_machine = config.platform is None and config.generation == "0"
    if config.platform is not None and (socket is None or config.entry_secret is None):
        raise Misconfigured(
            "DREAMWALKER_PLATFORM is set, so the platform's entry starts it, on a private socket (--socket) and with a "
            "secret (DREAMWALKER_ENTRY_SECRET)."
        )
    if own_machine:
        tokens.read_or_make(config)
        if (there := local.in_the_way(config)) is not None:
            raise Problem(there)
    elif config.token is None:
        raise Misconfigured("DREAMWALKER_TOKEN is not set. It is the token that clients must know, 32 bytes or more.")
    serving = _Serving(
        config=config, socket=socket, attached=attached, noun=noun, ready_fd=ready_fd, own_machine=own_machine
    )
    try:
        trio.run(serving.run)
    except Exception as error:
        raise unwrap(error) from None
    if serving.failure is not None:
        raise serving.failure


@attrs.define(kw_only=True)
class _Serving:
    """One server, from its start to its end."""

    config: Config
    socket: Path | None
    attached: bool
    noun: str | None
    ready_fd: int | None
    own_machine: bool
    failure: Problem | None = None
    """Why it could not start."""

    async def run(self) -> None:
        """Serve until told to stop."""
        async with system.start(self.config) as running:
            logs.set_up(sys.stderr, redact=lambda text: running.redactor.text(text), level=self.config.log_level)
            async with trio.open_nursery() as nursery:
                nursery.start_soon(self._heed_signals, running)
                if self.attached:
                    nursery.start_soon(self._heed_stdin, running)
                await self._serve(running, nursery)
                nursery.cancel_scope.cancel()

    async def _serve(self, running: system.System, nursery: trio.Nursery) -> None:
        ended = trio.Event()

        async def serve(task_status: "trio.TaskStatus[tuple[str, ...]]") -> None:
            try:
                await server.serve(
                    running, host=self.config.host, port=self.config.port, unix=self.socket, task_status=task_status
                )
            finally:
                ended.set()

        try:
            addresses = await nursery.start(serve)
        except OSError as error:
            self.failure = Problem(self._cannot_listen(error))
            return
        try:
            if self.ready_fd is not None:
                os.write(self.ready_fd, b"ready\n")
                os.close(self.ready_fd)
            nursery.start_soon(running.warm)
            if self.own_machine:
                await self._settle_in(running, addresses[0])
            await ended.wait()
        finally:
            local.withdraw(self.config.home, os.getpid())

    async def _settle_in(self, running: system.System, address: str) -> None:
        """Open the storage at once, and say that all is well."""
        try:
            await running.open()
        except NotReady as error:
            if self.config.embedded:  # nothing outside this machine could mend it
                self.failure = Unreachable(str(error))
                self._stop(running)
                return
            remark(f"{error} It is tried again at each request.")
        if self.socket is None:
            local.announce(self.config.home, local.Running(os.getpid(), local.reachable(address), self.noun))
        kept = "in DREAMWALKER_TOKEN" if self.config.token else f"in {self.config.token_file}"
        opens = "" if self.socket is not None else " Open it in a browser; it asks for the token once."
        say(f"dreamwalker listens at {address}.{opens} The token is kept {kept}. Ctrl-C stops it.")
        if self.config.practice:
            from .telling import PRACTICE

            remark(PRACTICE)

    def _cannot_listen(self, error: OSError) -> str:
        if self.socket is not None:
            return f"It can't listen on the socket {self.socket}: {error.strerror}."
        where = f"port {self.config.port} of {self.config.host}"
        if error.errno == errno.EADDRINUSE:
            return f"Something else listens on {where} already. `dreamwalker serve --port 0` takes a free one."
        return f"It can't listen on {where}: {error.strerror}."

    # -- its end

    async def _heed_signals(self, running: system.System) -> None:
        heeded = [signal.SIGINT, signal.SIGTERM]
        if signal.getsignal(signal.SIGHUP) is signal.SIG_DFL:  # not under nohup
            heeded.append(signal.SIGHUP)
        with trio.open_signal_receiver(*heeded) as signals:
            async for _ in signals:
                self._stop(running)

    async def _heed_stdin(self, running: system.System) -> None:
        stdin = sys.stdin.fileno()
        while True:
            await trio.lowlevel.wait_readable(stdin)
            if not os.read(stdin, 1024):
                break
        self._stop(running)

    def _stop(self, running: system.System) -> None:
        """Begin to end. What hangs, such as a thread that can't be cancelled, doesn't outlast the promise."""
        if not running.stopping.is_set():
            running.stopping.set()
            deadline = threading.Timer(self.config.limits.stop_seconds - _MARGIN_SECONDS, os._exit, [1])
            deadline.daemon = True
            deadline.start()
