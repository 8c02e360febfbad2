"""The schema comes from numbered SQL files: reading them, applying them, and checking that a database has them.

One rule: a file, once applied anywhere, is never edited; what comes after it is a new file. Each records itself with
its last line, because the platform applies files by itself; where we apply them, their checksums are kept too.
"""

import hashlib
import itertools
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Protocol

import attrs

from .errors import StorageError

_FILE_NAME = re.compile(r"\d{4}_[a-z0-9_-]+\.sql")


class BadMigration(StorageError):
    """A migration file is not as it must be, or does not fit what this database already has. The message names it."""


class MigrationFailed(StorageError):
    """The database refused a migration, and nothing of it was kept. The message names the file and says why."""


class MigrationMissing(StorageError):
    """The database lacks a migration that this program needs. The message names the file."""


class Connection(Protocol):
    """What is asked of a connection to the database; asyncpg's is one."""

    async def execute(self, query: str, /) -> object:
        """Carry out statements."""

    async def fetch(self, query: str, /, *args: Any) -> Sequence[Mapping[str, Any]]:
        """Carry out one statement, with `$1`, `$2`, … for its parameters, and return its rows."""


@attrs.frozen(kw_only=True)
class Migration:
    """One file. `name` is the file's without `.sql`; `checksum` is SHA-256, in hex."""

    name: str
    sql: str
    checksum: str


def read_migrations(folder: Path) -> tuple[Migration, ...]:
    """All migrations, in the order in which they are applied.

    Raises BadMigration, also for anything in the folder that is no migration.
    """
    if not folder.is_dir():
        raise BadMigration(f"There is no folder of migrations at {folder}.")
    migrations = [_read(path) for path in sorted(folder.iterdir())]
    for one, other in itertools.pairwise(migrations):
        if one.name[:4] == other.name[:4]:
            raise BadMigration(f"{one.name}.sql and {other.name}.sql have the same number.")
    if not migrations:
        raise BadMigration(f"There are no migrations in {folder}.")
    return tuple(migrations)


def _read(path: Path) -> Migration:
    if not _FILE_NAME.fullmatch(path.name) or not path.is_file():
        raise BadMigration(f"{path} is no migration: those are files with names like 0001_what_it_does.sql.")
    content = path.read_bytes()
    try:
        sql = content.decode()
    except UnicodeDecodeError as error:
        raise BadMigration(f"{path.name} is not UTF-8: {error}") from error
    if not sql.startswith(("--", "/*")):
        raise BadMigration(f"{path.name} must open with a comment that explains its tables.")
    last = f"INSERT INTO dreamwalker_migrations (name) VALUES ('{path.stem}');"
    if not sql.rstrip().endswith("\n" + last):
        raise BadMigration(f"{path.name} must record itself. Its last line must be: {last}")
    return Migration(name=path.stem, sql=sql, checksum=hashlib.sha256(content).hexdigest())


async def apply(connection: Connection, migrations: Sequence[Migration]) -> tuple[str, ...]:
    """Apply what the database lacks, each in a transaction of its own, and return the names of what was applied.

    Two at once are safe: one waits for the other. Raises BadMigration and MigrationFailed; what was applied before
    stays. The connection must not be in a transaction.
    """
    names: list[str] = []
    while name := await _apply_next(connection, migrations):
        names.append(name)
    return tuple(names)


# Any number will do, if nobody else uses it.
_LOCK = "SELECT pg_advisory_xact_lock(7293861540172)"

# The row must have been made by this very transaction: a file that contains COMMIT would be applied by halves.
_KEEP_CHECKSUM = """
UPDATE dreamwalker_migrations SET checksum = $2
WHERE name = $1 AND xmin = pg_current_xact_id()::xid
RETURNING name
"""


async def _apply_next(connection: Connection, migrations: Sequence[Migration]) -> str | None:
    await connection.execute("BEGIN")
    try:
        await connection.fetch(_LOCK)
        migration = _next(await _applied(connection), migrations)
        if migration is not None:
            await _run(connection, migration)
            if not await connection.fetch(_KEEP_CHECKSUM, migration.name, migration.checksum):
                raise BadMigration(f"{migration.name}.sql must not end the transaction that it runs in.")
        await connection.execute("COMMIT")
    except BaseException:
        with suppress(Exception):  # the connection may be gone, and with it the transaction
            await connection.execute("ROLLBACK")
        raise
    return migration.name if migration else None


async def _run(connection: Connection, migration: Migration) -> None:
    try:
        await connection.execute(migration.sql)
    except Exception as error:
        raise MigrationFailed(
            f"{migration.name}.sql could not be applied, and nothing of it was kept: {error}"
        ) from error


def _next(applied: Mapping[str, str | None], migrations: Sequence[Migration]) -> Migration | None:
    """The first migration that the database lacks, if it and what it has go together."""
    newest = max(applied, default="")
    for migration in migrations:
        if migration.name not in applied:
            if migration.name < newest:
                raise BadMigration(
                    f"{migration.name}.sql comes too late: this database already has {newest}, and migrations are "
                    "applied in order. Give it a higher number."
                )
            return migration
        if applied[migration.name] not in (None, migration.checksum):
            raise BadMigration(
                f"{migration.name}.sql was changed after it was applied to this database. Put it back as it was, and "
                "put the change into a new file."
            )
    return None


async def check(connection: Connection, migrations: Sequence[Migration]) -> tuple[str, ...]:
    """Check that the database has all that this program needs.

    Returns the names of migrations that only the database knows: a newer program made them, and they let this one
    still run. Raises MigrationMissing.
    """
    applied = await _applied(connection)
    for migration in migrations:
        if migration.name not in applied:
            raise MigrationMissing(
                f"The database lacks the migration {migration.name}.sql, which this version needs. "
                "Run `dreamwalker migrate`, or where Netlify keeps the database `netlify database migrations apply`."
            )
    known = {migration.name for migration in migrations}
    return tuple(sorted(applied.keys() - known))


_HAS_TABLE = "SELECT to_regclass('dreamwalker_migrations') IS NOT NULL AS it"

_ALL_APPLIED = "SELECT name, checksum FROM dreamwalker_migrations"


async def _applied(connection: Connection) -> dict[str, str | None]:
    """The checksum of each applied migration by name; None for one that the platform applied."""
    [has_table] = await connection.fetch(_HAS_TABLE)
    if not has_table["it"]:
        return {}
    return {row["name"]: row["checksum"] for row in await connection.fetch(_ALL_APPLIED)}
