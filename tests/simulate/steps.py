"""Steps: every request to the database, by the name of what it does.

One rule: a step's name comes from what is sent, so that a process of its own is named by the same rule as one in here.
"""

import functools
import re
from collections.abc import Iterator

from tests.proxy import Request

_WHAT = re.compile(r"'DW00\d', '((?:[^']|'')*)'\)")
_INTO = re.compile(r"\b(INSERT INTO|UPDATE|DELETE FROM)\s+(\w+)")
_FROM = re.compile(r"\bFROM\s+(\w+)")
_BEGINS_AFTER = re.compile(r"\bcommit_no = (\d+)")

COMPOSED = (
    ("finish the call", "result"),
    ("the call with its result", "whole turn"),
    ("the slot is running", "report a job's run"),
    ("the slot has no fate yet", "come up"),
    ("accept the message", "accept"),
    ("open the run", "open a run"),
    ("begin the call", "reply with calls"),
    ("start fresh", "start fresh"),
    ("place the message", "place"),
    ("add the summary", "sum up"),
    ("add an entry", "reply"),
    ("settle the reservation", "settle"),
    ("reserve", "reserve"),
    ("extend the reservation", "reserve"),
    ("the run is open", "step a run"),
)
"""How a composed commit is named: by the first of these that is among its parts; if none is, by its own first part."""


class Naming:
    """Names the requests of one process. A COMMIT is named by what was first written since its BEGIN."""

    def __init__(self) -> None:
        self._first: dict[int, str] = {}

    def __call__(self, request: Request) -> str:
        sql = request.sql
        if _is_composed(sql):
            return _composed(sql)
        if sql.startswith("BEGIN"):
            self._first.pop(request.connection, None)
            return "begin"
        if sql.startswith(("COMMIT", "ROLLBACK")):
            return f"{sql[:8].rstrip(';').lower()}: {self._first.pop(request.connection, 'nothing')}"
        name = _plain(sql)
        if not name.startswith(("read", "SET")):
            self._first.setdefault(request.connection, name)
        return name


@functools.lru_cache(maxsize=2048)
def _composed(sql: str) -> str:
    parts = [what for what in _WHAT.findall(sql) if what != "the lease is lost"]
    for part, name in COMPOSED:
        if part in parts:
            return name
    if not parts:
        changes = [f"{change[0].split()[0].lower()} {change[1]}" for change in _INTO.findall(sql)]
        return next((change for change in changes if change != "update dreamwalker_lease"), "renew")
    return parts[0].replace("''", "'")


@functools.lru_cache(maxsize=2048)
def _plain(sql: str) -> str:
    if "UPDATE dreamwalker_lease" in sql:
        return "give the lease up" if "SET holder = ''" in sql else "take the lease"
    if sql.startswith("SET"):
        return "SET"
    if change := _INTO.search(sql):
        return f"{change[1].split()[0].lower()} {change[2]}"
    if sql.startswith("SELECT holder, commit_no"):
        return "look after a loss"
    found = _FROM.search(sql)
    return f"read {found[1]}" if found else "read"


def decides(request: Request) -> bool:
    """Whether a commit is known to have landed once this is answered: it is one, or looks after one."""
    return _is_composed(request.sql) or request.sql.startswith(("COMMIT", "SELECT holder, commit_no"))


def claimed(request: Request) -> set[int]:
    """The numbers after which a request wants commits to come; none if it does not begin one."""
    if _is_composed(request.sql):
        return {int.from_bytes(number, "big") for number in _second_values(request.data)}
    found = _BEGINS_AFTER.search(request.sql) if request.sql.startswith("BEGIN") else None
    return set() if found is None else {int(found[1])}


def _is_composed(sql: str) -> bool:
    return sql.startswith("WITH fence")


def _second_values(data: bytes) -> Iterator[bytes]:
    """The second value that each Bind message of a request carries."""

    def number(at: int, size: int) -> int:
        return int.from_bytes(data[at : at + size], "big", signed=True)

    start = 0
    while start < len(data):
        end = start + 1 + number(start + 1, 4)
        if data[start] == ord("B"):
            at = data.index(0, data.index(0, start + 5) + 1) + 1  # after the names of portal and statement
            at += 2 + 2 * number(at, 2) + 2  # after the formats and the count of the values
            at += 4 + max(number(at, 4), 0)  # after the first value
            yield data[at + 4 : at + 4 + max(number(at, 4), 0)]
        start = end
