"""A wire between the browser and its server, which is cut, frozen and taken away on purpose."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import attrs
import trio

from tests.world import World


@attrs.define(eq=False)
class Relay:
    """One address that leads to a server. `there`: whether anybody can connect; `frozen`: whether what the server says
    is lost, and nobody told.
    """

    target: int
    port: int = 0
    there: bool = True
    frozen: bool = False
    _streams: set[trio.SocketStream] = attrs.field(factory=set)

    @property
    def url(self) -> str:
        """Where it is reached."""
        return f"http://127.0.0.1:{self.port}"

    async def leave(self) -> None:
        """Cut every connection, and let in nobody."""
        self.there = False
        await self.cut()

    async def cut(self) -> None:
        """Cut every connection."""
        for stream in list(self._streams):
            stream.socket.close()

    async def attend(self, client: trio.SocketStream) -> None:
        """Relay one connection."""
        if not self.there:
            client.socket.close()
            return
        server = await trio.open_tcp_stream("127.0.0.1", self.target)
        self._streams |= {client, server}
        try:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(self._ask, client, server, nursery.cancel_scope)
                await self._answer(client, server)
                nursery.cancel_scope.cancel()
        except* (trio.BrokenResourceError, trio.ClosedResourceError):
            pass
        finally:
            self._streams -= {client, server}
            for stream in (client, server):
                stream.socket.close()

    async def _ask(self, client: trio.SocketStream, server: trio.SocketStream, scope: trio.CancelScope) -> None:
        try:
            async for data in client:
                await server.send_all(data)
        except (trio.BrokenResourceError, trio.ClosedResourceError):
            pass
        scope.cancel()

    async def _answer(self, client: trio.SocketStream, server: trio.SocketStream) -> None:
        async for data in server:
            if not self.frozen:
                await client.send_all(data)


@asynccontextmanager
async def relay(w: World) -> AsyncIterator[Relay]:
    """A relay to a world's server."""
    made = Relay(int(w.url.rpartition(":")[2]))
    async with trio.open_nursery() as nursery:
        listeners = await nursery.start(trio.serve_tcp, made.attend, 0)
        made.port = listeners[0].socket.getsockname()[1]
        yield made
        nursery.cancel_scope.cancel()
