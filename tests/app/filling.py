"""Conversations of years, made in a moment.

One rule: the rows are those that would stand there if it had been said.
"""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta

import trio

from storage.conversations import add
from storage.operation import Commit
from storage.records import Entry
from storage.text import dumps
from tests.world import World


async def fill(w: World, count: int, texts: Mapping[int, str] | None = None, *, start_seq: int = 1) -> None:
    """Write entries as if they had been said, by turns; `texts` by seq in the place of "entry SEQ"."""
    house = await w.system.open()
    home, start = house.homes["dreamwalker"], datetime(2026, 1, 1, tzinfo=UTC)
    for first in range(0, count, 100):
        writes = []
        for seq in range(start_seq + first, start_seq + min(first + 100, count)):
            owner = seq % 2 == 1
            blocks = [{"type": "text", "text": (texts or {}).get(seq, f"entry {seq}")}]
            writes.append(
                add(
                    Entry(
                        conversation=home,
                        seq=seq,
                        run=None,
                        turn=None,
                        kind="message" if owner else "reply",
                        source="owner" if owner else "model",
                        shown=dumps([{"type": "text", "text": "[2026-01-01]"}, *blocks] if owner else blocks),
                        label=0,
                        message=None,
                        covers_to=None,
                        cut=None,
                        at=start + timedelta(minutes=seq * 30),
                        no=0,
                    )
                )
            )
        await house.store.ask(Commit(tuple(writes)))
        await trio.lowlevel.checkpoint()
