"""The server: the application on its port, or on a private socket.

One rule: it ends in time. Streams end first, then whoever is being answered, then whoever does not let go; a client
that reads slowly or not at all holds up neither the others nor the end.
"""

import logging
import os
import socket
import stat
from functools import partial
from pathlib import Path
from typing import Any, cast

import trio
from hypercorn.app_wrappers import ASGIWrapper
from hypercorn.config import Config as HypercornConfig
from hypercorn.trio.tcp_server import TCPServer
from hypercorn.trio.worker_context import WorkerContext
from hypercorn.typing import LifespanState

from tools.limits import FIXED

from .api.app import make_app
from .system import System

log = logging.getLogger("dreamwalker.server")

CONNECTIONS_MAX = FIXED.connections
"""Connections at once; one more is closed as it comes."""

HEAD_BYTES_MAX = FIXED.head_bytes
"""The request line and the headers."""

IDLE_SECONDS = FIXED.idle_connection_seconds
"""How long a connection is kept for another request."""

STALL_SECONDS = FIXED.stall_seconds
SEND_BYTES = FIXED.send_bytes
"""A client that does not take so many bytes in so long has gone."""

WIND_UP_SHARE = 0.4
"""How much of the time for stopping the connections get; the rest is for the agents and the database."""


async def serve(
    system: System,
    *,
    host: str = "127.0.0.1",
    port: int = 0,
    unix: Path | None = None,
    task_status: "trio.TaskStatus[tuple[str, ...]]" = trio.TASK_STATUS_IGNORED,
) -> None:
    """Serve until `system.stopping` is set or this is cancelled; either way it ends gracefully, and stops the system.

    Reports the addresses once they are open: "http://127.0.0.1:8765". Port 0 picks a free one; with `unix` it listens
    on that socket instead: "unix:/path". Raises OSError if an address can't be had.
    """
    listeners = [_socket(unix)] if unix is not None else await trio.open_tcp_listeners(port, host=host)
    server = _Server(system)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(server.hold)
        try:
            accept = partial(trio.serve_listeners, server.attend, listeners, handler_nursery=await server.held())
            async with trio.open_nursery() as accepting:
                await accepting.start(accept)
                task_status.started(tuple(_address(listener) for listener in listeners))
                await system.stopping.wait()
                accepting.cancel_scope.cancel()
        finally:
            server.wind_up()
            for listener in listeners:
                listener.socket.close()
            if unix is not None:
                unix.unlink(missing_ok=True)


class _Server:
    """Every connection of one server. hypercorn speaks HTTP on each; when they begin and end is decided here."""

    def __init__(self, system: System) -> None:
        self._system = system
        self._app = ASGIWrapper(make_app(system))  # type: ignore[arg-type]
        self._config = _config()
        self._context = WorkerContext(None)
        self._wires: set[_Wire] = set()
        self._connections: trio.Nursery
        self._holding, self._winding_up = trio.Event(), trio.Event()

    async def attend(self, stream: trio.SocketStream) -> None:
        """Serve one connection to its end."""
        wire = _Wire(stream)
        if len(self._wires) >= CONNECTIONS_MAX:
            wire.cut()
            return
        self._wires.add(wire)
        try:
            await _Connection(self._app, self._config, self._context, LifespanState({}), cast(Any, wire)).run()
        except Exception as error:
            log.warning("connection.failed", exc_info=error)
        finally:
            self._wires.discard(wire)

    async def hold(self) -> None:
        """Keep the connections, whoever cancels; after `wind_up`, until all have ended or the time is over.

        Not for `Nursery.start`: cancelled meanwhile, that would wait for its end, and nobody would wind it up.
        """
        with trio.CancelScope(shield=True):
            async with trio.open_nursery() as around:
                async with trio.open_nursery() as self._connections:
                    around.start_soon(self._cut_late, self._connections)
                    self._holding.set()
                    await self._winding_up.wait()
                around.cancel_scope.cancel()

    async def held(self) -> trio.Nursery:
        """Where `hold` keeps the connections, once it does."""
        await self._holding.wait()
        return self._connections

    async def _cut_late(self, connections: trio.Nursery) -> None:
        await self._winding_up.wait()
        await self._context.terminated.set()  # ends the idle ones
        await trio.sleep(self._system.config.limits.stop_seconds * WIND_UP_SHARE)
        log.info("connections.cut", {"connections": len(self._wires)})
        for wire in self._wires:
            wire.cut()  # a send under way is shielded, and ends only so
        connections.cancel_scope.cancel()

    def wind_up(self) -> None:
        """Begin to end."""
        self._system.stopping.set()
        if self._system.house is not None:
            self._system.house.live.finish()
        self._winding_up.set()


class _Connection(TCPServer):
    """hypercorn's, but that one whose client has left ends at once, not when it would have been idle too long."""

    async def _read_data(self) -> None:
        await super()._read_data()
        await self.idle_task.stop()


class _Wire:
    """A connection as hypercorn uses it, with sends that don't wait for ever."""

    def __init__(self, stream: trio.SocketStream) -> None:
        self._stream = stream
        self.socket = stream.socket

    async def send_all(self, data: bytes) -> None:
        """Send, as long as the client takes it. Raises BrokenResourceError."""
        for at in range(0, len(data), SEND_BYTES):
            with trio.move_on_after(STALL_SECONDS) as patience:
                await self._stream.send_all(data[at : at + SEND_BYTES])
            if patience.cancelled_caught:
                self.cut()
                raise trio.BrokenResourceError("the client takes nothing any more")

    async def receive_some(self, max_bytes: int | None = None) -> bytes:
        """What the client sends next; nothing when it has ended."""
        return bytes(await self._stream.receive_some(max_bytes))

    async def send_eof(self) -> None:
        """Say that nothing follows."""
        await self._stream.send_eof()

    async def aclose(self) -> None:
        """Close it."""
        await self._stream.aclose()

    def cut(self) -> None:
        """Close it at once; whoever sends or receives on it gets an error."""
        self.socket.close()


def _config() -> HypercornConfig:
    config = HypercornConfig()
    config.accesslog = None
    config.errorlog = logging.getLogger("dreamwalker.server.http")
    config.include_server_header = False
    config.h11_max_incomplete_size = HEAD_BYTES_MAX
    config.keep_alive_timeout = IDLE_SECONDS
    return config


def _socket(path: Path) -> trio.SocketListener:
    """Listen on a socket file that only its owner may use. One that a dead server left is replaced."""
    if path.exists() and stat.S_ISSOCK(path.stat().st_mode):
        path.unlink()
    made = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    mask = os.umask(0o177)
    try:
        made.bind(str(path))
        made.listen()
    except OSError:
        made.close()
        raise
    finally:
        os.umask(mask)
    return trio.SocketListener(trio.socket.from_stdlib_socket(made))


def _address(listener: trio.SocketListener) -> str:
    name = listener.socket.getsockname()
    if listener.socket.family == socket.AF_UNIX:
        return f"unix:{name}"
    host = f"[{name[0]}]" if ":" in name[0] else name[0]
    return f"http://{host}:{name[1]}"
