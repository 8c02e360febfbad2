"""The ledger: what became of each slot of a reminder or job.

One rule: a slot gets its one fate in the commit that moves its thing past it, and a row is changed only by what its
fate had left open: a running job's end, or more skipped slots that follow right on.
"""

from datetime import datetime

import attrs

from .operation import Read, Reader, Row, Write
from .records import Fate

_ADD = """
INSERT INTO slots (thing, slot, at, version, fate, late_seconds, why, last_slot, last_at, count, conversation,
                   settled_at, no)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, :no)
ON CONFLICT (thing, slot) DO NOTHING
"""


def add(it: Fate) -> Write:
    """Write what became of a slot, or that it runs. Raises NotAsExpected if that was written before.

    So whoever reckons with a thing that has moved on meanwhile hears the same, whether it was changed or came up.
    """
    return Write(
        _ADD,
        (
            it.thing, it.slot, it.at, it.version, it.fate, it.late_seconds, it.why, it.last_slot, it.last_at, it.count,
            it.conversation, it.settled_at,
        ),
        what="the slot has no fate yet",
    )  # fmt: skip


_MORE = """
UPDATE slots SET last_slot = ?, last_at = ?, count = count + ?, settled_at = ?, no = :no
WHERE thing = ? AND slot = ? AND fate = 'skipped'
"""


def skip_more(first: str, it: Fate) -> Write:
    """Let the row of skipped slots that begins with `first` stand for those of another row too that follow right on."""
    return Write(_MORE, (it.last_slot, it.last_at, it.count, it.settled_at, it.thing, first), what="skip more slots")


_SETTLE = """
UPDATE slots SET fate = ?, why = ?, report = ?, settled_at = ?, no = :no
WHERE thing = ? AND slot = ? AND fate = 'running'
"""


def settle(thing: int, slot: str, *, fate: str, why: str | None, report: str | None, now: datetime) -> Write:
    """The fate of a job's slot whose run has ended. Raises NotAsExpected if it is known already."""
    return Write(_SETTLE, (fate, why, report, now, thing, slot), what="the slot is running")


@attrs.frozen(kw_only=True)
class EndedRun:
    """A job's run that has ended and whose slot still says that it runs.

    `state` and `reason` are the run's; `last_reply` is the JSON text of its last reply's blocks, `label` its label.
    `failed_before`: so did the last run of the job before it.
    """

    thing: int
    slot: str
    title: str
    zone: str
    at: datetime
    hops: int
    agent: str
    home: int
    state: str
    reason: str | None
    last_reply: str | None
    label: int
    failed_before: bool

    @classmethod
    def of(cls, row: Row) -> "EndedRun":
        """From one row."""
        return cls(**{field.name: row[field.name] for field in attrs.fields(cls)})


# A job's conversation has one run; should it have more, the newest counts, once it has ended.
_ENDED = """
SELECT s.thing, s.slot, t.title, t.zone, s.at, t.hops, t.agent, h.id AS home, r.state, r.reason,
    (SELECT e.shown FROM entries e WHERE e.conversation = s.conversation AND e.run = r.id AND e.kind = 'reply'
     ORDER BY e.seq DESC LIMIT 1) AS last_reply,
    COALESCE((SELECT max(e.label) FROM entries e WHERE e.conversation = s.conversation AND e.run = r.id), 0) AS label,
    COALESCE((SELECT p.fate = 'failed' FROM slots p WHERE p.thing = s.thing AND p.at < s.at
              AND p.fate IN ('ran', 'failed') ORDER BY p.at DESC LIMIT 1), FALSE) AS failed_before
FROM slots s JOIN things t ON t.id = s.thing JOIN conversations h ON h.made_by = 'home:' || t.agent
JOIN runs r ON r.conversation = s.conversation
WHERE s.fate = 'running' AND r.closed_at IS NOT NULL
    AND NOT EXISTS (SELECT FROM runs later WHERE later.conversation = s.conversation AND later.id > r.id)
ORDER BY r.closed_at, r.id LIMIT ?
"""


@attrs.frozen
class EndedRuns(Read[tuple[EndedRun, ...]]):
    """The jobs' runs that have ended and are not reported yet, in the order in which they ended, at most `limit`."""

    limit: int

    async def read(self, reader: Reader) -> tuple[EndedRun, ...]:
        return tuple(EndedRun.of(row) for row in await reader.all(_ENDED, self.limit))


@attrs.frozen(kw_only=True)
class Report:
    """What a run of a job reported. `label` above 0: it derives from outside."""

    at: datetime
    text: str
    label: int


_REPORTS = """
SELECT s.at, s.report AS text,
    COALESCE((SELECT max(e.label) FROM entries e WHERE e.conversation = s.conversation), 0) AS label
FROM slots s WHERE s.thing = ? AND s.report IS NOT NULL ORDER BY s.at DESC LIMIT ?
"""


@attrs.frozen
class Reports(Read[tuple[Report, ...]]):
    """The newest reports of a job, oldest first, at most `limit`."""

    thing: int
    limit: int

    async def read(self, reader: Reader) -> tuple[Report, ...]:
        rows = await reader.all(_REPORTS, self.thing, self.limit)
        return tuple(Report(at=row["at"], text=row["text"], label=row["label"]) for row in reversed(rows))


_LIST = f"SELECT {Fate.columns()} FROM slots WHERE thing = ? AND at < ? ORDER BY at DESC LIMIT ?"


@attrs.frozen(kw_only=True)
class ListFates(Read[tuple[Fate, ...]]):
    """The ledger of a thing below an instant, the newest first."""

    thing: int
    before: datetime
    limit: int

    async def read(self, reader: Reader) -> tuple[Fate, ...]:
        return tuple(Fate.of(row) for row in await reader.all(_LIST, self.thing, self.before, self.limit))
