"""What operations may ask for, and what becomes of it."""

import asyncio
from typing import Any

import pytest

from storage.errors import Duplicate, NotAsExpected, OverBudget, SchemaChangeRefused, StorageError, StoreClosed
from storage.operation import Bell, Commit, Read, Reader, Transaction, Write
from storage.text import dumps
from tests.storage.harness import ADD, Do, Rows, add, house, outside, rows

CHANGE = "UPDATE settings SET value = ?, no = :no WHERE name = ?"


async def test_a_composed_commit_does_all_of_its_writes(url: str) -> None:
    async with house(url) as writer:
        await writer.do(add(("a", "b")))
        done = await writer.do(
            Commit(
                (
                    Write(CHANGE, ("2", "a")),
                    Write("DELETE FROM settings WHERE name = ? AND no < :no", ("b",)),
                    Write("INSERT OR IGNORE INTO settings VALUES ('a', '3', :no);", expect=0),
                    Write(ADD + " RETURNING name -- with a remark", ("it's ?", '":no"')),
                    Write("UPDATE settings SET no = :no WHERE name > 'z'", expect=None),
                ),
                (Bell("rung", 7),),
            )
        )
        assert (done.value, done.no, done.bells) == (3, 3, (Bell("rung", 7),))
    assert await outside(url, "SELECT name, value, no FROM settings ORDER BY name") == [
        ("a", "2", 3),
        ("it's ?", '":no"', 3),
    ]


@pytest.mark.parametrize(
    ("write", "error", "said"),
    [
        (Write(CHANGE, ("2", "nobody"), what="the owner's run is open"), NotAsExpected, "the owner's run is open"),
        (Write(CHANGE, ("2", "nobody")), NotAsExpected, "update settings set value"),
        (Write(CHANGE, ("2", "nobody"), code="DW003", what="the day's limit"), OverBudget, "the day's limit"),
        (Write(CHANGE, ("2", "a"), expect=0, what="nobody is there"), NotAsExpected, "nobody is there"),
        (Write(ADD, ("a", "2")), Duplicate, "settings_pkey"),
        (Write(ADD, ("c", "not json")), Exception, "settings_value_check"),
    ],
)
@pytest.mark.parametrize("composed", [True, False], ids=["composed", "transaction"])
async def test_a_write_that_is_not_as_expected_undoes_the_whole_commit(
    url: str, write: Write, error: type[Exception], said: str, composed: bool
) -> None:
    writes = (Write(ADD, ("b", "1")), write)
    async with house(url) as writer:
        await writer.do(add(("a",)))
        with pytest.raises(error, match=said) as caught:
            await writer.do(Commit(writes) if composed else Do(lambda tx: tx.write(*writes)))
        assert not isinstance(caught.value, Duplicate) or caught.value.constraint == "settings_pkey"
        assert await rows(url) == [("a", 2)]
        assert (await writer.do(add(("c",)))).no == 3
        assert writer.connection.drops == 0


async def test_a_commit_of_nothing_renews_the_lease_and_takes_a_number(url: str) -> None:
    async with house(url) as writer:
        assert (await writer.do(Commit())).value == 2


async def test_the_wrong_number_of_parameters_is_told(url: str) -> None:
    async with house(url) as writer:
        with pytest.raises(TypeError, match="2 parameters expected, 1 given"):
            await writer.do(Commit((Write(ADD, ("a",)),)))
        with pytest.raises(TypeError, match="2 parameters expected, 3 given"):
            await writer.do(Do(lambda tx: tx.run(ADD, "a", "1", "2")))


def test_a_write_must_carry_its_number() -> None:
    with pytest.raises(ValueError, match="must carry its commit's number"):
        Write("DELETE FROM settings")


async def test_a_transaction_sees_what_it_did_and_returns_what_it_likes(url: str) -> None:
    async def perform(tx: Transaction) -> Any:
        assert await tx.run(ADD, "a", "1") == 1
        assert await tx.run("UPDATE settings SET no = :no WHERE name = 'nobody'") == 0
        assert await tx.get("SELECT name FROM settings WHERE name = ?", "nobody") is None
        tx.ring(Bell("inbox", 3))
        return tx.no, await tx.all("SELECT name, no FROM settings WHERE no = :no")

    async with house(url) as writer:
        done = await writer.do(Do(perform))
        assert done.value == (2, [{"name": "a", "no": 2}])
        assert done.bells == (Bell("inbox", 3),)


async def test_an_operations_own_error_undoes_it_and_comes_out_as_it_is(url: str) -> None:
    mine = KeyError("mine")

    async def fail(tx: Transaction) -> None:
        await tx.run(ADD, "a", "1")
        tx.ring(Bell("never"))
        raise mine

    async with house(url) as writer:
        with pytest.raises(KeyError) as caught:
            await writer.do(Do(fail))
        assert caught.value is mine
        assert (await writer.do(add(("b",)))).no == 2
        assert writer.connection.drops == 0
    assert await rows(url) == [("b", 2)]


