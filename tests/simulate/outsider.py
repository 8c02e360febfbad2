"""The tests' own connection to a database under simulation, and the audit that it keeps of everybody else's.

One rule: the audit is made of triggers, so that it sees what was written whoever wrote it and however. Each process
names itself in its connection string (`application_name`), which is how a row is traced to one.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import asyncpg
import trio
import trio_asyncio

Row = dict[str, Any]

_AUDIT = """
CREATE SCHEMA audit;
CREATE TABLE audit.writes (
    at BIGSERIAL PRIMARY KEY, tab TEXT, op TEXT, no BIGINT, app TEXT, xid BIGINT, commit_no BIGINT, fact JSONB
);
CREATE TABLE audit.leases (
    at BIGSERIAL PRIMARY KEY, commit_no BIGINT, holder TEXT, generation TEXT, app TEXT, xid BIGINT,
    was_no BIGINT, was_holder TEXT, was_generation TEXT, was_over BOOLEAN, left_seconds FLOAT8,
    renewed BOOLEAN
);
CREATE FUNCTION audit.write() RETURNS TRIGGER LANGUAGE plpgsql AS $$
DECLARE fact JSONB := to_jsonb(CASE TG_OP WHEN 'DELETE' THEN OLD ELSE NEW END);
BEGIN
    INSERT INTO audit.writes (tab, op, no, app, xid, commit_no, fact) VALUES (TG_TABLE_NAME, TG_OP,
        (fact->>'no')::bigint, current_setting('application_name'), pg_current_xact_id()::text::bigint,
        (SELECT commit_no FROM dreamwalker_lease), fact);
    RETURN NULL;
END $$;
CREATE FUNCTION audit.lease() RETURNS TRIGGER LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO audit.leases
        (commit_no, holder, generation, app, xid, was_no, was_holder, was_generation, was_over, left_seconds, renewed)
    VALUES (NEW.commit_no, NEW.holder, NEW.generation, current_setting('application_name'),
        pg_current_xact_id()::text::bigint, OLD.commit_no, OLD.holder, OLD.generation,
        OLD.expires_at <= clock_timestamp(), extract(epoch FROM NEW.expires_at - clock_timestamp()),
        NEW.expires_at > OLD.expires_at);
    RETURN NULL;
END $$;
CREATE TRIGGER audit AFTER UPDATE ON dreamwalker_lease FOR EACH ROW EXECUTE FUNCTION audit.lease();
"""
_NUMBERED = """
SELECT table_name AS name FROM information_schema.columns
WHERE table_schema = 'public' AND column_name = 'no' ORDER BY table_name
"""
_WATCH = "CREATE TRIGGER audit AFTER INSERT OR UPDATE OR DELETE ON {} FOR EACH ROW EXECUTE FUNCTION audit.write()"
_FREE = """
UPDATE dreamwalker_lease SET holder = '', generation = '', commit_no = 0, expires_at = '1970-01-01 00:00:00+00';
"""
_HOLDER = """
SELECT holder = '' OR expires_at <= clock_timestamp() AS free,
    (SELECT app FROM audit.leases WHERE holder = l.holder ORDER BY at LIMIT 1) AS app
FROM dreamwalker_lease l
"""
_OTHERS = """
SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()
"""
_RUN_OUT = """
UPDATE dreamwalker_lease SET expires_at = clock_timestamp() - interval '1 second'
WHERE id = (SELECT id FROM dreamwalker_lease WHERE id = 1 FOR UPDATE SKIP LOCKED) RETURNING id
"""


class Outsider:
    """Sees everything, is seen by nobody: its own writes are not audited."""

    def __init__(self, raw: Any, loop: Any) -> None:
        self._raw, self._loop, self._line = raw, loop, trio.Lock()
        self.tables: tuple[str, ...] = ()
        """The tables whose rows carry numbers."""

    async def rows(self, sql: str, *params: Any) -> list[Row]:
        """What a query finds."""
        (rows,) = await self.all((sql, *params))
        return rows

    async def all(self, *queries: tuple[Any, ...]) -> list[list[Row]]:
        """What each of several queries finds, one after the other: SQL and what it is given."""
        async with self._line:
            return await self._aio(self._fetch)(queries)  # type: ignore[no-any-return]

    async def _fetch(self, queries: tuple[tuple[Any, ...], ...]) -> list[list[Row]]:
        return [[dict(row) for row in await self._raw.fetch(*query)] for query in queries]

    async def run(self, script: str) -> None:
        """Carry out a script."""
        async with self._line:
            await self._aio(self._raw.execute)(script)

    def _aio(self, function: Any) -> Any:
        """In our own loop, whoever calls: a task that a life started would bring its own."""
        return trio_asyncio.aio_as_trio(function, loop=self._loop)

    async def set_up(self) -> None:
        """Put triggers on every numbered table."""
        await self.run("SET session_replication_role = replica")
        self.tables = tuple(row["name"] for row in await self.rows(_NUMBERED))
        await self.run(_AUDIT + ";\n".join(_WATCH.format(name) for name in self.tables))

    async def empty(self) -> None:
        """Make the database as good as new: no rows, no sessions, a free lease."""
        await self.run(_OTHERS)
        tables = (*reversed(self.tables), "audit.writes", "audit.leases")
        await self.run("".join(f"DELETE FROM {name};" for name in tables) + _FREE)

    async def holder(self) -> str | None:
        """The process that has the lease, None if it is free."""
        (lease,) = await self.rows(_HOLDER)
        return lease["app"] if not lease["free"] else None

    async def let_lease_run_out(self) -> None:
        """As if its time had passed. Waits for its row: whoever was frozen with it is ended by the database."""
        while not await self.rows(_RUN_OUT):
            await trio.sleep(0.02)


@asynccontextmanager
async def open_outsider(dsn: str) -> AsyncIterator[Outsider]:
    """A connection of the tests' own, past everything under test."""
    async with trio_asyncio.open_loop() as loop:
        raw = await trio_asyncio.aio_as_trio(asyncpg.connect)(dsn)
        try:
            yield Outsider(raw, loop)
        finally:
            with trio.CancelScope(shield=True):
                await trio_asyncio.aio_as_trio(raw.close)()
