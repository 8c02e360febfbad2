"""Sandboxes on a hosted machine, by Vercel Sandbox: one machine for all tasks, there only while there are tasks.

One rule: whatever happens to this process, the machine ends. It is deleted when its last task is cleaned, by the next
process when it opens or needs a machine of its own, and by Vercel when its time is up.

The machine is a virtual one of Vercel's on the open internet. Nothing of ours is on it: a command gets its text, its
input and an environment made for it. Each task is a user of its own there, and each command has namespaces of its own.
"""

import logging
import secrets
from collections.abc import Awaitable
from itertools import count

import attrs
import trio

from tools.limits import Limits
from tools.sandbox import Ran, SandboxFailed

from . import inside
from .account import Account
from .inside import Home
from .vercel_api import Api
from .vercel_wire import Refused

log = logging.getLogger("dreamwalker.sandbox")

FIRST_USER = 20_001
IDLE_SECONDS = 1_800.0
"""How long a machine lasts beyond the longest command if nothing is run; with it, it is below the 45 minutes that every
plan of Vercel's allows."""
EXTEND_SECONDS = 300.0
"""A machine is given the time it has used up once that is so much."""
END_SECONDS = 4.0
"""How long ending a command, and cleaning up behind a task, may take: what isn't done then is swept later."""
GRACE_SECONDS = 30.0
"""Beyond what a command may take, until its machine is taken to have failed."""
SMALL_SECONDS = 60.0
"""How long making or deleting the folders of a task may take."""


@attrs.define(kw_only=True, eq=False)
class _Machine:
    """A machine that was made. `ended`: it is known to be there no more."""

    name: str
    session: str
    api: Api
    ends_at: float
    homes: dict[int, Home] = attrs.Factory(dict)
    ended: bool = False


