"""Work that any number of callers wait for.

One rule: a caller who leaves cuts nothing short.
"""

from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar

import trio

from actors.supervisor import unwrap

T = TypeVar("T")


class Shared(Generic[T]):
    """One piece of work. `cut_short` makes what callers get when it was cancelled."""

    def __init__(self, work: Callable[[], Awaitable[T]], cut_short: Callable[[], Exception]) -> None:
        self._work, self._cut_short = work, cut_short
        self._over = trio.Event()
        self._done: list[T] = []
        self._error: Exception | None = None

    async def run(self) -> None:
        """Do it."""
        try:
            self._done.append(await self._work())
        except Exception as error:
            self._error = unwrap(error)
        finally:
            self._over.set()

    async def result(self) -> T:
        """What it came to, once it has. Raises its error."""
        await self._over.wait()
        if self._error is not None:
            raise self._error
        if not self._done:
            raise self._cut_short()
        return self._done[0]
