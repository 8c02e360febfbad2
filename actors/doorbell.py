"""The doorbell of one conversation: somebody committed something that it may have to look at.

One rule: a ring is never lost and says nothing. Whoever hears it looks at the rows.
"""

import trio


class Doorbell:
    """Rung from outside, heard by the one task that works on the conversation."""

    def __init__(self) -> None:
        self._rung = trio.Event()
        self._unanswered = False

    def ring(self) -> None:
        """There may be something to look at."""
        self._unanswered = True
        self._rung.set()

    def remember(self) -> None:
        """There may be something to look at that nobody will ring for any more."""
        self._unanswered = True

    async def wait(self) -> None:
        """Wait for the next ring; one since the last wait or answer counts."""
        await self._rung.wait()
        self._rung = trio.Event()

    def answer(self) -> bool:
        """Whether there is something to look at. Whoever asks goes and looks."""
        was_rung, self._unanswered = self._unanswered, False
        self._rung = trio.Event()
        return was_rung
