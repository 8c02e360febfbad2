"""Workers, and agents that were written to: set to work by a call, found by it again, ended when what came of them is
handed over.

One rule: a call makes one worker, however often it is carried out, and one commit hands over what came of it: that
which gives the call its result, or that which accepts the message in its place.
"""

from datetime import datetime
from typing import Literal

import attrs

from . import conversations, inbox, runs
from .operation import Bell, Commit, Operation, Read, Reader, Row, Transaction, Write
from .records import Call, Entry, Run, Worker

_COLUMNS = ", ".join("w." + column for column in Worker.columns().split(", "))
_ONE = f"SELECT {Worker.columns()} FROM workers WHERE conversation = ?"
_OF_CALL = f"SELECT {Worker.columns()} FROM workers WHERE run = ? AND turn = ? AND position = ?"
_CALL = f"SELECT {Call.columns()} FROM calls WHERE run = ? AND turn = ? AND position = ?"
_COUNT = "SELECT count(*) AS made FROM workers WHERE act = ?"
_RECEIVER = "SELECT retired_at FROM agents WHERE name = ?"
_MAKE = f"INSERT INTO workers ({Worker.columns()}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, :no)"

Refusal = Literal["too many", "unknown", "retired"]
"""Why nobody is set to work: enough came of the act already; there is no such agent; it is retired."""


@attrs.frozen(kw_only=True)
class Delegate(Operation[Worker | Refusal]):
    """Make the worker of a call, with its task accepted, or find the one that the call made before.

    "too many": `per_act` were made for its act already. NotAsExpected: the call does not wait for one any more.
    """

    worker: Worker
    task: Commit
    per_act: int

    async def perform(self, tx: Transaction) -> Worker | Refusal:
        made = self.worker
        key = made.run, made.turn, made.position
        if (there := await tx.get(_OF_CALL, *key)) is not None:
            return Worker.of(there)
        count = await tx.get(_COUNT, made.act)
        if count is not None and count["made"] >= self.per_act:
            return "too many"
        if made.receiver is not None:
            receiver = await tx.get(_RECEIVER, made.receiver)
            if receiver is None or receiver["retired_at"] is not None:
                return "unknown" if receiver is None else "retired"
        values = attrs.asdict(made)
        del values["no"]
        await tx.write(
            conversations.make(
                id=made.conversation,
                agent=made.receiver or made.agent,
                kind="ask" if made.receiver is not None else "worker",
                made_by=made.call,
                now=made.made_at,
            ),
            *self.task.writes,
            Write(_MAKE, tuple(values.values()), what="make the worker"),
        )
        tx.ring(Bell(inbox.LIVE, made.parent))
        return attrs.evolve(made, no=tx.no)


_AT_WORK = f"SELECT {Worker.columns()} FROM workers WHERE ended_at IS NULL ORDER BY conversation"


@attrs.frozen
class AtWork(Read[tuple[Worker, ...]]):
    """The workers whose outcome was not handed over yet."""

    async def read(self, reader: Reader) -> tuple[Worker, ...]:
        return tuple(Worker.of(row) for row in await reader.all(_AT_WORK))


_RUN = f"SELECT {Run.columns()} FROM runs WHERE conversation = ? ORDER BY id DESC LIMIT 1"
_REPLIES = f"SELECT {Entry.columns()} FROM entries WHERE conversation = ? AND kind = 'reply' ORDER BY seq"


@attrs.frozen(kw_only=True)
class Work:
    """A worker, its run if it has one, and the replies it has written so far."""

    worker: Worker
    run: Run | None
    replies: tuple[Entry, ...]

    @property
    def over(self) -> bool:
        """Whether it will do nothing more."""
        return self.worker.ended_at is not None or self.worker.cut_short in ("time", "retired") or self._run_over

    @property
    def _run_over(self) -> bool:
        return self.run is not None and self.run.ended


