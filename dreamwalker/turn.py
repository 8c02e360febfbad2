"""Waiting for one's turn while another instance has the lease.

One rule: as long as it is known to be taken, nothing is opened. Now and then somebody looks whether it was given up.
"""

import time
from collections.abc import Awaitable, Callable

from storage.errors import LeaseHeld


class Turn:
    """What is known of the lease that another instance has.

    `is_free` looks at it, which takes one round trip where an opening takes a dozen; it is asked once in
    `look_seconds` at most, and only when somebody comes.
    """

    def __init__(self, is_free: Callable[[], Awaitable[bool]], *, look_seconds: float) -> None:
        self._is_free, self._look_seconds = is_free, look_seconds
        self._until = self._look_at = float("-inf")

    def refused(self, held: LeaseHeld) -> None:
        """An opening was refused: remember for how long."""
        now = time.monotonic()
        self._until, self._look_at = now + held.seconds, now + self._look_seconds

    async def come(self) -> None:
        """Return if an opening may succeed. Raises LeaseHeld, and what looking raises."""
        now = time.monotonic()
        if now >= self._until:
            return
        if now >= self._look_at:
            self._look_at = now + self._look_seconds
            if await self._is_free():
                self._until = float("-inf")
                return
        raise LeaseHeld("another instance has the lease", seconds=self._until - now)
