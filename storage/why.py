"""Why: what led to a run, what came in, what was asked and answered, what it did, lived through and cost.

One rule: it is read from the rows that everything is made of. Nothing is kept for it but how often a run was taken up.
"""

from datetime import datetime

import attrs

from .operation import Read, Reader, Row
from .records import Call, Entry, Message, Question, Thing
from .runs import Listed, ReadRun
from .spend import Sum, SumsOf
from .workers import Seen, WorkersOfRun

LINKS_MAX = 20
"""So far it is gone back from a run to what caused it."""


@attrs.frozen(kw_only=True)
class Resumption:
    """A run was taken up again: when, by which deploy, after how many replies, and in vain for the which time."""

    at: datetime
    generation: str
    turn: int
    attempt: int


@attrs.frozen(kw_only=True)
class Written:
    """A version of a note that a run wrote."""

    note: int
    title: str
    version: int
    at: datetime


@attrs.frozen(kw_only=True)
class Asked:
    """A question, and what was pressed under its push if it was answered there."""

    question: Question
    pressed: str | None


@attrs.frozen(kw_only=True)
class Account:
    """All that is known of one run."""

    listed: Listed
    messages: tuple[Message, ...]
    entries: tuple[Entry, ...]
    calls: tuple[Call, ...]
    questions: tuple[Asked, ...]
    written: tuple[Written, ...]
    made: tuple[Thing, ...]
    workers: tuple[Seen, ...]
    resumptions: tuple[Resumption, ...]
    cost: tuple[Sum, ...]

    @property
    def opener(self) -> Message | None:
        """The message that opened it; None if none is known."""
        return next((m for m in self.messages if m.kind != "notice"), None)


_MESSAGES = f"SELECT {Message.columns()} FROM messages WHERE conversation = ? AND run = ? ORDER BY placed_seq, id"
_ENTRIES = f"SELECT {Entry.columns()} FROM entries WHERE conversation = ? AND run = ? ORDER BY seq"
_QUESTIONS = f"""
SELECT {", ".join("q." + name for name in Question.columns().split(", "))}, p.answer AS pressed
FROM questions q LEFT JOIN pushes p ON p.id = 'question:' || q.id WHERE q.run = ? ORDER BY q.id
"""
_WRITTEN = """
SELECT v.note, n.title, v.version, v.at FROM note_versions v JOIN notes n ON n.id = v.note
WHERE v.run = ? ORDER BY v.at, v.note, v.version
"""
_MADE = f"SELECT {Thing.columns()} FROM things WHERE made_by LIKE ? ORDER BY id"
_RESUMPTIONS = "SELECT at, generation, turn, attempt FROM resumptions WHERE run = ? ORDER BY no"


@attrs.frozen
class ReadAccount(Read[Account | None]):
    """The account of a run, None if there is none."""

    run: int

    async def read(self, reader: Reader) -> Account | None:
        found = await ReadRun(self.run).read(reader)
        if found is None:
            return None
        listed, calls = found
        of = listed.run.conversation, self.run
        return Account(
            listed=listed,
            messages=tuple(Message.of(row) for row in await reader.all(_MESSAGES, *of)),
            entries=tuple(Entry.of(row) for row in await reader.all(_ENTRIES, *of)),
            calls=calls,
            questions=tuple(
                Asked(question=Question.of(row), pressed=row["pressed"])
                for row in await reader.all(_QUESTIONS, self.run)
            ),
            written=tuple(Written(**row) for row in await reader.all(_WRITTEN, self.run)),
            made=tuple(Thing.of(row) for row in await reader.all(_MADE, f"call:{self.run}.%")),
            workers=await WorkersOfRun(self.run).read(reader),
            resumptions=tuple(Resumption(**row) for row in await reader.all(_RESUMPTIONS, self.run)),
            cost=await SumsOf("run", self.run).read(reader),
        )


_THING = f"SELECT {Thing.columns()} FROM things WHERE id = ?"
_QUESTION_RUN = "SELECT run FROM questions WHERE id = ?"
_SLOT_RUN = """
SELECT r.id FROM slots s JOIN runs r ON r.conversation = s.conversation WHERE s.thing = ? AND s.slot = ?
ORDER BY r.id DESC LIMIT 1
"""
_PLACED_IN = "SELECT run FROM messages WHERE source_key = ?"


@attrs.frozen(kw_only=True)
class Origin:
    """What a key leads back to: a run, or the reminder or job that it is of."""

    run: int | None = None
    thing: Thing | None = None


async def origin_of(reader: Reader, key: str) -> Origin:
    """What made something of this key: `call:1.2.3`, `question:4`, `thing:5`, `slot:5:…`; nothing for the owner's."""
    kind, _, rest = key.partition(":")
    match kind:
        case "call":
            return Origin(run=int(rest.partition(".")[0]))
        case "question":
            row = await reader.get(_QUESTION_RUN, int(rest))
            return Origin(run=None if row is None else row["run"])
        case "thing" | "slot":
            thing, _, slot = rest.partition(":")
            row = await reader.get(_THING, int(thing))
            ran = await reader.get(_SLOT_RUN, int(thing), slot) or await reader.get(_PLACED_IN, key) if slot else None
            return Origin(run=_run_of(ran), thing=None if row is None else Thing.of(row))
    return Origin()


def _run_of(row: Row | None) -> int | None:
    return None if row is None else row.get("id") or row.get("run")


@attrs.frozen(kw_only=True)
class Chain:
    """What led to something, from the nearest run back to what the owner did, and what all of its act cost.

    `things`: the reminders and jobs on the way.
    """

    accounts: tuple[Account, ...]
    things: tuple[Thing, ...]
    act: str | None
    cost: tuple[Sum, ...]


@attrs.frozen
class ReadChain(Read[Chain]):
    """What led to what has this key, or to a run (`run:6`). Empty if there is no such thing."""

    key: str

    async def read(self, reader: Reader) -> Chain:
        accounts: list[Account] = []
        passed: list[Thing] = []
        key: str | None = self.key
        while key is not None and len(accounts) + len(passed) < LINKS_MAX:
            origin = Origin(run=int(key[4:])) if key.startswith("run:") else await origin_of(reader, key)
            key = None
            account = None if origin.run is None else await ReadAccount(origin.run).read(reader)
            if account is not None and account.listed.run.id not in [known.listed.run.id for known in accounts]:
                accounts.append(account)
                key = None if account.opener is None else account.opener.cause
            elif origin.thing is not None:
                passed.append(origin.thing)
                key = origin.thing.made_by
        act = accounts[0].listed.run.act if accounts else None
        return Chain(
            accounts=tuple(accounts),
            things=tuple(passed),
            act=act,
            cost=() if act is None else await SumsOf("act", act).read(reader),
        )


_NOTE_VERSION = """
SELECT n.agent, n.title, v.version, v.made_by FROM notes n JOIN note_versions v ON v.note = n.id
WHERE n.id = ? AND v.version = COALESCE(?::bigint, n.version)
"""


@attrs.frozen(kw_only=True)
class NoteMade:
    """A version of a note, and the key of what wrote it."""

    agent: str
    title: str
    version: int
    made_by: str


@attrs.frozen(kw_only=True)
class MadeBy(Read[NoteMade | None]):
    """What wrote a version of a note, the newest if `version` is None; None if there is none."""

    note: int
    version: int | None

    async def read(self, reader: Reader) -> NoteMade | None:
        row = await reader.get(_NOTE_VERSION, self.note, self.version)
        return None if row is None else NoteMade(**row)
