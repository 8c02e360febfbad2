"""The sandbox: its port, and the tools with which a worker uses it.

One rule: nothing that runs in there is trusted, and nothing here opens a file of its own: files are read and written by
commands inside, where a link leads nowhere else.
"""

from typing import Annotated, Literal, Protocol

import attrs
from msgspec import Meta

from .contract import Arguments, Result, Tool, ToolContext, ToolFailed
from .limits import Limits
from .outside import Source, outside

Ending = Literal["exited", "time", "memory", "disk", "processes"]

_WHY: dict[Ending, str] = {
    "time": "it took too long",
    "memory": "it needed too much memory",
    "disk": "it wrote too much",
    "processes": "it started too many processes",
}


@attrs.frozen(kw_only=True)
class Ran:
    """What came of a command. `output` is what it printed, at most so much as is allowed; `cut_bytes` more were lost.

    `status` is what it exited with, above 128 for the number of a signal; None if it was ended, as `ending` says.
    """

    status: int | None
    ending: Ending
    output: bytes
    cut_bytes: int


class Sandbox(Protocol):
    """Where workers run commands. A task has a folder of its own, made when it is first used, and sees no other's."""

    @property
    def offline(self) -> str | None:
        """Why there is no network in it, in the owner's words; None if there is."""
        ...

    async def unavailable(self) -> str | None:
        """Why it can't be used here, in the owner's words; None if it can."""
        ...

    async def run(self, task: int, command: tuple[str, ...], *, given: bytes = b"") -> Ran:
        """Run a command in a task's folder, with `given` as its input. Whatever it started ends with it.

        Raises SandboxFailed.
        """
        ...

    async def clean(self, task: int) -> None:
        """End all that runs for a task, and delete its folder. Never raises: what is left is swept later."""
        ...

    async def sweep(self) -> None:
        """Delete what an earlier process left. Never raises."""
        ...


class SandboxFailed(Exception):
    """The sandbox itself did not do what it should; nothing is known of the command."""


class ShellArguments(Arguments, frozen=True):
    """Arguments of `shell`."""

    command: Annotated[str, Meta(description="What bash runs, in your own folder.")]


Path = Annotated[str, Meta(description="A path, from your own folder on.", min_length=1, max_length=1000)]


class ReadFileArguments(Arguments, frozen=True):
    """Arguments of `read_file`."""

    path: Path


class WriteFileArguments(Arguments, frozen=True):
    """Arguments of `write_file`."""

    path: Path
    text: Annotated[str, Meta(description="What it is to hold; it takes the place of what is there.")]


def _no_nul(text: str) -> str:
    if "\0" in text:
        raise ToolFailed("There is a NUL character in it.")
    return text


_READ = ("head", "-c")
_WRITE = ("sh", "-c", 'mkdir -p -- "$(dirname -- "$1")" && cat > "$1"', "sh")


def sandbox_tools(sandbox: Sandbox, limits: Limits) -> tuple[Tool, ...]:
    """The tools of a sandbox that can be used."""

    async def run(context: ToolContext, *command: str, given: bytes = b"") -> Ran:
        try:
            return await sandbox.run(context.call.conversation, command, given=given)
        except SandboxFailed as error:
            raise ToolFailed(f"The sandbox failed: {error}") from error

    async def shell(context: ToolContext, arguments: ShellArguments) -> Result:
        return _shown(context, await run(context, "bash", "-c", _no_nul(arguments.command)))

    async def read_file(context: ToolContext, arguments: ReadFileArguments) -> Result:
        most = str(context.limits.sandbox_output_bytes + 1)
        return _shown(context, await run(context, *_READ, most, "--", _no_nul(arguments.path)), quiet=True)

    async def write_file(context: ToolContext, arguments: WriteFileArguments) -> Result:
        ran = await run(context, *_WRITE, _no_nul(arguments.path), given=arguments.text.encode("utf-8", "replace"))
        if ran.status == 0:
            return Result(parts=("Written.",))
        return _shown(context, ran)

    network = f"There is no network: {sandbox.offline}" if sandbox.offline else _NETWORK
    return (
        Tool(
            name="shell",
            description=(
                f"Run a command in your sandbox: a Linux system of which only your own folder can be written. "
                f"{network} A command may take {_span(limits.sandbox_seconds)}; what it leaves running ends with it."
            ),
            arguments=ShellArguments,
            run=shell,
            exit=True,
            private=False,
        ),
        Tool(
            name="read_file",
            description="Read a file in your sandbox.",
            arguments=ReadFileArguments,
            run=read_file,
            exit=False,
            private=False,
            repeatable=True,
        ),
        Tool(
            name="write_file",
            description="Write a file in your sandbox; its folder is made if it isn't there.",
            arguments=WriteFileArguments,
            run=write_file,
            exit=False,
            private=False,
            repeatable=True,
        ),
    )


_NETWORK = (
    "It reaches the open internet and nothing else; if that takes a proxy, curl, pip, git and the like find it in "
    "their environment."
)


def _span(seconds: float) -> str:
    return f"{seconds / 60:g} minutes" if seconds >= 60 else f"{seconds:g} seconds"


def _shown(context: ToolContext, ran: Ran, *, quiet: bool = False) -> Result:
    """How it ended, in our words, and what it printed, as text from outside. `quiet`: it is no news that it ended."""
    text = ran.output.decode("utf-8", "replace")
    if ran.cut_bytes:
        text += f"\n… {ran.cut_bytes:,} more bytes were printed, and lost."
    shown = outside(
        text,
        Source.SANDBOX,
        redactor=context.redactor,
        limit_characters=context.limits.sandbox_output_bytes + 100,
    )
    if ran.status is None:
        return Result(parts=(f"Ended, since {_WHY[ran.ending]}.", shown), failed=True)
    said = () if quiet and ran.status == 0 else (f"It ended with status {ran.status}.",)
    return Result(parts=(*said, shown), failed=quiet and ran.status != 0)
