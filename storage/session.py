"""A database session with our placeholders: what an operation holds while it works.

One rule: it is dead as soon as its unit has ended; a callback that kept it can do nothing with it.
"""

from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Any, Protocol, TypeVar

from . import sql
from .errors import (
    Duplicate,
    LeaseLost,
    NotAsExpected,
    OverBudget,
    SchemaChangeRefused,
    StorageError,
    StoreClosed,
    TookTooLong,
)
from .operation import Bell, Row, Write
from .text import storable

T = TypeVar("T")

CODES: dict[str, type[StorageError]] = {"DW001": LeaseLost, "DW002": NotAsExpected, "DW003": OverBudget}
"""What `dreamwalker_require` raises, by SQLSTATE."""

VERDICTS = (LeaseLost, NotAsExpected, OverBudget, Duplicate)
"""Errors that say for certain that nothing happened: sent once more, the same commit would meet the same one."""

# The server ended the session (shutdown, crash recovery, database gone, idle in a transaction) or undid the
# transaction for reasons of its own: sent again, it may pass.
_ENDED = ("57P01", "57P02", "57P03", "57P04", "57P05", "25P03", "25P04", "40001", "40P01")

_EXISTS = "SELECT to_regclass($1) IS NOT NULL"


class Lost(Exception):
    """The connection is gone, or the server undid the transaction: what was asked is to be done again."""


class Step(Protocol):
    """Awaits one answer of the server. Raises `Lost`, or the server's error by our name for it."""

    async def __call__(self, work: Awaitable[T], /) -> T: ...


def said(error: BaseException) -> str:
    """An error in a few words."""
    return str(error) or type(error).__name__


def code_of(error: BaseException) -> str:
    """The SQLSTATE of a driver's error, '' if it has none."""
    return getattr(error, "sqlstate", None) or ""


def is_loss(error: Exception) -> bool:
    """Whether an error that the server sent means that the session is gone, or as good as gone."""
    code = code_of(error)
    return code[:2] == "08" or code in _ENDED


def named(error: Exception) -> Exception:
    """The error as the rest of the house knows it; what it has no name for stays as it is."""
    code = code_of(error)
    if code in CODES:
        return CODES[code](str(error))
    if code == "57014":
        return TookTooLong(str(error))
    if code == "23505":
        return Duplicate(str(error), constraint=getattr(error, "constraint_name", None) or "")
    return error


def admitted(text: str, *, reading: bool = False) -> sql.Translated:
    """The statement, if it is one that may be run. Raises SchemaChangeRefused and StorageError."""
    statement = sql.translate(text)
    if statement.kind == "schema":
        raise SchemaChangeRefused(
            "Only the numbered SQL files in migrations/ change the schema: add a migration there instead of running "
            + statement.text
        )
    if statement.kind == "other":
        raise StorageError(f"not a query and not a change of rows: {statement.text}")
    if reading and statement.kind != "read":
        raise StorageError(f"a read changes nothing: {statement.text}")
    return statement


class Session:
    """Satisfies Reader and Transaction over a driver's connection (`raw`). `no` is the number of its commit.

    `no` 0: it only reads. `asking`: it waits for the server just now. `lost` is set once the connection was lost
    under it, whatever the operation made of that. `replaced` counts characters that Postgres can't hold.
    """

    def __init__(self, raw: Any, step: Step, *, no: int = 0) -> None:
        self.no = no
        self.bells: list[Bell] = []
        self.replaced = 0
        self.dead = False
        self.asking = False
        self.lost: Lost | None = None
        self._raw, self._step = raw, step

    def bind(self, statement: sql.Translated, params: Sequence[Any]) -> list[Any]:
        """The driver's parameters for one statement: the caller's, and our commit number where it says `:no`."""
        if len(params) != statement.parameters:
            raise TypeError(f"{statement.parameters} parameters expected, {len(params)} given: {statement.text}")
        given = iter(self.storable(params))
        return [next(given) if is_param else self.no for is_param in statement.slots]

    async def get(self, text: str, *params: Any) -> Row | None:
        statement = admitted(text, reading=not self.no)
        row = await self._ask(lambda: self._raw.fetchrow(statement.text, *self.bind(statement, params)))
        return None if row is None else dict(row)

    async def all(self, text: str, *params: Any) -> list[Row]:
        statement = admitted(text, reading=not self.no)
        rows = await self._ask(lambda: self._raw.fetch(statement.text, *self.bind(statement, params)))
        return [dict(row) for row in rows]

    async def run(self, text: str, *params: Any) -> int:
        if await self._is_there(text):
            return 0
        statement = admitted(text, reading=not self.no)
        status = await self._ask(lambda: self._raw.execute(statement.text, *self.bind(statement, params)))
        last = str(status).rpartition(" ")[2]
        return int(last) if last.isdigit() else 0

    async def exec(self, script: str) -> None:
        """Run the statements of a script, none of which takes a parameter."""
        for statement in sql.split(script):
            await self.run(statement)

    async def write(self, *writes: Write) -> None:
        for write in writes:
            touched = await self.run(write.sql, *write.params)
            if write.expect is not None and touched != write.expect:
                raise CODES[write.code](write.what or sql.translate(write.sql).gist)

    def ring(self, bell: Bell) -> None:
        self.bells.append(bell)

    def storable(self, values: Iterable[Any]) -> list[Any]:
        """Parameters with what can't be stored replaced, and counted."""
        held, replaced = storable(values)
        self.replaced += replaced
        return held

    async def _is_there(self, text: str) -> bool:
        """Whether it is a CREATE … IF NOT EXISTS of what exists."""
        absent = sql.translate(text).absent
        return absent is not None and bool(await self._ask(lambda: self._raw.fetchval(_EXISTS, absent)))

    async def _ask(self, work: Callable[[], Awaitable[T]]) -> T:
        if self.dead:
            raise StoreClosed("this transaction has ended; nothing more can be done in it")
        if self.asking:
            raise StorageError("one statement after the other: another one of this transaction is under way")
        self.asking = True
        try:
            return await self._step(work())
        except Lost as lost:
            self.lost = lost
            raise
        finally:
            self.asking = False
