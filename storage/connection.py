"""The bridge to asyncio: one connection that comes back when it is lost, and one unit of work at a time.

One rule: this is the only file that knows asyncio, trio-asyncio or asyncpg. Above it is trio.
"""

import asyncio
import collections
import logging
import math
import secrets
import weakref
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any, TypeVar

import asyncpg
import trio
import trio_asyncio

from . import commits, lease
from .errors import StoreClosed, Unavailable
from .operation import Commit, Done
from .options import Options
from .queue import Queue, Unit
from .session import Lost, code_of, is_loss, named, said

__all__ = ["Bridge", "Connection", "Done", "Line", "Options"]

T = TypeVar("T")
log = logging.getLogger("dreamwalker.storage")

# "prepared statement does not exist", "… already exists": each statement meets another session.
_POOLED = ("26000", "42P05")


class _Driver(asyncpg.Connection):  # type: ignore[misc]
    """A driver's connection whose statements bear names that no other process gives.

    Behind a pooler that we don't know of yet, a counter's name could be that of another process's statement.
    """

    def _get_unique_id(self, prefix: str) -> str:
        return f"dreamwalker_{prefix}_{secrets.token_hex(8)}"


class _Patience:
    """How long one operation goes on trying: up to its bound, at once at first, then with growing pauses."""

    def __init__(self, seconds: float) -> None:
        self._until, self._pause = _now() + seconds, 0.0

    @property
    def left(self) -> float:
        """Seconds to the bound."""
        return self._until - _now()

    async def wait(self, because: Exception) -> None:
        """Pause before the next try. Raises Unavailable when that would be past the bound."""
        if self.left <= self._pause:
            raise Unavailable(f"the database could not be reached: {said(because)}") from because
        await asyncio.sleep(self._pause)
        self._pause = min(max(self._pause * 2, 0.02), 1.0)


class _Watchdog:
    """Ends a connection whose server is silent for too long; one timer, however many statements there are."""

    def __init__(self, seconds: float) -> None:
        self._seconds, self._since, self._set = seconds, 0.0, False
        self._raw: Any = None

    def begin(self, raw: Any) -> None:
        """Watch one exchange with the server, until `end`."""
        self._raw, self._since = raw, _now()
        self._set = self._set or self._wake_in(self._seconds)

    def end(self) -> None:
        self._raw = None

    def _wake_in(self, seconds: float) -> bool:
        asyncio.get_running_loop().call_later(seconds, self._look)
        return True

    def _look(self) -> None:
        left = self._since + self._seconds - _now()
        self._set = self._raw is not None and left > 0 and self._wake_in(left)
        if self._raw is not None and left <= 0:
            self._raw.terminate()


class _Link:
    """The way to the database: at most one connection of the driver, made anew whenever it is lost."""

    def __init__(self, options: Options) -> None:
        self.options = options
        self.raw: Any = None
        self.drops = 0
        self.stopping = False
        self._pooler = bool(options.pooler)
        self._connecting: asyncio.Future[Any] | None = None
        self._watchdog = _Watchdog(options.silent_seconds)

    def patience(self) -> _Patience:
        return _Patience(self.options.reach_seconds)

    async def connect(self, seconds: float) -> Any:
        dsn, named_pooler = lease.connectable(self.options.dsn())
        if self.options.pooler is None and named_pooler:
            self._pooler = True
        connecting = asyncpg.connect(
            dsn,
            timeout=seconds,
            statement_cache_size=0 if self._pooler else 200,
            max_cached_statement_lifetime=0,
            connection_class=_Driver,
        )
        self._connecting = asyncio.ensure_future(connecting)
        self.raw = await self._connecting
        return self.raw

    async def reach(self, patience: commits.Patience) -> Any:
        if self.raw is not None and self.raw.is_closed():
            self._lost("it ended while nothing was asked")
        while self.raw is None or self.raw.is_closed():
            if self.stopping:
                raise StoreClosed("the storage is closing")
            try:
                await self.connect(min(max(self.options.reach_seconds / 3, 1.0), max(patience.left, 0.1)))
            except (asyncpg.InvalidAuthorizationSpecificationError, asyncpg.InvalidCatalogNameError) as error:
                raise Unavailable(f"the database refused the connection: {error}") from error
            except asyncio.CancelledError:
                if not self.stopping:
                    raise
            except asyncpg.ClientConfigurationError as error:
                raise Unavailable(f"the database's address can't be used: {error}") from error
            except (ValueError, OverflowError):  # its words may quote the password, which stands in the address
                raise Unavailable("the database's address can't be used: it can't be read as one") from None
            except (OSError, TimeoutError, asyncpg.PostgresError, asyncpg.InterfaceError) as error:
                await patience.wait(error)
        return self.raw

    async def step(self, work: Awaitable[T], /) -> T:
        raw = self.raw
        self._watchdog.begin(raw)
        try:
            return await work
        except Exception as error:
            if raw.is_closed() or is_loss(error) or self._meets_pooler(error):
                raise Lost(said(error)) from error
            ours = named(error)
            if ours is error:
                raise
            raise ours from error
        finally:
            self._watchdog.end()

    def _meets_pooler(self, error: Exception) -> bool:
        if self._pooler or self.options.pooler is not None or code_of(error) not in _POOLED:
            return False
        log.info("database.pooled")
        self._pooler = True
        return True

    async def again(self, lost: Exception, patience: commits.Patience) -> None:
        self._lost(str(lost))
        await patience.wait(lost)

    def _lost(self, why: str) -> None:
        self.drops += 1
        log.info("database.lost", {"why": why})
        self.drop()

    def drop(self) -> None:
        self.cut()
        self.raw = None

    def cut(self) -> None:
        """End the connection, or the attempt at one, under whoever is using it."""
        if self._connecting is not None:
            self._connecting.cancel()
        if self.raw is not None:
            self.raw.terminate()


