"""One child of a supervisor: how to keep it, and one life of it.

One rule: a life is shielded from every cancellation but its own, so that it can be asked to stop before it is made to.
"""

import enum
import logging
from collections.abc import Awaitable, Callable
from typing import Protocol, overload

import attrs
import trio

log = logging.getLogger("dreamwalker.actors")


class Restart(enum.Enum):
    """What follows when a child ends by itself."""

    PERMANENT = "permanent"
    """It is restarted, however it ended."""
    TRANSIENT = "transient"
    """It is restarted after an error; once it ends in peace it is forgotten."""
    TEMPORARY = "temporary"
    """It is forgotten, however it ended."""


class Start(Protocol):
    """An async function as `trio.Nursery.start` takes it: it calls `task_status.started()` once it is up."""

    def __call__(self, *, task_status: trio.TaskStatus[object]) -> Awaitable[object]: ...


@attrs.frozen(kw_only=True)
class Child:
    """How to keep one actor.

    `start` runs it from start to end, anew for each restart. `ask_to_stop` asks it to end (it closes a mailbox,
    mostly) and must not wait; if it has not ended `stop_seconds` later, it is cancelled. Without it, at once.
    """

    name: str
    start: Start
    restart: Restart = Restart.PERMANENT
    ask_to_stop: Callable[[], None] | None = None
    stop_seconds: float = 5.0


class Life:
    """One run of a child, from its start to its end; it is also the task_status that the child's `start` gets.

    `on_up` is called when it comes up, `on_end` when it ends, before anyone who waits for that goes on.
    """

    def __init__(self, child: Child, *, on_up: "Callable[[Life], None]", on_end: "Callable[[Life], None]") -> None:
        self.child = child
        self.error: Exception | None = None
        self.ended = trio.Event()
        self._on_up, self._on_end = on_up, on_end
        self._up = False
        self._settled = trio.Event()  # up, or ended before it was
        self._scope = trio.CancelScope(shield=True)

    async def run(self) -> None:
        """Run the child to its end. Its error is kept in `error`, not raised."""
        try:
            with self._scope:
                await self.child.start(task_status=self)
        except Exception as error:
            self.error = unwrap(error)
        finally:
            self._on_end(self)
            self.ended.set()
            self._settled.set()

    def started(self, value: object = None) -> None:
        """The child says that it is up."""
        if not self._up:
            self._up = True
            self._on_up(self)
            self._settled.set()

    async def settled(self) -> Exception | None:
        """Wait until it is up; returns what kept it from coming up."""
        await self._settled.wait()
        if self._up:
            return None
        return self.error or RuntimeError(f"{self.child.name} ended before it was up")

    async def stop(self) -> None:
        """Ask, wait, cancel; returns when it has ended. One that is not up yet is cancelled at once.

        Shielded: the wait is bounded, and a stop cut short would only have to begin again.
        """
        with trio.CancelScope(shield=True):
            if self._up and not self.ended.is_set() and self.child.ask_to_stop is not None:
                safely(self.child.ask_to_stop)
                with trio.move_on_after(self.child.stop_seconds):
                    await self.ended.wait()
            self.cancel()
            await self.ended.wait()

    def cancel(self) -> None:
        """Make it end."""
        self._scope.cancel()


@overload
def unwrap(error: Exception) -> Exception: ...
@overload
def unwrap(error: BaseException) -> BaseException: ...
def unwrap(error: BaseException) -> BaseException:
    """The error inside groups of one, however deep; a group of several stays as it is."""
    while isinstance(error, BaseExceptionGroup) and len(error.exceptions) == 1:
        error = error.exceptions[0]
    return error


def first_of(error: Exception, kinds: tuple[type[Exception], ...]) -> Exception | None:
    """The first error of these kinds, in a group of any depth too."""
    if isinstance(error, kinds):
        return error
    if isinstance(error, ExceptionGroup):
        return next((found for inner in error.exceptions if (found := first_of(inner, kinds)) is not None), None)
    return None


def safely(callback: Callable[..., None], *args: object) -> None:
    """Call back; an error in there is logged, and keeps nobody from starting or stopping."""
    try:
        callback(*args)
    except Exception:
        log.exception("actor.callback_failed")
