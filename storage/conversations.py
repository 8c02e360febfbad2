"""Conversations and their transcripts.

One rule: an entry is never changed. What was shown to a model once is shown again byte for byte.
"""

from datetime import datetime

import attrs

from .operation import Read, Reader, Row, Write
from .records import Call, Conversation, Entry, Message, Question, Run

_HEAD = f"SELECT {Conversation.columns()} FROM conversations WHERE id = ?"
_BY_MAKER = f"SELECT {Conversation.columns()} FROM conversations WHERE made_by = ?"
_MAKE = "INSERT INTO conversations (id, agent, kind, made_by, made_at, no) VALUES (?, ?, ?, ?, ?, :no)"


def make(*, id: int, agent: str, kind: str, made_by: str, now: datetime) -> Write:
    """Make a conversation. Raises Duplicate if `made_by` made one before."""
    return Write(_MAKE, (id, agent, kind, made_by, now), what="make the conversation")


@attrs.frozen
class FindConversation(Read[Conversation | None]):
    """A conversation by its id, or by what made it (`home:NAME`, …)."""

    id: int | None = None
    made_by: str | None = None

    async def read(self, reader: Reader) -> Conversation | None:
        if self.id is not None:
            row = await reader.get(_HEAD, self.id)
        else:
            row = await reader.get(_BY_MAKER, self.made_by)
        return None if row is None else Conversation.of(row)


@attrs.frozen(kw_only=True)
class Loaded:
    """All that an agent needs to go on with a conversation. `calls` are those of the `entries` that have a turn."""

    conversation: Conversation
    entries: tuple[Entry, ...]
    calls: tuple[Call, ...]
    run: Run | None
    last_seq: int


# The newest summary, above it what it lets stay of what was said, below it what it does not cover.
_ENTRIES = f"""
WITH summary AS (
    SELECT seq, covers_to, keeps_from FROM entries WHERE conversation = ? AND seq >= ? AND kind = 'summary'
    ORDER BY seq DESC LIMIT 1)
SELECT {Entry.columns()} FROM entries WHERE conversation = ?
    AND seq >= COALESCE((SELECT COALESCE(keeps_from, covers_to + 1) FROM summary), ?)
    AND (kind <> 'summary' OR seq = (SELECT seq FROM summary))
    AND (seq > COALESCE((SELECT covers_to FROM summary), 0)
         OR kind = 'message' AND (source = 'owner' OR source = 'outside' AND ? <> 'home'))
ORDER BY COALESCE(covers_to * 2 + 1, seq * 2)
"""
_CALLS = f"""
SELECT {Call.columns()} FROM calls WHERE conversation = ? AND run IN (
    SELECT run FROM entries WHERE conversation = ? AND seq >= ? AND turn IS NOT NULL
    UNION SELECT id FROM runs WHERE conversation = ? AND state IN ('open', 'waiting'))
ORDER BY run, turn, position
"""
_OPEN_RUN = f"SELECT {Run.columns()} FROM runs WHERE conversation = ? AND state IN ('open', 'waiting')"
_LAST_SEQ = "SELECT COALESCE(max(seq), 0) AS seq FROM entries WHERE conversation = ?"


@attrs.frozen
class Load(Read[Loaded]):
    """Read a conversation as its later requests hold it. Raises LookupError if there is none."""

    id: int

    async def read(self, reader: Reader) -> Loaded:
        head = await reader.get(_HEAD, self.id)
        if head is None:
            raise LookupError(f"no conversation {self.id}")
        conversation = Conversation.of(head)
        since, kind = conversation.fresh_from, conversation.kind
        entries = tuple(Entry.of(row) for row in await reader.all(_ENTRIES, self.id, since, self.id, since, kind))
        since = max((entry.covers_to + 1 for entry in entries if entry.covers_to is not None), default=since)
        calls: tuple[Call, ...] = ()
        if entries:
            calls = tuple(Call.of(row) for row in await reader.all(_CALLS, self.id, self.id, since, self.id))
        run = await reader.get(_OPEN_RUN, self.id)
        last = max((entry.seq for entry in entries), default=0)
        if not entries:
            last = (await reader.get(_LAST_SEQ, self.id) or {})["seq"]
        return Loaded(
            conversation=conversation,
            entries=entries,
            calls=calls,
            run=None if run is None else Run.of(run),
            last_seq=last,
        )


_ADD = """
INSERT INTO entries (conversation, seq, run, turn, kind, source, shown, label, message, covers_to, keeps_from, cut, at,
                     seen_no, no)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, :no)
"""


def add(entry: Entry) -> Write:
    """Append an entry; its `no` is given by the commit. Raises Duplicate if its seq is taken."""
    return Write(
        _ADD,
        (
            entry.conversation, entry.seq, entry.run, entry.turn, entry.kind, entry.source, entry.shown,
            entry.label, entry.message, entry.covers_to, entry.keeps_from, entry.cut, entry.at, entry.seen_no,
        ),
        what="add the summary" if entry.kind == "summary" else "add an entry",
    )  # fmt: skip


_FRESH = "UPDATE conversations SET fresh_from = ?, no = :no WHERE id = ?"


def start_fresh(conversation: int, seq: int) -> Write:
    """Later requests hold nothing below `seq`; the store keeps all."""
    return Write(_FRESH, (seq, conversation), what="start fresh")


