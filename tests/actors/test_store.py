"""The storage's own life, apart from what is asked of it."""

from typing import Any

import pytest
import trio
import trio.testing

from actors.store import Store, StoreSettings
from storage.connection import Options
from storage.errors import NotAsExpected
from storage.operation import Bell, Commit, Write


async def _no_check(raw: Any) -> None:
    """The template database is migrated already."""


@pytest.mark.parametrize("steps", range(12))
async def test_one_that_is_cut_short_at_any_moment_of_its_opening_ends(database_url: str, steps: int) -> None:
    options = Options(dsn=lambda: database_url)
    settings = StoreSettings(options=options, check=_no_check, renew_seconds=20, ask_seconds=30)
    store = Store(settings, ring=lambda bell, number: None, busy=lambda: False)
    with trio.fail_after(20):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(store.run)
            for _ in range(steps):
                await trio.lowlevel.checkpoint()
            nursery.cancel_scope.cancel()


async def test_of_commits_that_wait_together_only_the_one_that_can_not_be_fails(database_url: str) -> None:
    bells: list[tuple[str, int]] = []
    options = Options(dsn=lambda: database_url)
    settings = StoreSettings(options=options, check=_no_check, renew_seconds=20, ask_seconds=30)
    store = Store(settings, ring=lambda bell, number: bells.append((bell.topic, number)), busy=lambda: False)
    came: dict[int, int | str] = {}

    async def ask(conversation: int, write: Write) -> None:
        try:
            came[conversation] = await store.ask(Commit((write,), (Bell(f"bell {conversation}"),), conversation))
        except NotAsExpected as error:
            came[conversation] = str(error)

    def insert(name: str) -> Write:
        return Write("INSERT INTO settings (name, value, no) VALUES (?, '1', :no)", (name,))

    nobody = Write("UPDATE settings SET value = '2', no = :no WHERE name = 'nobody'", what="there is somebody")
    async with trio.open_nursery() as nursery:
        await nursery.start(store.run)
        for writes in ([insert("a"), insert("b")], [insert("c"), nobody, insert("d")]):
            async with trio.open_nursery() as askers:
                for write in writes:
                    askers.start_soon(ask, len(came) + len(askers.child_tasks) + 1, write)
        nursery.cancel_scope.cancel()
    assert {came[1], came[2]} == {2, 3} and {came[3], came[5]} == {4, 5}
    assert came[4] == "there is somebody"
    assert sorted(bells) == sorted((f"bell {at}", came[at]) for at in (1, 2, 3, 5))