class Connection(commits.Writer):
    """One writer's connection. Everything here runs in asyncio, one unit at a time (`Bridge` sees to that)."""

    _link: _Link

    def __init__(self, options: Options, holder: str) -> None:
        super().__init__(_Link(options), options, holder)

    @property
    def drops(self) -> int:
        """Connections lost so far."""
        return self._link.drops

    @property
    def stopping(self) -> bool:
        """Set it, and nothing reconnects any more."""
        return self._link.stopping

    @stopping.setter
    def stopping(self, stopping: bool) -> None:
        self._link.stopping = stopping

    def cut(self) -> None:
        """End what is under way by cutting the connection, for a stop that can't wait for a silent server."""
        self._link.stopping = True
        self._link.cut()

    async def close(self) -> None:
        """Give the lease up if it is still ours, and close the connection. Never raises; takes 2 s at most."""
        link = self._link
        with suppress(Exception):
            async with asyncio.timeout(2):
                if self.commit_no and (link.raw is None or link.raw.is_closed()):
                    await link.connect(2)
                if link.raw is not None:
                    await link.raw.execute(lease.give_up(self.holder))
                    await link.raw.close()
        link.drop()


class Line:
    """Callers in asyncio, one behind the other in the order they asked.

    A caller that gives up leaves what it asked for to end by itself.
    """

    def __init__(self) -> None:
        self._lock = asyncio.Lock()
        self._tasks: set[asyncio.Task[Any]] = set()

    def join(self, work: Callable[[], Awaitable[T]]) -> Awaitable[T]:
        """Take a place at the end of the line now; what is returned is done when `work` is."""
        task = asyncio.get_running_loop().create_task(self._turn(work))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return asyncio.shield(task)

    async def _turn(self, work: Callable[[], Awaitable[T]]) -> T:
        async with self._lock:
            return await work()


class _Soon:
    """What is to be done soon in the loop, done at once by whoever causes it: a caller, or the reading of an answer.

    The loop would do each such thing in a turn of its own of trio's scheduler, three turns for each statement. What
    others cause (timers, threads) it still does in its turns.
    """

    def __init__(self, loop: Any) -> None:
        self._loop, self._in_its_turn = loop, loop.call_soon
        self._readers: weakref.WeakSet[trio.lowlevel.Task] = weakref.WeakSet()
        self._handles: collections.deque[asyncio.Handle] = collections.deque()
        self._doing = False
        loop.call_soon, loop.synchronize = self._call_soon, self._synchronize

    def caused(self, cause: Callable[[], None]) -> None:
        """Do it as if it were called in the loop, and all that follows from it."""
        before = trio_asyncio.current_loop.set(self._loop)
        self._doing = True
        try:
            cause()
            self._do()
        finally:
            self._doing = False
            trio_asyncio.current_loop.reset(before)

    def _do(self) -> None:
        while self._handles:
            handle = self._handles.popleft()
            if not handle.cancelled():
                handle._run()

    def _call_soon(self, callback: Callable[..., Any], *args: Any, context: Any = None) -> asyncio.Handle:
        if not self._doing and trio.lowlevel.current_task() not in self._readers:
            handle: asyncio.Handle = self._in_its_turn(callback, *args, context=context)
            return handle
        self._handles.append(asyncio.Handle(callback, args, self._loop, context))
        return self._handles[-1]

    async def _synchronize(self) -> None:
        """The loop's tasks that read and write await this each time that they have."""
        self._readers.add(trio.lowlevel.current_task())
        self._do()


Together = Callable[[tuple[Commit, ...]], Awaitable[tuple[Done[int], ...] | None]]


async def _each_by_itself(commits: tuple[Commit, ...]) -> None:
    pass


