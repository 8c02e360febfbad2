"""The archive: everything that a database holds as lines of JSON, and back into an empty one.

One rule: what there is to keep, the catalog says, so a table that a later migration adds is kept without a line being
changed here.

The first line says what it is: `{"dreamwalker": "archive", "format": 1, "made_at", "commit_no", "migrations": [names],
"secrets": whether what opens doors is in it, "tables": {name: rows}}`. Then come the tables, those first that others
point at: for each a line `{"table", "columns", "rows"}` and one line for each row, ordered by primary key. The last
line is `{"manifest": {table: {"rows", "sha256" of its rows' lines}}, "sha256" of all lines before it}`: without it, or
if a hash is another, the archive is not whole.
"""

import hashlib
import json
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

import attrs

from . import lease, migrate, words
from .catalog import Table, quoted, tables
from .errors import StorageError
from .migrate import Migration

FORMAT = 1
SECRET = frozenset({"buttons"})
"""Tables of what opens doors: whoever restores them can have pressed what lies on a phone still."""
_USED = ("messages", "entries", "notes", "things")
"""A database in which these hold nothing was opened at most: what that left there may go."""
_DOES_NOT_FIT = ("22", "23")
"""Classes of what Postgres says of bad values, and of rows that break a constraint."""
_PIECE_BYTES = 64 * 1024
_BATCH_BYTES, _BATCH_ROWS = 1_000_000, 1_000

Emit = Callable[[bytes], Awaitable[None]]
Tell = Callable[[int, int], None]
"""Told how many rows are done, of how many."""


class BadArchive(StorageError):
    """What should be imported is no archive, not a whole one, or of a newer version. The message says which."""


class NotEmpty(StorageError):
    """The database that should be imported into holds something, or somebody writes to it."""


# -- out


_SNAPSHOT = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; SET LOCAL timezone = 'UTC'"
_MADE = "SELECT name FROM dreamwalker_migrations ORDER BY name"
_COMMIT_NO = "SELECT commit_no FROM dreamwalker_lease WHERE id = 1"


async def export(raw: Any, emit: Emit, *, now: datetime, secrets: bool = False) -> None:
    """Write all of a database as it stands at one moment. `secrets`: with what opens doors.

    It takes no lease and keeps nobody from writing meanwhile. Memory does not grow with what there is.
    """
    await raw.execute(_SNAPSHOT)
    out = _Out(emit)
    there = [table for table in await tables(raw) if secrets or table.name not in SECRET]
    counts = {
        table.name: (await raw.fetchrow(f"SELECT count(*) AS n FROM {quoted(table.name)}"))["n"] for table in there
    }
    await out.line(
        {
            "dreamwalker": "archive",
            "format": FORMAT,
            "made_at": now.isoformat(),
            "commit_no": (await raw.fetchrow(_COMMIT_NO))["commit_no"],
            "migrations": [row["name"] for row in await raw.fetch(_MADE)],
            "secrets": secrets,
            "tables": counts,
        }
    )
    manifest = {}
    for table in there:
        await out.line({"table": table.name, "columns": table.columns, "rows": counts[table.name]})
        manifest[table.name] = {"rows": counts[table.name], "sha256": await out.rows(raw, table)}
    await out.line({"manifest": manifest, "sha256": out.sha256})
    await out.flush()
    await raw.execute("ROLLBACK")


class _Out:
    """Lines on their way out, gathered into pieces."""

    def __init__(self, emit: Emit) -> None:
        self._emit, self._piece, self._all = emit, bytearray(), hashlib.sha256()

    @property
    def sha256(self) -> str:
        """Of all that was written so far."""
        return self._all.hexdigest()

    async def line(self, value: Mapping[str, Any]) -> None:
        await self._write(json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode() + b"\n")

    async def rows(self, raw: Any, table: Table) -> str:
        """Write the rows of a table; returns the hash of their lines.

        The bytes that would stand around fields and between them occur in no JSON, so each row is a line as it is.
        """
        columns, hashed = ", ".join(map(quoted, table.columns)), hashlib.sha256()
        query = f"SELECT row_to_json(r) FROM (SELECT {columns} FROM {quoted(table.name)} ORDER BY {table.order}) r"

        async def take(data: bytes) -> None:
            hashed.update(data)
            await self._write(data)

        await raw.copy_from_query(query, output=take, format="csv", delimiter="\x02", quote="\x01", encoding="utf-8")
        return hashed.hexdigest()

    async def _write(self, data: bytes) -> None:
        self._all.update(data)
        self._piece += data
        if len(self._piece) >= _PIECE_BYTES:
            await self.flush()

    async def flush(self) -> None:
        if self._piece:
            piece, self._piece = bytes(self._piece), bytearray()
            await self._emit(piece)


# -- in


@attrs.frozen(kw_only=True)
class Head:
    """The first line of an archive."""

    made_at: str
    commit_no: int
    migrations: tuple[str, ...]
    secrets: bool
    tables: dict[str, int]

    @property
    def rows(self) -> int:
        """How many rows it holds."""
        return sum(self.tables.values())


