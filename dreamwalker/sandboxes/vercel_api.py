"""The calls of Vercel's Sandbox REST API that a sandbox needs.

One rule: each says what it needs and takes from the answer what it needs, and nothing else.

Vercel's own package speaks the same API over the same client, but is some 14,000 lines with pydantic for ten calls.
"""

import base64
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any
from urllib.parse import quote

import msgspec
import trio

from tools.sandbox import SandboxFailed

from .account import Account
from .vercel_wire import (
    ANSWER_BYTES,
    ATTEMPTS,
    PAUSE_SECONDS,
    STRANGE,
    Broken,
    Refused,
    Wire,
    decoded,
    passing,
    read,
)

READY_SECONDS = 90.0
"""How long a machine may take to start."""
POLL_SECONDS = 0.5
PAGES = 20
"""Pages of a list that are read."""
INPUT_BYTES = 512 * 1024
"""Of a command's input in one request, which may have 1 MB."""


class _Answer(msgspec.Struct, frozen=True, rename="camel"):
    """Parts of answers; what else there is does not matter."""


class _Named(_Answer, frozen=True):
    name: str


class _Next(_Answer, frozen=True):
    next: str | None = None


class _Listed(_Answer, frozen=True):
    sandboxes: list[_Named]
    pagination: _Next = _Next()


class _Session(_Answer, frozen=True):
    id: str
    status: str


class _Made(_Answer, frozen=True):
    session: _Session


class _Id(_Answer, frozen=True):
    id: str


class _Started(_Answer, frozen=True):
    command: _Id


class _Written(_Answer, frozen=True):
    bytes_written: int


class _Line(_Answer, frozen=True):
    stream: str
    data: Any


class Api:
    """The calls, over a connection. All of them raise SandboxFailed."""

    def __init__(self, wire: Wire) -> None:
        self._wire, self._project = wire, wire.account.project

    @classmethod
    async def open(cls, account: Account) -> "Api":
        """Connect; it has to be closed."""
        return cls(await Wire.open(account))

    @classmethod
    @asynccontextmanager
    async def of(cls, account: Account) -> AsyncIterator["Api"]:
        """A connection for a moment."""
        api = await cls.open(account)
        try:
            yield api
        finally:
            await api.close()

    async def close(self) -> None:
        """Close the connection, whatever happens."""
        await self._wire.close()

    # -- machines

    async def names(self, prefix: str) -> list[str]:
        """The names of all machines whose names begin so."""
        found: list[str] = []
        query = {"project": self._project, "namePrefix": prefix, "sortBy": "name", "limit": "50"}
        for _ in range(PAGES):
            page = await self._wire.ask("GET", "v2/sandboxes", _Listed, query=query)
            found += [named.name for named in page.sandboxes if named.name.startswith(prefix)]
            if page.pagination.next is None:
                break
            query["cursor"] = page.pagination.next
        return found

    async def make(self, name: str, seconds: float) -> str:
        """Make a machine that ends by itself after a time, and wait until it runs. Returns its session."""
        body = {
            "projectId": self._project,
            "name": name,
            "timeout": _milliseconds(seconds),
            "persistent": False,
            "networkPolicy": {"mode": "allow-all"},
        }
        session = (await self._wire.ask("POST", "v3/sandboxes", _Made, body=body, again=False)).session
        with trio.move_on_after(READY_SECONDS):
            while session.status == "pending":
                await trio.sleep(POLL_SECONDS)
                path, query = f"v2/sandboxes/{quote(name, '')}", {"projectId": self._project}
                session = (await self._wire.ask("GET", path, _Made, query=query)).session
        if session.status != "running":
            raise SandboxFailed("the hosted machine does not start")
        return session.id

    async def delete(self, name: str) -> None:
        """Stop a machine and delete it; it is fine if it is not there."""
        try:
            query = {"projectId": self._project}
            await self._wire.ask("DELETE", f"v2/sandboxes/{quote(name, '')}", msgspec.Raw, query=query)
        except Refused as refused:
            if not refused.gone:
                raise

    async def extend(self, session: str, seconds: float) -> None:
        """Let a machine run so much longer."""
        body = {"duration": _milliseconds(seconds)}
        await self._wire.ask("POST", f"{_of(session)}/extend-timeout", msgspec.Raw, body=body, again=False)

    # -- commands

    async def start(self, session: str, argv: tuple[str, ...], *, reads: bool) -> str:
        """Start a command as root; `reads`: it is given input. Returns its id."""
        body = {
            "command": argv[0],
            "args": argv[1:],
            "cwd": "/",
            "sudo": True,
            **({"attachStdin": True} if reads else {}),
        }
        return (await self._wire.ask("POST", f"{_of(session)}/cmd", _Started, body=body, again=False)).command.id

    async def feed(self, session: str, command: str, given: bytes) -> None:
        """Give a command its input. One that ends or does not read it is left alone."""
        written, path = 0, f"{_of(session, command)}/stdin"
        while True:
            part = given[written : written + INPUT_BYTES]
            last = written + len(part) == len(given)
            data = base64.b64encode(part).decode()
            try:
                told = await self._wire.ask(
                    "POST", path, _Written, body={"data": data, "offset": written, "close": last}
                )
            except Refused as refused:
                if refused.status in (400, 404, 504):
                    return
                raise
            if last:
                return
            if not written < told.bytes_written <= len(given):
                raise SandboxFailed(STRANGE)
            written = told.bytes_written

    async def printed(self, session: str, command: str, most_bytes: int) -> bytes:
        """Wait until a command has ended; what it printed on stdout. A connection that breaks is taken up again."""
        path = f"{_of(session, command)}/logs"
        for attempt in range(ATTEMPTS):
            if attempt:
                await trio.sleep(PAUSE_SECONDS * 2 ** (attempt - 1))
            with suppress(Broken):
                async with self._wire.stream("GET", path, endless=True) as answer:
                    if answer.is_success:
                        return _stdout(await read(answer, 4 * most_bytes + ANSWER_BYTES), most_bytes)
                    if not passing(answer.status_code):
                        raise Refused(answer.status_code)
        raise SandboxFailed("the connection to Vercel broke while a command ran")

    async def kill(self, session: str, command: str) -> None:
        """End what was started."""
        with suppress(Refused):
            await self._wire.ask("POST", f"{_of(session, command)}/kill", msgspec.Raw, body={"signal": 9})


def _of(session: str, command: str | None = None) -> str:
    path = f"v2/sandboxes/sessions/{quote(session, '')}"
    return path if command is None else f"{path}/cmd/{quote(command, '')}"


def _stdout(said: bytes, most: int) -> bytes:
    """What a command printed on stdout, by the log of it. Raises Broken if that is cut off."""
    printed = ""
    *lines, rest = said.split(b"\n")
    for text in filter(None, lines):
        line = decoded(text, _Line)
        if line.stream == "error":
            raise Broken("Vercel lost the command", unsent=False)
        if line.stream == "stdout" and isinstance(line.data, str):
            printed += line.data
    if rest:
        raise Broken("Vercel broke the connection off", unsent=False)
    if len(printed) > most:
        raise SandboxFailed(STRANGE)
    return printed.encode("utf-8", "replace")


def _milliseconds(seconds: float) -> int:
    return round(seconds * 1000)
