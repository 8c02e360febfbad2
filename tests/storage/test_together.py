"""Commits that wait together are one transaction: all of them happen, each with its own number, or none does."""

from typing import Any

import pytest
import trio
import trio.testing
import trio_asyncio

from storage.connection import TOGETHER_CHARACTERS, Bridge
from storage.errors import LeaseLost, NotAsExpected
from storage.operation import Bell, Commit, Done, Together, Write
from tests.proxy import CUT_AFTER, CUT_BEFORE, FREEZE, LATE, Action, Fail, open_proxy
from tests.storage.harness import ADD, Rows, Script, add, house, outside, rows

_NOBODY = Write("UPDATE settings SET value = ?, no = :no WHERE name = 'nobody'", ("2",))


def several(prefix: str) -> Together:
    """Four commits of two shapes."""
    return Together(tuple(add(tuple(prefix + name for name in names)) for names in ("a", "bc", "d", "ef")))


async def test_each_has_a_number_and_bells_of_its_own(url: str) -> None:
    async with open_proxy(url) as proxy, house(proxy.url) as writer:
        await writer.do(several("warm "))
        script = proxy.on_request = Script()
        done = await writer.do(several(""))
        assert [one.no for one in done.value] == [6, 8, 7, 9] and done.no == writer.connection.commit_no == 9
        assert [one.bells for one in done.value] == [
            tuple(Bell(name) for name in names) for names in ("a", "bc", "d", "ef")
        ]
        assert [(request.kinds.count("E"), request.sql[:5]) for request in script.seen] == [
            (0, "BEGIN"),
            (2, "WITH "),
            (2, "WITH "),
            (0, "COMMI"),
        ]
        assert (await rows(url))[-6:] == [("a", 6), ("d", 7), ("b", 8), ("c", 8), ("e", 9), ("f", 9)]


async def test_one_that_is_not_as_expected_undoes_them_all(url: str) -> None:
    async with house(url) as writer:
        with pytest.raises(NotAsExpected):
            await writer.do(Together((add(("a",)), Commit((_NOBODY,)), add(("b",)))))
        assert await rows(url) == []
        assert (await writer.do(add(("c",)))).no == 2


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
            first = 4 * place - 2
            assert done.no == first + 3
            expected += [
                (f"{place:03}-{name}", first + at) for at, names in enumerate(("a", "d", "bc", "ef")) for name in names
            ]
            assert await rows(url) == expected
            if len(script.seen) < place:
                break
    assert place > 6


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


def about(conversation: int, text: str = "") -> Commit:
    return Commit((Write(ADD, ("name", text)),), conversation=conversation)


async def test_commits_about_different_conversations_go_together() -> None:
    assert await gathered(about(1), about(2), about(3)) == [(1, 2, 3)]


async def test_two_about_one_conversation_keep_their_order() -> None:
    assert await gathered(about(1), about(2), about(1), about(3)) == [(1, 2), (1, 3)]


async def test_one_that_is_about_none_goes_alone() -> None:
    assert await gathered(about(0), about(1), about(2), about(0), about(3)) == [(0,), (1, 2), (0,), (3,)]


async def test_so_much_text_goes_together_and_no_more() -> None:
    half = "x" * (TOGETHER_CHARACTERS // 2 + 1)
    assert await gathered(about(1, half), about(2, half), about(3, half), about(4)) == [(1, 2), (3, 4)]