@attrs.frozen
class ReadWork(Read[Work | None]):
    """How far a worker has got; None if there is none."""

    conversation: int

    async def read(self, reader: Reader) -> Work | None:
        worker, run = await reader.get(_ONE, self.conversation), await reader.get(_RUN, self.conversation)
        if worker is None:
            return None
        replies = await reader.all(_REPLIES, self.conversation)
        return Work(
            worker=Worker.of(worker),
            run=None if run is None else Run.of(run),
            replies=tuple(Entry.of(row) for row in replies),
        )


_CUT_SHORT = "UPDATE workers SET cut_short = ?, no = :no WHERE conversation = ? AND ended_at IS NULL"


def cut_short(conversation: int, why: str) -> Write:
    """Say that a worker's work is ended before its time: "time" or "money" ran out, or its agent is "retired"."""
    return Write(_CUT_SHORT, (why, conversation), what="the worker is at work")


@attrs.frozen(kw_only=True)
class TimeOut(Operation[None]):
    """End the work of a worker that took too long. `end` would end its run, if it has one."""

    worker: Worker
    end: runs.End
    now: datetime

    async def perform(self, tx: Transaction) -> None:
        row, run = await tx.get(_ONE, self.worker.conversation), await tx.get(_RUN, self.worker.conversation)
        if row is None or Worker.of(row).ended_at is not None or (run is not None and Run.of(run).ended):
            return
        await tx.write(
            cut_short(self.worker.conversation, "time"), inbox.withdraw_all(self.worker.conversation, self.now)
        )
        if run is not None:
            await attrs.evolve(self.end, run=run["id"]).perform(tx)


_KIND = "SELECT kind FROM conversations WHERE id = ?"


@attrs.frozen(kw_only=True)
class HandOver(Operation[bool]):
    """Hand over what came of a worker whose work is over, if its call does not wait for it: then nobody else will.

    A call that a run went on without gets `message`; so does one that handed it off, if it came from a home. One that
    was stopped wants nothing. False: the call waits.
    """

    worker: Worker
    message: Commit
    now: datetime

    async def perform(self, tx: Transaction) -> bool:
        worker = self.worker
        there = await tx.get(_ONE, worker.conversation)
        call = await tx.get(_CALL, worker.run, worker.turn, worker.position)
        assert there is not None and call is not None
        if Worker.of(there).ended_at is not None:
            return True
        if call["state"] == "begun" and not worker.handed_off:
            return False
        if worker.handed_off:
            parent = await tx.get(_KIND, worker.parent)
            wanted = parent is not None and parent["kind"] == "home"
        else:
            wanted = call["state"] == "detached"
        if wanted:
            await tx.write(*self.message.writes)
            for bell in self.message.bells:
                tx.ring(bell)
        await tx.write(runs.dismiss(worker.conversation, self.now))
        tx.ring(Bell(inbox.LIVE, worker.parent))
        return True


@attrs.frozen(kw_only=True)
class Seen:
    """A worker as it is shown under its call: its run, if it has begun, and the newest call that it made.

    `no` is the newest commit that changed any of it.
    """

    worker: Worker
    run: Run | None
    tool: str | None
    arguments: str | None
    cost: int
    no: int


_SEEN = f"""
SELECT {_COLUMNS}, r.id AS run_id, c.tool, c.arguments, GREATEST(w.no, r.no, c.no) AS newest,
    COALESCE((SELECT sum(s.cost)::bigint FROM spend s WHERE s.run = r.id), 0) AS cost
FROM workers w
LEFT JOIN LATERAL (SELECT id, no FROM runs WHERE conversation = w.conversation ORDER BY id DESC LIMIT 1) r ON TRUE
LEFT JOIN LATERAL (SELECT tool, arguments, no FROM calls WHERE run = r.id ORDER BY turn DESC, position DESC LIMIT 1) c
    ON TRUE
WHERE """
_SEEN_OF_RUN = _SEEN + "w.run = ? ORDER BY w.conversation"
_SEEN_IN = _SEEN + "w.parent = ? AND (w.ended_at IS NULL OR w.no > ?) ORDER BY w.conversation"
_SEEN_AT_WORK = _SEEN + "w.parent = ? AND w.ended_at IS NULL ORDER BY w.conversation"
_SEEN_UNDER = (
    _SEEN
    + """(w.run, w.turn) IN (
    SELECT run, turn FROM entries WHERE conversation = ? AND seq >= ? AND seq <= ? AND turn IS NOT NULL)
ORDER BY w.conversation"""
)
_RUN_OF = f"SELECT {Run.columns()} FROM runs WHERE id = ?"