@attrs.frozen(kw_only=True)
class Changes:
    """What changed in a conversation above a commit number; `no` is how far this reaches.

    `complete` is False when there was more than the limit: then `no` is where to go on from.
    """

    messages: tuple[Message, ...]
    entries: tuple[Entry, ...]
    runs: tuple[Run, ...]
    calls: tuple[Call, ...]
    questions: tuple[Question, ...]
    no: int
    complete: bool


def _since(table: str, columns: str) -> str:
    return f"SELECT {columns} FROM {table} WHERE conversation = ? AND no > ? AND no <= ? ORDER BY no LIMIT ?"


_NEW_ENTRIES = _since("entries", Entry.columns())
_NEW_MESSAGES = _since("messages", Message.columns())
_NEW_RUNS = _since("runs", Run.columns())
_NEW_CALLS = _since("calls", Call.columns())
_NEW_QUESTIONS = _since("questions", Question.columns())
_COMMIT_NO = "SELECT commit_no FROM dreamwalker_lease WHERE id = 1"


@attrs.frozen
class ChangesSince(Read[Changes]):
    """The rows of a conversation that carry a number above `no`, in order, at most `limit` of each kind.

    More only if a single commit has more.
    """

    conversation: int
    no: int
    limit: int = 500

    async def read(self, reader: Reader) -> Changes:
        row = await reader.get(_COMMIT_NO)
        assert row is not None
        reach = row["commit_no"]
        lists = await self._rows(reader, reach, self.limit)
        full = [rows[-1]["no"] for rows in lists if len(rows) == self.limit]
        if full:  # go only as far as every list reaches; rows of one commit stay together, however many they are
            reach = max(min(full) - 1, self.no + 1)
            if reach == min(full):
                lists = await self._rows(reader, reach, None)
            lists = [[row for row in rows if row["no"] <= reach] for rows in lists]
        messages, entries, runs, calls, questions = lists
        return Changes(
            messages=tuple(Message.of(row) for row in messages),
            entries=tuple(Entry.of(row) for row in entries),
            runs=tuple(Run.of(row) for row in runs),
            calls=tuple(Call.of(row) for row in calls),
            questions=tuple(Question.of(row) for row in questions),
            no=reach,
            complete=not full,
        )

    async def _rows(self, reader: Reader, reach: int, limit: int | None) -> list[list[Row]]:
        return [
            await reader.all(text, self.conversation, self.no, reach, limit)
            for text in (_NEW_MESSAGES, _NEW_ENTRIES, _NEW_RUNS, _NEW_CALLS, _NEW_QUESTIONS)
        ]


@attrs.frozen
class LastSeq(Read[int]):
    """The seq of a conversation's newest entry, 0 if there is none."""

    conversation: int

    async def read(self, reader: Reader) -> int:
        row = await reader.get(_LAST_SEQ, self.conversation)
        assert row is not None
        return int(row["seq"])


_OLDER = f"SELECT {Entry.columns()} FROM entries WHERE conversation = ? AND seq < ? ORDER BY seq DESC LIMIT ?"
_NEWER = f"SELECT {Entry.columns()} FROM entries WHERE conversation = ? AND seq >= ? ORDER BY seq LIMIT ?"
_PAGE_CALLS = f"""
SELECT {Call.columns()} FROM calls WHERE conversation = ? AND (run, turn) IN
    (SELECT run, turn FROM entries WHERE conversation = ? AND seq >= ? AND seq < ? AND turn IS NOT NULL)
ORDER BY run, turn, position
"""
_PAGE_RUNS = f"""
SELECT {Run.columns()} FROM runs WHERE conversation = ? AND state IN ('failed', 'stopped') AND id IN
    (SELECT run FROM entries WHERE conversation = ? AND seq >= ? AND seq < ?)
ORDER BY id
"""


@attrs.frozen(kw_only=True)
class Paged:
    """A page of a transcript: entries, oldest first, the calls of the replies among them, and the runs of these
    entries that failed or were stopped. `more`: there are older entries; `newer`: there are newer ones.
    """

    entries: tuple[Entry, ...]
    calls: tuple[Call, ...]
    runs: tuple[Run, ...]
    more: bool
    newer: bool


@attrs.frozen
class Page(Read[Paged]):
    """The newest `limit` entries below seq `before`, the oldest `newer` from there on, and what belongs to them."""

    conversation: int
    before: int
    limit: int
    newer: int = 0

    async def read(self, reader: Reader) -> Paged:
        older = await reader.all(_OLDER, self.conversation, self.before, self.limit + 1)
        newer = await reader.all(_NEWER, self.conversation, self.before, self.newer + 1) if self.newer else []
        rows = [*reversed(older[: self.limit]), *newer[: self.newer]]
        entries = tuple(Entry.of(row) for row in rows)
        if not entries:
            return Paged(entries=(), calls=(), runs=(), more=bool(older), newer=False)
        place = (self.conversation, self.conversation, entries[0].seq, entries[-1].seq + 1)
        return Paged(
            entries=entries,
            calls=tuple(Call.of(row) for row in await reader.all(_PAGE_CALLS, *place)),
            runs=tuple(Run.of(row) for row in await reader.all(_PAGE_RUNS, *place)),
            more=len(older) > self.limit,
            newer=len(newer) > self.newer,
        )


_MORE_THAN = "SELECT seq FROM entries WHERE conversation = ? AND no > ? OFFSET ? LIMIT 1"


@attrs.frozen
class MoreThan(Read[bool]):
    """Whether more than so many entries of a conversation carry a number above `no`."""

    conversation: int
    no: int
    entries: int

    async def read(self, reader: Reader) -> bool:
        return await reader.get(_MORE_THAN, self.conversation, self.no, self.entries) is not None
