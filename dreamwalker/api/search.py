"""Searching all that was ever said, in every conversation, and all notes.

One rule: the newest come first, and a page says from where to go on.
"""

from datetime import datetime
from typing import Annotated, Literal

from msgspec import Meta

from storage import search
from tools.limits import FIXED
from tools.outside import cut

from . import notes, views
from .addressed import read_entry
from .endpoint import BIGINT_MAX, Asked, Endpoint, Given, Nothing, Shown, not_found
from .entries import PageLimit
from .errors import Refused


class SearchQuery(Given, frozen=True):
    """Which words: a hit holds them all, each by its beginning. `agent`: only its home conversation and notes."""

    query: Annotated[str, Meta(min_length=1, max_length=1_000)]
    agent: str | None = None
    before: Annotated[int, Meta(ge=1, le=BIGINT_MAX)] | None = None
    limit: PageLimit | None = None


class Hit(Shown, frozen=True):
    """An entry that was found: `text` is the part of it around the first of the words, with … where it goes on.

    `kind` is that of its conversation; for the rest see Entry.
    """

    agent: str
    conversation: int
    kind: Literal["home", "ask", "job", "worker"]
    seq: int
    source: Literal["owner", "outside", "model", "house"]
    what: str
    origin: str
    text: str
    label: int
    at: datetime
    no: views.No


class FoundNote(Shown, frozen=True):
    """A note that was found, and whose it is."""

    agent: str
    note: notes.Note


class Found(Shown, frozen=True):
    """What was found, the newest first. `more`: there are older entries, below `before` = the last one's `no`.

    Hits of one commit are never parted, so a page may hold more than `limit`.
    """

    entries: tuple[Hit, ...]
    notes: tuple[FoundNote, ...]
    more: bool


async def find(asked: Asked[Nothing, SearchQuery, Nothing]) -> Found:
    house, given = await asked.house(), asked.query
    if given.agent is not None and given.agent not in house.agents:
        raise not_found("agent of that name")
    query = search.query_of(given.query)
    if query is None:
        raise Refused(422, "There is no word in the query.")
    limit = min(given.limit or house.limits.search_shown, house.limits.page_entries)
    entries = await house.store.ask(
        search.SearchEntries(query=query, limit=limit + 1, home=given.agent, before=given.before or BIGINT_MAX)
    )
    found = search.SearchNotes(query=query, limit=limit, agent=given.agent)
    there = await house.store.ask(found) if given.before is None else ()
    page = _page(entries, limit)
    return Found(
        entries=tuple(_hit(entry, query) for entry in page),
        notes=tuple(FoundNote(agent=note.agent, note=notes.Note.of(note)) for note in there),
        more=len(entries) > len(page),
    )


def _page(found: tuple[search.Found, ...], limit: int) -> tuple[search.Found, ...]:
    """The hits of a page, more than `limit` where a commit has several: the next one begins below the last one's."""
    return tuple(hit for hit in found if len(found) <= limit or hit.no >= found[limit - 1].no)


def _hit(entry: search.Found, query: search.Query) -> Hit:
    said = read_entry(entry.shown, "reply" if entry.source == "model" else "message", entry.source)
    return Hit(
        agent=entry.agent,
        conversation=entry.conversation,
        kind=entry.kind,  # type: ignore[arg-type]
        seq=entry.seq,
        source=entry.source,  # type: ignore[arg-type]
        what=said.what,
        origin=said.origin,
        text=around(said.text, [pattern.strip("%") for pattern in query.patterns]),
        label=entry.label,
        at=entry.at,
        no=entry.no,
    )


def around(text: str, words: list[str]) -> str:
    """The part of a text where the first of the words stands: whole, if it is short."""
    if len(text) <= FIXED.hit_characters:
        return text
    lower = text.lower()
    places = [place for word in words if (place := lower.find(word.lower())) >= 0]
    start = max(min(places, default=0) - FIXED.hit_characters // 4, 0)
    if start:
        start = next((at + 1 for at in range(start, start + 40) if text[at].isspace()), start)
    part, more = cut(text[start:], FIXED.hit_characters)
    return f"{'…' if start else ''}{part}{'…' if more else ''}"


ENDPOINTS = (
    Endpoint(
        method="GET",
        route="/api/search",
        says="All that was said in every conversation, and all notes, that hold some words; the newest first.",
        handle=find,
        query=SearchQuery,
        answer=Found,
        refusals=(404,),
    ),
)