async def _seen(reader: Reader, row: Row) -> Seen:
    run = None if row["run_id"] is None else await reader.get(_RUN_OF, row["run_id"])
    return Seen(
        worker=Worker.of(row),
        run=None if run is None else Run.of(run),
        tool=row["tool"],
        arguments=row["arguments"],
        cost=row["cost"],
        no=row["newest"],
    )


@attrs.frozen
class WorkersOfRun(Read[tuple[Seen, ...]]):
    """The workers that a run set to work, in the order it did."""

    run: int

    async def read(self, reader: Reader) -> tuple[Seen, ...]:
        return tuple([await _seen(reader, row) for row in await reader.all(_SEEN_OF_RUN, self.run)])


@attrs.frozen
class WorkersSince(Read[tuple[Seen, ...]]):
    """The workers of a conversation's calls of which something changed above a commit number."""

    parent: int
    no: int

    async def read(self, reader: Reader) -> tuple[Seen, ...]:
        seen = [await _seen(reader, row) for row in await reader.all(_SEEN_IN, self.parent, self.no)]
        return tuple(one for one in seen if one.no > self.no)


@attrs.frozen
class WorkersIn(Read[tuple[Seen, ...]]):
    """The workers at work for calls of a conversation."""

    parent: int

    async def read(self, reader: Reader) -> tuple[Seen, ...]:
        return tuple([await _seen(reader, row) for row in await reader.all(_SEEN_AT_WORK, self.parent)])


@attrs.frozen(kw_only=True)
class WorkersUnder(Read[tuple[Seen, ...]]):
    """The workers that the calls of a conversation's entries from seq `first` to `last` set to work."""

    parent: int
    first: int
    last: int

    async def read(self, reader: Reader) -> tuple[Seen, ...]:
        rows = await reader.all(_SEEN_UNDER, self.parent, self.first, self.last)
        return tuple([await _seen(reader, row) for row in rows])


_EXCHANGES = """
SELECT m.body, m.accepted_at, e.shown, GREATEST(m.label, COALESCE(e.label, 0)) AS label
FROM workers w JOIN messages m ON m.conversation = w.conversation AND m.kind = 'agent'
LEFT JOIN LATERAL (SELECT shown, label FROM entries WHERE conversation = w.conversation AND kind = 'reply'
    ORDER BY seq DESC LIMIT 1) e ON TRUE
WHERE w.agent = ? AND w.receiver = ? AND w.ended_at IS NOT NULL ORDER BY w.conversation DESC LIMIT ?
"""


@attrs.frozen(kw_only=True)
class Exchange:
    """What one agent wrote to another (a message's body), and the last reply (content blocks) if there was one.

    `label` is the higher one of the two.
    """

    body: str
    at: datetime
    shown: str | None
    label: int


@attrs.frozen(kw_only=True)
class Exchanges(Read[tuple[Exchange, ...]]):
    """The newest `limit` exchanges that are over between a sender and a receiver, the oldest first."""

    sender: str
    receiver: str
    limit: int

    async def read(self, reader: Reader) -> tuple[Exchange, ...]:
        rows = await reader.all(_EXCHANGES, self.sender, self.receiver, self.limit)
        return tuple(
            Exchange(body=row["body"], at=row["accepted_at"], shown=row["shown"], label=row["label"])
            for row in reversed(rows)
        )
