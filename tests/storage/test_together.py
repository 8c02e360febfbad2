"""Commits that wait together are one transaction: all of them happen, each with its own number, or none does."""

import struct
from typing import Any
from urllib.parse import urlsplit

import pytest
import trio
import trio.testing
import trio_asyncio

from storage import lease
from storage.connection import Bridge
from storage.errors import LeaseLost, NotAsExpected
from storage.operation import Bell, Commit, Done, Together, Write
from storage.queue import TOGETHER_CHARACTERS
from tests.proxy import CUT_AFTER, CUT_BEFORE, FREEZE, LATE, Action, Fail, open_proxy
from tests.storage.harness import ADD, Rows, Script, add, house, outside, rows
from tests.wires import dial

_GREET = "UPDATE settings SET value = '2', no = :no WHERE name = ?"


def several(prefix: str) -> Together:
    """Three commits of two rows."""
    return Together(tuple(add(tuple(prefix + name for name in names)) for names in ("ab", "cd", "ef")))


async def test_each_has_a_number_and_bells_of_its_own_and_all_are_one_request(url: str) -> None:
    async with open_proxy(url) as proxy, house(proxy.url) as writer:
        await writer.do(several("warm "))
        script = proxy.on_request = Script()
        done = await writer.do(several(""))
        assert [one.no for one in done.value] == [5, 6, 7] and done.no == writer.connection.commit_no == 7
        assert [one.bells for one in done.value] == [tuple(map(Bell, names)) for names in ("ab", "cd", "ef")]
        assert [request.kinds for request in script.seen] == ["BEBEBES"]
        assert (await rows(url))[-6:] == [("a", 5), ("b", 5), ("c", 6), ("d", 6), ("e", 7), ("f", 7)]


async def test_one_that_is_not_as_expected_undoes_them_all(url: str) -> None:
    async with house(url) as writer:
        await writer.do(add(("Anna", "Bob")))
        with pytest.raises(NotAsExpected):
            await writer.do(Together(tuple(Commit((Write(_GREET, (name,)),)) for name in ("Anna", "nobody", "Bob"))))
        assert await rows(url) == [("Anna", 2), ("Bob", 2)]
        assert (await writer.do(add(("c",)))).no == 3


async def test_a_holder_that_was_replaced_commits_none(url: str) -> None:
    async with house(url) as writer:
        await outside(url, "UPDATE dreamwalker_lease SET holder = 'another'")
        with pytest.raises(LeaseLost):
            await writer.do(several(""))
        assert await rows(url) == []


@pytest.mark.slow
@pytest.mark.parametrize(
    ("fate", "options"),
    [
        (CUT_BEFORE, {}),
        (CUT_AFTER, {}),
        (Fail("40001"), {}),
        (FREEZE, {"silent_seconds": 0.1}),
        (LATE, {"transaction_seconds": 0.2}),
    ],
    ids=["lost before", "lost after", "undone", "silent", "late"],
)
async def test_whatever_happens_at_any_place_they_are_committed_once(
    url: str, fate: Action, options: dict[str, Any]
) -> None:
    async with open_proxy(url) as proxy, house(proxy.url, **options) as writer:
        place, expected = 0, []
        while True:
            place += 1
            proxy.cut_all()
            await writer.do(Rows())
            script = proxy.on_request = Script({place: fate})
            done = await writer.do(several(f"{place:03}-"))
            first = 3 * place - 1
            assert done.no == first + 2
            expected += [
                (f"{place:03}-{name}", first + at) for at, names in enumerate(("ab", "cd", "ef")) for name in names
            ]
            assert await rows(url) == expected
            if len(script.seen) < place:
                break
    assert place == 3  # preparing, and the one request


async def test_a_holder_that_stops_between_two_of_them_is_ended_by_the_database(url: str) -> None:
    async with house(url) as writer:
        await writer.do(add(("before",)))
        holder = writer.connection.holder
    await outside(url, "UPDATE dreamwalker_lease SET holder = $1, commit_no = 2", holder)
    text, _ = lease.compose(add(("lost",)).statement, 0.2)
    with await dial(url) as raw:
        raw.settimeout(10)
        database = urlsplit(url).path[1:].encode()
        raw.sendall(_sized(b"\0\3\0\0user\0postgres\0database\0" + database + b"\0\0"))
        values = [holder, "2", "60", "lost", "1"]
        bound = b"".join(struct.pack("!i", len(value)) + value.encode() for value in values)
        raw.sendall(b"P" + _sized(b"\0" + text.encode() + b"\0\0\0"))
        raw.sendall(b"B" + _sized(b"\0\0\0\0" + struct.pack("!h", len(values)) + bound + b"\0\0"))
        raw.sendall(b"E" + _sized(b"\0\0\0\0\0") + b"H" + _sized(b""))  # and no Sync: another one may follow
        heard = b""
        while chunk := raw.recv(65536):
            heard += chunk
    assert b"SELECT 1" in heard and b"25P04" in heard  # it was carried out, and then undone: transaction timeout
    assert await rows(url) == [("before", 2)]


def _sized(message: bytes) -> bytes:
    return struct.pack("!i", len(message) + 4) + message


# -- who goes together


async def gathered(*commits: Commit) -> list[tuple[int, ...]]:
    """The conversations of the commits that go together, when all of them wait."""
    went: list[tuple[int, ...]] = []
    go_on = trio.Event()

    async def together(commits: tuple[Commit, ...]) -> tuple[Done[int], ...]:
        went.append(tuple(commit.conversation for commit in commits))
        return tuple(Done(value=0) for _ in commits)

    bridge = Bridge(together)

    async def ask(commit: Commit) -> None:
        async def alone() -> None:
            went.append((commit.conversation,))

        await bridge.call(alone, commit)

    async with trio.open_nursery() as nursery:
        await nursery.start(bridge.run)
        async with trio.open_nursery() as callers:
            callers.start_soon(bridge.call, trio_asyncio.trio_as_aio(go_on.wait))
            for commit in commits:
                await trio.testing.wait_all_tasks_blocked()
                callers.start_soon(ask, commit)
            await trio.testing.wait_all_tasks_blocked()
            go_on.set()
        bridge.stop()
    return went


def about(conversation: int, text: str = "", sql: str = ADD) -> Commit:
    return Commit((Write(sql, ("name", text)),), conversation=conversation)


async def test_commits_about_different_conversations_go_together() -> None:
    assert await gathered(about(1), about(2), about(3)) == [(1, 2, 3)]


async def test_two_about_one_conversation_keep_their_order() -> None:
    assert await gathered(about(1), about(2), about(1), about(3)) == [(1, 2), (1, 3)]


async def test_those_of_other_statements_come_next() -> None:
    other = ADD + " "
    went = await gathered(about(1), about(2, sql=other), about(3), about(4, sql=other), about(0), about(5))
    assert went == [(1, 3), (2, 4), (0,), (5,)]


async def test_one_that_is_about_none_goes_alone() -> None:
    assert await gathered(about(0), about(1), about(2), about(0), about(3)) == [(0,), (1, 2), (0,), (3,)]


async def test_so_much_text_goes_together_and_no_more() -> None:
    half = "x" * (TOGETHER_CHARACTERS // 2 + 1)
    assert await gathered(about(1, half), about(2, half), about(3, half), about(4)) == [(1, 2), (3, 4)]
