"""The notes of an agent. One rule: they are read here and written by the agent."""

from datetime import datetime
from typing import Annotated

from msgspec import Meta

from storage import notes

from . import views
from .agents import AgentPath, home_of
from .endpoint import BIGINT_MAX, Asked, Endpoint, Given, Nothing, Shown, not_found


class NotesQuery(Given, frozen=True):
    """Which notes: those that hold every word, or all."""

    query: Annotated[str, Meta(max_length=1_000)] = ""


class NotePath(Given, frozen=True):
    """A path with a note's id."""

    id: Annotated[int, Meta(ge=1, le=BIGINT_MAX)]


class Note(Shown, frozen=True):
    """The newest version of a note. `label` above 0: it was written while text from outside was about."""

    id: int
    title: str
    version: int
    text: str
    label: int
    at: datetime
    no: views.No


class Notes(Shown, frozen=True):
    """Notes, the newest first. `more`: there are others, which a query finds."""

    notes: tuple[Note, ...]
    more: bool


class NoteVersion(Shown, frozen=True):
    """What a note said once, and what wrote it."""

    version: int
    text: str
    label: int
    made_by: str
    run: int | None
    at: datetime
    no: views.No


class NoteVersions(Shown, frozen=True):
    """Everything a note ever said, the newest first."""

    versions: tuple[NoteVersion, ...]


async def list_notes(asked: Asked[AgentPath, NotesQuery, Nothing]) -> Notes:
    house, name = await asked.house(), asked.path.name
    home_of(house, name)
    limit, words = house.limits.page_entries, tuple(asked.query.query.split())
    if words:
        found = await house.store.ask(notes.SearchNotes(name, words, limit + 1))
    else:
        found = await house.store.ask(notes.ListNotes(name, limit + 1))
    shown = tuple(
        Note(
            id=note.id,
            title=note.title,
            version=note.version,
            text=note.text,
            label=note.label,
            at=note.at,
            no=note.no,
        )
        for note in found[:limit]
    )
    return Notes(notes=shown, more=len(found) > limit)


async def list_versions(asked: Asked[NotePath, Nothing, Nothing]) -> NoteVersions:
    house = await asked.house()
    found = await house.store.ask(notes.NoteVersions(asked.path.id))
    if not found:
        raise not_found("note of that id")
    return NoteVersions(
        versions=tuple(
            NoteVersion(
                version=version.version,
                text=version.text,
                label=version.label,
                made_by=version.made_by,
                run=version.run,
                at=version.at,
                no=version.no,
            )
            for version in found
        )
    )


ENDPOINTS = (
    Endpoint(
        method="GET",
        route="/api/agents/{name}/notes",
        says="An agent's notes, the newest first.",
        handle=list_notes,
        path=AgentPath,
        query=NotesQuery,
        answer=Notes,
    ),
    Endpoint(
        method="GET",
        route="/api/notes/{id}/versions",
        says="Everything a note ever said.",
        handle=list_versions,
        path=NotePath,
        answer=NoteVersions,
    ),
)
