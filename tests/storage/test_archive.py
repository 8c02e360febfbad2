"""The archive: all of a database as lines, and back, to the byte; cut short, changed or too new, it is refused."""

import asyncio
import hashlib
import json
from collections.abc import Awaitable, Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

import asyncpg
import pytest

from storage import archive, catalog, migrate
from storage.archive import SECRET, BadArchive, NotEmpty
from storage.catalog import Table
from storage.embedded import Embedded
from tests.databases import fresh_database
from tests.fill import fill

T = TypeVar("T")
NOW = datetime(2026, 11, 29, 12, tzinfo=UTC)
MIGRATIONS = migrate.read_migrations(Path(__file__).parent.parent.parent / "migrations")


def with_raw(url: str, work: Callable[[Any], Awaitable[T]]) -> T:
    """Do something with a connection."""

    async def connected() -> T:
        raw = await asyncpg.connect(url)
        try:
            return await work(raw)
        finally:
            await raw.close()

    return asyncio.run(connected())


def exported(url: str, *, secrets: bool = True) -> list[bytes]:
    """The lines of a database's archive."""
    pieces: list[bytes] = []

    async def take(piece: bytes) -> None:
        pieces.append(piece)

    with_raw(url, lambda raw: archive.export(raw, take, now=NOW, secrets=secrets))
    return b"".join(pieces).splitlines(keepends=True)


def imported(url: str, lines: list[bytes], migrations: tuple[migrate.Migration, ...] = MIGRATIONS) -> archive.Archive:
    return with_raw(url, lambda raw: archive.load(raw, iter(lines), migrations))


@pytest.fixture
def full(database_url: str) -> str:
    """A database with a row or more in every table, and with texts that are hard to carry."""
    with_raw(database_url, fill)
    return database_url


def test_every_table_is_kept_and_the_round_trip_is_identical(full: str, empty_database_url: str) -> None:
    lines = exported(full)
    manifest = json.loads(lines[-1])["manifest"]
    assert {name for name, part in manifest.items() if part["rows"] == 0} == set(), "fill every table"
    assert imported(empty_database_url, lines).manifest == manifest
    assert exported(empty_database_url) == lines

    async def words(raw: Any) -> int:
        count: int = await raw.fetchval("SELECT count(*) FROM entry_words")
        return count

    assert with_raw(empty_database_url, words) > 0, "what was said can be searched for"


def test_what_the_catalog_names_is_what_the_migrations_made(full: str) -> None:
    made = {
        name
        for migration in MIGRATIONS
        for name in (
            line.split()[2].rstrip("(") for line in migration.sql.splitlines() if line.startswith("CREATE TABLE")
        )
    }
    kept = with_raw(full, catalog.tables)
    assert {table.name for table in kept} == made - {"dreamwalker_lease", "dreamwalker_migrations", "entry_words"}
    assert made > SECRET


def test_a_table_that_a_later_version_adds_is_kept_without_being_named(full: str, empty_database_url: str) -> None:
    later = (
        *MIGRATIONS,
        migrate.Migration(
            name="9999_later",
            sql='CREATE TABLE "odd Table" (b TEXT, a INTEGER, at TIMESTAMPTZ, raw BYTEA, yes BOOLEAN, price NUMERIC,'
            " agent TEXT REFERENCES agents, twice INTEGER GENERATED ALWAYS AS (a * 2) STORED, PRIMARY KEY (b, a));\n"
            "INSERT INTO dreamwalker_migrations (name) VALUES ('9999_later');",
            checksum="x",
        ),
    )
    insert = """INSERT INTO "odd Table" VALUES ('ä"', 1, '2026-11-29T12:00:00.123456+01', '\\x00ff', TRUE, 1.10, NULL),
        ('Z', 2, NULL, NULL, NULL, NULL, 'dreamwalker')"""

    async def add(raw: Any) -> None:
        await migrate.apply(raw, later)
        await raw.execute(insert)

    with_raw(full, add)
    lines = exported(full)
    imported(empty_database_url, lines, later)
    assert exported(empty_database_url) == lines
    with pytest.raises(BadArchive, match="newer version: it has 9999_later"):
        imported(empty_database_url, lines)


def test_an_archive_of_an_earlier_version_meets_what_was_migrated_since(full: str, cluster: Embedded) -> None:
    lines = exported(full)
    later = (
        *MIGRATIONS,
        migrate.Migration(
            name="9999_later",
            sql="ALTER TABLE notes ADD COLUMN loud TEXT; UPDATE notes SET loud = upper(title);\n"
            "INSERT INTO dreamwalker_migrations (name) VALUES ('9999_later');",
            checksum="x",
        ),
    )
    with fresh_database(cluster, "template0") as url:
        imported(url, lines, later)
        rows = with_raw(url, lambda raw: raw.fetch("SELECT title, loud FROM notes"))
        assert rows and all(row["loud"] == row["title"].upper() for row in rows)


