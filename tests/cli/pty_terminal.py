"""A command on a pseudo-terminal, and what its owner would see there.

One rule: nobody sleeps. A test waits for what is to be seen, and fails with the whole screen if it doesn't come.
"""

import fcntl
import os
import pty
import select
import signal
import struct
import subprocess
import termios
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pyte

WAIT_SECONDS = 60.0


class PtyTerminal:
    """A terminal emulator with a scrollback, and the process that runs in it."""

    def __init__(self, command: Sequence[str], env: Mapping[str, str], *, columns: int = 80, rows: int = 24) -> None:
        self._screen = pyte.HistoryScreen(columns, rows, history=10_000, ratio=1.0)
        self._stream = pyte.ByteStream(self._screen)
        self.raw = b""
        """Every byte that came."""
        self._fd, child = pty.openpty()
        self._closed = False
        fcntl.ioctl(child, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        self.process = subprocess.Popen(
            command,
            stdin=child,
            stdout=child,
            stderr=child,
            env={**env, "TERM": "xterm-256color"},
            start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(child, termios.TIOCSCTTY, 0),
        )
        os.close(child)

    @property
    def text(self) -> str:
        """All that can be read, scrollback first."""
        above = ["".join(line[x].data for x in range(self._screen.columns)) for line in self._screen.history.top]
        return "\n".join(line.rstrip() for line in [*above, *self._screen.display])

    def type(self, text: str) -> None:
        """Press keys: "\\r" is Enter, "\\x03" Ctrl-C, "\\x04" Ctrl-D."""
        os.write(self._fd, text.encode())

    def paste(self, text: str) -> None:
        """Paste, as a terminal does that knows how to tell it from typing."""
        self.type(f"\x1b[200~{text}\x1b[201~")

    @property
    def title(self) -> str:
        """What stands in the title bar."""
        return str(self._screen.title)

    @property
    def echoes(self) -> bool:
        """Whether the terminal is as a shell wants it: it echoes, and edits lines by itself."""
        flags = termios.tcgetattr(self._fd)[3]
        return bool(flags & termios.ECHO and flags & termios.ICANON)

    def wait_for(self, wanted: str | Callable[[str], object]) -> str:
        """Wait until a text can be read, or something holds of what can. Returns all that can be read."""
        holds = (lambda text: wanted in text) if isinstance(wanted, str) else wanted
        deadline = time.monotonic() + WAIT_SECONDS
        while not holds(self.text):
            if not self._read(deadline):
                raise AssertionError(f"{wanted!r} never came. This did:\n{self.text}")
        return self.text

    def wait_for_end(self) -> int:
        """Wait until the process has ended; its exit code."""
        deadline = time.monotonic() + WAIT_SECONDS
        while not self._closed and self._read(deadline):
            pass
        return self.process.wait(max(deadline - time.monotonic(), 0.1))

    def hang_up(self) -> None:
        """Close the window."""
        if not self._closed:
            self._closed = True
            os.close(self._fd)

    def close(self) -> None:
        """End whatever still runs. Raises TimeoutExpired if it does not end."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        self.hang_up()
        try:
            self.process.wait(WAIT_SECONDS)
        finally:
            self.process.kill()  # does nothing to what has ended
            self.process.wait()

    def __enter__(self) -> "PtyTerminal":
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def _read(self, deadline: float) -> bool:
        """Take in what comes next; False when nothing comes any more."""
        ready, _, _ = select.select([self._fd], [], [], max(deadline - time.monotonic(), 0))
        if not ready:
            return False
        try:
            data = os.read(self._fd, 65_536)
        except OSError:  # the other end was closed
            return False
        self.raw += data
        self._stream.feed(data)
        return bool(data)
