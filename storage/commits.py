"""How operations become numbered commits, whatever the connection does meanwhile.

One rule: what a caller is told is known, never assumed. The lease row holds `commit_no`; a commit succeeds only while
the holder is ours and the number is n, and sets n + 1. After a loss one read of that row tells what happened: n + 1,
it landed; n, it did not, so the same commit is sent again; another holder, the lease is lost. A late or doubled copy
finds the number gone and writes nothing.

Commits that wait together go together, as one transaction in which each still has its number and its fence: what then
tells of all of them is the number of the last.
"""

import time
from collections.abc import Awaitable, Callable
from typing import Any, Protocol, TypeVar

from . import lease
from .errors import CommitUnknown, LeaseHeld, LeaseLost, RollbackFailed, StorageError, TookTooLong
from .operation import Commit, Done, Operation, Read, Together
from .options import Options
from .session import VERDICTS, Lost, Session, said
from .text import storable

T = TypeVar("T")

_TAKEN = "another instance has taken over"


class Patience(Protocol):
    """How long one operation goes on trying."""

    @property
    def left(self) -> float:
        """Seconds to the bound."""

    async def wait(self, because: Exception) -> None:
        """Pause before the next try. Raises Unavailable when that would be past the bound."""


class Link(Protocol):
    """A way to the database that may break at any time. What it hands out is the driver's own connection."""

    def patience(self) -> Patience:
        """The bound of an operation that begins now."""

    async def reach(self, patience: Patience) -> Any:
        """A live connection. Raises Unavailable and StoreClosed."""

    async def step(self, work: Awaitable[T], /) -> T:
        """Await one answer of the server. Raises `Lost`, or the server's error by our name for it."""

    async def again(self, lost: Exception, patience: Patience) -> None:
        """After a loss: make ready for the next try. Raises Unavailable."""

    def drop(self) -> None:
        """Throw the connection away."""


class _Fenced(Exception):
    """The fence found no row: another holder, or this commit's number has gone by."""


