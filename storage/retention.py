"""Retention: what the owner may let go of after a time, and what it would be.

One rule: nothing that he said or decided, nothing that an agent said to him, no note and no account of money goes. What
may go is what was only the way to something that stays: the transcripts of workers whose answer was handed over, pushes
that were settled, and the ledger of long gone slots.
"""

from datetime import datetime

import attrs

from .operation import Operation, Read, Reader, Transaction

# Those whose answer was handed over. Their runs, and what they cost, stay.
_WORKERS = """
SELECT w.conversation FROM workers w JOIN conversations c ON c.id = w.conversation AND c.kind = 'worker'
WHERE w.ended_at < ?
"""
_OF_WORKERS = {name: f"{name} WHERE conversation IN ({_WORKERS})" for name in ("entries", "calls", "messages")}
# A question's push stays until it is decided; what waits to be sent, always.
_PUSHES = "pushes WHERE settled_at < ? AND buttons_until < ?"
# The newest of each thing stay: a job is shown its last reports, and a ledger goes on from its newest row.
_SLOTS = """
slots WHERE settled_at < ? AND (thing, slot) NOT IN (
    SELECT k.thing, k.slot FROM (
        SELECT thing, slot, row_number() OVER (PARTITION BY thing ORDER BY at DESC) AS rank FROM slots) k
    WHERE k.rank <= 20)
"""


@attrs.frozen(kw_only=True)
class Pruned:
    """Rows by what they are of. `more`: there are others."""

    workers: int = 0
    pushes: int = 0
    slots: int = 0
    more: bool = False

    @property
    def rows(self) -> int:
        """All of them."""
        return self.workers + self.pushes + self.slots


@attrs.frozen
class Preview(Read[Pruned]):
    """What there is from before a time that may go: rows, none of which is touched."""

    before: datetime

    async def read(self, reader: Reader) -> Pruned:
        counts = [await self._count(reader, of) for of in _OF_WORKERS.values()]
        return Pruned(
            workers=sum(counts),
            pushes=await self._count(reader, _PUSHES, self.before),
            slots=await self._count(reader, _SLOTS),
        )

    async def _count(self, reader: Reader, of: str, *also: datetime) -> int:
        row = await reader.get(f"SELECT count(*) AS n FROM {of}", self.before, *also)
        return 0 if row is None else int(row["n"])


@attrs.frozen(kw_only=True)
class Prune(Operation[Pruned]):
    """Let go of what is from before a time, at most `limit` rows of each table at once."""

    before: datetime
    limit: int

    async def perform(self, tx: Transaction) -> Pruned:
        gone = [await self._delete(tx, name, of) for name, of in _OF_WORKERS.items()]
        pushes = await self._delete(tx, "pushes", _PUSHES, self.before)
        slots = await self._delete(tx, "slots", _SLOTS)
        return Pruned(
            workers=sum(gone), pushes=pushes, slots=slots, more=any(n == self.limit for n in (*gone, pushes, slots))
        )

    async def _delete(self, tx: Transaction, table: str, of: str, *also: datetime) -> int:
        some = f"DELETE FROM {table} WHERE ctid IN (SELECT ctid FROM {of} LIMIT ?)"
        return await tx.run(some, self.before, *also, self.limit)
