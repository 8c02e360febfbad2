"""Any conversation, to be read: an agent's home, a job's run, a worker's task, what one agent wrote to another.

One rule: it is read here and written nowhere. Only an agent's home conversation takes messages, by the agent's name.
"""

from datetime import datetime
from typing import Annotated, Literal

from msgspec import Meta

from storage import conversations, records
from storage.runs import OpenRun

from . import views
from .endpoint import BIGINT_MAX, Asked, Endpoint, Given, Nothing, Shown, not_found
from .entries import PageLimit, workers_under
from .errors import Refused

Seq = Annotated[int, Meta(ge=1, le=BIGINT_MAX - 1)]


class ConversationPath(Given, frozen=True):
    """A path with a conversation's id."""

    id: Annotated[int, Meta(ge=1, le=BIGINT_MAX)]


class TranscriptQuery(Given, frozen=True):
    """Which entries: the newest of all, the newest below seq `before`, those from seq `after` + 1 on, or those
    `around` a seq: it, and as many on either side.
    """

    before: Seq | None = None
    after: Seq | None = None
    around: Seq | None = None
    limit: PageLimit | None = None


class Conversation(Shown, frozen=True):
    """What a conversation is. `kind` "home": an agent's own; "job": one run of a job; "worker": a delegated task;
    "ask": an agent at work on another's message.

    `run`: of a worker or ask, the run whose call made it; `job`: of a job, its number. `takes_messages`: the owner can
    write into it, by its agent's name.
    """

    id: int
    agent: str
    kind: Literal["home", "ask", "job", "worker"]
    run: int | None
    job: int | None
    takes_messages: bool
    made_at: datetime

    @classmethod
    def of(cls, row: records.Conversation) -> "Conversation":
        """From its row."""
        maker, _, made_by = row.made_by.partition(":")
        return cls(
            id=row.id,
            agent=row.agent,
            kind=row.kind,  # type: ignore[arg-type]
            run=int(made_by.partition(".")[0]) if maker == "call" else None,
            job=int(made_by.partition(":")[0]) if maker == "slot" else None,
            takes_messages=row.kind == "home",
            made_at=row.made_at,
        )


class Transcript(Shown, frozen=True):
    """A stretch of a conversation, oldest first, with the calls of the replies in it and the workers of these calls.

    `ended`: the runs of these entries that failed or were stopped; `run`: the one that is open or waiting now. `more`:
    there are older entries; `newer`: newer ones. `no`: open the live stream from here.
    """

    conversation: Conversation
    entries: tuple[views.Entry, ...]
    calls: tuple[views.Call, ...]
    workers: tuple[views.Worker, ...]
    ended: tuple[views.Run, ...]
    run: views.Run | None
    more: bool
    newer: bool
    no: int


async def read_conversation(asked: Asked[ConversationPath, TranscriptQuery, Nothing]) -> Transcript:
    house, id, query = await asked.house(), asked.path.id, asked.query
    if sum(place is not None for place in (query.before, query.after, query.around)) > 1:
        raise Refused(422, "`before`, `after` and `around` are three ways to say which entries; choose one.")
    head = await house.store.ask(conversations.FindConversation(id=id))
    if head is None:
        raise not_found("conversation of that id")
    no = house.store.commit_no  # before it is read: what is committed meanwhile comes again by the stream
    limit = min(query.limit or house.limits.page_entries, house.limits.page_entries)
    found = await house.store.ask(_page(id, query, limit))
    run = await house.store.ask(OpenRun(id))
    return Transcript(
        conversation=Conversation.of(head),
        entries=tuple(views.Entry.of(entry) for entry in found.entries),
        calls=tuple(views.Call.of(call) for call in found.calls),
        workers=await workers_under(house, id, found),
        ended=tuple(views.Run.of(ended) for ended in found.runs),
        run=None if run is None else views.Run.of(run),
        more=found.more,
        newer=found.newer or query.before is not None,
        no=no,
    )


def _page(conversation: int, query: TranscriptQuery, limit: int) -> conversations.Page:
    if query.around is not None:
        return conversations.Page(conversation, query.around, limit // 2, limit - limit // 2)
    if query.after is not None:
        return conversations.Page(conversation, query.after + 1, 0, limit)
    return conversations.Page(conversation, query.before or BIGINT_MAX, limit)


ENDPOINTS = (
    Endpoint(
        method="GET",
        route="/api/conversations/{id}",
        says="A stretch of any conversation, to be read; also of those that take no messages.",
        handle=read_conversation,
        path=ConversationPath,
        query=TranscriptQuery,
        answer=Transcript,
    ),
)
