"""What a database facade owes its callers, first as Pi Durable asks it of one, then what is our own."""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from pi_durable.context import BACKGROUND_CONTEXT as CONTEXT
from pi_durable.ids import ROOT_CONVERSATION_ID, DocumentId, EntryId
from pi_durable.storage.sqlite import SqliteStorage

from storage.errors import Duplicate, LeaseLost, RollbackFailed, SchemaChangeRefused, StorageError, StoreClosed
from storage.facade import Database
from storage.session import Session
from tests.proxy import PASS, Action, Fail, Request, open_proxy
from tests.storage import peer
from tests.storage.harness import ADD, house, no_check, outside

NAMES = "SELECT name FROM settings ORDER BY name"


async def using(url: str, body: Callable[[Database], Awaitable[None]]) -> None:
    """Run the body in asyncio, with an opened database that is closed in the end."""

    async def unit() -> None:
        database = await peer.open_database(url)
        try:
            await body(database)
        finally:
            await database.close()

    async with house(url, opened=False) as unopened:
        await unopened.bridge.call(unit)


def row(name: str) -> dict[str, str]:
    return {"name": name}


# -- what Pi Durable asks of a facade


async def test_a_statement_is_prepared_once_per_connection_and_used_again(url: str) -> None:
    prepared: Counter[str] = Counter()

    def count(request: Request) -> Action:
        if "P" in request.kinds:
            prepared[request.sql] += 1
        return PASS

    async with open_proxy(url) as proxy:
        proxy.on_request = count

        async def body(database: Database) -> None:
            for name in "abc":
                await database.run(ADD, name, "1")
                await database.get("SELECT value FROM settings WHERE name = ?", name)
            await database.transaction(lambda tx: tx.run(ADD, "d", "1"))
            with pytest.raises(Duplicate):
                await database.run(ADD, "a", "1")
            assert len(await database.all(NAMES)) == 4

        await using(proxy.url, body)
    assert set(prepared.values()) == {1}


async def test_what_is_done_through_the_handle_is_committed_and_closing_twice_does_no_harm(url: str) -> None:
    async def body(database: Database) -> None:
        await database.transaction(lambda tx: tx.run(ADD, "a", "1"))
        assert await database.get("SELECT value FROM settings") == {"value": "1"}
        await database.close()
        await database.close()

    await using(url, body)


async def test_a_script_runs_inside_a_transaction_and_is_undone_with_it(url: str) -> None:
    async def body(database: Database) -> None:
        await database.transaction(
            lambda tx: tx.exec(
                "INSERT INTO settings VALUES ('a', '1', :no); INSERT INTO settings VALUES ('b;', '2', :no);"
            )
        )
        assert await database.all(NAMES) == [row("a"), row("b;")]

        async def fail(tx: Session) -> None:
            await tx.exec("INSERT INTO settings VALUES ('c', '3', :no)")
            raise RuntimeError("roll the script back")

        with pytest.raises(RuntimeError, match="roll the script back"):
            await database.transaction(fail)
        assert await database.all(NAMES) == [row("a"), row("b;")]

    await using(url, body)


async def test_transactions_run_one_after_the_other(url: str) -> None:
    async def body(database: Database) -> None:
        started, go_on = asyncio.Event(), asyncio.Event()
        second_started = False

        async def first(tx: Session) -> None:
            await tx.run(ADD, "first", "1")
            started.set()
            await go_on.wait()

        async def second(tx: Session) -> None:
            nonlocal second_started
            second_started = True
            await tx.run(ADD, "second", "2")

        one = database.transaction(first)
        await started.wait()
        two = database.transaction(second)
        await asyncio.sleep(0)
        assert not second_started
        go_on.set()
        await asyncio.gather(one, two)
        assert await database.all("SELECT name FROM settings ORDER BY no") == [row("first"), row("second")]

    await using(url, body)


async def test_operations_run_in_the_order_they_are_asked_whether_at_once_or_later(url: str) -> None:
    async def body(database: Database) -> None:
        async def fail(tx: Session) -> None:
            await tx.run(ADD, "a", "1")
            raise RuntimeError("roll back")

        transaction = database.transaction(fail)
        before = database.all(NAMES)
        write = database.run(ADD, "b", "2")
        after = database.all(NAMES)
        with pytest.raises(RuntimeError, match="roll back"):
            await transaction
        assert await write == 1
        assert await before == []
        assert await after == [row("b")]

    await using(url, body)


