"""Portable SQL becomes Postgres's, and nothing inside quotes or comments is touched."""

import asyncpg
import pytest
import trio_asyncio
from hypothesis import given
from hypothesis import strategies as st

from storage import lease
from storage.sql import pieces, split, translate


def postgres(sql: str) -> str:
    return translate(sql).text


def test_placeholders_are_numbered_in_order() -> None:
    assert postgres("SELECT ? WHERE a = ? AND b IN (?, ?)") == "SELECT $1 WHERE a = $2 AND b IN ($3, $4)"
    assert translate("SELECT ?, ?").parameters == 2


@pytest.mark.parametrize(
    "untouched",
    [
        "SELECT '?'",
        "SELECT 'it''s ? and :no'",
        "SELECT ''",
        r"SELECT 'C:\', '?'",
        r"SELECT E'it\'s ?', e'\\', E'a''?'",
        "SELECT E'a\\'?'\n  '\\'?'",
        'SELECT "what?" FROM "a""?"',
        "SELECT $$ ? '?' $$",
        "SELECT $tag$ ? $$ ? $tag$",
        "SELECT $ä$ ? $ä$",
        "SELECT 1 -- ?\n, 2",
        "SELECT 1 /* ? /* nested ? */ still ? */ + 2",
        "SELECT U&'d\\0061t?' , B'01', X'ff', N'?'",
        "SELECT date'2026-11-29', a$b, x::numeric, y::note, z :: text",
        "SELECT 'unfinished ?",
        "SELECT $x$ unfinished ?",
    ],
)
def test_what_is_quoted_or_a_remark_stays_as_it_is(untouched: str) -> None:
    assert postgres(untouched) == untouched
    assert translate(untouched).slots == ()


@pytest.mark.parametrize(
    ("portable", "expected"),
    [
        ("SELECT '?', ?", "SELECT '?', $1"),
        (r"SELECT E'\'', ?", r"SELECT E'\'', $1"),
        (r"SELECT type'\', ?", r"SELECT type'\', $1"),
        ("SELECT $$a$$||?", "SELECT $$a$$||$1"),
        ("SELECT a$1, ?", "SELECT a$1, $1"),
        ("SELECT ?::text, '::'", "SELECT $1::text, '::'"),
        ("SELECT 1/* a */+?", "SELECT 1/* a */+$1"),
        ("SELECT ? --'\n, ?", "SELECT $1 --'\n, $2"),
        ("SELECT ?; -- done", "SELECT $1"),
    ],
)
def test_placeholders_beside_quotes_are_found(portable: str, expected: str) -> None:
    assert postgres(portable) == expected


def test_the_commit_number_takes_a_slot_of_its_own_or_is_written_out() -> None:
    statement = translate("UPDATE t SET no = :no, a = ? WHERE b = ':no' AND c < :no")
    assert statement.text == "UPDATE t SET no = $1::bigint, a = $2 WHERE b = ':no' AND c < $3::bigint"
    assert statement.slots == (False, True, False)
    assert translate("UPDATE t SET no = :no, a = ?", first=4, number="(n)").text == "UPDATE t SET no = (n), a = $4"
    assert postgres("SELECT a::note, b:nothing") == "SELECT a::note, b:nothing"


@pytest.mark.parametrize(
    ("portable", "expected"),
    [
        ("INSERT OR IGNORE INTO t VALUES (?)", "INSERT INTO t VALUES ($1)\nON CONFLICT DO NOTHING"),
        ("insert or ignore into t values (1);", "insert into t values (1)\nON CONFLICT DO NOTHING"),
        ("INSERT OR IGNORE INTO t VALUES (1) -- one", "INSERT INTO t VALUES (1)\nON CONFLICT DO NOTHING"),
        (
            "INSERT OR IGNORE INTO t VALUES (?) RETURNING id",
            "INSERT INTO t VALUES ($1) \nON CONFLICT DO NOTHING RETURNING id",
        ),
        (
            "INSERT /* so */ OR IGNORE INTO t VALUES ('RETURNING')",
            "INSERT INTO t VALUES ('RETURNING')\nON CONFLICT DO NOTHING",
        ),
        (
            "WITH w AS (INSERT OR IGNORE INTO t SELECT (a) FROM u) SELECT ?",
            "WITH w AS (INSERT INTO t SELECT (a) FROM u\nON CONFLICT DO NOTHING ) SELECT $1",
        ),
        ("INSERT INTO t VALUES ('INSERT OR IGNORE INTO')", "INSERT INTO t VALUES ('INSERT OR IGNORE INTO')"),
    ],
)
def test_insert_or_ignore_does_nothing_on_a_conflict(portable: str, expected: str) -> None:
    assert postgres(portable) == expected


