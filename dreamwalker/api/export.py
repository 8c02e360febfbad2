"""The archive of everything, as it stands at one moment.

One rule: whoever reads it sees by its last line whether it is whole, since an answer that has begun can't be refused.
"""

import trio
from starlette.types import Receive, Scope, Send

from dreamwalker.system import System

from .endpoint import Asked, Endpoint, Given, Nothing
from .stream import leave_with_client

MEDIA = "application/x-ndjson"


class ExportQuery(Given, frozen=True):
    """What goes into it. `secrets`: also what opens doors, so that buttons that lie on a phone still work."""

    secrets: bool = False


class Export:
    """The ASGI application that answers one request for the archive."""

    def __init__(self, system: System, *, secrets: bool) -> None:
        self._system, self._secrets = system, secrets

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        begun = False

        async def take(piece: bytes) -> None:
            nonlocal begun
            if not begun:  # what fails before there is anything to send is answered in words
                begun = True
                await send(
                    {"type": "http.response.start", "status": 200, "headers": [(b"content-type", MEDIA.encode())]}
                )
            await send({"type": "http.response.body", "body": piece, "more_body": True})

        async with trio.open_nursery() as nursery:
            nursery.start_soon(leave_with_client, receive, nursery.cancel_scope)
            await self._system.database.export(take, now=self._system.clock.now(), secrets=self._secrets)
            nursery.cancel_scope.cancel()
        await send({"type": "http.response.body", "body": b"", "more_body": False})


async def export(asked: Asked[Nothing, ExportQuery, Nothing]) -> Export:
    await asked.house()  # by then the database is there and migrated
    return Export(asked.doors.system, secrets=asked.query.secrets)


ENDPOINTS = (
    Endpoint(
        method="GET",
        route="/api/export",
        says=(
            "Everything that is remembered, as it stands at one moment: an archive of JSON lines, whose last line "
            "holds counts and hashes. Without that line it was cut short."
        ),
        handle=export,
        query=ExportQuery,
        media=MEDIA,
    ),
)
