"""What an instance finds to do when it is woken. One rule: it is one query, however much there is."""

from datetime import datetime

import attrs

from .operation import Read, Reader

# Each part is answered by a partial index that holds little else.
_LOOK = """
SELECT (SELECT count(*) FROM things WHERE next_at <= ?) AS due,
    (SELECT count(*) FROM pushes WHERE next_at <= ?) AS unsent,
    (SELECT count(*) FROM runs WHERE state IN ('open', 'waiting')) AS runs,
    (SELECT count(*) FROM runs WHERE state = 'waiting') AS waiting,
    LEAST((SELECT min(next_at) FROM things WHERE next_at > ?), (SELECT min(next_at) FROM pushes WHERE next_at > ?),
          (SELECT min(retry_at) FROM runs WHERE state = 'waiting')) AS next_at
"""


@attrs.frozen(kw_only=True)
class Found:
    """Counts: reminders and jobs that are due, pushes to be sent now, runs that are not over, of these those that
    wait. `next_at`: when something is due next, None if nothing is.
    """

    due: int
    unsent: int
    runs: int
    waiting: int
    next_at: datetime | None


@attrs.frozen
class Look(Read[Found]):
    """Look for what is due at an instant."""

    now: datetime

    async def read(self, reader: Reader) -> Found:
        row = await reader.get(_LOOK, self.now, self.now, self.now, self.now)
        assert row is not None
        return Found(**row)
