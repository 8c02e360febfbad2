"""Runs: opened, got on with, waiting, ended.

One rule: a step of a run commits only while the run is open. Stopping it in between makes the step raise
NotAsExpected and leaves nothing of it behind.
"""

from collections.abc import Callable
from datetime import datetime

import attrs

from . import calls, conversations, questions
from .inbox import changed, withdraw_all
from .operation import Bell, Operation, Read, Reader, Row, Transaction, Write
from .records import Call, Entry, Run, Worker
from .spend import LOST

ENDED = "ended"
"""Topic of the bell that says: a run of conversation `key`, which somebody may wait for, has ended."""

SAID_CHARACTERS = 1_000
"""So much is read of what opened a run: enough for a line, however much white space is in it."""

WORKERS = "workers"
"""Topic of the bell that says to every worker: the call that you work for may not wait for you any more."""

_OPEN = """
INSERT INTO runs (id, conversation, act, hops, asked_by, state, turn, attempt, retries, asked, retry_at, reason,
                  opened_at, no)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, :no)
"""


def open_run(run: Run) -> Write:
    """Open a run. Raises Duplicate when the conversation has one that is not ended."""
    return Write(
        _OPEN,
        (
            run.id, run.conversation, run.act, run.hops, run.asked_by, run.state, run.turn, run.attempt, run.retries,
            run.asked, run.retry_at, run.reason, run.opened_at,
        ),
        what="open the run",
    )  # fmt: skip


_STEP = """
UPDATE runs SET state = ?, hops = ?, turn = ?, attempt = ?, retries = ?, asked = ?, retry_at = ?, reason = ?,
    closed_at = ?, no = :no
WHERE id = ? AND state IN ('open', 'waiting')
"""


def step(run: Run) -> Write:
    """Write a run's new state and counters over the old ones, if it has not ended."""
    return Write(
        _STEP,
        (
            run.state, run.hops, run.turn, run.attempt, run.retries, run.asked, run.retry_at, run.reason,
            run.closed_at, run.id,
        ),
        what="the run is open",
    )  # fmt: skip


_GET = f"SELECT {Run.columns()} FROM runs WHERE id = ?"
_LAST_SEQ = "SELECT COALESCE(max(seq), 0) AS seq FROM entries WHERE conversation = ?"
_END = "UPDATE runs SET state = ?, reason = ?, retry_at = NULL, closed_at = ?, no = :no WHERE id = ?"
_UNFINISHED = f"""
SELECT {", ".join("c." + name for name in Call.columns().split(", "))},
    q.id IS NULL OR q.started_at IS NOT NULL AS marked
FROM calls c LEFT JOIN questions q ON q.id = c.question WHERE c.run = ? AND c.state IN ('begun', 'asked')
"""
# Those of a run that it waits for, or all of them.
_WORKERS = f"""
SELECT {Worker.columns()} FROM workers w WHERE w.run = ? AND w.ended_at IS NULL AND NOT w.handed_off AND (? OR EXISTS (
    SELECT FROM calls c WHERE c.run = w.run AND c.turn = w.turn AND c.position = w.position AND c.state = 'begun'))
"""
_UNENDED = f"SELECT {Run.columns()} FROM runs WHERE conversation = ? AND state IN ('open', 'waiting')"
_DISMISS = "UPDATE workers SET ended_at = ?, no = :no WHERE conversation = ? AND ended_at IS NULL"


def dismiss(conversation: int, now: datetime) -> Write:
    """Commit that a worker has ended: what came of it is handed over, or wanted no more. NotAsExpected if it had."""
    return Write(_DISMISS, (now, conversation), what="the worker had not ended")


CutOff = Callable[[Call, bool], str]
"""What stands as the result of a call whose run ended first. False: it hung on a yes, and that its effect starts was
never committed."""


