"""The doorbell of one conversation: somebody committed something that it may have to look at.

One rule: a ring is never lost, and what counts is in the rows. One that brings the only row it is about as a letter
spares whoever hears it the reading.
"""

import attrs
import trio

from storage.records import Message


@attrs.frozen(kw_only=True)
class Rings:
    """What rang since the last answer. `look`: there may be more than the `letters` that were brought."""

    look: bool
    letters: tuple[Message, ...]


class Doorbell:
    """Rung from outside, heard by the one task that works on the conversation. At first there is all to look at."""

    def __init__(self) -> None:
        self._rung = trio.Event()
        self._look = True
        self._letters: list[Message] = []

    def ring(self, letter: Message | None = None) -> None:
        """There may be something to look at: just this message, if there is one."""
        if letter is None:
            self._look = True
        else:
            self._letters.append(letter)
        self._rung.set()

    def remember(self) -> None:
        """There may be something to look at that nobody will ring for any more."""
        self._look = True

    async def wait(self) -> None:
        """Wait for the next ring; one since the last wait or answer counts."""
        await self._rung.wait()
        self._rung = trio.Event()

    def answer(self) -> Rings:
        """What there is to look at. Whoever asks goes and looks."""
        rings = Rings(look=self._look, letters=tuple(self._letters))
        self._look = False
        self._letters.clear()
        self._rung = trio.Event()
        return rings
