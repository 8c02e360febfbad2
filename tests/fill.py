"""Rows for every table of a database, whatever tables there are: values that fit the columns, by the catalog.

One rule: a table that a migration adds is filled without a line being changed here, as far as its checks let it.
"""

from typing import Any

HARD = "tulips \U0001f337 “quoted” back\\slash \t tab \n line \r \u2028 \x01\x02 ,;'\" \\. \u202e ä ⟦x⟧"
"""A text that is hard to carry in lines."""

_GIVEN = {
    "state": ("done", "finished", "active", "sent", "answered", "open"),
    "kind": ("home", "message", "owner", "turn", "reminder", "act", "test"),
    "fate": ("skipped",),
    "source": ("owner",),
    "answer": ("no",),
    "cut_short": ("time",),
}
_COLUMNS = """
SELECT a.attname AS name, t.typname AS type, a.attnotnull AS needed FROM pg_attribute a
JOIN pg_type t ON t.oid = a.atttypid
WHERE a.attrelid = $1::text::regclass AND a.attnum > 0 AND NOT a.attisdropped AND a.attgenerated = '' ORDER BY a.attnum
"""
_POINTS = """
SELECT conrelid::regclass::text AS it FROM pg_constraint WHERE contype = 'f'
"""


async def fill(raw: Any) -> None:
    """Put a few rows into each table. Raises AssertionError for one whose checks nothing here satisfies."""
    from storage.catalog import tables

    for table in await tables(raw):
        columns = await raw.fetch(_COLUMNS, f'"{table.name}"')
        for number in (1, 2):
            await _row(raw, table.name, columns, number)
    await raw.execute("UPDATE dreamwalker_lease SET commit_no = 77")


async def _row(raw: Any, table: str, columns: list[Any], number: int) -> None:
    """Insert one row: try states and kinds, and what may be NULL either so or so, until the checks are content."""
    failures = []
    choices = [(c["name"], _GIVEN[c["name"]]) for c in columns if c["name"] in _GIVEN]
    for filled in (True, False):
        for chosen in _products(choices):
            for also in _subsets([c["name"] for c in columns if not c["needed"] and c["name"] not in chosen], filled):
                values = {
                    c["name"]: chosen[c["name"]] if c["name"] in chosen else _value(c["name"], c["type"], number)
                    for c in columns
                    if c["needed"] or c["name"] in also or c["name"] in chosen
                }
                named = ", ".join(f'"{name}"' for name in values)
                sql = f'INSERT INTO "{table}" ({named}) VALUES ({", ".join(values.values())})'
                try:
                    await raw.execute(sql)
                    return
                except Exception as error:
                    failures.append(f"{error}")
    raise AssertionError(f"nothing fits into {table}: {sorted(set(failures))[:5]}")


def _products(choices: list[tuple[str, tuple[str, ...]]]) -> list[dict[str, str]]:
    made: list[dict[str, str]] = [{}]
    for name, values in choices:
        made = [{**one, name: f"'{value}'"} for one in made for value in values]
    return made


def _subsets(names: list[str], filled: bool) -> list[set[str]]:
    """All, and all but one; or none, and one and two."""
    if filled:
        return [set(names), *({*names} - {name} for name in names)]
    return [set(), *({name} for name in names), *({one, other} for one in names for other in names if one < other)]


def _value(name: str, type: str, number: int) -> str:
    """A value for a column, as SQL."""
    match type:
        case "int8" | "int4" | "int2":
            return str(number)
        case "bool":
            return "TRUE"
        case "timestamptz":
            return f"'2026-11-29T12:00:0{number}.123456Z'"
    if name in ("agent", "name", "receiver"):
        return "'dreamwalker'" if number == 1 else "'gardener'"
    if name in ("body", "shown", "result", "value", "buttons", "grants", "outside", "why", "act"):
        return _quoted('["' + HARD.replace("\\", "\\\\").replace('"', '\\"').translate(_ESCAPED) + f'{number}"]')
    return _quoted(f"{HARD}{number}")


_ESCAPED = {at: f"\\u{at:04x}" for at in range(32)}


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
