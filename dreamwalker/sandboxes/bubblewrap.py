"""Sandboxes of this machine, by bubblewrap: each command in namespaces of its own, over the folder of its task.

One rule: everything that could outlive a command hangs on its process. The namespaces end with it, it ends with this
process, whatever that dies of, and what is left of folders then is swept when the next process opens.

Each command gets mount, pid, ipc, uts, user and network namespaces of its own: it sees the base system, read-only, and
of all else only its folder, which is also its /tmp and /dev/shm. It has no capabilities, can't make user namespaces
where bubblewrap can forbid that, and its network holds nothing but the proxy. The kernel limits how many processes it
has, the memory of each and the size of each file; what they use together is looked at a few times a second, and a
command that uses more is ended.
"""

import json
import logging
import os
import shutil
import socket
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import attrs
import trio

from tools.egress import Egress
from tools.limits import Limits
from tools.sandbox import Ending, Ran, SandboxFailed

from . import door, proxy
from .folders import NOBODY, Folders
from .measure import measure
from .sight import seen

log = logging.getLogger("dreamwalker.sandbox")

LOOK_SECONDS = 0.25
"""Between two looks at what a command uses."""
END_SECONDS = 5.0
"""How long the end of a command, once it is killed, is waited for."""
PROBE_SECONDS = 20.0
_CHUNK_BYTES = 65_536
_DOOR = Path(door.__file__).read_text()
_PRELUDE = """
echo >&"$1" && read -r -n 1 <&"$1" || exit
eval "exec $1>&-" && ulimit -u "$2" -d "$3" -f "$4" -c 0 && shift 4 && exec "$@"
"""
"""Tells that everything stands, waits until it may begin, limits itself and becomes the command.

Until it tells so, the death of this process might not end what it has started. One that dies before it gives the word
never gives it. The units of the limits are those of bash: processes, and kilobytes.
"""


@attrs.define(kw_only=True, eq=False)
class _Command:
    """A command under way. `life` ends with the first process of its namespace, `info` says which that is, and at
    `gate` it waits for the word to begin. `ending` says why it is ended, if it is.

    `first` is a file descriptor of that process, once it is known. The kernel lets it end last of its namespace, but
    closes its files, and so `life`, before it ends the others.
    """

    process: "subprocess.Popen[bytes]"
    life: trio.lowlevel.FdStream
    info: trio.lowlevel.FdStream
    gate: trio.SocketStream
    first: int | None = None
    ending: Ending = "exited"
    kept: bytearray = attrs.Factory(bytearray)
    cut_bytes: int = 0

    def end(self, why: Ending) -> None:
        if self.process.poll() is None:
            self.ending = why
            self.process.kill()


