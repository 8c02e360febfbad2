"""Questions: what only the owner may decide, from asked to decided.

One rule: a question closes once. What it was decided to stands beside it for good, and nothing opens it again.
"""

from datetime import datetime

import attrs

from .operation import Read, Reader, Write
from .records import Call, Question, Run

_ASK = f"""
INSERT INTO questions ({Question.columns()})
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, :no)
"""


def ask(question: Question) -> Write:
    """Put a question. Raises Duplicate if its call has one, or its act is asked about already."""
    values = attrs.asdict(question)
    del values["no"]
    return Write(_ASK, tuple(values.values()), what="put the question")


_CLOSE = "UPDATE questions SET state = ?, answer = ?, closed_at = ?, no = :no WHERE id = ? AND state = 'open'"


def close(question: Question) -> Write:
    """Close a question as it says. Raises NotAsExpected if it is closed already."""
    return Write(
        _CLOSE, (question.state, question.answer, question.closed_at, question.id), what="the question is open"
    )


_START = "UPDATE questions SET started_at = ?, no = :no WHERE id = ? AND started_at IS NULL"


def start(question: int, now: datetime) -> Write:
    """Commit that an approved act which can't be repeated begins. Raises NotAsExpected if it has begun before."""
    return Write(_START, (now, question), what="begin what was approved")


_REMIND = "UPDATE questions SET reminded_at = ?, no = :no WHERE id = ? AND state = 'open' AND reminded_at IS NULL"


def remind(question: int, now: datetime) -> Write:
    """Commit that the owner is told of an open question a second time. Raises NotAsExpected if he was before."""
    return Write(_REMIND, (now, question), what="tell of the question again")


# What a run that ends leaves open: all of it if the owner stopped it, else what it still waited for.
_WITHDRAW = """
UPDATE questions q SET state = 'stopped', closed_at = ?, no = :no
WHERE q.run = ? AND q.state = 'open' AND (? OR EXISTS (
    SELECT FROM calls c WHERE c.run = q.run AND c.turn = q.turn AND c.position = q.position AND c.state = 'asked'))
"""


_CALL_OFF = """
UPDATE pushes SET state = 'off', why = 'The run that asks was ended.', next_at = NULL, settled_at = ?, no = :no
WHERE state = 'waiting' AND id IN (SELECT 'question:' || q.id FROM questions q WHERE q.run = ? AND q.state = 'stopped')
"""


def withdraw(run: int, now: datetime, *, detached_too: bool) -> tuple[Write, ...]:
    """Withdraw a run's open questions: those that it waits for, and also those that it went on without.

    Not for composed commits: what is no longer asked is not pushed any more either.
    """
    return (
        Write(_WITHDRAW, (now, run, detached_too), expect=None),
        Write(_CALL_OFF, (now, run), expect=None),
    )


_ONE = f"SELECT {Question.columns()} FROM questions WHERE id = ?"


@attrs.frozen
class ReadQuestion(Read[Question | None]):
    """One question, or None."""

    id: int

    async def read(self, reader: Reader) -> Question | None:
        row = await reader.get(_ONE, self.id)
        return None if row is None else Question.of(row)


_LIST = f"""
SELECT {Question.columns()} FROM questions
WHERE id < ? AND (NOT ? OR state = 'open') AND (?::text IS NULL OR agent = ?) ORDER BY id DESC LIMIT ?
"""


@attrs.frozen(kw_only=True)
class ListQuestions(Read[tuple[Question, ...]]):
    """Questions below id `before`, the newest first: those that are open, or all; of one agent, or of all."""

    before: int
    limit: int
    only_open: bool = False
    agent: str | None = None

    async def read(self, reader: Reader) -> tuple[Question, ...]:
        rows = await reader.all(_LIST, self.before, self.only_open, self.agent, self.agent, self.limit)
        return tuple(Question.of(row) for row in rows)


_OF_RUN = f"SELECT {Question.columns()} FROM questions WHERE run = ? ORDER BY id"


@attrs.frozen
class QuestionsOfRun(Read[tuple[Question, ...]]):
    """What a run asked, in the order it asked."""

    run: int

    async def read(self, reader: Reader) -> tuple[Question, ...]:
        return tuple(Question.of(row) for row in await reader.all(_OF_RUN, self.run))


_RUN = f"SELECT {Run.columns()} FROM runs WHERE id = ?"
_CALLS = f"SELECT {Call.columns()} FROM calls WHERE run = ? AND turn = ? ORDER BY position"
_OF_CALLS = f"""
SELECT {Question.columns()} FROM questions WHERE run = ?
    OR id IN (SELECT question FROM calls WHERE run = ? AND turn = ?)
"""


@attrs.frozen(kw_only=True)
class Heard:
    """A run as it stands now, the calls of its newest turn, and every question that it asked or that set it going."""

    run: Run
    calls: tuple[Call, ...]
    questions: tuple[Question, ...]


@attrs.frozen
class Hear(Read[Heard]):
    """What has become of a run's questions."""

    run: int
    turn: int

    async def read(self, reader: Reader) -> Heard:
        run = await reader.get(_RUN, self.run)
        assert run is not None
        return Heard(
            run=Run.of(run),
            calls=tuple(Call.of(row) for row in await reader.all(_CALLS, self.run, self.turn)),
            questions=tuple(Question.of(row) for row in await reader.all(_OF_CALLS, self.run, self.run, self.turn)),
        )


_NEXT = """
SELECT min(CASE WHEN reminded_at IS NULL THEN expires_at - make_interval(secs => ?) ELSE expires_at END) AS at
FROM questions WHERE state = 'open'
"""


@attrs.frozen
class NextDue(Read[datetime | None]):
    """When something is due for an open question: that the owner is told again, so long before it expires, or its end.

    None if none is open.
    """

    again_seconds: float

    async def read(self, reader: Reader) -> datetime | None:
        row = await reader.get(_NEXT, self.again_seconds)
        at: datetime | None = row["at"] if row else None
        return at
