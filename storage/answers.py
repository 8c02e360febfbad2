"""Asking the owner and hearing his answer, each as one transaction with all that follows from it.

One rule: the first answer wins. It closes the question, gives its call a result or sets it going, wakes the run that
waits, or tells a run that went on; all of that is committed with it, or none.
"""

from collections.abc import Callable
from datetime import datetime

import attrs

from . import calls, inbox, pushes, questions
from .operation import Bell, Operation, Read, Transaction, Write
from .records import Call, Question, Run
from .runs import step
from .text import dumps

EXPIRY = "expiry"
"""Topic of the bell that says: a question was put, so the next one to expire may be another."""

Tell = Callable[[Question, bool], str]
"""What a model is told of a question's outcome; True: in a message, which has to say what it was about."""

Push = Callable[[Question, bool], tuple[Write, ...]]
"""The writes that put a question into the outbox; True: a second time, since it expires soon."""


def push_id(question: int) -> str:
    """The id of the push that tells of a question."""
    return f"question:{question}"


@attrs.frozen(kw_only=True)
class Target:
    """Something that an act would change. `version` reads which version of it stands now, 0 if it isn't there."""

    thing: str
    version: Read[int]


@attrs.frozen(kw_only=True)
class Judged:
    """A call of a new reply that the gate looked at. `held`: it must be asked about; else it may begin.

    `question` is as it would be put; what it would change is read when it is.
    """

    call: Call
    question: Question
    held: bool
    target: Target | None


@attrs.frozen(kw_only=True)
class Replied:
    """What a reply with judged calls came to: the run and all calls of the turn."""

    run: Run
    calls: tuple[Call, ...]


_SAME_ACT = "SELECT id FROM questions WHERE act_hash = ? AND state = 'open'"
_SAME_THING = f"SELECT {Question.columns()} FROM questions WHERE thing = ? AND state = 'open'"
_COUNT = "SELECT count(*) AS open FROM questions WHERE agent = ? AND state = 'open'"
_CALLS = f"SELECT {Call.columns()} FROM calls WHERE run = ? AND turn = ? ORDER BY position"


@attrs.frozen(kw_only=True)
class Reply(Operation[Replied]):
    """Commit a reply some of whose calls may have to wait for the owner, who is told of them (`push`).

    `writes` are all of it but the run and the judged calls. An act that is asked about already is not asked about
    again, nor done: its call points at the open question (`same`). A question about the same thing takes the place of
    an open one. Past `open_max` open questions of the agent no more are put (`too_many`). `waits` says why a run waits.
    """

    run: Run
    writes: tuple[Write, ...]
    judged: tuple[Judged, ...]
    open_max: int
    same: Callable[[int], str]
    too_many: str
    waits: Callable[[tuple[int, ...]], str]
    tell: Tell
    push: Push
    now: datetime

    async def perform(self, tx: Transaction) -> Replied:
        await tx.write(*self.writes)
        for judged in self.judged:
            await self._judge(tx, judged)
        made = tuple(Call.of(row) for row in await tx.all(_CALLS, self.run.id, self.run.turn))
        asked = tuple(call.question for call in made if call.state == "asked" and call.question is not None)
        run = self.run
        if asked and not any(call.state == "begun" for call in made):
            run = attrs.evolve(run, state="waiting", reason=self.waits(asked))
        await tx.write(step(run))
        tx.ring(Bell(inbox.LIVE, run.conversation))
        tx.ring(Bell(EXPIRY))
        tx.ring(pushes.WAITS)
        return Replied(run=attrs.evolve(run, no=tx.no), calls=made)

    async def _judge(self, tx: Transaction, judged: Judged) -> None:
        call, question = judged.call, judged.question
        if same := await tx.get(_SAME_ACT, question.act_hash):
            await self._refuse(tx, call, self.same(same["id"]))
            return
        if not judged.held:
            await tx.write(calls.begin(call))
            return
        there = await tx.get(_COUNT, question.agent)
        if there is not None and there["open"] >= self.open_max:
            await self._refuse(tx, call, self.too_many)
            return
        if judged.target is not None:
            thing = judged.target.thing
            for row in await tx.all(_SAME_THING, thing):
                await settle(tx, _closed(Question.of(row), "superseded", None, self.now), self.tell)
            question = attrs.evolve(question, thing=thing, base_version=await judged.target.version.read(tx))
        asked = attrs.evolve(call, state="asked", question=question.id)
        await tx.write(questions.ask(question), calls.begin(asked), *self.push(question, False))

    async def _refuse(self, tx: Transaction, call: Call, text: str) -> None:
        await tx.write(calls.begin(call), calls.finish(call, text=text, failed=True, now=self.now))


_QUESTION = f"SELECT {Question.columns()} FROM questions WHERE id = ?"


@attrs.frozen(kw_only=True)
class Answered:
    """A question as it stands after an answer. `first`: it was this answer that decided it."""

    question: Question
    first: bool