class Bubblewrap:
    """The sandbox of this machine. Satisfies Sandbox."""

    def __init__(self, base: Path, limits: Limits, egress: Egress | None = None) -> None:
        self._folders, self._limits = Folders(base), limits
        self._egress = egress or Egress(seconds=limits.connect_seconds)
        self._commands: dict[int, set[_Command]] = {}
        self._program, self._no_userns = "bwrap", list[str]()
        self._why: str | None = None
        self._probed = False
        self.offline: str | None = None

    async def unavailable(self) -> str | None:
        """Why it can't be used here; None if it can. It is tried once."""
        if not self._probed:
            self._why = await self._probe()
            self._probed = True
        return self._why

    async def _probe(self) -> str | None:
        if sys.platform != "linux":
            return "sandboxes need Linux"
        program = shutil.which("bwrap")
        if program is None:
            return "bubblewrap is not installed (on Debian: apt-get install bubblewrap)"
        self._program = program
        try:
            await self.sweep()
            with trio.fail_after(PROBE_SECONDS):
                help = await trio.run_process([program, "--help"], env={}, cwd="/", capture_stdout=True, check=False)
                self._no_userns = ["--disable-userns"] if b"--disable-userns" in help.stdout else []
                ran = await self.run(0, ("true",))
        except (SandboxFailed, OSError) as error:
            return f"bubblewrap does not work here: {error}"
        except trio.TooSlowError:
            return "bubblewrap does not work here: it did not come to an end"
        finally:
            await self.clean(0)
        if ran.status != 0:
            said = ran.output.decode("utf-8", "replace").strip()[:300]
            return f"bubblewrap does not work here: {said or f'status {ran.status}'}"
        return None

    # -- commands

    async def run(self, task: int, command: tuple[str, ...], *, given: bytes = b"") -> Ran:
        """Run a command in a task's folder. Raises SandboxFailed."""
        try:
            folder = await trio.to_thread.run_sync(self._folders.of, task)
        except OSError as error:
            raise SandboxFailed(f"no folder could be made for the task: {error}") from error
        started = self._start(folder, command)
        under_way = self._commands.setdefault(task, set())
        under_way.add(started)
        try:
            return await self._attend(started, folder, given)
        finally:
            await _finish(started)
            under_way.discard(started)

    def _start(self, folder: Path, command: tuple[str, ...]) -> _Command:
        """Start it from this very thread: a process started by a thread that ends would be ended with it."""
        limits, as_nobody = self._limits, os.geteuid() == 0
        life, held = os.pipe()
        info, told = os.pipe()
        gate, theirs = socket.socketpair()
        args = [
            self._program,
            *("--sync-fd", str(held), "--info-fd", str(told)),
            *self._no_userns,
            *seen(folder, self._folders.etc),
            *("bash", "-c", _PRELUDE, "bash", str(theirs.fileno())),
            str(limits.sandbox_processes),
            str(limits.sandbox_memory_bytes // 1024),
            str(limits.sandbox_disk_bytes // 1024),
            *command,
        ]
        try:
            process = subprocess.Popen(
                args,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                pass_fds=(held, told, theirs.fileno()),
                env={},
                cwd="/",
                start_new_session=True,
                user=NOBODY if as_nobody else None,
                group=NOBODY if as_nobody else None,
                extra_groups=() if as_nobody else None,
            )
        except (OSError, ValueError) as error:
            for fd in (life, info):
                os.close(fd)
            gate.close()
            raise SandboxFailed(str(error)) from error
        finally:
            for fd in (held, told):
                os.close(fd)
            theirs.close()
        return _Command(
            process=process,
            life=trio.lowlevel.FdStream(life),
            info=trio.lowlevel.FdStream(info),
            gate=trio.SocketStream(trio.socket.from_stdlib_socket(gate)),
        )

    async def _attend(self, command: _Command, folder: Path, given: bytes) -> Ran:
        """Carry its input, output and connections, and end it when it goes too far."""
        limits, process = self._limits, command.process
        assert process.stdin is not None and process.stdout is not None
        output = trio.lowlevel.FdStream(os.dup(process.stdout.fileno()))
        async with trio.open_nursery() as nursery:
            nursery.start_soon(_feed, process, given)
            nursery.start_soon(self._let_out, command)
            nursery.start_soon(self._watch, command, folder)
            nursery.start_soon(self._time_out, command)
            async with output, trio.open_nursery() as reading:
                reading.start_soon(_read, output, command, limits.sandbox_output_bytes)
                await _ended(process)
                reading.cancel_scope.deadline = trio.current_time() + END_SECONDS
            nursery.cancel_scope.cancel()
        status = process.wait()
        return Ran(
            status=(status if status >= 0 else 128 - status) if command.ending == "exited" else None,
            ending=command.ending,
            output=bytes(command.kept),
            cut_bytes=command.cut_bytes,
        )

    async def _let_out(self, command: _Command) -> None:
        """Serve the way out, and let the command begin once it is there, or can't be had."""
        listener = await _open_door(command)
        if listener is None and not self._probed:  # later it says nothing of the machine: that command had ended
            self.offline = "this machine doesn't let its network be joined."
        try:
            with suppress(trio.BrokenResourceError):
                await command.gate.send_all(b"\n")
            if listener is not None:
                await proxy.serve(listener, self._egress, self._limits.sandbox_connections)
        finally:
            if listener is not None:
                listener.close()

    async def _watch(self, command: _Command, folder: Path) -> None:
        limits = self._limits
        while True:
            await trio.sleep(LOOK_SECONDS)
            use = await trio.to_thread.run_sync(measure, command.process.pid, folder, limits.sandbox_files)
            if (why := use.over(limits)) is not None:
                log.info("sandbox.command_ended", {"why": why})
                command.end(why)

    async def _time_out(self, command: _Command) -> None:
        await trio.sleep(self._limits.sandbox_seconds)
        command.end("time")

    async def clean(self, task: int) -> None:
        """End all that runs for a task, and delete its folder."""
        for command in self._commands.pop(task, ()):
            command.process.kill()
        with trio.CancelScope(shield=True):
            await trio.to_thread.run_sync(self._folders.clean, task)

    async def sweep(self) -> None:
        """Delete what processes that are no more left behind."""
        try:
            await trio.to_thread.run_sync(self._folders.sweep)
        except OSError as error:
            log.warning("sandbox.left_behind", {"why": error})


async def _open_door(command: _Command) -> socket.socket | None:
    """The listening socket in the sandbox's own network; None if it can't be had."""
    told = b""
    while data := await command.info.receive_some(_CHUNK_BYTES):
        told += data
    try:
        pid = int(json.loads(told)["child-pid"])
    except (ValueError, KeyError):
        return None  # it has ended already, and says why
    with suppress(ProcessLookupError):
        command.first = os.pidfd_open(pid)
    if not await command.gate.receive_some(1):
        return None
    ours, theirs = socket.socketpair()
    with ours:
        with theirs:
            args = [sys.executable, "-I", "-S", "-c", _DOOR, str(pid), str(theirs.fileno())]
            ended = await trio.run_process(
                args, pass_fds=(theirs.fileno(),), env={}, cwd="/", check=False, capture_stderr=True
            )
        if ended.returncode != 0:
            log.warning("sandbox.closed_in", {"why": ended.stderr.decode("utf-8", "replace").strip()[-300:]})
            return None
        _, fds, _, _ = socket.recv_fds(ours, 1, 1)
    return socket.socket(fileno=fds[0])


async def _finish(command: _Command) -> None:
    """See to it that nothing of it is left, whatever cut it short."""
    process = command.process
    process.kill()
    with trio.CancelScope(shield=True):
        await _ended(process)
        process.wait()
        with trio.move_on_after(END_SECONDS):
            await command.life.receive_some(1)
            if command.first is not None:
                await trio.lowlevel.wait_readable(command.first)
        if command.first is not None:
            os.close(command.first)
        for stream in (command.life, command.info, command.gate):
            await stream.aclose()
    for pipe in (process.stdin, process.stdout):
        assert pipe is not None
        pipe.close()


async def _feed(process: "subprocess.Popen[bytes]", given: bytes) -> None:
    assert process.stdin is not None
    async with trio.lowlevel.FdStream(os.dup(process.stdin.fileno())) as stream:
        process.stdin.close()
        with suppress(trio.BrokenResourceError):  # it does not read it
            await stream.send_all(given)


async def _read(stream: trio.lowlevel.FdStream, command: _Command, most: int) -> None:
    """Take in what it prints: its beginning is kept, the rest counted."""
    while data := await stream.receive_some(_CHUNK_BYTES):
        room = most - len(command.kept)
        command.kept += data[:room]
        command.cut_bytes += max(len(data) - room, 0)


async def _ended(process: "subprocess.Popen[bytes]") -> None:
    """Wait until a process has ended."""
    if process.poll() is None:
        pidfd = os.pidfd_open(process.pid)
        try:
            await trio.lowlevel.wait_readable(pidfd)
        finally:
            os.close(pidfd)