def test_nothing_that_opens_doors_is_in_it_unless_asked_for(full: str, empty_database_url: str) -> None:
    lines = exported(full, secrets=False)
    assert not SECRET & json.loads(lines[0])["tables"].keys() and json.loads(lines[0])["secrets"] is False
    imported(empty_database_url, lines)
    assert exported(empty_database_url, secrets=False) == lines


def test_it_is_one_moment_whatever_is_written_meanwhile(full: str) -> None:
    whole = exported(full)
    pieces: list[bytes] = []

    async def take(piece: bytes) -> None:
        pieces.append(piece)

    async def work(raw: Any) -> None:
        other = await asyncpg.connect(full)
        taking = raw.fetchrow

        class Between:
            """The connection, with another one writing after the first look at the database."""

            def __getattr__(self, name: str) -> Any:
                return getattr(raw, name)

            async def fetchrow(self, query: str) -> Any:
                row = await taking(query)
                await other.execute("DELETE FROM note_versions; UPDATE agents SET job = 'another'")
                return row

        await archive.export(Between(), take, now=NOW, secrets=True)
        await other.close()

    with_raw(full, work)
    assert b"".join(pieces).splitlines(keepends=True) == whole


@pytest.mark.parametrize("kept", [0, 1, 2, 5, -1])
def test_cut_short_it_leaves_nothing_and_can_be_begun_again(full: str, empty_database_url: str, kept: int) -> None:
    lines = exported(full)
    with pytest.raises(BadArchive, match="cut short"):
        imported(empty_database_url, lines[:kept] if kept != -1 else [*lines[:-1], lines[-1][:-9]])
    imported(empty_database_url, lines)
    assert exported(empty_database_url) == lines


def _changed(lines: list[bytes]) -> Iterator[list[bytes]]:
    yield [line.replace(b"tulips", b"roses!") for line in lines]
    at = next(at for at, line in enumerate(lines) if b"tulips" in line)
    yield [*lines[:at], *lines[at + 1 :]]
    yield [*lines[:at], lines[at], *lines[at:]]
    yield [lines[0].replace(b'"commit_no":', b'"commit_no":1'), *lines[1:]]


@pytest.mark.parametrize("which", range(4))
def test_a_changed_archive_is_refused_and_nothing_of_it_kept(full: str, empty_database_url: str, which: int) -> None:
    lines = exported(full)
    with pytest.raises(BadArchive):
        imported(empty_database_url, list(_changed(lines))[which])
    assert with_raw(empty_database_url, lambda raw: raw.fetchval("SELECT count(*) FROM agents")) == 0


@pytest.mark.parametrize("line", [b"", b"hello\n", b"[]\n", b'{"dreamwalker":"archive","format":2}\n', b"\xff\n"])
def test_what_is_no_archive_is_refused_in_words(empty_database_url: str, line: bytes) -> None:
    with pytest.raises(BadArchive, match=r"no archive|cut short|format 2"):
        imported(empty_database_url, [line])


def test_a_database_that_holds_something_is_left_alone(full: str) -> None:
    lines = exported(full)
    with pytest.raises(NotEmpty, match="holds messages already"):
        imported(full, lines)
    assert exported(full) == lines


def test_a_database_that_was_opened_and_never_used_is_taken(full: str, cluster: Embedded, migrated: str) -> None:
    with fresh_database(cluster, migrated) as url:
        opened = "INSERT INTO agents (name, job, instructions, made_at, no) VALUES ('dreamwalker', '', '', now(), 1)"
        with_raw(url, lambda raw: raw.execute(opened))
        lines = exported(full)
        imported(url, lines)
        assert exported(url) == lines


def test_a_database_that_somebody_works_with_is_left_alone(full: str, cluster: Embedded, migrated: str) -> None:
    with fresh_database(cluster, migrated) as url:
        held = "UPDATE dreamwalker_lease SET holder = 'other', expires_at = now() + interval '1 minute'"
        with_raw(url, lambda raw: raw.execute(held))
        with pytest.raises(NotEmpty, match="works with this database"):
            imported(url, exported(full))


def test_the_hashes_are_those_of_the_lines_as_they_stand(full: str) -> None:
    lines = exported(full)
    last = json.loads(lines[-1])
    assert last["sha256"] == hashlib.sha256(b"".join(lines[:-1])).hexdigest()
    at, found = 1, {}
    while at < len(lines) - 1:
        section = json.loads(lines[at])
        rows = lines[at + 1 : at + 1 + section["rows"]]
        found[section["table"]] = {"rows": len(rows), "sha256": hashlib.sha256(b"".join(rows)).hexdigest()}
        at += 1 + len(rows)
    assert found == last["manifest"]


def test_tables_come_after_those_that_they_point_at(full: str) -> None:
    names = [table.name for table in with_raw(full, _tables)]
    assert names.index("agents") < min(names.index(name) for name in ("conversations", "notes", "things"))


async def _tables(raw: Any) -> tuple[Table, ...]:
    return await catalog.tables(raw)