class Bridge:
    """Runs coroutines of the asyncio world for callers in trio, one at a time, in the order asked.

    A unit that has started is never cancelled: a caller that gives up, as a bounded one does after `wait_seconds`,
    leaves it to end by itself; one that has not started is skipped. A patient one lets all others go first, for
    `queue.PATIENCE_SECONDS` at most. After `stop` what is queued and whatever comes is refused with StoreClosed.

    Commits of one statement that wait, each about another conversation, are given to `together` first. It returns what
    they came to, or None if nothing happened: then each is done by itself. What it raises, all of them raise.
    """

    def __init__(self, together: Together | None = None, *, wait_seconds: float = math.inf) -> None:
        self._together = together or _each_by_itself
        self._queue = Queue(wait_seconds)
        self._timer: asyncio.TimerHandle | None = None
        self._idle: asyncio.Future[None] | None = None
        self._soon: _Soon
        self._stopping = False

    async def call(
        self,
        work: Callable[[], Awaitable[T]],
        commit: Commit | None = None,
        *,
        patient: bool = False,
        bounded: bool = False,
    ) -> T:
        """Queue one unit and wait for it. Raises StoreClosed, StoreBusy if `bounded`, or what the unit raises.

        `commit`: all that it does, if it is that.
        """
        if self._stopping:
            raise StoreClosed("the storage is closed")
        unit = Unit(work, commit, patient=patient)
        self._queue.put(unit)
        self._wake()
        await self._queue.wait_for(unit, bounded=bounded)
        if unit.error is not None:
            raise unit.error
        value: T = unit.value
        return value

    def stop(self) -> None:
        """Refuse what is queued and end after the unit that is under way."""
        self._stopping = True
        self._wake()

    async def run(self, task_status: "trio.TaskStatus[None]" = trio.TASK_STATUS_IGNORED) -> None:
        """Serve until stopped or cancelled; either way the unit under way ends first."""
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._host, task_status, nursery.cancel_scope)
            try:
                await trio.sleep_forever()
            finally:
                self.stop()

    async def _host(self, task_status: "trio.TaskStatus[None]", ended: trio.CancelScope) -> None:
        with trio.CancelScope(shield=True):  # outside the loop: its own tasks must not be cancelled either
            async with trio_asyncio.open_loop() as loop:
                loop.set_exception_handler(_loop_error)  # by default any stray error would end the loop
                self._soon = _Soon(loop)
                await trio_asyncio.aio_as_trio(self._serve)(task_status)
        ended.cancel()

    async def _serve(self, task_status: "trio.TaskStatus[None]") -> None:
        task_status.started()
        try:
            while not self._stopping:
                if not self._queue:
                    self._idle = asyncio.get_running_loop().create_future()
                    await self._idle
                    self._idle = None
                    continue
                if self._timer is None:
                    self._look_in(self._queue.wait_seconds)
                await self._perform(self._queue.take())
        finally:
            self._stopping = True
            for unit in self._queue.clear():
                unit.finish(error=StoreClosed("the storage is closed"))

    def _look_in(self, seconds: float) -> None:
        self._timer = asyncio.get_running_loop().call_later(seconds, self._look) if seconds < math.inf else None

    def _look(self) -> None:
        self._timer, left = None, self._queue.tell_late()
        if left is not None:
            self._look_in(left)

    async def _perform(self, units: list[Unit]) -> None:
        commits = tuple(unit.commit for unit in units if unit.commit is not None)
        if len(commits) > 1:
            try:
                dones = await self._together(commits)
            except BaseException as error:
                for unit in units:
                    unit.finish(error=error)
                return
            if dones is not None:
                for unit, done in zip(units, dones, strict=True):
                    unit.finish(value=done)
                return
        for unit in units:
            try:
                unit.finish(value=await unit.work())
            except BaseException as error:  # SystemExit too: here it would only stop the loop; it ends who waits
                unit.finish(error=error)

    def _wake(self) -> None:
        if (idle := self._idle) is not None and not idle.done():
            self._soon.caused(lambda: idle.set_result(None))


async def visit(options: Options, work: Callable[[Any], Awaitable[T]]) -> T:
    """From trio: connect, let `work` use the driver's connection, and close it.

    For what comes before any lease: applying migrations. Raises Unavailable, also when the connection is lost
    meanwhile, and what `work` raises.
    """

    async def unit() -> T:
        link = _Link(options)
        try:
            return await work(await link.reach(link.patience()))
        except Exception as error:
            if link.raw is not None and (link.raw.is_closed() or is_loss(error)):
                raise Unavailable(f"the connection to the database was lost: {said(error)}") from error
            raise
        finally:
            link.drop()

    async with trio_asyncio.open_loop():
        value: T = await trio_asyncio.aio_as_trio(unit)()
        return value


def in_trio(function: Callable[..., Awaitable[T]]) -> Callable[..., Awaitable[T]]:
    """A function of trio's world, to be awaited by what `visit` runs."""
    called: Callable[..., Awaitable[T]] = trio_asyncio.trio_as_aio(function)
    return called


def _now() -> float:
    return asyncio.get_running_loop().time()


def _loop_error(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    log.error("database.broke", exc_info=context.get("exception"))
