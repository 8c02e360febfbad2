"""Notes: titled texts of one agent, with everything they ever said.

One rule: writing a note adds a version and changes none; what was written under a key is written once.
"""

from datetime import datetime

import attrs

from .operation import Read, Reader, Write
from .records import Note, NoteVersion

# The version first: it finds the note as it was before, whether both go as one statement or one after the other.
_VERSION = """
INSERT INTO note_versions (note, version, made_by, text, label, run, at, no)
SELECT COALESCE(max(n.id), ?), COALESCE(max(n.version), 0) + 1, ?, ?, ?::bigint, ?::bigint, ?::timestamptz, :no
FROM notes n WHERE n.agent = ? AND lower(n.title) = lower(?)
"""
_HEAD = """
INSERT INTO notes AS n (id, agent, title, version, no) VALUES (?, ?, ?, 1, :no)
ON CONFLICT (agent, lower(title)) DO UPDATE SET version = n.version + 1, removed = FALSE, no = excluded.no
"""


def write(
    *, id: int, agent: str, title: str, text: str, label: int, made_by: str, run: int | None, now: datetime
) -> tuple[Write, ...]:
    """Write a note, or a new version of the one with this title. Raises Duplicate if `made_by` wrote before."""
    return (
        Write(_VERSION, (id, made_by, text, label, run, now, agent, title), what="write the note"),
        Write(_HEAD, (id, agent, title), what="write the note"),
    )


# Of a note that is known by its number, so long as nobody wrote it anew.
_MORE = """
INSERT INTO note_versions (note, version, made_by, text, label, run, at, no)
SELECT n.id, n.version + 1, ?, v.text, v.label, NULL, ?::timestamptz, :no
FROM notes n JOIN note_versions v ON v.note = n.id AND v.version = ? WHERE n.id = ? AND n.version = ?
"""
_MORE_TEXT = """
INSERT INTO note_versions (note, version, made_by, text, label, run, at, no)
SELECT n.id, n.version + 1, ?, ?, v.label, NULL, ?::timestamptz, :no
FROM notes n JOIN note_versions v ON v.note = n.id AND v.version = n.version WHERE n.id = ? AND n.version = ?
"""
_GROWN = "UPDATE notes SET version = version + 1, removed = FALSE, no = :no WHERE id = ? AND version = ?"


def rewrite(*, note: int, base: int, text: str, made_by: str, now: datetime) -> tuple[Write, ...]:
    """Add a version that the owner wrote on version `base`, whose label it keeps: what was about then still is.

    Raises NotAsExpected if `base` is not the newest version any more, Duplicate if `made_by` wrote before.
    """
    return (
        Write(_MORE_TEXT, (made_by, text, now, note, base), what="the note is as it was"),
        Write(_GROWN, (note, base), what="the note is as it was"),
    )


def restore(*, note: int, base: int, version: int, made_by: str, now: datetime) -> tuple[Write, ...]:
    """Add a version that says what an earlier one said, with the label that one has.

    Raises NotAsExpected if `base` is not the newest version any more, Duplicate if `made_by` wrote before.
    """
    return (
        Write(_MORE, (made_by, now, version, note, base), what="the note is as it was"),
        Write(_GROWN, (note, base), what="the note is as it was"),
    )


_REMOVE = "UPDATE notes SET removed = ?, no = :no WHERE id = ? AND version = ?"


def remove(*, note: int, base: int, back: bool = False) -> Write:
    """Take a note away from where it is found, or bring it back; what it ever said is kept.

    Raises NotAsExpected if `base` is not the newest version any more.
    """
    return Write(_REMOVE, (not back, note, base), what="the note is as it was")


_NOTE = """
SELECT n.id, n.agent, n.title, n.version, n.removed, v.text, v.label, v.at, n.no
FROM notes n JOIN note_versions v ON v.note = n.id AND v.version = n.version
WHERE n.agent = ? AND n.removed = ?
"""
_BY_TITLE = _NOTE + " AND lower(n.title) = lower(?)"
_LIST = _NOTE + " ORDER BY v.at DESC, n.id DESC LIMIT ?"


@attrs.frozen
class ReadNote(Read[Note | None]):
    """The newest version of a note, by its title in any case."""

    agent: str
    title: str

    async def read(self, reader: Reader) -> Note | None:
        row = await reader.get(_BY_TITLE, self.agent, False, self.title)
        return None if row is None else Note.of(row)


@attrs.frozen
class ListNotes(Read[tuple[Note, ...]]):
    """An agent's notes, the newest first; those that are there, or those that were removed."""

    agent: str
    limit: int
    removed: bool = False

    async def read(self, reader: Reader) -> tuple[Note, ...]:
        return tuple(Note.of(row) for row in await reader.all(_LIST, self.agent, self.removed, self.limit))


_VERSION_NOW = "SELECT version FROM notes WHERE agent = ? AND lower(title) = lower(?) AND NOT removed"


@attrs.frozen
class VersionNow(Read[int]):
    """The newest version of the note with a title, 0 if there is none."""

    agent: str
    title: str

    async def read(self, reader: Reader) -> int:
        row = await reader.get(_VERSION_NOW, self.agent, self.title)
        return 0 if row is None else int(row["version"])


_BY_ID = """
SELECT n.id, n.agent, n.title, n.version, n.removed, v.text, v.label, v.at, n.no
FROM notes n JOIN note_versions v ON v.note = n.id AND v.version = n.version WHERE n.id = ?
"""


@attrs.frozen
class NoteOf(Read[Note | None]):
    """A note by its number, also one that was removed."""

    note: int

    async def read(self, reader: Reader) -> Note | None:
        row = await reader.get(_BY_ID, self.note)
        return None if row is None else Note.of(row)


_VERSIONS = f"SELECT {NoteVersion.columns()} FROM note_versions WHERE note = ? ORDER BY version DESC"


@attrs.frozen
class NoteVersions(Read[tuple[NoteVersion, ...]]):
    """Everything a note ever said, the newest first."""

    note: int

    async def read(self, reader: Reader) -> tuple[NoteVersion, ...]:
        return tuple(NoteVersion.of(row) for row in await reader.all(_VERSIONS, self.note))