async def test_what_is_asked_during_a_transaction_waits_for_its_end(url: str) -> None:
    async def body(database: Database) -> None:
        started, go_on = asyncio.Event(), asyncio.Event()

        async def blocked(tx: Session) -> None:
            await tx.run(ADD, "a", "1")
            started.set()
            await go_on.wait()

        pending = database.transaction(blocked)
        await started.wait()
        write = asyncio.ensure_future(database.exec("INSERT INTO settings VALUES ('b', '2', :no)"))
        read = asyncio.ensure_future(database.all(NAMES))
        await asyncio.sleep(0)
        assert not write.done()
        assert not read.done()
        go_on.set()
        await pending
        await write
        assert await read == [row("a"), row("b")]

    await using(url, body)


async def test_what_a_callback_asks_of_the_database_itself_waits_instead_of_joining_in(url: str) -> None:
    async def body(database: Database) -> None:
        outside_write: Awaitable[int] | None = None

        async def fail(tx: Session) -> None:
            nonlocal outside_write
            outside_write = database.run(ADD, "outside", "2")
            await tx.run(ADD, "inside", "1")
            raise RuntimeError("roll back")

        with pytest.raises(RuntimeError, match="roll back"):
            await database.transaction(fail)
        assert outside_write is not None
        await outside_write
        assert await database.all(NAMES) == [row("outside")]

    await using(url, body)


async def test_reads_that_were_let_in_end_before_a_storage_closes(url: str) -> None:
    async def unit() -> None:
        await peer.make_tables(url)
        storage = await peer.open_storage(url)
        entry: Any = {"id": EntryId(2), "conversationId": ROOT_CONVERSATION_ID, "kind": "probe"}
        conversation: Any = {"id": ROOT_CONVERSATION_ID}
        await storage.commit(
            [{"type": "conversation", "value": conversation}, {"type": "entry", "value": entry}], CONTEXT
        )
        scan = asyncio.ensure_future(storage.scan_entries({"conversationId": ROOT_CONVERSATION_ID}, 10, None, CONTEXT))
        found = asyncio.ensure_future(storage.entry(ROOT_CONVERSATION_ID, EntryId(2), CONTEXT))
        await asyncio.sleep(0)
        closed = storage.close(CONTEXT)
        assert (await scan)["items"] == [entry]
        assert await found == {"entry": entry, "commitSeq": 1}
        await closed
        with pytest.raises(RuntimeError, match="is closed"):
            await storage.scan_entries({"conversationId": ROOT_CONVERSATION_ID}, 10, None, CONTEXT)

    async with house(url, opened=False) as unopened:
        await unopened.bridge.call(unit)


async def test_a_handle_is_dead_after_its_callback(url: str) -> None:
    async def body(database: Database) -> None:
        kept: list[Session] = []

        async def good(tx: Session) -> None:
            kept.append(tx)
            await tx.run(ADD, "a", "1")

        async def bad(tx: Session) -> None:
            kept.append(tx)
            raise RuntimeError("roll back")

        await database.transaction(good)
        with pytest.raises(RuntimeError, match="roll back"):
            await database.transaction(bad)
        for handle in kept:
            with pytest.raises(StoreClosed, match="this transaction has ended"):
                await handle.run(ADD, "b", "2")
            with pytest.raises(StoreClosed, match="this transaction has ended"):
                await handle.exec("INSERT INTO settings VALUES ('c', '3', :no)")
            with pytest.raises(StoreClosed, match="this transaction has ended"):
                await handle.get(NAMES)
        assert await database.all(NAMES) == [row("a")]

    await using(url, body)


async def test_a_rollback_that_fails_is_not_passed_off_as_the_callbacks_error(url: str) -> None:
    async with open_proxy(url) as proxy:
        proxy.on_request = lambda request: Fail("XX000") if request.sql == "ROLLBACK" else PASS

        async def body(database: Database) -> None:
            async def fail(tx: Session) -> None:
                await tx.run(ADD, "a", "1")
                raise RuntimeError("the callback's own")

            with pytest.raises(RollbackFailed) as caught:
                await database.transaction(fail)
            assert isinstance(caught.value.__cause__, RuntimeError)
            assert await database.all(NAMES) == [], "the connection went, and the transaction with it"
            await database.run(ADD, "b", "1")

        await using(proxy.url, body)


async def test_a_storage_waits_for_settlement_and_adopts_ids_only_after_success(url: str) -> None:
    async def unit() -> None:
        await peer.make_tables(url)
        database: Any = _Settling(await peer.open_database(url))
        storage = await SqliteStorage.open(database, {"prefix": peer.PREFIX})

        def commit(number: int) -> "asyncio.Future[Any]":
            entry: Any = {"id": EntryId(number), "conversationId": ROOT_CONVERSATION_ID, "kind": "settled"}
            return asyncio.ensure_future(storage.commit([{"type": "entry", "value": entry}], CONTEXT))

        committing = commit(100)
        await database.reached.wait()
        assert await storage.mint_id() == 2
        assert not committing.done()
        database.settle(None)
        assert await committing == 1
        assert await storage.mint_id() == 101

        rejected = commit(200)
        await database.reached.wait()
        assert await storage.mint_id() == 102
        database.settle(RuntimeError("settled otherwise"))
        with pytest.raises(RuntimeError, match="settled otherwise"):
            await rejected
        assert await storage.mint_id() == 103
        assert await storage.entry(EntryId(200), CONTEXT) is None
        await storage.close(CONTEXT)

    async with house(url, opened=False) as unopened:
        await unopened.bridge.call(unit)