@attrs.frozen(kw_only=True)
class End(Operation[Run | None]):
    """End a run before its time ("stopped" or "failed"): the whole of it in one commit.

    Every unfinished call gets a result (`cut_off`); what it asked the owner is withdrawn and its workers are stopped,
    if he stopped it also those that it went on without, but never what it handed off; `partial` (content blocks as
    JSON), text that was being written as entry `partial_seq`, stays as a reply marked cut, unless the whole reply was
    committed meanwhile; `writes` settle its money. Returns the run as it stands after it (one that had ended before is
    left as it was), None if there is none.
    """

    run: int
    agent: str
    state: str
    reason: str
    cut_off: CutOff
    now: datetime
    partial: str | None = None
    partial_seq: int = 0
    label: int = 0
    writes: tuple[Write, ...] = ()

    async def perform(self, tx: Transaction) -> Run | None:
        row = await tx.get(_GET, self.run)
        if row is None or Run.of(row).ended:
            return None if row is None else Run.of(row)
        run = Run.of(row)
        await tx.write(*questions.withdraw(self.run, self.now, detached_too=self.state == "stopped"))
        for worker in await tx.all(_WORKERS, self.run, self.state == "stopped"):
            await self._stop(tx, Worker.of(worker))
        for row in await tx.all(_UNFINISHED, self.run):
            call = Call.of(row)
            await tx.write(calls.finish(call, text=self.cut_off(call, row["marked"]), failed=True, now=self.now))
        if self.partial is not None:
            last = await tx.get(_LAST_SEQ, run.conversation)
            assert last is not None
            if last["seq"] + 1 == self.partial_seq:
                await tx.write(conversations.add(self._reply(run, self.partial_seq, self.partial)))
        await tx.write(*self.writes)
        await tx.run(_END, self.state, self.reason, self.now, self.run)
        ended = attrs.evolve(run, state=self.state, reason=self.reason, retry_at=None, closed_at=self.now, no=tx.no)
        for bell in (*changed(self.agent, run.conversation), Bell(ENDED, run.conversation, lambda no: ended)):
            tx.ring(bell)
        return ended

    async def _stop(self, tx: Transaction, worker: Worker) -> None:
        """End a worker of this run, wherever it is."""
        open_run = await tx.get(_UNENDED, worker.conversation)
        if open_run is not None:
            reason = f"The run that it worked for was ended: {self.reason}"
            await attrs.evolve(
                self, run=open_run["id"], state="stopped", reason=reason, partial=None, writes=()
            ).perform(tx)
        await tx.write(withdraw_all(worker.conversation, self.now), dismiss(worker.conversation, self.now))
        tx.ring(Bell(WORKERS))

    def _reply(self, run: Run, seq: int, shown: str) -> Entry:
        return Entry(
            conversation=run.conversation,
            seq=seq,
            run=run.id,
            turn=run.turn + 1,
            kind="reply",
            source="model",
            shown=shown,
            label=self.label,
            message=None,
            covers_to=None,
            cut=self.reason,
            at=self.now,
            no=0,
        )


_TAKEN_UP = "INSERT INTO resumptions (run, attempt, turn, generation, at, no) VALUES (?, ?, ?, ?, ?, :no)"


def taken_up(run: Run, generation: str, now: datetime) -> Write:
    """Note that a run was taken up again after a restart, by which deploy; `run` counts this attempt."""
    return Write(_TAKEN_UP, (run.id, run.attempt, run.turn, generation, now), what="note that it was taken up")


