"""Endpoints: what may be asked, as values.

One rule: an endpoint says everything about itself once: what it takes, what it answers, how it fails. The checks and
the OpenAPI document both read it.
"""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Generic, TypeVar

import attrs
import msgspec
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp

from dreamwalker.house import House
from dreamwalker.system import System

from .auth import Token
from .body import convert, convert_text, decode, read_body
from .errors import Refused
from .noted import Noted

BIGINT_MAX = 2**63 - 1


class Given(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Base of what clients send. What has no such field is refused."""


class Shown(msgspec.Struct, frozen=True, kw_only=True):
    """Base of what clients are answered."""


class Nothing(Given, frozen=True):
    """No fields at all."""


P = TypeVar("P", bound=Given)
Q = TypeVar("Q", bound=Given)
B = TypeVar("B", bound=Given)


@attrs.define(kw_only=True)
class Doors:
    """What all requests share. `streams` counts the live streams that are open."""

    system: System
    token: Token
    streams: int = 0


@attrs.frozen(kw_only=True)
class Asked(Generic[P, Q, B]):
    """One request, checked."""

    doors: Doors
    request: Request
    path: P
    query: Q
    body: B

    async def house(self) -> House:
        """The open house. Raises NotReady."""
        return await self.doors.system.open()

    def about(self, **ids: int) -> None:
        """Say what the request turned out to be about, for its line in the log."""
        Noted.of(self.request.scope).ids(**ids)


@attrs.frozen(kw_only=True)
class Endpoint(Generic[P, Q, B]):
    """One route and method.

    `handle` returns the answer, or an ASGI application that gives it (then `media` says what that is and `events` what
    it is made of). `refusals` are the statuses that this endpoint adds to those that all have. `body_bytes` picks the
    bound of the body out of the limits.
    """

    method: str
    route: str
    says: str
    handle: Callable[[Asked[P, Q, B]], Awaitable[Shown | ASGIApp]]
    path: type[P] = Nothing  # type: ignore[assignment]
    query: type[Q] = Nothing  # type: ignore[assignment]
    body: type[B] = Nothing  # type: ignore[assignment]
    answer: type[Shown] | None = None
    status: int = 200
    refusals: tuple[int, ...] = ()
    body_bytes: str = "request_bytes"
    media: str = "application/json"
    events: tuple[type[Shown], ...] = ()
    public: bool = False
    """Answered without a token."""
    waking: bool = False
    """Answered for the wake token too."""

    async def serve(self, doors: Doors, request: Request) -> ASGIApp:
        """Check the request and have it handled. Raises what the handler raises, and Refused."""
        noted = Noted.of(request.scope)
        noted.route = self.route
        path = convert_text(request.path_params.items(), self.path, status=404)
        if isinstance(id := getattr(path, "id", None), int):
            noted.ids(id=id)
        query = convert_text(request.query_params.multi_items(), self.query, status=422)
        body = convert({} if self.body is Nothing else decode(await self._read_body(doors, request)), self.body)
        answer = await self.handle(Asked(doors=doors, request=request, path=path, query=query, body=body))
        if isinstance(answer, Shown):
            return Response(msgspec.json.encode(answer), self.status, media_type=self.media)
        return answer

    async def _read_body(self, doors: Doors, request: Request) -> bytes:
        limit_bytes: int = getattr(doors.system.config.limits, self.body_bytes)
        return await read_body(request, limit_bytes)


AnyEndpoint = Endpoint[Any, Any, Any]


def dispatch(doors: Doors, by_method: Mapping[str, AnyEndpoint]) -> Callable[[Request], Awaitable[Any]]:
    """The Starlette endpoint of one route."""

    async def serve(request: Request) -> ASGIApp:
        endpoint = by_method["GET" if request.method == "HEAD" else request.method]
        if endpoint.events and request.method == "HEAD":
            raise HTTPException(405, headers={"Allow": "GET"})
        return await endpoint.serve(doors, request)

    return serve


def not_found(what: str) -> Refused:
    """There is no such thing."""
    return Refused(404, f"There is no {what}.")