class _Settling:
    """Our facade, whose transactions, the opening's aside, settle when the test says so, and how."""

    def __init__(self, database: Database) -> None:
        self._database, self._openings = database, 1
        self.reached = asyncio.Event()
        self._settled: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._database, name)

    def settle(self, error: Exception | None) -> None:
        settled, self._settled = self._settled, asyncio.get_running_loop().create_future()
        self.reached.clear()
        if error is None:
            settled.set_result(None)
        else:
            settled.set_exception(error)

    def transaction(self, callback: Callable[[Session], Awaitable[Any]]) -> Awaitable[Any]:
        if self._openings:
            self._openings -= 1
            return self._database.transaction(callback)

        async def wrapped(tx: Session) -> Any:
            value = await callback(tx)
            self.reached.set()
            await self._settled
            return value

        return self._database.transaction(wrapped)


async def test_a_document_is_read_in_one_committed_state_while_a_commit_replaces_it(url: str) -> None:
    async def unit() -> None:
        await peer.make_tables(url)
        storage = await peer.open_storage(url)
        record: Any = {"id": DocumentId(5), "kind": "replaced", "scope": {"kind": "session"}}
        base: Any = {"kind": "base", "version": 1, "value": {"it": 0}}
        await storage.commit([{"type": "document.create", "record": record, "content": base}], CONTEXT)
        for yields in range(8):  # each starts the commit at another point of the read's queries
            read = asyncio.ensure_future(storage.document(DocumentId(5), "current", CONTEXT))
            for _ in range(yields):
                await asyncio.sleep(0)
            change: Any = {"kind": "base", "version": 1, "value": {"it": yields + 1}}
            replace = storage.commit([{"type": "document.change", "id": DocumentId(5), "content": change}], CONTEXT)
            stored, _ = await asyncio.gather(read, replace)
            assert stored is not None
            assert stored["value"] in ({"it": yields}, {"it": yields + 1})
        await storage.close(CONTEXT)

    async with house(url, opened=False) as unopened:
        await unopened.bridge.call(unit)


# -- what is our own


async def test_writes_are_numbered_and_reads_are_not(url: str) -> None:
    async def body(database: Database) -> None:
        assert await database.run(ADD, "a", "1") == 1
        await database.exec("INSERT INTO settings VALUES ('b', '1', :no); INSERT INTO settings VALUES ('c', '1', :no)")
        await database.all(NAMES)
        assert await database.get(ADD + " RETURNING no", "d", "1") == {"no": 4}
        await database.transaction(lambda tx: tx.all(NAMES))
        await database.run("UPDATE settings SET no = :no WHERE name = ?", "a")

    await using(url, body)
    assert await outside(url, "SELECT name, no FROM settings ORDER BY no, name") == [
        ("b", 3),
        ("c", 3),
        ("d", 4),
        ("a", 6),
    ]


async def test_a_single_write_goes_through_the_fence_too(url: str) -> None:
    async def body(database: Database) -> None:
        await (await peer.open_database(url)).close()
        for write in (
            lambda: database.run(ADD, "a", "1"),
            lambda: database.get(ADD + " RETURNING name", "a", "1"),
            lambda: database.exec("INSERT INTO settings VALUES ('a', '1', :no)"),
            lambda: database.transaction(lambda tx: tx.all(NAMES)),
        ):
            with pytest.raises(LeaseLost):
                await write()
        assert await database.all(NAMES) == [], "reading needs no lease"

    await using(url, body)


async def test_a_script_that_fails_midway_leaves_nothing(url: str) -> None:
    async def body(database: Database) -> None:
        with pytest.raises(Duplicate):
            await database.exec("INSERT INTO settings VALUES ('a', '1', :no);" * 2)
        assert await database.all(NAMES) == []

    await using(url, body)


