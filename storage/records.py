"""Facts as they stand in the database, as frozen values.

One rule: a record says what is stored, and nothing about what it means. `of(row)` makes one of a row that has at
least its columns.
"""

from collections.abc import Hashable
from datetime import datetime
from functools import cache
from typing import Any, Self, cast

import attrs

from .operation import Row
from .text import loads


@cache
def _names(cls: Any) -> tuple[str, ...]:
    return tuple(field.name for field in attrs.fields(cls))


class _Record:
    """Makes a record from a row, taking the columns that are its fields."""

    @classmethod
    def of(cls, row: Row) -> Self:
        """The record of one row. Raises KeyError if the row lacks a column."""
        columns = _names(cast(Hashable, cls))
        return cls(**{name: row[name] for name in columns})

    @classmethod
    def columns(cls) -> str:
        """The columns that a record needs, for a SELECT."""
        return ", ".join(_names(cast(Hashable, cls)))


@attrs.frozen(kw_only=True)
class Agent(_Record):
    """A named agent. `model` None means the default one; `grants` is JSON text, a list of names."""

    name: str
    job: str
    instructions: str
    grants: str
    model: str | None
    retired_at: datetime | None
    no: int


@attrs.frozen(kw_only=True)
class Conversation(_Record):
    """A transcript's head. Requests hold nothing below seq `fresh_from`."""

    id: int
    agent: str
    kind: str
    made_by: str
    fresh_from: int
    made_at: datetime
    no: int


@attrs.frozen(kw_only=True)
class Message(_Record):
    """What came in from outside a run. `label` 0: it derives from the owner's own words alone; see the table."""

    id: int
    conversation: int
    source_key: str
    digest: str
    kind: str
    body: str
    label: int
    cause: str | None
    act: str
    hops: int
    interrupt: bool
    accepted_no: int
    seen_no: int
    accepted_at: datetime
    withdrawn_at: datetime | None
    placed_seq: int | None
    run: int | None
    no: int

    @property
    def content(self) -> dict[str, Any]:
        """The body as a value: `text`, and `quotes` as a list of `{"from", "text"}`."""
        value: dict[str, Any] = loads(self.body)
        return value


@attrs.frozen(kw_only=True)
class Run(_Record):
    """The work that answers what was placed. Counters as the table says."""

    id: int
    conversation: int
    act: str
    hops: int
    asked_by: str | None
    state: str
    turn: int
    attempt: int
    retries: int
    asked: int
    retry_at: datetime | None
    reason: str | None
    opened_at: datetime
    closed_at: datetime | None
    no: int

    @property
    def ended(self) -> bool:
        """Whether nothing of it will happen any more."""
        return self.closed_at is not None


@attrs.frozen(kw_only=True)
class Entry(_Record):
    """One message of the transcript as the model sees it; `shown` is the JSON text of its content blocks.

    `seen_no`: of the owner's own words, the newest commit that he had seen when he wrote them. `covers_to`,
    `keeps_from`: of a summary, what it stands for; see `migrations/0009_years.sql`.
    """

    conversation: int
    seq: int
    run: int | None
    turn: int | None
    kind: str
    source: str
    shown: str
    label: int
    message: int | None
    covers_to: int | None
    cut: str | None
    at: datetime
    no: int
    seen_no: int | None = None
    keeps_from: int | None = None


@attrs.frozen(kw_only=True)
class Call(_Record):
    """One tool use. `arguments` is what the model wrote; `result` the JSON text of the tool_result block.

    `outside` is a JSON list: which parts of the result's content are text from outside. `question` held it back.
    """

    run: int
    turn: int
    position: int
    conversation: int
    tool: str
    arguments: str
    state: str
    result: str | None
    failed: bool | None
    label: int
    began_at: datetime
    finished_at: datetime | None
    no: int
    question: int | None = None
    outside: str | None = None

    @property
    def key(self) -> str:
        """What everything made by this call is keyed with."""
        return f"call:{self.run}.{self.turn}.{self.position}"


@attrs.frozen(kw_only=True)
class Question(_Record):
    """Something only the owner may decide, bound to one exact call; see the table for the fields."""

    id: int
    agent: str
    conversation: int
    run: int
    turn: int
    position: int
    kind: str
    tool: str
    act: str
    act_hash: str
    thing: str | None
    base_version: int | None
    label: int
    why: str
    reason: str
    state: str
    answer: str | None
    asked_at: datetime
    expires_at: datetime
    closed_at: datetime | None
    started_at: datetime | None
    reminded_at: datetime | None
    no: int

    @property
    def open(self) -> bool:
        """Whether it can still be answered, but for its time."""
        return self.state == "open"

    @property
    def approved(self) -> bool:
        """Whether the owner said yes to an act."""
        return self.kind == "act" and self.state == "answered" and self.answer == "yes"


@attrs.frozen(kw_only=True)
class Worker(_Record):
    """A worker, or an agent that was written to (`receiver`), and the call that made it; see the table's columns."""

    conversation: int
    run: int
    turn: int
    position: int
    parent: int
    agent: str
    act: str
    hops: int
    deadline_at: datetime
    cut_short: str | None
    made_at: datetime
    ended_at: datetime | None
    receiver: str | None
    handed_off: bool
    no: int

    @property
    def call(self) -> str:
        """The key of the call that made it."""
        return f"call:{self.run}.{self.turn}.{self.position}"


@attrs.frozen(kw_only=True)
class Note(_Record):
    """The newest version of a note."""

    id: int
    agent: str
    title: str
    version: int
    removed: bool
    text: str
    label: int
    at: datetime
    no: int


@attrs.frozen(kw_only=True)
class NoteVersion(_Record):
    """One version of a note: what it said, who wrote it (`made_by`) in which run, and its label."""

    note: int
    version: int
    made_by: str
    text: str
    label: int
    run: int | None
    at: datetime
    no: int


@attrs.frozen(kw_only=True)
class Thing(_Record):
    """A reminder or a job; see the table for the columns."""

    id: int
    agent: str
    kind: str
    made_by: str
    title: str
    text: str
    label: int
    act: str
    hops: int
    rule: str
    zone: str
    since: datetime
    zone_data: str
    state: str
    next_at: datetime | None
    reached_at: datetime
    running: str | None
    skipping: str | None
    version: int
    made_at: datetime
    no: int


@attrs.frozen(kw_only=True)
class Fate(_Record):
    """A row of the ledger: what became of one slot, or of several skipped ones in succession."""

    thing: int
    slot: str
    at: datetime
    version: int
    fate: str
    late_seconds: int | None
    why: str | None
    last_slot: str | None
    last_at: datetime | None
    count: int
    conversation: int | None
    report: str | None
    settled_at: datetime | None
    no: int


@attrs.frozen(kw_only=True)
class Push(_Record):
    """What is to be shown on the phone, and what became of it; see the table for the columns."""

    id: str
    kind: str
    thing: int | None
    title: str
    text: str
    buttons: str
    buttons_until: datetime
    state: str
    tries: int
    next_at: datetime | None
    why: str | None
    answer: str | None
    answered_at: datetime | None
    made_at: datetime
    settled_at: datetime | None
    no: int
