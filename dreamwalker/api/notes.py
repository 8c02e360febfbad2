"""The notes of an agent.

One rule: the owner adds a version as the agent does, and changes none. What derives from a text keeps its label: his
going over it cleans nothing.
"""

from datetime import datetime
from typing import Annotated

from msgspec import Meta

from dreamwalker.house import House
from storage import notes, records, search
from storage.errors import Duplicate, NotAsExpected
from storage.operation import Commit
from tools.limits import FIXED

from . import views
from .agents import AgentPath, home_of
from .endpoint import BIGINT_MAX, Asked, Endpoint, Given, Nothing, Shown, not_found
from .errors import Refused
from .messages import RequestId
from .things import checked


class NotesQuery(Given, frozen=True):
    """Which notes: those that hold every word, or all; with `removed`, those that were removed instead."""

    query: Annotated[str, Meta(max_length=1_000)] = ""
    removed: bool = False


class NotePath(Given, frozen=True):
    """A path with a note's id."""

    id: Annotated[int, Meta(ge=1, le=BIGINT_MAX)]


class Note(Shown, frozen=True):
    """The newest version of a note. `label` above 0: it was written while text from outside was about.

    `removed`: no agent finds it, until it is brought back.
    """

    id: int
    title: str
    version: int
    removed: bool
    text: str
    label: int
    at: datetime
    no: views.No

    @classmethod
    def of(cls, row: records.Note) -> "Note":
        """From its row."""
        return cls(
            id=row.id,
            title=row.title,
            version=row.version,
            removed=row.removed,
            text=row.text,
            label=row.label,
            at=row.at,
            no=row.no,
        )


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
    """A note and everything it ever said, the newest first. `removed`: no agent finds it, until it is brought back."""

    agent: str
    title: str
    removed: bool
    versions: tuple[NoteVersion, ...]


class NewVersion(Given, frozen=True):
    """What a note is to say now: `text`, or what its version number `version` said. `base`: the newest version that
    was seen.
    """

    request_id: RequestId
    base: Annotated[int, Meta(ge=1, le=BIGINT_MAX)]
    text: str | None = None
    version: Annotated[int, Meta(ge=1, le=BIGINT_MAX)] | None = None


async def list_notes(asked: Asked[AgentPath, NotesQuery, Nothing]) -> Notes:
    house, name = await asked.house(), asked.path.name
    home_of(house, name)
    limit, query = house.limits.page_entries, search.query_of(asked.query.query)
    if asked.query.removed:
        if asked.query.query:
            raise Refused(422, "Removed notes are listed, not searched: leave `query` or `removed` out.")
        found = await house.store.ask(notes.ListNotes(name, limit + 1, removed=True))
    elif query is not None:
        found = await house.store.ask(search.SearchNotes(query=query, limit=limit + 1, agent=name))
    elif asked.query.query.strip():
        found = ()  # there is no word in it, and so in nothing
    else:
        found = await house.store.ask(notes.ListNotes(name, limit + 1))
    shown = tuple(Note.of(note) for note in found[:limit])
    return Notes(notes=shown, more=len(found) > limit)


async def list_versions(asked: Asked[NotePath, Nothing, Nothing]) -> NoteVersions:
    return await _versions(await asked.house(), asked.path.id)


async def add_version(asked: Asked[NotePath, Nothing, NewVersion]) -> NoteVersions:
    house, note, body = await asked.house(), asked.path.id, asked.body
    made_by, now = f"request:{body.request_id}", house.clock.now()
    if (body.text is None) == (body.version is None):
        raise Refused(422, "A new version has a text, or the number of an earlier version; one of them.")
    stood = await _versions(house, note)
    if any(version.made_by == made_by for version in stood.versions):
        return stood
    if body.text is not None:
        text = checked(house, body.text, house.limits.note_characters, "A note")
        writes = notes.rewrite(note=note, base=body.base, text=text, made_by=made_by, now=now)
    elif body.version is not None and any(version.version == body.version for version in stood.versions):
        writes = notes.restore(note=note, base=body.base, version=body.version, made_by=made_by, now=now)
    else:
        raise Refused(422, f"The note never had a version {body.version}.")
    try:
        await house.store.ask(Commit(writes))
    except NotAsExpected:
        raise Refused(409, "The note was written anew meanwhile; look at it again.", code="changed") from None
    except Duplicate:
        raise Refused(409, "Something else was written under this request id.", code="conflict") from None
    return await _versions(house, note)


async def remove_note(asked: Asked[NotePath, Nothing, Nothing]) -> NoteVersions:
    return await _remove(await asked.house(), asked.path.id, back=False)


async def restore_note(asked: Asked[NotePath, Nothing, Nothing]) -> NoteVersions:
    return await _remove(await asked.house(), asked.path.id, back=True)


async def _remove(house: House, note: int, *, back: bool) -> NoteVersions:
    for _ in range(FIXED.changes):
        stands = await _note(house, note)
        try:
            if stands.removed is back:
                await house.store.ask(Commit((notes.remove(note=note, base=stands.version, back=back),)))
            return await _versions(house, note)
        except NotAsExpected:  # it was written anew meanwhile: look at it again
            continue
    raise Refused(409, "The note changes all the time just now; try again.", code="changed")


async def _note(house: House, note: int) -> records.Note:
    found = await house.store.ask(notes.NoteOf(note))
    if found is None:
        raise not_found("note of that id")
    return found


async def _versions(house: House, note: int) -> NoteVersions:
    head = await _note(house, note)
    found = await house.store.ask(notes.NoteVersions(note))
    return NoteVersions(
        agent=head.agent,
        title=head.title,
        removed=head.removed,
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
        ),
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
        method="DELETE",
        route="/api/notes/{id}",
        says="Remove a note: no agent finds it any more. What it ever said is kept, and it can be brought back.",
        handle=remove_note,
        path=NotePath,
        answer=NoteVersions,
        refusals=(409,),
    ),
    Endpoint(
        method="POST",
        route="/api/notes/{id}/restore",
        says="Bring back a note that was removed.",
        handle=restore_note,
        path=NotePath,
        answer=NoteVersions,
        refusals=(409,),
    ),
    Endpoint(
        method="GET",
        route="/api/notes/{id}/versions",
        says="Everything a note ever said.",
        handle=list_versions,
        path=NotePath,
        answer=NoteVersions,
    ),
    Endpoint(
        method="POST",
        route="/api/notes/{id}/versions",
        says="Write a note anew, or go back to what it said once; either way by a version that is added.",
        handle=add_version,
        path=NotePath,
        body=NewVersion,
        answer=NoteVersions,
        status=201,
        refusals=(409,),
    ),
)
