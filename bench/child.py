"""Child processes of the bench: they answer a line with a line, and are gone when their block ends."""

import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import trio


class Child:
    """A running child."""

    def __init__(self, process: trio.Process) -> None:
        self.process = process
        self._heard = bytearray()

    async def line(self) -> str:
        """The next line that it prints. Raises EOFError if it ends instead."""
        assert self.process.stdout is not None
        while b"\n" not in self._heard:
            chunk = await self.process.stdout.receive_some()
            if not chunk:
                raise EOFError(f"{self.process.args!r} ended")
            self._heard += chunk
        line, _, self._heard = self._heard.partition(b"\n")
        return line.decode()

    async def ask(self, question: str) -> str:
        """Say a line and hear one."""
        assert self.process.stdin is not None
        await self.process.stdin.send_all(question.encode() + b"\n")
        return await self.line()


@asynccontextmanager
async def module(name: str, *arguments: str) -> AsyncIterator[Child]:
    """`python -m name arguments` until the block ends."""
    command = [sys.executable, "-m", name, *arguments]
    process = await trio.lowlevel.open_process(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    async with process_of(process):
        yield Child(process)


@asynccontextmanager
async def process_of(process: trio.Process) -> AsyncIterator[None]:
    """Terminates a process and waits for its end when the block is left."""
    try:
        yield
    finally:
        with trio.CancelScope(shield=True):
            process.terminate()
            await process.wait()
            for pipe in (process.stdin, process.stdout):
                if pipe is not None:
                    await pipe.aclose()
