"""The transcript of an agent's home conversation, page by page.

One rule: a page says the number it is true for, so that a live stream from there misses nothing.
"""

from typing import Annotated

import msgspec
from msgspec import Meta

from dreamwalker.house import House
from storage import inbox
from storage.conversations import Page, Paged
from storage.questions import ListQuestions
from storage.runs import OpenRun
from storage.workers import WorkersIn, WorkersUnder
from tools.delegate import DELEGATE
from tools.limits import FIXED
from tools.messages import MESSAGE_AGENT

from . import views
from .agents import AgentPath, home_of
from .endpoint import BIGINT_MAX, Asked, Endpoint, Given, Nothing, Shown

PAGE_MAX = FIXED.page_asked_entries
"""What may be asked for; the limit of a page may be lower."""

PageLimit = Annotated[int, Meta(ge=1, le=PAGE_MAX, description="The most there may be; a page may hold fewer.")]


class EntriesQuery(Given, frozen=True):
    """Which page: the newest entries below seq `before`, or the newest of all."""

    before: Annotated[int, Meta(ge=1, le=BIGINT_MAX)] | None = None
    limit: PageLimit | None = None


class Entries(Shown, frozen=True):
    """A page of the transcript, oldest first, with the calls of the replies in it.

    `ended`: the runs of these entries that failed or were stopped; `workers`: those of these calls. `more`: there are
    older entries. `no`: open the live stream from here. The newest page also has the messages that wait to be placed,
    the run that is open or waiting, the agent's open questions, and whoever else is at work.
    """

    entries: tuple[views.Entry, ...]
    calls: tuple[views.Call, ...]
    ended: tuple[views.Run, ...]
    more: bool
    no: int
    messages: tuple[views.Message, ...] = ()
    run: views.Run | None = None
    questions: tuple[views.Question, ...] = ()
    workers: tuple[views.Worker, ...] = ()


async def list_entries(asked: Asked[AgentPath, EntriesQuery, Nothing]) -> Entries:
    house, query = await asked.house(), asked.query
    conversation, ask = home_of(house, asked.path.name), house.store.ask
    no = house.store.commit_no  # before it is read: what is committed meanwhile comes again by the stream
    limit = min(query.limit or house.limits.page_entries, house.limits.page_entries)
    found = await ask(Page(conversation, query.before or BIGINT_MAX, limit))
    page = Entries(
        entries=tuple(views.Entry.of(entry) for entry in found.entries),
        calls=tuple(views.Call.of(call) for call in found.calls),
        ended=tuple(views.Run.of(run) for run in found.runs),
        more=found.more,
        no=no,
        workers=await workers_under(house, conversation, found),
    )
    if query.before is not None:
        return page
    messages = await ask(inbox.Unplaced(conversation))  # before the run: what is placed meanwhile is in a run by then
    run = await ask(OpenRun(conversation))
    questions = await ask(ListQuestions(before=BIGINT_MAX, limit=PAGE_MAX, only_open=True, agent=asked.path.name))
    return msgspec.structs.replace(
        page,
        messages=tuple(views.Message.of(message) for message in messages),
        run=None if run is None else views.Run.of(run),
        questions=tuple(views.Question.of(row, house.zone, house.clock.now()) for row in reversed(questions)),
        workers=await _with_others_at_work(house, conversation, page.workers),
    )


async def workers_under(house: House, conversation: int, page: Paged) -> tuple[views.Worker, ...]:
    """The workers of a page's calls; they are only read where there may be some."""
    if not any(call.tool in (DELEGATE, MESSAGE_AGENT) for call in page.calls):
        return ()
    first, last = page.entries[0].seq, page.entries[-1].seq
    under = await house.store.ask(WorkersUnder(parent=conversation, first=first, last=last))
    return tuple(views.Worker.of(seen) for seen in under)


async def _with_others_at_work(
    house: House, conversation: int, shown: tuple[views.Worker, ...]
) -> tuple[views.Worker, ...]:
    """The workers of the newest page, and those that are still at work for calls before it."""
    if not house.workers.working_in(conversation):
        return shown
    known = {worker.conversation for worker in shown}
    at_work = await house.store.ask(WorkersIn(conversation))
    return (*shown, *(views.Worker.of(seen) for seen in at_work if seen.worker.conversation not in known))


ENDPOINTS = (
    Endpoint(
        method="GET",
        route="/api/agents/{name}/entries",
        says="The transcript of an agent's home conversation.",
        handle=list_entries,
        path=AgentPath,
        query=EntriesQuery,
        answer=Entries,
    ),
)
