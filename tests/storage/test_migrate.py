"""Migrations against a real Postgres."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, TypeVar

import asyncpg
import pytest

from storage.migrate import (
    BadMigration,
    Connection,
    MigrationFailed,
    MigrationMissing,
    apply,
    check,
    read_migrations,
)

T = TypeVar("T")

_FIRST = """
CREATE TABLE dreamwalker_migrations (
    name TEXT PRIMARY KEY, checksum TEXT, applied_at TIMESTAMPTZ NOT NULL DEFAULT now()
);
CREATE TABLE things (id BIGINT PRIMARY KEY);
"""


def write(folder: Path, name: str, sql: str) -> Path:
    path = folder / f"{name}.sql"
    path.write_text(f"-- {name}\n{sql}\nINSERT INTO dreamwalker_migrations (name) VALUES ('{name}');\n")
    return path


def run(url: str, work: Callable[[Any], Awaitable[T]]) -> T:
    """Do some work with a connection of its own."""

    async def connected() -> T:
        connection = await asyncpg.connect(url)
        try:
            return await work(connection)
        finally:
            await connection.close()

    return asyncio.run(connected())


def apply_all(url: str, folder: Path) -> tuple[str, ...]:
    return run(url, lambda connection: apply(connection, read_migrations(folder)))


def check_all(url: str, folder: Path) -> tuple[str, ...]:
    return run(url, lambda connection: check(connection, read_migrations(folder)))


def tables(url: str) -> set[str]:
    async def names(connection: Connection) -> set[str]:
        rows = await connection.fetch("SELECT relname FROM pg_class WHERE relkind = 'r' AND relnamespace = 2200")
        return {row["relname"] for row in rows}

    return run(url, names)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two migrations."""
    write(tmp_path, "0001_first", _FIRST)
    write(tmp_path, "0002_second", "CREATE TABLE more (id BIGINT PRIMARY KEY);")
    return tmp_path


def test_all_are_applied_in_order_and_a_second_time_none(empty_database_url: str, folder: Path) -> None:
    assert apply_all(empty_database_url, folder) == ("0001_first", "0002_second")
    assert tables(empty_database_url) == {"dreamwalker_migrations", "things", "more"}
    assert apply_all(empty_database_url, folder) == ()
    assert check_all(empty_database_url, folder) == ()


def test_only_what_is_missing_is_applied(empty_database_url: str, folder: Path) -> None:
    apply_all(empty_database_url, folder)
    write(folder, "0003_third", "CREATE TABLE third (id BIGINT PRIMARY KEY);")
    assert apply_all(empty_database_url, folder) == ("0003_third",)


def test_what_was_applied_is_kept_with_its_checksum(empty_database_url: str, folder: Path) -> None:
    apply_all(empty_database_url, folder)
    rows = run(
        empty_database_url,
        lambda connection: connection.fetch("SELECT name, checksum FROM dreamwalker_migrations ORDER BY name"),
    )
    assert [tuple(row) for row in rows] == [(one.name, one.checksum) for one in read_migrations(folder)]


def test_a_file_changed_after_it_was_applied_is_refused_by_name(empty_database_url: str, folder: Path) -> None:
    apply_all(empty_database_url, folder)
    write(folder, "0001_first", _FIRST + "-- one more thought")
    write(folder, "0003_third", "CREATE TABLE third (id BIGINT PRIMARY KEY);")
    with pytest.raises(BadMigration, match=r"0001_first\.sql was changed after it was applied"):
        apply_all(empty_database_url, folder)
    assert "third" not in tables(empty_database_url)


def test_a_file_that_the_platform_applied_has_no_checksum_and_is_accepted(
    empty_database_url: str, folder: Path
) -> None:
    run(empty_database_url, lambda connection: connection.execute((folder / "0001_first.sql").read_text()))
    assert apply_all(empty_database_url, folder) == ("0002_second",)


def test_two_at_once_apply_each_file_once(empty_database_url: str, folder: Path) -> None:
    async def both(one: Any) -> tuple[tuple[str, ...], tuple[str, ...]]:
        other = await asyncpg.connect(empty_database_url)
        migrations = read_migrations(folder)
        first, second = await asyncio.gather(apply(one, migrations), apply(other, migrations))
        await other.close()
        return first, second

    first, second = run(empty_database_url, both)
    assert sorted(first + second) == ["0001_first", "0002_second"]


def test_sql_that_fails_leaves_nothing_behind_and_names_the_file(empty_database_url: str, folder: Path) -> None:
    write(folder, "0003_third", "CREATE TABLE third (id BIGINT PRIMARY KEY);\nCREATE TABEL fourth ();")
    with pytest.raises(MigrationFailed, match=r'(?s)0003_third\.sql.*nothing of it was kept.*"TABEL"'):
        apply_all(empty_database_url, folder)
    assert tables(empty_database_url) == {"dreamwalker_migrations", "things", "more"}
    write(folder, "0003_third", "CREATE TABLE third (id BIGINT PRIMARY KEY);")
    assert apply_all(empty_database_url, folder) == ("0003_third",)