# What opened a run was placed after the run before it had ended: so it is found among the few messages in between,
# however long the conversation is.
_LIST = f"""
SELECT {", ".join("r." + c for c in Run.columns().split(", "))}, c.agent, c.kind AS conversation_kind,
    (SELECT w.run FROM workers w WHERE w.conversation = r.conversation) AS works_for,
    o.kind AS opener, o.said, o.quoted, o.label AS opener_label, s.cost, s.unsettled, s.lost
FROM runs r JOIN conversations c ON c.id = r.conversation
CROSS JOIN LATERAL (
    SELECT COALESCE(sum(cost), 0)::bigint AS cost, COALESCE(sum(reserved) FILTER (WHERE cost IS NULL), 0)::bigint
        AS unsettled, COALESCE(sum(reserved) FILTER (WHERE {LOST}), 0)::bigint AS lost
    FROM spend s WHERE s.run = r.id) s
LEFT JOIN LATERAL (
    SELECT m.kind, m.label, left(btrim(m.body::jsonb ->> 'text', E' \\n\\t'), {SAID_CHARACTERS}) AS said,
        left(m.body::jsonb #>> '{{quotes,0,text}}', {SAID_CHARACTERS}) AS quoted
    FROM messages m WHERE m.conversation = r.conversation AND m.run = r.id AND m.kind <> 'notice' AND m.no <= r.no
        AND m.no >= COALESCE(
            (SELECT max(p.no) FROM runs p WHERE p.conversation = r.conversation AND p.no < r.no), 0)
    ORDER BY m.no, m.placed_seq LIMIT 1) o ON TRUE
WHERE """
_SOME = (
    _LIST
    + """r.id < ? AND (?::bigint IS NULL OR r.conversation = ?) AND (?::text IS NULL OR c.agent = ?)
ORDER BY r.id DESC LIMIT ?"""
)
_ONE = _LIST + "r.id = ?"


@attrs.frozen(kw_only=True)
class Opener:
    """The message that opened a run: its kind and label, and the beginning of its text.

    `quoted`: this is the beginning of what came with it, since it has no text of its own.
    """

    kind: str
    text: str
    quoted: bool
    label: int


@attrs.frozen(kw_only=True)
class Listed:
    """A run with whose it is and what it cost so far in nano-dollars; `unsettled` is set aside beside it.

    `lost`: what of that stays set aside, for answers that were cut off. `works_for`: of a worker, or an agent that was
    written to, the run that set it to work. `opener` is None where it was let go of.
    """

    run: Run
    agent: str
    conversation_kind: str
    cost: int
    unsettled: int
    lost: int
    works_for: int | None
    opener: Opener | None

    @classmethod
    def of(cls, row: Row) -> "Listed":
        """From one row of the list."""
        return cls(
            run=Run.of(row),
            agent=row["agent"],
            conversation_kind=row["conversation_kind"],
            cost=row["cost"],
            unsettled=row["unsettled"],
            lost=row["lost"],
            works_for=row["works_for"],
            opener=_opener(row),
        )


def _opener(row: Row) -> Opener | None:
    if row["opener"] is None:
        return None
    said, quoted = row["said"] or "", row["quoted"] or ""
    return Opener(kind=row["opener"], text=said or quoted, quoted=not said and quoted != "", label=row["opener_label"])


@attrs.frozen(kw_only=True)
class ListRuns(Read[tuple[Listed, ...]]):
    """Runs below id `before`, newest first, of one conversation, of one agent or of all."""

    before: int
    limit: int
    conversation: int | None = None
    agent: str | None = None

    async def read(self, reader: Reader) -> tuple[Listed, ...]:
        rows = await reader.all(
            _SOME, self.before, self.conversation, self.conversation, self.agent, self.agent, self.limit
        )
        return tuple(Listed.of(row) for row in rows)


_CALLS = f"SELECT {Call.columns()} FROM calls WHERE run = ? ORDER BY turn, position"


@attrs.frozen
class ReadRun(Read[tuple[Listed, tuple[Call, ...]] | None]):
    """One run with its calls, or None."""

    id: int

    async def read(self, reader: Reader) -> tuple[Listed, tuple[Call, ...]] | None:
        row = await reader.get(_ONE, self.id)
        if row is None:
            return None
        return Listed.of(row), tuple(Call.of(call) for call in await reader.all(_CALLS, self.id))


@attrs.frozen
class OpenRun(Read[Run | None]):
    """The run of a conversation that has not ended, or None."""

    conversation: int

    async def read(self, reader: Reader) -> Run | None:
        row = await reader.get(_UNENDED, self.conversation)
        return None if row is None else Run.of(row)
