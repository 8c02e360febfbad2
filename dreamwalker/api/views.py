"""How rows look from outside.

One rule: a view holds plain text and plain numbers: no content blocks, no nano-dollars, nothing a client must decode.
"""

from datetime import datetime
from typing import Annotated, Any, Literal
from zoneinfo import ZoneInfo

from msgspec import Meta, field

from dreamwalker.settings import NANO
from storage import records, workers
from tools.card import card
from tools.limits import FIXED

from .addressed import Said, read_entry, read_result
from .endpoint import Shown

AT_CHARACTERS = FIXED.at_characters
"""How much is shown of what a worker is at."""
REQUEST = "request:"
"""What the source key of a message begins with that a client sent under an id of its own."""

Dollars = Annotated[float, Meta(description="US dollars.")]
No = Annotated[int, Meta(description="The number of the commit that changed this last.")]


class Quote(Shown, frozen=True):
    """Text of somebody else's that came with a message."""

    source: str = field(name="from")
    text: str


class Message(Shown, frozen=True):
    """What came into a conversation from outside a run. It waits until it is placed into the transcript.

    `request_id`: the one that its client gave it; null for what no client sent.
    """

    id: int
    conversation: int
    request_id: str | None
    kind: str
    text: str
    quotes: tuple[Quote, ...]
    interrupt: bool
    accepted_no: int
    accepted_at: datetime
    state: Literal["waiting", "placed", "withdrawn"]
    placed_seq: int | None
    run: int | None
    no: No

    @classmethod
    def of(cls, row: records.Message) -> "Message":
        """From its row."""
        content = row.content
        return cls(
            id=row.id,
            conversation=row.conversation,
            request_id=row.source_key.removeprefix(REQUEST) if row.source_key.startswith(REQUEST) else None,
            kind=row.kind,
            text=content.get("text", ""),
            quotes=tuple(Quote(source=q.get("from", ""), text=q["text"]) for q in content.get("quotes", ())),
            interrupt=row.interrupt,
            accepted_no=row.accepted_no,
            accepted_at=row.accepted_at,
            state="withdrawn" if row.withdrawn_at else "waiting" if row.placed_seq is None else "placed",
            placed_seq=row.placed_seq,
            run=row.run,
            no=row.no,
        )


class Entry(Shown, frozen=True):
    """One entry of the transcript. `label` above 0: from outside, and since which commit; `cut`: why it ends early.

    `what`: of text from outside, what it is, addressed to the owner; `origin`: where it says that it is from.
    """

    conversation: int
    seq: int
    run: int | None
    turn: int | None
    kind: Literal["message", "reply", "summary", "fresh"]
    source: Literal["owner", "outside", "model", "house"]
    what: str
    origin: str
    text: str
    label: int
    cut: str | None
    at: datetime
    no: No

    @classmethod
    def of(cls, row: records.Entry) -> "Entry":
        """From its row."""
        said = read_entry(row.shown, row.kind, row.source)
        return cls(
            conversation=row.conversation,
            seq=row.seq,
            run=row.run,
            turn=row.turn,
            kind=row.kind,  # type: ignore[arg-type]
            source=row.source,  # type: ignore[arg-type]
            what=said.what,
            origin=said.origin,
            text=said.text,
            label=row.label,
            cut=row.cut,
            at=row.at,
            no=row.no,
        )


class Run(Shown, frozen=True):
    """The work that answers what was placed. `turn` counts replies; `reason`: why it waits, failed or was stopped."""

    id: int
    conversation: int
    state: Literal["open", "waiting", "done", "failed", "stopped"]
    turn: int
    reason: str | None
    retry_at: datetime | None
    opened_at: datetime
    closed_at: datetime | None
    no: No

    @classmethod
    def of(cls, row: records.Run) -> "Run":
        """From its row."""
        return cls(**run_fields(row))


def run_fields(row: records.Run) -> dict[str, Any]:
    """What is shown of a run, by field."""
    return {name: getattr(row, name) for name in Run.__struct_fields__}