class Writer:
    """Takes the lease and performs operations under it, one at a time.

    Raises LeaseLost, CommitUnknown and Unavailable as `storage.errors` defines them, and whatever an operation's
    own code raises, as it is. `renewed_at` is when the newest successful renewal was sent, in monotonic seconds;
    `replaced` counts characters that Postgres can't hold, in what was committed.
    """

    # What the commit under way comes to if a copy of it that was sent, and never answered, has landed or will.
    _in_flight: Done[Any] | None = None

    def __init__(self, link: Link, options: Options, holder: str) -> None:
        self.options, self.holder = options, holder
        self.commit_no = 0
        self.renewed_at = 0.0
        self.replaced = 0
        self._link = link
        self._renewed_on_the_wall = 0.0

    @property
    def lease_age_seconds(self) -> float:
        """How long ago the lease was renewed, by the clock that says longest: one may have stood still in a pause."""
        return max(time.monotonic() - self.renewed_at, time.time() - self._renewed_on_the_wall)

    async def open(self, check: Callable[[Any], Awaitable[None]], *, formerly: str = "") -> None:
        """Connect, let `check` look at the schema, take the lease.

        `formerly`: the holder that this process was before. Then only a lease that is free, or still that one's.
        Raises LeaseHeld, Unavailable, and what `check` raises. Taking it twice, after an answer was lost, does no harm.
        """
        patience = self._link.patience()
        while True:
            raw = await self._link.reach(patience)
            sent = time.monotonic(), time.time()
            try:
                self.commit_no = await self._link.step(self._take(raw, check, formerly))
            except (Lost, TookTooLong) as lost:  # too long: the row is held by one that hangs, and is ended soon
                await self._link.again(lost, patience)
            else:
                self.renewed_at, self._renewed_on_the_wall = sent
                return

    async def _take(self, raw: Any, check: Callable[[Any], Awaitable[None]], formerly: str) -> int:
        o = self.options
        async with raw.transaction():
            await raw.execute(o.timeouts(raw.get_server_version()))
            await check(raw)
            taken = await raw.fetchval(lease.TAKE, self.holder, o.generation, float(o.lease_seconds), formerly)
            if taken is None:
                seconds = await raw.fetchval(lease.SECONDS_LEFT)
                raise LeaseHeld("another instance is writing to this database", seconds=max(seconds or 0.0, 0.0))
            return int(taken)

    async def perform(self, operation: Operation[T] | Read[T]) -> Done[T]:
        """Do one operation, whatever the connection does meanwhile."""
        patience = self._link.patience()
        if isinstance(operation, Read):
            return await self._read(operation, patience)
        self._in_flight = None
        try:
            done = await self._commit(operation, patience)
        except VERDICTS:
            raise
        except Exception as error:
            if self._in_flight is None:
                raise
            raise CommitUnknown(f"the connection broke during a commit, and then: {said(error)}") from error
        self.commit_no = done.no
        self.replaced += done.replaced
        return done

    async def _read(self, operation: Read[T], patience: Patience) -> Done[T]:
        while True:
            session = Session(await self._link.reach(patience), self._link.step)
            try:
                return Done(value=await self._call(session, operation.read(session)), no=self.commit_no)
            except Lost as lost:
                await self._link.again(lost, patience)

    async def _commit(self, operation: Operation[T], patience: Patience) -> Done[T]:
        number, stood_still = self.commit_no, False
        while True:
            raw = await self._link.reach(patience)
            sent = time.monotonic(), time.time()
            try:
                if self._in_flight is not None and await self._landed(raw, number):
                    return self._in_flight
                done = await self._attempt(raw, operation, number)
                self.renewed_at, self._renewed_on_the_wall = sent
                return done
            except Lost as lost:
                await self._link.again(lost, patience)
            except TookTooLong:  # its time runs also while this process is paused in the middle of it: once more
                if stood_still:
                    raise
                stood_still = True
            except _Fenced:
                if self._in_flight is None:
                    raise LeaseLost(_TAKEN) from None
                await patience.wait(LeaseLost(_TAKEN))  # or an earlier copy of this very commit came late: look again

    async def _landed(self, raw: Any, number: int) -> bool:
        """After a loss: did what is in flight, and follows `number`, land? One read of one row."""
        row = await self._link.step(raw.fetchrow(lease.LOOK))
        assert self._in_flight is not None
        if row is None or row["holder"] != self.holder or row["commit_no"] not in (number, self._in_flight.no):
            raise LeaseLost(_TAKEN)
        return bool(row["commit_no"] == self._in_flight.no)

    async def _attempt(self, raw: Any, operation: Operation[T], number: int) -> Done[T]:
        """Send it once. Raises `Lost`, with `_in_flight` set if it may have landed, and `_Fenced`."""
        if isinstance(operation, Commit):
            return await self._compose(raw, operation, number)
        if isinstance(operation, Together):
            return await self._compose_all(raw, operation.commits, number)
        return await self._transact(raw, operation, number)

    async def _compose(self, raw: Any, commit: Commit, number: int) -> Done[Any]:
        text, taken = lease.compose(commit.statement)
        params, done = self._composed(commit, number)
        if len(params) != taken:
            raise TypeError(f"{taken - 3} parameters expected, {len(params) - 3} given: {text}")
        try:
            await self._send(raw.fetchrow(text, *params), done)
        except LeaseLost:
            raise _Fenced from None
        return done

    def _composed(self, commit: Commit, number: int) -> tuple[list[Any], Done[int]]:
        """The parameters of a commit that follows `number`, and what it comes to."""
        held, replaced = storable([value for w in commit.writes for value in w.params])
        done = Done(value=number + 1, bells=commit.bells, no=number + 1, replaced=replaced)
        return [self.holder, number, float(self.options.lease_seconds), *held], done

    async def _compose_all(self, raw: Any, commits: tuple[Commit, ...], number: int) -> Done[Any]:
        """One behind the other, without a wait in between.

        The statement itself says how long its transaction may last: else it would keep the lease's row if its holder
        stopped between two of them. Raises StorageError if the server has no such bound: nothing was sent.
        """
        if raw.get_server_version() < (17,):
            raise StorageError("this Postgres can't bound a transaction that is under way")
        text, _ = lease.compose(commits[0].statement, self.options.transaction_seconds)
        composed = [self._composed(commit, number + at) for at, commit in enumerate(commits)]
        dones = tuple(done for _, done in composed)
        done = Done(value=dones, no=number + len(dones), replaced=sum(one.replaced for one in dones))
        try:
            await self._send(raw.executemany(text, [params for params, _ in composed]), done)
        except LeaseLost:
            raise _Fenced from None
        return done

    async def _transact(self, raw: Any, operation: Operation[T], number: int) -> Done[T]:
        session = Session(raw, self._link.step, no=number + 1)
        await self._begin(raw, number)
        self._in_flight = None  # the row is ours alone until we commit: no earlier copy can land any more
        try:
            value = await self._call(session, operation.perform(session))
            done = Done(value=value, bells=tuple(session.bells), no=session.no, replaced=session.replaced)
            if await self._send(raw.execute("COMMIT"), done) != "COMMIT":
                raise StorageError("an operation swallowed a failed statement, so all of it was undone")
            return done
        except Lost:
            raise
        except Exception as error:
            await self._undo(raw, error)
            raise
        except BaseException:
            self._link.drop()
            raise

    async def _send(self, work: Awaitable[T], done: Done[Any]) -> T:
        """Await what commits. Without an answer it stays open whether it landed, and so whether `done` is true."""
        earlier, self._in_flight = self._in_flight, done
        try:
            return await self._link.step(work)
        except Lost:
            raise
        except BaseException:
            self._in_flight = earlier
            raise

    async def _begin(self, raw: Any, number: int) -> None:
        settings = self.options.timeouts(raw.get_server_version())
        script = lease.begin(self.holder, number, self.options.lease_seconds, settings)
        try:
            began = await self._link.step(raw.execute(script))
        except Lost:
            raise
        except TookTooLong as error:
            raise Lost(f"the lease's row is held by one that hangs: {error}") from error
        except Exception as error:
            await self._undo(raw, error)
            raise
        if began != "UPDATE 1":
            await self._link.step(raw.execute("ROLLBACK"))
            raise _Fenced

    async def _call(self, session: Session, work: Awaitable[T]) -> T:
        """Await an operation's own code. A loss that it met is raised whatever the code made of it.

        A task that it started must not go on asking after its end, outside the transaction or beside the next one.
        """
        try:
            value = await work
        except Exception:
            if session.lost is None:
                raise
        finally:
            session.dead = True
            if session.asking:
                self._link.drop()
        if session.lost is not None:
            raise session.lost
        if session.asking:
            raise StorageError("an operation left a statement behind, so all of it was undone")
        return value

    async def _undo(self, raw: Any, error: Exception) -> None:
        """Roll back. Raises `Lost` (the server undoes what it was, and it is run again) or RollbackFailed."""
        if raw.is_closed():
            return
        try:
            await self._link.step(raw.execute("ROLLBACK"))
        except Lost:
            raise
        except Exception as failed:
            self._link.drop()
            raise RollbackFailed(f"undoing failed ({said(failed)}) after: {said(error)}") from error
