"""Messages: accepted first, placed into the transcript later, withdrawn in between.

One rule: a message is accepted once, whatever is retried; its source key meets the first.
"""

from collections.abc import Callable
from datetime import datetime

import attrs

from .operation import Bell, Commit, Operation, Read, Reader, Transaction, Write
from .records import Message

LIVE = "live"
"""Topic of the bell that says: something in conversation `key` changed."""


def work(agent: str) -> str:
    """Topic of the bell that says to an agent: there is work in conversation `key`."""
    return f"agent:{agent}"


def changed(agent: str, conversation: int, letter: Callable[[int], Message] | None = None) -> tuple[Bell, ...]:
    """The bells of a commit that gives an agent something to do in a conversation; `letter`: one message, no more."""
    return (Bell(work(agent), conversation, letter), Bell(LIVE, conversation))


_ACCEPT = """
INSERT INTO messages (id, conversation, source_key, digest, kind, body, label, cause, act, hops, interrupt,
                      accepted_no, seen_no, accepted_at, no)
SELECT ?, ?, ?, ?, ?, ?, CASE WHEN ? THEN :no ELSE 0 END, ?, ?, ?, ?, :no, LEAST(?::bigint, :no), ?, :no
WHERE (SELECT count(*) FROM (  -- in the order of the index of what is not placed, so that nothing else is gone through
    SELECT FROM messages WHERE conversation = ? AND placed_seq IS NULL AND withdrawn_at IS NULL ORDER BY id LIMIT ?
) AS waiting) < ?
"""
UNBOUNDED = 2**62
"""As many unplaced messages as may come."""


def accept(
    *,
    id: int,
    agent: str,
    conversation: int,
    source_key: str,
    digest: str,
    kind: str,
    body: str,
    outside: bool,
    now: datetime,
    seen_no: int = 0,
    cause: str | None = None,
    act: str | None = None,
    hops: int = 0,
    interrupt: bool = False,
    unplaced_max: int = UNBOUNDED,
) -> Commit:
    """Accept one message; the commit's number is its `accepted_no`. Raises Duplicate if its key was met before.

    Raises NotAsExpected if `unplaced_max` messages wait in the conversation (even if its key was met before).
    `outside`: its text is not the owner's own words, so its label is the number of this commit. `act` None: it is an
    act of its own.
    """
    charged = act if act is not None else f"message:{id}"
    params = (
        id, conversation, source_key, digest, kind, body, outside, cause, charged, hops, interrupt, seen_no, now,
        conversation, unplaced_max, unplaced_max,
    )  # fmt: skip

    def letter(no: int) -> Message:
        return Message(
            id=id,
            conversation=conversation,
            source_key=source_key,
            digest=digest,
            kind=kind,
            body=body,
            label=no if outside else 0,
            cause=cause,
            act=charged,
            hops=hops,
            interrupt=interrupt,
            accepted_no=no,
            seen_no=min(seen_no, no),
            accepted_at=now,
            withdrawn_at=None,
            placed_seq=None,
            run=None,
            no=no,
        )

    accepted = Write(_ACCEPT, params, what="accept the message")
    return Commit((accepted,), changed(agent, conversation, letter), conversation)


_FIND = f"SELECT {Message.columns()} FROM messages WHERE source_key = ?"


@attrs.frozen
class FindMessage(Read[Message | None]):
    """The message that has this source key."""

    source_key: str

    async def read(self, reader: Reader) -> Message | None:
        row = await reader.get(_FIND, self.source_key)
        return None if row is None else Message.of(row)


_UNPLACED = f"""
SELECT {Message.columns()} FROM messages
WHERE conversation = ? AND placed_seq IS NULL AND withdrawn_at IS NULL ORDER BY accepted_no, id
"""


@attrs.frozen
class Unplaced(Read[tuple[Message, ...]]):
    """What waits to be placed in a conversation, in the order it was accepted."""

    conversation: int

    async def read(self, reader: Reader) -> tuple[Message, ...]:
        return tuple(Message.of(row) for row in await reader.all(_UNPLACED, self.conversation))


_PLACE = """
UPDATE messages SET placed_seq = ?, run = ?, no = :no WHERE id = ? AND placed_seq IS NULL AND withdrawn_at IS NULL
"""


def place(message: int, seq: int, run: int | None) -> Write:
    """Mark a message as placed at `seq`, in a run or none. Raises NotAsExpected if it was withdrawn meanwhile."""
    return Write(_PLACE, (seq, run, message), what="place the message")


_WITHDRAWN = """
SELECT m.placed_seq, m.withdrawn_at, m.conversation, c.agent
FROM messages m JOIN conversations c ON c.id = m.conversation WHERE m.id = ?
"""
_WITHDRAW = "UPDATE messages SET withdrawn_at = ?, no = :no WHERE id = ?"


@attrs.frozen
class Withdraw(Operation[str]):
    """Take back a message that is not placed yet: "withdrawn" (also if it was before), "placed" or "unknown"."""

    message: int
    now: datetime

    async def perform(self, tx: Transaction) -> str:
        row = await tx.get(_WITHDRAWN, self.message)
        if row is None:
            return "unknown"
        if row["placed_seq"] is not None:
            return "placed"
        if row["withdrawn_at"] is None:
            await tx.run(_WITHDRAW, self.now, self.message)
            for bell in changed(row["agent"], row["conversation"]):
                tx.ring(bell)
        return "withdrawn"


_WITHDRAW_ALL = """
UPDATE messages SET withdrawn_at = ?, no = :no WHERE conversation = ? AND placed_seq IS NULL AND withdrawn_at IS NULL
"""


def withdraw_all(conversation: int, now: datetime) -> Write:
    """Take back whatever waits to be placed in a conversation that nobody works on any more."""
    return Write(_WITHDRAW_ALL, (now, conversation), expect=None)


# From the few that wait to their conversations, of which jobs make a new one every time.
_WAITING = """
SELECT c.id FROM conversations c WHERE c.agent = ? AND c.kind <> 'worker' AND c.id IN (
    SELECT conversation FROM messages WHERE placed_seq IS NULL AND withdrawn_at IS NULL
    UNION SELECT conversation FROM runs WHERE state IN ('open', 'waiting'))
    AND NOT EXISTS (SELECT FROM workers w WHERE w.conversation = c.id AND w.ended_at IS NULL)
ORDER BY c.id
"""


@attrs.frozen
class Waiting(Read[tuple[int, ...]]):
    """The conversations of an agent in which something is left to do.

    Those of its workers aside, and those in which it answers somebody that still waits: both have actors of their own.
    """

    agent: str

    async def read(self, reader: Reader) -> tuple[int, ...]:
        return tuple(row["id"] for row in await reader.all(_WAITING, self.agent))