def test_a_connection_is_out_of_the_transaction_after_a_failure(empty_database_url: str, folder: Path) -> None:
    write(folder, "0003_third", "SELECT 1 / 0;")

    async def fail_and_go_on(connection: Any) -> bool:
        with pytest.raises(MigrationFailed):
            await apply(connection, read_migrations(folder))
        in_transaction: bool = connection.is_in_transaction()
        return in_transaction

    assert run(empty_database_url, fail_and_go_on) is False


def test_a_file_that_commits_by_itself_is_refused(empty_database_url: str, folder: Path) -> None:
    path = write(folder, "0003_third", "CREATE TABLE third (id BIGINT PRIMARY KEY);\nCOMMIT;")
    with pytest.raises(BadMigration, match=rf"{path.name} must not end the transaction"):
        apply_all(empty_database_url, folder)


def test_a_file_numbered_below_one_that_was_applied_comes_too_late(empty_database_url: str, folder: Path) -> None:
    (folder / "0002_second.sql").rename(folder.parent / "aside")
    write(folder, "0003_third", "CREATE TABLE third (id BIGINT PRIMARY KEY);")
    apply_all(empty_database_url, folder)
    (folder.parent / "aside").rename(folder / "0002_second.sql")
    with pytest.raises(BadMigration, match=r"0002_second\.sql comes too late: .* already has 0003_third"):
        apply_all(empty_database_url, folder)


def test_an_empty_database_lacks_the_first_and_is_told_what_to_do(empty_database_url: str, folder: Path) -> None:
    with pytest.raises(MigrationMissing, match=r"0001_first\.sql.*dreamwalker migrate"):
        check_all(empty_database_url, folder)


def test_a_database_that_lacks_the_newest_is_told_its_name(empty_database_url: str, folder: Path) -> None:
    apply_all(empty_database_url, folder)
    write(folder, "0003_third", "CREATE TABLE third (id BIGINT PRIMARY KEY);")
    with pytest.raises(MigrationMissing, match=r"0003_third\.sql"):
        check_all(empty_database_url, folder)


def test_a_newer_database_is_fine_and_says_so(empty_database_url: str, folder: Path) -> None:
    newest = write(folder, "0003_third", "CREATE TABLE third (id BIGINT PRIMARY KEY);")
    apply_all(empty_database_url, folder)
    newest.unlink()
    assert check_all(empty_database_url, folder) == ("0003_third",)
    assert apply_all(empty_database_url, folder) == ()


@pytest.mark.parametrize(
    "name", ["003_short.sql", "00003_long.sql", "0003_Upper.sql", "0003.sql", "0003_third.sql.orig", "notes.txt", ".x"]
)
def test_anything_else_in_the_folder_is_refused_by_name(folder: Path, name: str) -> None:
    (folder / name).write_text("-- hello")
    with pytest.raises(BadMigration, match=rf"/{name} is no migration"):
        read_migrations(folder)


def test_a_folder_named_like_a_migration_is_none(folder: Path) -> None:
    (folder / "0003_third.sql").mkdir()
    with pytest.raises(BadMigration, match=r"0003_third\.sql is no migration"):
        read_migrations(folder)


def test_two_files_with_one_number_are_refused(folder: Path) -> None:
    write(folder, "0002_other", "SELECT 1;")
    with pytest.raises(BadMigration, match=r"0002_other\.sql and 0002_second\.sql have the same number"):
        read_migrations(folder)


def test_a_file_without_an_opening_comment_is_refused(folder: Path) -> None:
    (folder / "0003_third.sql").write_text(
        "SELECT 1;\nINSERT INTO dreamwalker_migrations (name) VALUES ('0003_third');"
    )
    with pytest.raises(BadMigration, match=r"0003_third\.sql must open with a comment"):
        read_migrations(folder)


@pytest.mark.parametrize("name", ["0003_other", "0004_third"])
def test_a_file_that_does_not_record_itself_is_refused(folder: Path, name: str) -> None:
    write(folder, name, "SELECT 1;").rename(folder / "0003_third.sql")
    with pytest.raises(BadMigration, match=r"0003_third\.sql must record itself.*VALUES \('0003_third'\);"):
        read_migrations(folder)


def test_a_file_that_is_not_text_is_refused(folder: Path) -> None:
    (folder / "0003_third.sql").write_bytes(b"-- \xff\xfe")
    with pytest.raises(BadMigration, match=r"0003_third\.sql is not UTF-8"):
        read_migrations(folder)


def test_a_folder_that_is_empty_or_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadMigration, match="no migrations in"):
        read_migrations(tmp_path)
    with pytest.raises(BadMigration, match="no folder of migrations"):
        read_migrations(tmp_path / "migrations")


def test_the_real_migrations_are_all_in_a_fresh_database(database_url: str) -> None:
    assert check_all(database_url, Path(__file__).parents[2] / "migrations") == ()
