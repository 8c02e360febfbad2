"""Searching what was said and noted, at whatever size.

One rule: a hit holds every word of the query: a word by its beginning, in any case; a run of a script without spaces
as it stands. The newest come first.

A word that many entries hold is met soon among the newest of them, a rare one is looked up in the index; so a search
takes about as long whatever is searched for. See `migrations/0009_years.sql` for what a word is, and
`migrations/0010_words.sql` for how far the index goes.
"""

import re
from datetime import datetime

import attrs

from .operation import Read, Reader, Row
from .records import Note
from .words import behind

_BETWEEN = re.compile(
    "[^a-zA-Z0-9\u00aa-\u1fff\u2c00-\u2fef\u3005-\u3007\u3040-\ufeff\uff10-\uffdc\U00010000-\U0010ffff]+"
)
_DENSE = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3\uf900-\ufaff"
    "\uff66-\uff9f\U00020000-\U0003ffff"
)
_PARTS = re.compile(f"[{_DENSE}]+|[^{_DENSE}]+")
_IS_DENSE = re.compile(f"[{_DENSE}]")
WORDS_MAX = 12
"""Words of a query that are looked for; what a longer one says beyond them is left out."""
NEWEST = 3_000
"""So many of the newest entries are looked through before the index is asked."""


@attrs.frozen(kw_only=True)
class Query:
    """What is looked for: `ts`, a tsquery; `patterns`, what each hit must hold literally, for LIKE.

    `runs`: those of the patterns whose characters are words of their own, which the tsquery finds in any order: where
    each of them stands a tsvector knows only of the first 255, and only up to a length.
    """

    ts: str
    patterns: tuple[str, ...]
    runs: tuple[str, ...]


def query_of(text: str) -> Query | None:
    """The query that a text asks. None if there is no word in it."""
    parts = [part for word in _BETWEEN.split(text) for part in _PARTS.findall(word)][:WORDS_MAX]
    if not parts:
        return None
    dense = [_IS_DENSE.match(part) is not None for part in parts]
    ts = [
        " & ".join(f"'{char}'" for char in part) if is_dense else f"'{part}':*"
        for part, is_dense in zip(parts, dense, strict=True)
    ]
    patterns = tuple(f"%{part}%" for part in parts)
    runs = tuple(pattern for pattern, is_dense in zip(patterns, dense, strict=True) if is_dense)
    return Query(ts=" & ".join(ts), patterns=patterns, runs=runs)


@attrs.frozen(kw_only=True)
class Found:
    """An entry that holds what was looked for. `shown` as in Entry; `kind` is that of its conversation."""

    agent: str
    conversation: int
    kind: str
    seq: int
    source: str
    shown: str
    label: int
    at: datetime
    no: int

    @classmethod
    def of(cls, row: Row) -> "Found":
        """From one row."""
        return cls(**row)


_HIT = "dreamwalker_words(dreamwalker_said(e.shown)) @@ to_tsquery('pg_catalog.simple', ?)"
_ENTERED = "SELECT conversation, seq FROM entry_words WHERE words @@ to_tsquery('pg_catalog.simple', ?)"
_THERE = """SELECT c.agent, e.conversation, c.kind, e.seq, e.source, e.shown, e.label, e.at, e.no
FROM {entries} e JOIN conversations c ON c.id = e.conversation
WHERE e.kind IN ('message', 'reply') AND {where} ORDER BY e.no DESC FETCH FIRST ? ROWS WITH TIES"""
# Nothing else may be asked together with the words: the planner would go through all of a conversation for them.
_FOUND = f"WITH found AS MATERIALIZED (SELECT e.* FROM entries e JOIN ({_ENTERED}) w USING (conversation, seq))\n"
_HOME = "SELECT id FROM conversations WHERE made_by = ?"


@attrs.frozen(kw_only=True)
class SearchEntries(Read[tuple[Found, ...]]):
    """The newest entries below commit number `before` that hold every word; of one agent's home, or of all there is.

    More than `limit` where a commit has several: so that nothing is left out below the number of the last.
    """

    query: Query
    limit: int
    home: str | None = None
    before: int = 2**63 - 1

    async def read(self, reader: Reader) -> tuple[Found, ...]:
        within = ""
        if self.home is not None:
            row = await reader.get(_HOME, f"home:{self.home}")
            if row is None:
                return ()
            # In the text itself: the planner must know that it is the one conversation that holds half of all there is.
            within = f"AND conversation = {row['id']:d}"
        rows = await self._newest(reader, within)
        if len(rows) < self.limit:
            there = {(row["conversation"], row["seq"]) for row in rows}
            older = await self._indexed(reader, within)
            rows += [row for row in older if (row["conversation"], row["seq"]) not in there]
        rows.sort(key=lambda row: (row["no"], row["seq"]), reverse=True)
        return tuple(
            Found.of(row) for row in rows if len(rows) <= self.limit or row["no"] >= rows[self.limit - 1]["no"]
        )

    async def _newest(self, reader: Reader, within: str) -> list[Row]:
        """Look through the newest, which is quick for what is common, and through all whose words are not entered."""
        newest = f"""(SELECT * FROM entries WHERE kind IN ('message', 'reply') AND no < ? {within}
            ORDER BY no DESC, seq DESC LIMIT {max(NEWEST, await behind(reader)):d})"""
        literally = " AND ".join("e.shown ILIKE ?" for _ in self.query.patterns)
        text = _THERE.format(entries=newest, where=f"{literally} AND {_HIT}")
        return await reader.all(text, self.before, *self.query.patterns, self.query.ts, self.limit)

    async def _indexed(self, reader: Reader, within: str) -> list[Row]:
        """Ask the index, which is quick for what is rare. What it finds is put in order afterwards."""
        literally = "".join(" AND e.shown ILIKE ?" for _ in self.query.runs)
        text = _FOUND + _THERE.format(entries="found", where=f"e.no < ? {within}{literally}")
        return await reader.all(text, self.query.ts, self.before, *self.query.runs, self.limit)


_NOTES = """
SELECT n.id, n.agent, n.title, n.version, n.removed, v.text, v.label, v.at, n.no
FROM notes n JOIN note_versions v ON v.note = n.id AND v.version = n.version
WHERE NOT n.removed AND (?::text IS NULL OR n.agent = ?) AND n.id IN (
    SELECT v.note FROM note_versions v WHERE dreamwalker_words(v.text) @@ to_tsquery('pg_catalog.simple', ?)
    UNION SELECT n.id FROM notes n WHERE dreamwalker_words(n.title) @@ to_tsquery('pg_catalog.simple', ?))
    AND dreamwalker_words(n.title || ' ' || v.text) @@ to_tsquery('pg_catalog.simple', ?){literally}
ORDER BY v.at DESC, n.id DESC LIMIT ?
"""


@attrs.frozen(kw_only=True)
class SearchNotes(Read[tuple[Note, ...]]):
    """The newest notes whose title or text, as they stand now, hold every word; of one agent, or of all."""

    query: Query
    limit: int
    agent: str | None = None

    async def read(self, reader: Reader) -> tuple[Note, ...]:
        ts = self.query.ts
        any_of = ts.replace(" & ", " | ")
        text = _NOTES.format(literally=" AND n.title || ' ' || v.text ILIKE ?" * len(self.query.runs))
        rows = await reader.all(text, self.agent, self.agent, any_of, any_of, ts, *self.query.runs, self.limit)
        return tuple(Note.of(row) for row in rows)
