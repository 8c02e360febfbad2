"""The keeper of retention: once a day it lets go of what the owner does not want to keep for ever.

One rule: it keeps nothing. While he has chosen no time, it waits for him to choose one.
"""

import logging
from collections.abc import Callable
from datetime import timedelta
from typing import Protocol

import attrs
import trio

from storage.retention import Prune, Pruned
from tools.limits import Limits

from .clock import Clock
from .mailbox import Mailbox
from .store import Store

log = logging.getLogger("dreamwalker.retention")


class Means(Protocol):
    """What it works with."""

    store: Store
    clock: Clock
    limits: Limits


@attrs.frozen
class Look:
    """The owner may have chosen another time, or a day has passed."""


class Retention:
    """`keep_days`: for how many days things are kept, 0 for ever."""

    def __init__(self, means: Means, keep_days: Callable[[], int]) -> None:
        self._means, self._keep_days = means, keep_days
        self.mailbox: Mailbox[Look] = Mailbox("the keeper of retention", capacity=1, on_ring=lambda key: Look())

    async def run(self, *, task_status: "trio.TaskStatus[None]" = trio.TASK_STATUS_IGNORED) -> None:
        """Serve the mailbox until it is closed. Raises StorageError."""
        with self.mailbox:
            self.mailbox.ring(0)
            task_status.started()
            async with trio.open_nursery() as nursery:
                alarm = trio.CancelScope()
                async for _ in self.mailbox:
                    alarm.cancel()
                    alarm = trio.CancelScope()
                    if (days := self._keep_days()) > 0:
                        await self._prune(days)
                        nursery.start_soon(self._alarm, alarm)
                nursery.cancel_scope.cancel()

    async def _alarm(self, scope: trio.CancelScope) -> None:
        with scope:
            await self._means.clock.sleep_until(self._means.clock.now() + timedelta(days=1))
            self.mailbox.ring(0)

    async def _prune(self, days: int) -> None:
        """Let go of all that is older, a bounded part at a time, so that nobody waits for it."""
        means, gone = self._means, Pruned(more=True)
        before = means.clock.now() - timedelta(days=days)
        while gone.more:
            gone = await means.store.ask(Prune(before=before, limit=means.limits.pruned_at_once))
            if gone.rows:
                log.info("retention.pruned", {"rows": gone.rows, "before": before})