class Archive:
    """An archive that is read line by line, once. What was read counts only when `read` has returned."""

    def __init__(self, lines: Iterable[bytes]) -> None:
        self._lines, self._all = iter(lines), hashlib.sha256()
        self.head = _head(self._hashed())
        self.manifest: dict[str, Any] = {}
        self.coming: dict[str, int] = {}
        """How many active reminders and jobs a database holds into which it was brought, by kind."""

    def _next(self) -> bytes:
        line = next(self._lines, b"")
        if not line.endswith(b"\n"):
            raise BadArchive("The archive ends in the middle: it was cut short. Export it again.")
        return line

    def _hashed(self) -> bytes:
        line = self._next()
        self._all.update(line)
        return line

    async def read(self, take: Callable[[str, Sequence[str], list[bytes]], Awaitable[None]], tell: Tell) -> None:
        """Read all of it: `take` gets the rows in batches, with their table's name and columns. Raises BadArchive."""
        found, done = {}, 0
        for name, count in self.head.tables.items():
            section = _json(self._hashed())
            if section.get("table") != name or section.get("rows") != count:
                raise BadArchive(f"Where the table {name} should begin, the archive says something else.")
            hashed, left = hashlib.sha256(), count
            while left:
                batch = self._batch(left)
                for line in batch:
                    hashed.update(line)
                left, done = left - len(batch), done + len(batch)
                await take(name, section["columns"], batch)
                tell(done, self.head.rows)
            found[name] = {"rows": count, "sha256": hashed.hexdigest()}
        sha256, last = self._all.hexdigest(), _json(self._next())
        if last.get("manifest") != found or last.get("sha256") != sha256:
            raise BadArchive("The archive was changed since it was made: its hashes are others.")
        self.manifest = found

    def _batch(self, rows: int) -> list[bytes]:
        batch: list[bytes] = []
        size_bytes = 0
        while len(batch) < min(rows, _BATCH_ROWS) and size_bytes < _BATCH_BYTES:
            batch.append(self._hashed())
            size_bytes += len(batch[-1])
        return batch


def _json(line: bytes) -> dict[str, Any]:
    try:
        value = json.loads(line)
    except ValueError:
        value = None
    if not isinstance(value, dict):
        raise BadArchive("The archive holds a line that is no JSON object.")
    return value


def _head(line: bytes) -> Head:
    try:
        said = _json(line)
    except BadArchive:
        said = {}
    if said.get("dreamwalker") != "archive":
        raise BadArchive("This is no archive of dreamwalker.")
    if said.get("format") != FORMAT:
        raise BadArchive(f"The archive is of format {said.get('format')}, and this version reads format {FORMAT}.")
    return Head(
        made_at=str(said["made_at"]),
        commit_no=int(said["commit_no"]),
        migrations=tuple(said["migrations"]),
        secrets=bool(said["secrets"]),
        tables=dict(said["tables"]),
    )


async def verify(lines: Iterable[bytes], tell: Tell = lambda done, all: None) -> Archive:
    """Read an archive to its end and see that it is whole. Raises BadArchive."""
    archive = Archive(lines)

    async def take(table: str, columns: Sequence[str], rows: list[bytes]) -> None:
        for row in rows:
            _json(row)

    await archive.read(take, tell)
    return archive


_HOLD = "SELECT holder FROM dreamwalker_lease WHERE id = 1 FOR UPDATE"
_NUMBER = "UPDATE dreamwalker_lease SET commit_no = $1, holder = '', expires_at = now() WHERE id = 1"


_COMING = """
SELECT count(*) FILTER (WHERE kind = 'reminder') AS reminder, count(*) FILTER (WHERE kind = 'job') AS job
FROM things WHERE state = 'active'
"""


async def load(
    raw: Any, lines: Iterable[bytes], migrations: Sequence[Migration], tell: Tell = lambda done, all: None
) -> Archive:
    """Bring all of an archive into a database that holds nothing.

    The schema is made as it was where the archive was made, the rows are put there in one transaction, and then comes
    what was migrated since: it finds the rows as it would have found them there. Cut short, nothing is there but
    empty tables, and it can be begun again. Raises BadArchive, NotEmpty, and what migrations raise.
    """
    archive = Archive(lines)
    names = [migration.name for migration in migrations]
    if unknown := [name for name in archive.head.migrations if name not in names]:
        raise BadArchive(f"The archive is of a newer version: it has {unknown[0]}, which this one doesn't know.")
    await migrate.apply(raw, [each for each in migrations if each.name in archive.head.migrations])
    await raw.execute("BEGIN")
    try:
        await _restore(raw, archive, tell)
        await raw.execute("COMMIT")
    except Exception:
        if not raw.is_closed():
            await raw.execute("ROLLBACK")
        raise
    await migrate.apply(raw, migrations)
    await raw.execute(words.ENTER_ALL)
    archive.coming = dict(await raw.fetchrow(_COMING))
    return archive


async def _restore(raw: Any, archive: Archive, tell: Tell) -> None:
    """Put the rows where they belong, in a transaction of the caller's."""
    await raw.execute(_HOLD)
    if not await lease.is_free(raw):
        raise NotEmpty("A dreamwalker works with this database. End it first.")
    there = {table.name: table for table in await tables(raw)}
    for name in _USED:
        if name in there and await raw.fetchrow(f"SELECT 1 FROM {quoted(name)} LIMIT 1"):
            raise NotEmpty(f"This database holds {name} already. Import into an empty one.")
    if there:
        await raw.execute(f"TRUNCATE {', '.join(map(quoted, there))} CASCADE")

    async def take(table: str, columns: Sequence[str], rows: list[bytes]) -> None:
        if table not in there or not set(columns) <= set(there[table].columns):
            raise BadArchive(f"The archive holds {table} with columns that its own version does not have.")
        named = ", ".join(map(quoted, columns))
        made_of = f"json_populate_recordset(NULL::{quoted(table)}, $1)"
        insert = f"INSERT INTO {quoted(table)} ({named}) SELECT {named} FROM {made_of}"
        try:
            await raw.execute(insert, f"[{b','.join(rows).decode()}]")
        except Exception as error:
            if not str(getattr(error, "sqlstate", "")).startswith(_DOES_NOT_FIT):
                raise
            raise BadArchive(f"The archive holds a row of {table} that does not fit there: {error}") from error

    await archive.read(take, tell)
    await raw.execute(_NUMBER, archive.head.commit_no)
