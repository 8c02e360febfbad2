"""Operations: everything that storage can be asked to do, as values.

One rule: an operation is a unit. It happens whole or not at all, it may be run again from the start when its
connection breaks, and so it keeps nothing outside the transaction it is given.

Two kinds. A composed `Commit` is a list of `Write`s that go to the database as one statement behind one fence: one
round trip, and nothing to read back. Everything else has a `perform` that runs between BEGIN and COMMIT, or, if it is
a `Read`, on its own.
"""

from collections.abc import Callable, Sequence
from typing import Any, Generic, Protocol, TypeVar

import attrs

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)
Row = dict[str, Any]


@attrs.frozen
class Bell:
    """A doorbell, rung after the commit that it rides on: look again. `topic` names who, `key` where to look.

    Losing one loses nothing: what it is about stands in a row. `letter` makes that row of the commit's number, where
    it is known without reading it; it is no part of which bell this is.
    """

    topic: str
    key: int = 0
    letter: Callable[[int], Any] | None = attrs.field(default=None, eq=False)


class Reader(Protocol):
    """What a read gets to work with. SQL uses `?` for parameters; rows are dicts."""

    async def get(self, sql: str, *params: Any) -> Row | None: ...
    async def all(self, sql: str, *params: Any) -> list[Row]: ...


class Transaction(Reader, Protocol):
    """An open, fenced transaction. `no` is the number this commit will have."""

    @property
    def no(self) -> int: ...
    async def run(self, sql: str, *params: Any) -> int:
        """Run one statement; returns how many rows it touched."""
        ...

    async def write(self, *writes: "Write") -> None:
        """Perform composed writes one after the other, each with its expectation."""
        ...

    def ring(self, bell: Bell) -> None:
        """Ring after the commit, if it lands."""
        ...


class Operation(Generic[T]):
    """Something storage can be asked to do that writes. Subclasses are frozen attrs; `perform` may run twice."""

    async def perform(self, tx: Transaction) -> T:
        raise NotImplementedError


class Read(Generic[T_co]):
    """Something storage can be asked to read. It needs no fence and runs outside any transaction."""

    async def read(self, reader: Reader) -> T_co:
        raise NotImplementedError


@attrs.frozen
class Write:
    """One statement of a composed commit.

    `sql` mentions `:no`, the commit's number, so that it hangs on the fence. `expect` is how many rows it must
    change (None: any number); anything else undoes the whole commit with `code`: DW002 NotAsExpected, DW003
    OverBudget. Writes of one commit see the state before it, never each other's, and no two change one row.
    """

    sql: str
    params: Sequence[Any] = ()
    expect: int | None = 1
    code: str = "DW002"
    what: str = ""

    def __attrs_post_init__(self) -> None:
        if ":no" not in self.sql:
            raise ValueError(f"a write must carry its commit's number: {self.sql!r}")


Statement = tuple[tuple[str, int | None, str, str], ...]
"""What is the same in commits that differ by their values: each write's SQL, expectation, code and words."""


@attrs.frozen
class Commit(Operation[int]):
    """Several writes as one fenced statement; returns the number of the commit.

    Raises NotAsExpected, OverBudget, Duplicate: then nothing happened. No writes at all renews the lease.
    `conversation`: all that it is about, so that it may go together with commits about others; 0: it goes alone.
    """

    writes: tuple[Write, ...] = ()
    bells: tuple[Bell, ...] = ()
    conversation: int = 0

    @property
    def statement(self) -> Statement:
        """What it is, but for its values."""
        return tuple([(write.sql, write.expect, write.code, write.what) for write in self.writes])

    @property
    def characters(self) -> int:
        """How much text it writes."""
        return sum([len(value) for write in self.writes for value in write.params if isinstance(value, str)])


@attrs.frozen
class Together(Operation[tuple["Done[int]", ...]]):
    """Commits of one statement, about as many conversations, as one transaction: one wait for the disk for all.

    Each has a number of its own. Raises what any of them raises; then none of them happened, and each has to be asked
    for by itself.
    """

    commits: tuple[Commit, ...]


@attrs.frozen(kw_only=True)
class Done(Generic[T]):
    """What an operation came to: its value, the bells to ring, and the newest commit number.

    `replaced`: characters that Postgres can't hold.
    """

    value: T
    bells: tuple[Bell, ...] = ()
    no: int = 0
    replaced: int = 0
