"""Having a page made text of by a process of its own, which a hostile page may ruin.

One rule: a page is parsed nowhere but there. The process holds nothing of ours, gets the bytes and a few words, writes
one line of JSON, and ends when it is done, when its time is up, or with us, whichever comes first.
"""

import json
import os
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import attrs
import trio

from tools.fetch_url import FetchFailed
from tools.limits import Limits

_ROOT = Path(__file__).resolve().parent.parent.parent
_PROGRAM = "import sys; sys.path[:0] = sys.argv[1:]; from dreamwalker.web.child import main; main()"
_READ_BYTES = 65_536
_ANSWER_BYTES = 2_000_000
"""More than any answer has: the text is cut before it is written."""

_TITLE_CHARACTERS = 300

UNREADABLE = "The page could not be read: it takes too long, needs too much memory, or is broken."
FAILURES = {
    "encrypted": "It is a PDF that wants a password.",
    "broken": "It says that it is a PDF, and is none that could be read.",
    "binary": "It is no text, whatever it says of itself.",
}
"""What the process may say instead of a text."""


@attrs.frozen(kw_only=True)
class Task:
    """A page to make text of, and which part of it is wanted."""

    kind: str
    charset: str
    address: str
    body: bytes
    skip_characters: int
    limit_characters: int


@attrs.frozen(kw_only=True)
class Text:
    """What was made of it. `characters`: how many its whole text has."""

    title: str
    text: str
    characters: int
    cut: bool


async def read(task: Task, limits: Limits) -> Text:
    """Make text of a page. Raises FetchFailed."""
    words = attrs.asdict(task, filter=attrs.filters.exclude("body"))
    words |= {"seconds": limits.reader_seconds, "memory_bytes": limits.reader_memory_bytes}
    try:
        process = _start()
    except OSError:  # the machine has no room for one more
        raise FetchFailed(UNREADABLE) from None
    try:
        answer = await _converse(process, json.dumps(words).encode() + b"\n" + task.body)
    finally:
        process.kill()
        with trio.CancelScope(shield=True):
            await trio.to_thread.run_sync(process.wait)
    return _made(answer)


def _start() -> "subprocess.Popen[bytes]":
    """Start it from this very thread: where it can, it asks the kernel to end it with the thread that started it."""
    paths = [str(_ROOT), *(path for path in sys.path if path and Path(path).is_absolute())]
    return subprocess.Popen(
        [sys.executable, "-I", "-S", "-c", _PROGRAM, *dict.fromkeys(paths)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={},
        cwd="/",
        start_new_session=True,  # Ctrl-C is for us
    )


async def _converse(process: "subprocess.Popen[bytes]", given: bytes) -> bytes:
    """Give it what it reads, and take what it says."""
    assert process.stdin is not None and process.stdout is not None
    said = bytearray()
    async with (
        trio.lowlevel.FdStream(_own(process.stdin)) as to_it,
        trio.lowlevel.FdStream(_own(process.stdout)) as from_it,
        trio.open_nursery() as nursery,
    ):

        async def give() -> None:
            with suppress(trio.BrokenResourceError):  # it has ended
                await to_it.send_all(given)
            await to_it.aclose()

        nursery.start_soon(give)
        while (data := await from_it.receive_some(_READ_BYTES)) and len(said) <= _ANSWER_BYTES:
            said += data
        nursery.cancel_scope.cancel()
    return bytes(said)


def _own(pipe: Any) -> int:
    """The descriptor of a pipe, taken over from the file object around it."""
    fd = os.dup(pipe.fileno())
    pipe.close()
    return fd


def _made(answer: bytes) -> Text:
    """What it said. It may have been taken over by the page: nothing in it is believed but its shape."""
    try:
        said = json.loads(answer)
        if (failed := said.get("failed")) is not None:
            raise FetchFailed(FAILURES.get(failed, UNREADABLE))
        title, text, characters, cut = said["title"], said["text"], said["characters"], said["cut"]
        shapes = (str, str, int, bool)
        if not all(isinstance(each, shape) for each, shape in zip((title, text, characters, cut), shapes, strict=True)):
            raise TypeError
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        raise FetchFailed(UNREADABLE) from None
    return Text(title=title[:_TITLE_CHARACTERS], text=text, characters=max(characters, len(text)), cut=cut)