class Call(Shown, frozen=True):
    """One tool use. `arguments` is what the model wrote, JSON or not; `result` is text, "" while there is none.

    `what`: what the result is, addressed to the owner, if it is from outside.
    """

    run: int
    turn: int
    position: int
    tool: str
    arguments: str
    state: Literal["begun", "asked", "detached", "finished"]
    failed: bool | None
    what: str
    result: str
    label: int
    began_at: datetime
    finished_at: datetime | None
    question: Annotated[int | None, Meta(description="The question that held it back, or whose yes set it going.")]
    no: No

    @classmethod
    def of(cls, row: records.Call) -> "Call":
        """From its row."""
        said = Said(what="", origin="", text="") if row.result is None else read_result(row.result, row.tool)
        return cls(
            run=row.run,
            turn=row.turn,
            position=row.position,
            tool=row.tool,
            arguments=row.arguments,
            state=row.state,  # type: ignore[arg-type]
            failed=row.failed,
            what=said.what,
            result=said.text,
            label=row.label,
            began_at=row.began_at,
            finished_at=row.finished_at,
            question=row.question,
            no=row.no,
        )


class Worker(Shown, frozen=True):
    """Who is at work for a call, which `run`, `turn` and `position` name. `at`: the newest of its own calls.

    `agent`: the agent that the call wrote to; null: a worker. `handed_off`: the call did not wait. `worker_run`: its
    own run, null until it begins; `state` and `reason` are of that. `over`: what came of it is handed over.
    """

    conversation: int
    run: int
    turn: int
    position: int
    agent: str | None
    handed_off: bool
    worker_run: int | None
    state: Literal["queued", "open", "waiting", "done", "failed", "stopped"]
    replies: int
    at: str
    reason: str | None
    over: bool
    cost_dollars: Dollars
    no: No

    @classmethod
    def of(cls, seen: workers.Seen) -> "Worker":
        """From its rows."""
        worker, run = seen.worker, seen.run
        return cls(
            conversation=worker.conversation,
            run=worker.run,
            turn=worker.turn,
            position=worker.position,
            agent=worker.receiver,
            handed_off=worker.handed_off,
            worker_run=None if run is None else run.id,
            state="queued" if run is None else run.state,  # type: ignore[arg-type]
            replies=0 if run is None else run.turn,
            at="" if seen.tool is None else f"{seen.tool} {seen.arguments or ''}"[:AT_CHARACTERS],
            reason=None if run is None else run.reason,
            over=worker.ended_at is not None,
            cost_dollars=seen.cost / NANO,
            no=seen.no,
        )


class Question(Shown, frozen=True):
    """Something only the owner may decide. `text` is all that he is shown, whole; the fields after it are its parts:
    `head`, the act in his words, in a line; `asks`, who would do it; `act`, the whole of it.

    `kind` "act": `tool` would be used as `act` says, and the answer is yes or no; "choice": the agent asks, and the
    answer is one of `options` or his own words.
    """

    id: int
    agent: str
    conversation: int
    run: int
    turn: int
    position: int
    kind: Literal["act", "choice"]
    state: Literal["open", "answered", "expired", "stopped", "changed", "superseded"]
    answer: str | None
    text: str
    head: str
    asks: str
    tool: str
    act: str
    options: tuple[str, ...]
    bound: str
    why: str
    reason: str
    asked_at: datetime
    expires_at: datetime
    closed_at: datetime | None
    no: No

    @classmethod
    def of(cls, row: records.Question, zone: ZoneInfo, now: datetime) -> "Question":
        """From its row. What is past its time has expired, whether or not that was committed yet."""
        shown = card(row, zone)
        return cls(
            id=row.id,
            agent=row.agent,
            conversation=row.conversation,
            run=row.run,
            turn=row.turn,
            position=row.position,
            kind=row.kind,  # type: ignore[arg-type]
            state="expired" if row.open and now >= row.expires_at else row.state,  # type: ignore[arg-type]
            answer=row.answer,
            text=shown.text,
            head=shown.head,
            asks=shown.asks,
            tool=row.tool,
            act=shown.act,
            options=shown.options,
            bound=shown.bound,
            why=shown.why,
            reason=shown.reason,
            asked_at=row.asked_at,
            expires_at=row.expires_at,
            closed_at=row.closed_at,
            no=row.no,
        )
