"""A small asynchronous database: exec, run, get, all, transaction, close.

One rule: everything that writes goes through the fence and is numbered, a single statement as well as a transaction;
what is asked while something is under way waits for its turn, in the order it was asked.

It lives in the asyncio world and is the contract that a peer's portable storage (Pi Durable's) asks of a database,
which is how our connection, translation and fence are proved. The house itself speaks to storage in operations.
"""

from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import attrs

from . import sql
from .connection import Connection, Line
from .errors import StoreClosed
from .operation import Operation, Read, Row
from .session import Session

T = TypeVar("T")
Callback = Callable[[Session], Awaitable[T]]


@attrs.frozen
class _Writing(Operation[T]):
    callback: Callback[T]

    async def perform(self, tx: Any) -> T:
        return await self.callback(tx)


@attrs.frozen
class _Reading(Read[T]):
    callback: Callback[T]

    async def read(self, reader: Any) -> T:
        return await self.callback(reader)


class Database:
    """The facade of an opened connection, which it closes with itself.

    SQL is portable: `?` is a parameter, `INSERT OR IGNORE` works, and `:no` is the number of the commit. BIGINT comes
    back as int, a row as a dict. What would change the schema is refused with SchemaChangeRefused, but for a
    `CREATE … IF NOT EXISTS` of what exists. After `close` everything is refused with StoreClosed. Beyond that all of
    it raises what `Connection.perform` does.
    """

    def __init__(self, connection: Connection) -> None:
        self._connection, self._line, self._closed = connection, Line(), False

    def exec(self, script: str) -> Awaitable[None]:
        """Run statements without parameters: all of them or, if one fails, none."""
        return self._do(lambda tx: tx.exec(script), *sql.split(script))

    def run(self, statement: str, *params: Any) -> Awaitable[int]:
        """Run one statement; returns how many rows it touched."""
        return self._do(lambda tx: tx.run(statement, *params), statement)

    def get(self, statement: str, *params: Any) -> Awaitable[Row | None]:
        """The first row of one statement, or None."""
        return self._do(lambda tx: tx.get(statement, *params), statement)

    def all(self, statement: str, *params: Any) -> Awaitable[list[Row]]:
        """Every row of one statement."""
        return self._do(lambda tx: tx.all(statement, *params), statement)

    def transaction(self, callback: Callback[T]) -> Awaitable[T]:
        """Run a callback as one transaction; it may be run again from the start when the connection breaks.

        What it is given is dead once it has returned. Its error rolls back and is raised as it is; if rolling back
        fails another error is (RollbackFailed). Nothing but what it is given may be used in it: all else waits for it.
        """
        return self._ask(_Writing(callback))

    def close(self) -> Awaitable[None]:
        """Give the lease up and close the connection, after all that was asked before. Once more does nothing."""
        return self._line.join(self._close)

    async def _close(self) -> None:
        if not self._closed:
            self._closed = True
            await self._connection.close()

    def _do(self, callback: Callback[T], *statements: str) -> Awaitable[T]:
        reads = all(sql.translate(statement).kind == "read" for statement in statements)
        return self._ask(_Reading(callback) if reads else _Writing(callback))

    def _ask(self, operation: Operation[T] | Read[T]) -> Awaitable[T]:
        async def turn() -> T:
            if self._closed:
                raise StoreClosed("the database is closed")
            return (await self._connection.perform(operation)).value

        return self._line.join(turn)
