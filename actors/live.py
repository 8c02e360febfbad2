"""The live view: who watches a conversation, and the text that is being written in it right now.

One rule: nothing here is remembered. What counts is in rows with numbers; text in flight is shown as in flight and
is replaced by its entry.
"""

from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager

import attrs
import trio


@attrs.define(kw_only=True)
class InFlight:
    """Text that a model is writing: it will be (part of) entry `seq` of run `run`. Offsets are in characters."""

    seq: int
    run: int
    text: str = ""


class Watch:
    """One watcher's flag: set when there may be something new, cleared by waiting."""

    def __init__(self) -> None:
        self._news = trio.Event()
        self.rows_changed = True

    def ring(self, *, rows: bool) -> None:
        """Say that something is new; `rows`: something was committed."""
        self.rows_changed = self.rows_changed or rows
        self._news.set()

    async def wait(self) -> None:
        """Wait for news; returns at once if there were some since the last time."""
        await self._news.wait()
        self._news = trio.Event()


class Live:
    """The live view of all conversations of this process."""

    def __init__(self) -> None:
        self._in_flight: dict[int, InFlight] = {}
        self._summing_up: dict[int, int] = {}
        self._watches: defaultdict[int, set[Watch]] = defaultdict(set)
        self.ending = trio.Event()
        """Set when the process stops or loses the lease: streams end themselves."""

    @contextmanager
    def watch(self, conversation: int) -> Iterator[Watch]:
        """Watch one conversation."""
        watch = Watch()
        self._watches[conversation].add(watch)
        try:
            yield watch
        finally:
            self._watches[conversation].discard(watch)
            if not self._watches[conversation]:
                del self._watches[conversation]

    def changed(self, conversation: int) -> None:
        """Rows of a conversation changed."""
        self._ring(conversation, rows=True)

    def begin(self, conversation: int, seq: int, run: int) -> None:
        """A model begins to write entry `seq`."""
        self._in_flight[conversation] = InFlight(seq=seq, run=run)
        self._ring(conversation, rows=False)

    def write(self, conversation: int, text: str) -> None:
        """More of the text in flight."""
        if text and (flight := self._in_flight.get(conversation)):
            flight.text += text
            self._ring(conversation, rows=False)

    def sum_up(self, conversation: int, run: int) -> None:
        """A model begins to sum a conversation up, for a run that waits for it. Nothing of that can be read before."""
        self._summing_up[conversation] = run
        self._ring(conversation, rows=False)

    def end(self, conversation: int) -> None:
        """Nothing is in flight any more: its entry stands, or it was lost."""
        written = self._in_flight.pop(conversation, None)
        if self._summing_up.pop(conversation, None) is not None or written is not None:
            self._ring(conversation, rows=False)

    def in_flight(self, conversation: int) -> InFlight | None:
        """The text being written, if any."""
        return self._in_flight.get(conversation)

    def summing_up(self, conversation: int) -> int | None:
        """The run for which a conversation is being summed up, if one is."""
        return self._summing_up.get(conversation)

    def finish(self) -> None:
        """End every stream."""
        self.ending.set()
        for watches in list(self._watches.values()):
            for watch in watches:
                watch.ring(rows=False)

    def _ring(self, conversation: int, *, rows: bool) -> None:
        for watch in self._watches.get(conversation, ()):
            watch.ring(rows=rows)