@pytest.mark.parametrize(
    ("kind", "sql"),
    [
        ("read", "SELECT 1"),
        ("read", "(SELECT 'DELETE') UNION VALUES (1)"),
        ("read", "/* INSERT */ WITH a AS (SELECT 1) TABLE a"),
        ("read", 'SELECT "into" FROM t'),
        ("write", "insert into t values (1)"),
        ("write", "WITH a AS (DELETE FROM t RETURNING b) SELECT * FROM a"),
        ("write", "SELECT a FROM t FOR UPDATE"),
        ("write", "EXPLAIN ANALYZE DELETE FROM t"),
        ("write", "MERGE INTO t USING u ON a = b WHEN MATCHED THEN DELETE"),
        ("schema", "CREATE TABLE t (a BIGINT)"),
        ("schema", "-- harmless\ndrop table t"),
        ("schema", "ALTER TABLE t ADD b BIGINT"),
        ("schema", "SELECT 1 INTO t"),
        ("schema", "WITH a AS (INSERT INTO u VALUES (1) RETURNING b) SELECT b INTO t FROM a"),
        ("other", "COMMIT"),
        ("other", "SET search_path = x"),
        ("other", "DO $$ BEGIN END $$"),
        ("other", "PRAGMA journal_mode"),
        ("other", "-- nothing"),
        ("other", ""),
    ],
)
def test_statements_are_told_apart(kind: str, sql: str) -> None:
    assert translate(sql).kind == kind


@pytest.mark.parametrize(
    ("sql", "name"),
    [
        ("CREATE TABLE IF NOT EXISTS t (a BIGINT) STRICT", "t"),
        ('create unlogged table if not exists my . "T" (a)', 'my."T"'),
        ("CREATE UNIQUE INDEX IF NOT EXISTS i ON t (a)", "i"),
        ("CREATE /* maybe */ TABLE IF NOT EXISTS t (a)", "t"),
        ("CREATE TABLE t (a TEXT DEFAULT 'IF NOT EXISTS x')", None),
        ("DROP TABLE IF EXISTS t", None),
        ("CREATE TABLE IF NOT EXISTS", None),
    ],
)
def test_the_name_of_what_is_made_unless_it_exists_is_known(sql: str, name: str | None) -> None:
    assert translate(sql).absent == name


def test_a_script_is_split_at_its_semicolons_alone() -> None:
    script = "INSERT INTO t VALUES (';'); -- a; b\n;/* ; */ SELECT $$;$$ ;\n"
    assert split(script) == ("INSERT INTO t VALUES (';')", "/* ; */ SELECT $$;$$ ")


def test_two_statements_are_not_one() -> None:
    with pytest.raises(ValueError, match="one statement at a time"):
        translate("SELECT 1; DROP TABLE t")


def test_a_composed_write_that_is_none_is_refused() -> None:
    with pytest.raises(ValueError, match="not a write"):
        lease.compose((("SELECT :no", 1, "DW002", ""),))


@pytest.mark.parametrize(
    ("given_url", "url"),
    [
        ("postgresql:///db?host=/tmp&user=u", "postgresql:///db?host=/tmp&user=u"),
        ("postgres://u:p%3F@h/db?sslmode=require&channel_binding=require", "postgres://u:p%3F@h/db?sslmode=require"),
        ("postgres://u@h/db?connect_timeout=10", "postgres://u@h/db"),
        ("postgres://u@h/db", "postgres://u@h/db"),
    ],
)
def test_what_only_libpq_knows_is_left_out_of_the_address(given_url: str, url: str) -> None:
    assert lease.connectable(given_url) == (url, False)


def test_a_pooler_is_known_by_its_name() -> None:
    assert lease.connectable("postgres://u@ep-1-pooler.eu.example/db") == (
        "postgres://u@ep-1-pooler.eu.example/db",
        True,
    )


anything = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"))
fragments = st.lists(
    st.sampled_from(["?", ":no", "'", '"', "$$", "$a$", "--", "/*", "*/", "\\", ";", "E", "x", " ", "\n"])
)


@given(anything | fragments.map("".join))
def test_taken_apart_and_put_together_again_it_is_the_same_text(text: str) -> None:
    assert "".join(piece.text for piece in pieces(text)) == text


@given(st.lists(anything | fragments.map("".join), min_size=1, max_size=3), st.sampled_from("'\"E$-*"))
def test_whatever_stands_inside_quotes_is_untouched(texts: list[str], quote: str) -> None:
    quoted = [_quoted(text, quote) for text in texts]
    assert postgres("SELECT ?, " + ", ".join(quoted) + ", ?") == "SELECT $1, " + ", ".join(quoted) + ", $2"


def _quoted(text: str, quote: str) -> str:
    match quote:
        case "'":
            return "'" + text.replace("'", "''") + "'"
        case '"':
            return '"' + text.replace('"', '""') + '"'
        case "E":
            return "E'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
        case "$":
            return "$q$" + _without(text, "$") + "$q$"
        case "-":
            return "--" + _without(text, "\n", "\r") + "\n1"
    return "/* " + _without(text, "*") + " */1"


def _without(text: str, *unwanted: str) -> str:
    for part in unwanted:
        text = text.replace(part, "")
    return text


async def test_postgres_reads_quotes_as_we_do(database_url: str) -> None:
    texts = ["it's ?", "\\", "\\'", ":no", "--", "/* ?", "a\n'b", '"', "';'", "E'"]

    async def ask() -> list[list[str]]:
        raw = await asyncpg.connect(database_url)
        rows = [
            list(await raw.fetchrow(translate("SELECT " + ", ".join(_quoted(t, q) for t in texts)).text)) for q in "'E$"
        ]
        await raw.close()
        return rows

    async with trio_asyncio.open_loop():
        assert await trio_asyncio.aio_as_trio(ask)() == [texts] * 3
