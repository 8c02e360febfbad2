"""A process that dies after a certain commit: the commit landed, and nothing of the process happens any more.

One rule: from then on its storage answers nobody, so no task of it gets any further; the house is closed around them.
"""

import trio

from dreamwalker.house import House
from storage.operation import Operation


class Death:
    """Kills a house after its commit number `after`, counted from when it was laid on."""

    def __init__(self, house: House, after: int) -> None:
        self.came = trio.Event()
        self.commits = 0
        self._ask, self._after = house.store.ask, after
        house.store.ask = self._counting  # type: ignore[method-assign]

    async def _counting(self, operation: object) -> object:
        if self.came.is_set():
            await trio.sleep_forever()
        done = await self._ask(operation)  # type: ignore[arg-type]
        if isinstance(operation, Operation):
            self.commits += 1
            if self.commits >= self._after:
                self.came.set()
                await trio.sleep_forever()
        return done