@attrs.frozen(kw_only=True)
class Answer(Operation[Answered | None]):
    """Answer a question: "yes" or "no" to an act, the owner's words to a choice. None: there is no such question.

    Too late, it expires; a yes to something that has changed since does nothing and says so. `target` is what the act
    would change; `message` the id of the message that tells a run which went on.
    """

    id: int
    answer: str
    target: Target | None
    message: int
    tell: Tell
    now: datetime

    async def perform(self, tx: Transaction) -> Answered | None:
        row = await tx.get(_QUESTION, self.id)
        if row is None:
            return None
        question = Question.of(row)
        if not question.open:
            return Answered(question=question, first=False)
        if self.now >= question.expires_at:
            closed = _closed(question, "expired", None, self.now)
        elif question.kind == "act" and self.answer == "yes" and await _changed(tx, question, self.target):
            closed = _closed(question, "changed", None, self.now)
        else:
            closed = _closed(question, "answered", self.answer, self.now)
        await settle(tx, closed, self.tell, self.message)
        return Answered(question=attrs.evolve(closed, no=tx.no), first=closed.state == "answered")


_DUE = f"SELECT {Question.columns()} FROM questions WHERE state = 'open' AND expires_at <= ? ORDER BY id LIMIT 50"


@attrs.frozen(kw_only=True)
class Expire(Operation[int]):
    """Close what nobody answered in time, some at once; returns how many. `next_id` gives ids for messages."""

    next_id: Callable[[], int]
    tell: Tell
    now: datetime

    async def perform(self, tx: Transaction) -> int:
        expired = await tx.all(_DUE, self.now)
        for row in expired:
            await settle(tx, _closed(Question.of(row), "expired", None, self.now), self.tell, self.next_id())
        return len(expired)


_UNTOLD = _DUE.replace("ORDER BY", "AND reminded_at IS NULL ORDER BY")


@attrs.frozen(kw_only=True)
class Remind(Operation[int]):
    """Tell the owner a second time of what expires before `until`, some at once; returns of how many."""

    until: datetime
    push: Push
    now: datetime

    async def perform(self, tx: Transaction) -> int:
        untold = [Question.of(row) for row in await tx.all(_UNTOLD, self.until)]
        for question in untold:
            await tx.write(questions.remind(question.id, self.now), *self.push(question, True))
        tx.ring(pushes.WAITS)
        return len(untold)


@attrs.frozen(kw_only=True)
class FinishApproved(Operation[tuple[int, bool]]):
    """Commit the effect of an approved act with its result, if what it changes is still as it was when he was asked.

    Else only `otherwise`, the result that says so, is. Returns the commit's number, and whether the effect is in it.
    """

    question: Question
    target: Target | None
    finish: Write
    effect: tuple[Write, ...]
    otherwise: Write
    run: Run
    bells: tuple[Bell, ...]

    async def perform(self, tx: Transaction) -> tuple[int, bool]:
        changed = await _changed(tx, self.question, self.target)
        await tx.write(*((self.otherwise,) if changed else (self.finish, *self.effect)), step(self.run))
        for bell in (Bell(inbox.LIVE, self.run.conversation), *(() if changed else self.bells)):
            tx.ring(bell)
        return tx.no, not changed


async def _changed(tx: Transaction, question: Question, target: Target | None) -> bool:
    return target is not None and await target.version.read(tx) != question.base_version


def _closed(question: Question, state: str, answer: str | None, now: datetime) -> Question:
    return attrs.evolve(question, state=state, answer=answer, closed_at=now)


_ASKING_CALL = f"SELECT {Call.columns()} FROM calls WHERE run = ? AND turn = ? AND position = ?"
_ASKING_RUN = f"SELECT {Run.columns()} FROM runs WHERE id = ?"


async def settle(tx: Transaction, question: Question, tell: Tell, message: int | None = None) -> None:
    """Close a question as it says, and let its call and its run know. `message`: the id of the one that may be made."""
    assert question.closed_at is not None
    off = pushes.call_off(push_id(question.id), why="It was decided before it was sent.", now=question.closed_at)
    await tx.write(questions.close(question), off)
    row = await tx.get(_ASKING_CALL, question.run, question.turn, question.position)
    of = await tx.get(_ASKING_RUN, question.run)
    assert row is not None and of is not None
    call, run = Call.of(row), Run.of(of)
    if call.state == "asked":
        if question.approved:
            await tx.write(calls.approve(call, question.closed_at))
        else:
            failed = question.kind == "act"
            await tx.write(calls.finish(call, text=tell(question, False), failed=failed, now=question.closed_at))
        if run.state == "waiting":
            await tx.write(step(attrs.evolve(run, state="open", reason=None, attempt=0)))
    elif call.state == "detached" and message is not None:
        await tx.write(_outcome(question, run, tell(question, True), message))
    for bell in inbox.changed(question.agent, question.conversation):
        tx.ring(bell)


def _outcome(question: Question, run: Run, text: str, id: int) -> Write:
    """The message that brings an outcome to a run which went on without it. What expired opens no run."""
    assert question.closed_at is not None
    accept = inbox.accept(
        id=id,
        agent=question.agent,
        conversation=question.conversation,
        source_key=f"question:{question.id}",
        digest="",
        kind="notice" if question.state == "expired" else "outcome",
        body=dumps({"text": text, "source": "OUTCOME", "question": question.id, "sets_going": question.approved}),
        outside=question.label > 0,
        now=question.closed_at,
        cause=f"question:{question.id}",
        act=run.act,
        hops=run.hops,
    )
    (write,) = accept.writes
    return write
