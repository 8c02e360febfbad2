"""A machine of the scripted Vercel: namespaces of its own on this one, which end with it. It needs root.

One rule: it is as unhelpful as the real one: ending a command ends what launched it, and nothing else.
"""

import codecs
import subprocess
from pathlib import Path

import attrs
import trio

_NAMESPACES = ("--mount", "--pid", "--ipc", "--net")
_UP = "mount -t tmpfs -o mode=755 none /var/lib && echo up && exec sleep infinity"


@attrs.define(eq=False)
class Command:
    """A command that was started, and what it printed so far, as entries of its log."""

    id: str
    process: "subprocess.Popen[bytes]"
    takes_input: bool
    log: list[tuple[str, str]] = attrs.Factory(list)
    written: int = 0
    ended: bool = False
    news: trio.Condition = attrs.Factory(trio.Condition)

    async def follow(self, name: str, pipe: int) -> None:
        """Take in what it prints on one of its streams."""
        decoder = codecs.getincrementaldecoder("utf-8")("replace")
        async with trio.lowlevel.FdStream(pipe) as stream:
            while data := await stream.receive_some(65_536):
                async with self.news:
                    self.log.append((name, decoder.decode(data)))
                    self.news.notify_all()


class Machine:
    """A machine that runs."""

    def __init__(self) -> None:
        self._holder = subprocess.Popen(
            ["unshare", *_NAMESPACES, "--fork", "--kill-child=KILL", "--mount-proc", "bash", "-c", _UP],
            stdout=subprocess.PIPE,
        )
        assert self._holder.stdout is not None and self._holder.stdout.readline() == b"up\n"
        self._holder.stdout.close()
        pid = self._holder.pid
        self._first = Path(f"/proc/{pid}/task/{pid}/children").read_text().strip()
        self.commands: dict[str, Command] = {}

    def start(self, argv: list[str], *, takes_input: bool) -> Command:
        """Start a command as root."""
        enter = ["nsenter", "--target", self._first, *_NAMESPACES, "--wd=/", "--"]
        stdin = subprocess.PIPE if takes_input else subprocess.DEVNULL
        pipe = subprocess.PIPE
        process = subprocess.Popen(
            [*enter, *argv], stdin=stdin, stdout=pipe, stderr=pipe, env={"PATH": "/usr/bin:/bin"}
        )
        made = Command(f"cmd_{len(self.commands)}", process, takes_input)
        self.commands[made.id] = made
        return made

    def end(self) -> None:
        """End it with all that runs on it."""
        self._holder.kill()
        self._holder.wait()
        for command in self.commands.values():
            command.process.wait()