async def test_an_operation_that_cancels_itself_is_undone_and_the_next_one_goes_on(url: str) -> None:
    async def cancel(tx: Transaction) -> None:
        await tx.run(ADD, "a", "1")
        raise asyncio.CancelledError

    async with house(url) as writer:
        with pytest.raises(asyncio.CancelledError):
            await writer.do(Do(cancel))
        assert (await writer.do(add(("b",)))).no == 2
    assert await rows(url) == [("b", 2)]


@pytest.mark.parametrize("yields", range(8))
@pytest.mark.parametrize("fails", [False, True])
async def test_an_operation_that_leaves_a_statement_behind_is_undone(url: str, yields: int, fails: bool) -> None:
    left: list[asyncio.Task[Any]] = []

    async def leave(tx: Transaction) -> None:
        await tx.run(ADD, "a", "1")
        left.append(asyncio.ensure_future(tx.run("UPDATE settings SET no = :no WHERE pg_sleep(0.1) IS NOT NULL")))
        for _ in range(1 + yields):
            await asyncio.sleep(0)
        if fails:
            raise KeyError("mine")

    async with house(url) as writer:
        await writer.do(add(("before",)))
        with pytest.raises(KeyError if fails else StorageError, match="mine" if fails else "left a statement behind"):
            await writer.do(Do(leave))
        assert (await writer.do(add(("b",)))).no == 3
        assert left[0].exception() is not None
    assert await rows(url) == [("before", 2), ("b", 3)]


async def test_an_operation_asks_one_thing_after_the_other(url: str) -> None:
    async def both_at_once(tx: Transaction) -> None:
        await asyncio.gather(tx.run(ADD, "a", "1"), tx.run(ADD, "b", "1"))

    async with house(url) as writer:
        with pytest.raises(StorageError, match="one statement after the other"):
            await writer.do(Do(both_at_once))
        assert (await writer.do(add(("c",)))).no == 2
    assert await rows(url) == [("c", 2)]


async def test_a_handle_that_was_kept_can_do_nothing(url: str) -> None:
    kept: list[Any] = []

    async def keep(tx: Transaction) -> None:
        kept.append(tx)

    class Keep(Read[None]):
        async def read(self, reader: Reader) -> None:
            kept.append(reader)

    async with house(url) as writer:
        await writer.do(Do(keep))
        await writer.do(Keep())
        for handle in kept:
            with pytest.raises(StoreClosed):
                await writer.bridge.call(lambda handle=handle: handle.all("SELECT 1"))


@pytest.mark.parametrize("sql", ["DELETE FROM settings", "SELECT * FROM settings FOR UPDATE", ADD + " RETURNING no"])
async def test_a_read_that_would_write_is_refused(url: str, sql: str) -> None:
    async with house(url) as writer:
        with pytest.raises(StorageError, match="a read changes nothing"):
            await writer.do(Rows(sql))


async def test_an_operation_that_would_change_the_schema_is_refused(url: str) -> None:
    async with house(url) as writer:
        with pytest.raises(SchemaChangeRefused, match="add a migration"):
            await writer.do(Do(lambda tx: tx.run("DROP TABLE settings")))
        with pytest.raises(ValueError, match="not a write"):
            await writer.do(Commit((Write("DROP TABLE settings -- :no :no", expect=None), Write("TABLE a -- :no"))))


# -- text that can't be stored


async def test_text_that_postgres_cannot_hold_is_replaced_visibly_and_counted(url: str) -> None:
    bad = "a\0b\ud800c\udfff"
    async with house(url) as writer:
        await writer.do(Commit((Write(ADD, (bad, dumps({"k\0": [bad, 1]}))),)))
        assert writer.connection.replaced == 3 + 4
        await writer.do(Do(lambda tx: tx.run(ADD, "b\0", "1")))
        assert writer.connection.replaced == 8
        await writer.do(
            Do(lambda tx: tx.run("DELETE FROM settings WHERE name = ANY(?) AND no < :no", ["b\ufffd", "\0"]))
        )
        assert writer.connection.replaced == 9
        with pytest.raises(Duplicate):
            await writer.do(add((bad,)))
        assert writer.connection.replaced == 9, "it was not committed"
    assert await outside(url, "SELECT name, value FROM settings") == [
        ("a\ufffdb\ufffdc\ufffd", '{"k\ufffd":["a\ufffdb\ufffdc\ufffd",1]}')
    ]


def test_json_that_can_be_stored_is_left_alone() -> None:
    value = {"b": ["ä\U0001f600", None, 1.5, True], "a": "\\u0000 \x01"}
    assert dumps(value) == '{"b":["ä\U0001f600",null,1.5,true],"a":"\\\\u0000 \\u0001"}'
    assert type(dumps({"a": "plain"})) is str
