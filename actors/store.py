"""The storage actor: one connection, one operation at a time, in the order asked.

One rule: storage waits for nobody. It rings doorbells after a commit and goes on; who hears them looks at the rows.
"""

import logging
import secrets
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import attrs
import trio

from storage.connection import Bridge, Connection, Done, Options
from storage.errors import CommitUnknown, LeaseLost, StorageError, StoreBusy, StoreClosed, Unavailable
from storage.operation import Bell, Commit, Operation, Read, Together
from storage.settings import HighestId

T = TypeVar("T")
log = logging.getLogger("dreamwalker.store")

FATAL = (LeaseLost, CommitUnknown, Unavailable)
"""After one of these what is held in memory may be wrong: the storage ends and has to be opened anew."""


@attrs.frozen(kw_only=True)
class StoreSettings:
    """`renew_seconds`: how often the lease is renewed while `busy()`; `ask_seconds`: how long a caller waits."""

    options: Options
    check: Callable[[Any], Awaitable[None]]
    renew_seconds: float
    ask_seconds: float


class Store:
    """Everyone's way to the database: `await store.ask(operation)`.

    `ring` gets each bell after its commit, and the commit's number. `busy` says whether the lease must be kept up
    without commits. `formerly` is the holder that this process was before, if it was one: then it takes the lease
    from nobody else.
    """

    def __init__(
        self,
        settings: StoreSettings,
        *,
        ring: Callable[[Bell, int], None],
        busy: Callable[[], bool],
        formerly: str = "",
    ) -> None:
        self._settings, self._ring, self._busy, self._formerly = settings, ring, busy, formerly
        self._connection = Connection(settings.options, secrets.token_hex(16))
        self._bridge = Bridge(self._together, wait_seconds=settings.ask_seconds)
        self._failed = trio.Event()
        self._failure: StorageError | None = None
        self._id = 0

    async def run(self, task_status: "trio.TaskStatus[Store]" = trio.TASK_STATUS_IGNORED) -> None:
        """Open, serve until cancelled, close. Raises what opening raises, and LeaseLost, CommitUnknown, Unavailable."""
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._serve)  # not `start`: cut short, that would wait for what nobody then stops
            try:
                await self._open()
                if self._failure is None:
                    task_status.started(self)
                    nursery.start_soon(self._renew)
                    await self._failed.wait()
            finally:
                await self._close()
                nursery.cancel_scope.cancel()
        if self._failure is not None:
            raise self._failure

    async def ask(self, operation: Operation[T] | Read[T], *, patient: bool = False) -> T:
        """Have one operation done. Raises what it raises, StoreBusy past the bound, StoreClosed after the end.

        `patient`: nobody waits for it, so others that have something to do go first, for a while.

        A caller that gives up disturbs nothing: what has begun is carried out all the same.
        """
        if self._failure is not None:
            raise StoreClosed("the storage has ended") from self._failure

        async def unit() -> Done[T]:
            done = await self._perform(operation)
            self._tell(done)
            return done

        commit = operation if isinstance(operation, Commit) else None
        return (await self._bridge.call(unit, commit, patient=patient, bounded=True)).value

    async def _perform(self, operation: Operation[T] | Read[T]) -> Done[T]:
        try:
            return await self._connection.perform(operation)
        except FATAL as error:
            self._fail(error)
            raise

    async def _together(self, commits: tuple[Commit, ...]) -> tuple[Done[int], ...] | None:
        """Perform commits that wait together. None if one of them can't be: then nothing happened."""
        try:
            dones = (await self._perform(Together(commits))).value
        except FATAL:
            raise
        except Exception:
            return None
        for done in dones:
            self._tell(done)
        return dones

    def _tell(self, done: Done[Any]) -> None:
        """Ring the bells. Not left to the caller: one that gave up must not silence them."""
        for bell in done.bells:
            self._ring(bell, done.no)

    def next_id(self) -> int:
        """A new id for a conversation, message, run or note. Only the holder of the lease hands them out."""
        self._id += 1
        return self._id

    @property
    def commit_no(self) -> int:
        """The number of the newest commit."""
        return self._connection.commit_no

    @property
    def generation(self) -> str:
        """The deploy that writes."""
        return self._settings.options.generation

    @property
    def held_as(self) -> str:
        """The holder as which it has, or had, the lease; "" if it never did."""
        return self._connection.holder if self._connection.commit_no else ""

    @property
    def drops(self) -> int:
        """Connections lost so far."""
        return self._connection.drops

    async def hold(self, margin_seconds: float) -> None:
        """Return while at least `margin_seconds` of the lease are left, renewing it first if need be.

        What must not be repeated starts only after this. Raises LeaseLost.
        """
        left = self._settings.options.lease_seconds - self._connection.lease_age_seconds
        if left < margin_seconds:
            await self.ask(Commit())

    def _fail(self, error: StorageError) -> None:
        if self._failure is None:
            self._failure = error
            self._failed.set()

    async def _serve(self) -> None:
        with trio.CancelScope(shield=True):  # `_close` still needs it to give the lease up; it ends by being stopped
            await self._bridge.run()

    async def _open(self) -> None:
        connection, settings = self._connection, self._settings

        async def unit() -> None:
            await connection.open(settings.check, formerly=self._formerly)
            self._id = (await connection.perform(HighestId())).value

        try:
            await self._bridge.call(unit)
        except StorageError as error:
            self._fail(error)

    async def _close(self) -> None:
        self._connection.stopping = True
        with trio.move_on_after(3, shield=True):
            try:
                await self._bridge.call(self._connection.close)
            except StoreClosed:
                log.warning("lease.kept")
        self._connection.cut()  # or a silent server could hold up the end
        self._bridge.stop()

    async def _renew(self) -> None:
        while True:
            await trio.sleep(self._settings.renew_seconds / 4)
            age = self._connection.lease_age_seconds
            if self._busy() and age >= self._settings.renew_seconds * 3 / 4:
                try:
                    await self.ask(Commit())
                except StoreBusy as error:  # it may still be done; if not, the next turn sees it by the lease's age
                    log.info("lease.slow", {"why": error})
                except StorageError as error:
                    log.info("lease.not_renewed", {"why": error})
                    return