class Vercel:
    """The sandbox of a hosted machine. The names of its machines begin with `prefix`, and no others do.

    Satisfies Sandbox.
    """

    offline: str | None = None

    def __init__(self, account: Account, prefix: str, limits: Limits) -> None:
        self._account, self._prefix, self._limits = account, prefix, limits
        self._seconds = limits.sandbox_seconds + IDLE_SECONDS
        self._machine: _Machine | None = None
        self._name: str | None = None
        self._users = count(FIRST_USER)
        self._one_at_a_time = trio.Lock()
        """Held by who makes a machine, or gives and takes a place on it."""

    async def unavailable(self) -> str | None:
        """Why it can't be used; None if the token, the team and the project are known. No machine is made for that."""
        try:
            async with Api.of(self._account) as api:
                await api.names(self._prefix)
        except SandboxFailed as failed:
            return f"{failed}."
        return None

    # -- commands

    async def run(self, task: int, command: tuple[str, ...], *, given: bytes = b"") -> Ran:
        """Run a command in a task's folder. Raises SandboxFailed."""
        machine, home = await self._enter(task)
        argv, seconds = home.argv(command, self._limits), self._limits.sandbox_seconds + GRACE_SECONDS
        return inside.ran(await self._do(machine, argv, seconds, given), self._limits)

    async def _do(self, machine: _Machine, argv: tuple[str, ...], seconds: float, given: bytes = b"") -> bytes:
        """Run something as root; what it printed. Raises SandboxFailed."""
        try:
            started = await machine.api.start(machine.session, argv, reads=bool(given))
            try:
                with trio.fail_after(seconds):
                    return await self._attend(machine, started, given)
            except BaseException:
                with trio.CancelScope(shield=True), trio.move_on_after(END_SECONDS):
                    await _quietly(machine.api.kill(machine.session, started))
                raise
        except trio.TooSlowError:
            raise SandboxFailed("the hosted machine does not come to an end with a command") from None
        except Refused as refused:
            if not refused.gone:
                raise
            machine.ended = True
            raise SandboxFailed(
                "the hosted machine has ended, and with it all files; the next command gets another"
            ) from None

    async def _attend(self, machine: _Machine, started: str, given: bytes) -> bytes:
        """Give it its input while what it prints is waited for."""
        failed: SandboxFailed | None = None
        printed = b""

        async def feed() -> None:
            nonlocal failed
            try:
                await machine.api.feed(machine.session, started, given)
            except SandboxFailed as error:
                failed = error
                nursery.cancel_scope.cancel()

        async def read() -> None:
            nonlocal failed, printed
            try:
                printed = await machine.api.printed(machine.session, started, inside.most_printed_bytes(self._limits))
            except SandboxFailed as error:
                failed = error
            nursery.cancel_scope.cancel()

        async with trio.open_nursery() as nursery:
            nursery.start_soon(read)
            if given:
                nursery.start_soon(feed)
        if failed is not None:
            raise failed
        return printed

    # -- places on a machine

    async def _enter(self, task: int) -> tuple[_Machine, Home]:
        """A place for a task, on the machine that is there, or else on a new one. Raises SandboxFailed."""
        async with self._one_at_a_time:
            machine = self._machine
            if machine is not None and machine.ended:
                await self._discard(machine)
                machine = None
            if machine is None:
                machine = await self._make()
            home = machine.homes.get(task)
            if home is None:
                home = await self._settle(machine, task)
            await self._keep_up(machine)
            return machine, home

    async def _settle(self, machine: _Machine, task: int) -> Home:
        """Make a place for a task on a machine; if it can't be had, and nobody else has one there, the machine goes."""
        home = machine.homes[task] = Home(user=next(self._users), task=task)
        try:
            await self._as_root(machine, inside.ENTER, home.user, task)
        except BaseException:
            del machine.homes[task]
            if not machine.homes:
                await self._discard(machine)
            raise
        return home

    async def _as_root(self, machine: _Machine, program: str, *args: int) -> None:
        printed = await self._do(
            machine, ("bash", "-c", f"({program}) 2>&1 && echo done", "bash", *map(str, args)), SMALL_SECONDS
        )
        if not printed.endswith(b"done\n"):
            raise SandboxFailed("the hosted machine does not run commands as it should")

    async def _make(self) -> _Machine:
        """Make a machine, once what others have left is deleted."""
        await self.sweep()
        api = await Api.open(self._account)
        name = self._name = self._prefix + secrets.token_hex(6)
        ends_at = trio.current_time() + self._seconds
        try:
            session = await api.make(name, self._seconds)
        except BaseException:
            await self._delete(api, name)
            raise
        self._machine = _Machine(name=name, session=session, api=api, ends_at=ends_at)
        return self._machine

    async def _keep_up(self, machine: _Machine) -> None:
        """See to it that the machine lasts; where the plan does not allow more, it ends when it ends."""
        used_up = self._seconds - (machine.ends_at - trio.current_time())
        if used_up >= EXTEND_SECONDS:
            try:
                await machine.api.extend(machine.session, used_up)
                machine.ends_at += used_up
            except SandboxFailed as failed:
                log.info("sandbox.not_kept", {"why": failed})

    # -- cleaning up

    async def clean(self, task: int) -> None:
        """End all that runs for a task, and delete its folder; once there is no task, the machine. Never raises."""
        machine = self._machine
        if machine is None or (home := machine.homes.pop(task, None)) is None:
            return  # who gets no place leaves nothing
        with trio.CancelScope(shield=True), trio.move_on_after(END_SECONDS):
            async with self._one_at_a_time:
                if machine is not self._machine:
                    return
                if not machine.homes:
                    await self._discard(machine)
                elif not machine.ended:
                    await _quietly(self._as_root(machine, inside.LEAVE, home.user))

    async def sweep(self) -> None:
        """Delete the machines of processes that are no more. Never raises."""
        try:
            async with Api.of(self._account) as api:
                for name in await api.names(self._prefix):
                    if name != self._name:
                        await api.delete(name)
        except SandboxFailed as failed:
            log.warning("sandbox.left_behind", {"why": failed})

    async def _discard(self, machine: _Machine) -> None:
        self._machine = None
        await self._delete(machine.api, machine.name)

    async def _delete(self, api: Api, name: str) -> None:
        """Delete a machine and be done with it."""
        with trio.CancelScope(shield=True):
            self._name = None
            with trio.move_on_after(END_SECONDS):
                await _quietly(api.delete(name))
            await api.close()


async def _quietly(doing: Awaitable[None]) -> None:
    """Do it; what can't be done is swept later."""
    try:
        await doing
    except SandboxFailed as failed:
        log.warning("sandbox.left_behind", {"why": failed})
