"""The keeper of words: enters what was said into the index of searches, when there is enough of it.

One rule: nobody waits for it. What it has not entered, a search looks through itself.
"""

from typing import Protocol

import attrs
import trio

from storage.words import Behind, EnterWords
from tools.limits import Limits

from .mailbox import Mailbox
from .store import Store


class Means(Protocol):
    """What it works with."""

    store: Store
    limits: Limits


@attrs.frozen
class Look:
    """There may be enough to enter."""


class Words:
    """Looks at its first commit, and again each time that there were so many more."""

    def __init__(self, means: Means) -> None:
        self._means, self._looks_at = means, 0
        self.mailbox: Mailbox[Look] = Mailbox("the keeper of words", capacity=1, on_ring=lambda key: Look())

    def hear(self, no: int) -> None:
        """A commit has this number."""
        if no >= self._looks_at:
            self._looks_at = no + self._means.limits.words_behind_entries
            self.mailbox.ring(0)

    async def run(self, *, task_status: "trio.TaskStatus[None]" = trio.TASK_STATUS_IGNORED) -> None:
        """Serve the mailbox until it is closed. Raises StorageError."""
        store, limit = self._means.store, self._means.limits.words_behind_entries
        with self.mailbox:
            task_status.started()
            async for _ in self.mailbox:
                while await store.ask(Behind(), patient=True) >= limit:
                    await store.ask(EnterWords(limit), patient=True)
