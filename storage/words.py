"""The words of what was said, entered into their index a little behind what is said.

One rule: everything up to the highest entry number that is entered, is entered; a search looks through the rest itself.
"""

import attrs

from .operation import Operation, Read, Reader, Transaction

_LEFT = "kind IN ('message', 'reply') AND no > (SELECT COALESCE(max(entry_no), 0) FROM entry_words)"

_BEHIND = f"SELECT count(*) AS count FROM entries WHERE {_LEFT}"

_ENTER = """
INSERT INTO entry_words (conversation, seq, entry_no, words, no)
SELECT conversation, seq, no, COALESCE(dreamwalker_words(dreamwalker_said(shown)), ''), {no} FROM entries
WHERE {left} ORDER BY no"""
# All of a commit or nothing, so that its number tells of all.
_ENTER_SOME = _ENTER.format(no=":no", left=_LEFT) + " FETCH FIRST ? ROWS WITH TIES"

ENTER_ALL = _ENTER.format(no="no", left=_LEFT)
"""Enters all there is, for whoever has the database to himself and brought it entries."""


async def behind(reader: Reader) -> int:
    """How many entries are not entered."""
    row = await reader.get(_BEHIND)
    assert row is not None
    count: int = row["count"]
    return count


@attrs.frozen
class Behind(Read[int]):
    """How many entries are not entered."""

    async def read(self, reader: Reader) -> int:
        return await behind(reader)


@attrs.frozen
class EnterWords(Operation[int]):
    """Enter the words of about so many entries, the oldest first; returns of how many."""

    limit: int

    async def perform(self, tx: Transaction) -> int:
        return await tx.run(_ENTER_SOME, self.limit)