@pytest.mark.parametrize(
    "statement",
    [
        "CREATE TABLE other (a BIGINT)",
        "CREATE TABLE IF NOT EXISTS other (a BIGINT)",
        "ALTER TABLE settings ADD other BIGINT",
        "DROP TABLE settings",
        "SELECT 1 AS a INTO other",
        "/* nothing to see */ CREATE INDEX other ON settings (no)",
    ],
)
async def test_a_change_of_the_schema_is_refused_and_told_where_to_go(url: str, statement: str) -> None:
    async def body(database: Database) -> None:
        for ask in (database.exec, database.run, database.get, database.all):
            with pytest.raises(SchemaChangeRefused, match="migrations/"):
                await ask(statement)
        with pytest.raises(SchemaChangeRefused, match="migrations/"):
            await database.transaction(lambda tx: tx.exec(statement))

    await using(url, body)


async def test_making_what_exists_unless_it_exists_does_nothing(url: str) -> None:
    async def body(database: Database) -> None:
        await database.exec("CREATE TABLE IF NOT EXISTS settings (other INTEGER) STRICT")
        await database.run('CREATE TABLE IF NOT EXISTS public."settings" (other INTEGER)')
        await database.transaction(lambda tx: tx.exec("CREATE INDEX IF NOT EXISTS entries_changed ON entries (no); "))

    await using(url, body)


@pytest.mark.parametrize("statement", ["COMMIT", "ROLLBACK", "BEGIN", "SET lock_timeout = 1", "SAVEPOINT a"])
async def test_a_callback_cannot_end_its_transaction_by_itself(url: str, statement: str) -> None:
    async def body(database: Database) -> None:
        async def escape(tx: Session) -> None:
            await tx.run(ADD, "a", "1")
            await tx.exec(statement)

        with pytest.raises(StorageError, match="not a query and not a change of rows"):
            await database.transaction(escape)
        assert await database.all(NAMES) == []

    await using(url, body)


async def test_two_statements_are_not_slipped_in_as_one(url: str) -> None:
    async def body(database: Database) -> None:
        with pytest.raises(ValueError, match="one statement at a time"):
            await database.run("SELECT 1; DELETE FROM settings")
        with pytest.raises(ValueError, match="one statement at a time"):
            await database.transaction(lambda tx: tx.run("SELECT 1; DELETE FROM settings"))

    await using(url, body)


async def test_values_come_back_as_they_went_in(url: str) -> None:
    async def body(database: Database) -> None:
        assert await database.get("SELECT ?::bigint AS it", 2**62) == {"it": 2**62}
        assert await database.get("SELECT count(*) AS it FROM settings") == {"it": 0}
        assert await database.get("SELECT 1 AS it WHERE false") is None
        await database.run("INSERT OR IGNORE INTO settings (name, value, no) VALUES (?, ?, :no)", "ä?", '"\U0001f600"')
        assert await database.run("INSERT OR IGNORE INTO settings VALUES (?, ?, :no)", "ä?", "2") == 0
        assert await database.all("SELECT name, value FROM settings") == [{"name": "ä?", "value": '"\U0001f600"'}]
        with pytest.raises(TypeError, match="1 parameters expected, 2 given"):
            await database.get("SELECT ?::bigint AS it", 1, 2)

    await using(url, body)


async def test_after_closing_every_operation_is_refused(url: str) -> None:
    async def body(database: Database) -> None:
        last = database.run(ADD, "a", "1")
        closed = database.close()
        late = database.run(ADD, "b", "1")
        assert await last == 1
        await closed
        for refused in (
            late,
            database.run(ADD, "b", "1"),
            database.get(NAMES),
            database.all(NAMES),
            database.exec("SELECT 1"),
            database.transaction(lambda tx: tx.run(ADD, "b", "1")),
        ):
            with pytest.raises(StoreClosed):
                await refused

    await using(url, body)
    assert await outside(url, NAMES) == [("a",)]


async def test_a_caller_that_is_cancelled_leaves_what_it_asked_for_to_end_by_itself(url: str) -> None:
    async def body(database: Database) -> None:
        started, go_on = asyncio.Event(), asyncio.Event()

        async def slow(tx: Session) -> None:
            await tx.run(ADD, "a", "1")
            started.set()
            await go_on.wait()
            await tx.run(ADD, "b", "1")

        async def ask() -> None:
            await database.transaction(slow)

        caller = asyncio.ensure_future(ask())
        await started.wait()
        caller.cancel()
        with pytest.raises(asyncio.CancelledError):
            await caller
        go_on.set()
        assert await database.all(NAMES) == [row("a"), row("b")]

    await using(url, body)


async def test_opening_takes_the_lease_and_closing_gives_it_up(url: str) -> None:
    async def body(database: Database) -> None:
        connection = database._connection
        await connection.open(no_check)
        assert connection.commit_no == 2

    await using(url, body)
    assert await outside(url, "SELECT holder, expires_at <= clock_timestamp() FROM dreamwalker_lease") == [("", True)]
