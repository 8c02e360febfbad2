"""The storage's own life, apart from what is asked of it."""

from typing import Any

import pytest
import trio
import trio.testing

from actors.store import Store, StoreSettings
from storage.connection import Options


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
