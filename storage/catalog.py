"""The catalog: which tables of data there are, as the database itself says.

One rule: nothing here knows a table by its name but those few that are no data.
"""

from collections.abc import Iterator
from typing import Any

import attrs

from .errors import StorageError

_NO_DATA = frozenset({"dreamwalker_lease", "dreamwalker_migrations", "entry_words"})


@attrs.frozen(kw_only=True)
class Table:
    """One table as the catalog has it. `columns` in order of their names, without those that are generated."""

    name: str
    columns: tuple[str, ...]
    order: str


_TABLES = """
SELECT c.oid::bigint AS oid, c.relname AS name FROM pg_class c
WHERE c.relkind IN ('r', 'p') AND NOT c.relispartition
    AND c.relnamespace = (SELECT relnamespace FROM pg_class WHERE oid = to_regclass('dreamwalker_lease'))
ORDER BY c.relname COLLATE "C"
"""
_COLUMNS = """
SELECT a.attname AS name, a.attcollation <> 0 AS is_text,
    COALESCE(array_position(i.indkey::int2[], a.attnum), -1) AS place
FROM pg_attribute a LEFT JOIN pg_index i ON i.indrelid = a.attrelid AND i.indisprimary
WHERE a.attrelid = $1::bigint::oid AND a.attnum > 0 AND NOT a.attisdropped AND a.attgenerated = ''
ORDER BY a.attname COLLATE "C"
"""
_POINTS = """
SELECT conrelid::regclass::text AS it, confrelid::regclass::text AS at FROM pg_constraint
WHERE contype = 'f' AND conrelid <> confrelid
"""


async def tables(raw: Any) -> tuple[Table, ...]:
    """All tables of data, those first that others point at. Raises StorageError for one that has no primary key."""
    found: dict[str, Table] = {}
    for row in await raw.fetch(_TABLES):
        if row["name"] in _NO_DATA:
            continue
        columns = await raw.fetch(_COLUMNS, row["oid"])
        key = sorted((column for column in columns if column["place"] >= 0), key=lambda column: column["place"])
        if not key:
            raise StorageError(f"The table {row['name']} has no primary key, so its rows have no order.")
        order = ", ".join(quoted(column["name"]) + (' COLLATE "C"' if column["is_text"] else "") for column in key)
        names = tuple(column["name"] for column in columns)
        found[row["name"]] = Table(name=row["name"], columns=names, order=order)
    points: dict[str, set[str]] = {name: set() for name in found}
    for row in await raw.fetch(_POINTS):
        if row["it"] in found and row["at"] in found:
            points[row["it"]].add(row["at"])
    return tuple(found[name] for name in _after_what_they_point_at(points))


def _after_what_they_point_at(points: dict[str, set[str]]) -> Iterator[str]:
    left = dict(points)
    while left:
        name = min((name for name, at in left.items() if not at & left.keys()), default=min(left))
        del left[name]
        yield name


def quoted(name: str) -> str:
    """A name as SQL takes it."""
    return '"' + name.replace('"', '""') + '"'
