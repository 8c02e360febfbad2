"""The application: every endpoint behind the door, and the files of the web app.

One rule: what is neither is not there.
"""

from typing import NoReturn

import msgspec
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from dreamwalker.system import System
from netlify import gateway

from . import (
    agents,
    buttons,
    conversations,
    doctor,
    entries,
    export,
    jobs,
    messages,
    notes,
    openapi,
    platform,
    pushes,
    questions,
    reminders,
    retention,
    runs,
    search,
    settings,
    spend,
    status,
    stream,
    wake,
    web,
    why,
)
from .auth import Headers, Token, carries
from .door import Door
from .endpoint import AnyEndpoint, Asked, Doors, Endpoint, Nothing, dispatch
from .errors import Refused


async def read_openapi(asked: Asked[Nothing, Nothing, Nothing]) -> Response:
    return Response(msgspec.json.encode(openapi.document(ENDPOINTS)), media_type="application/json")


ENDPOINTS: tuple[AnyEndpoint, ...] = (
    *status.ENDPOINTS,
    *doctor.ENDPOINTS,
    *agents.ENDPOINTS,
    *messages.ENDPOINTS,
    *entries.ENDPOINTS,
    *conversations.ENDPOINTS,
    *stream.ENDPOINTS,
    *runs.ENDPOINTS,
    *why.ENDPOINTS,
    *questions.ENDPOINTS,
    *notes.ENDPOINTS,
    *search.ENDPOINTS,
    *reminders.ENDPOINTS,
    *jobs.ENDPOINTS,
    *pushes.ENDPOINTS,
    *buttons.ENDPOINTS,
    *spend.ENDPOINTS,
    *settings.ENDPOINTS,
    *export.ENDPOINTS,
    *retention.ENDPOINTS,
    *wake.ENDPOINTS,
    *platform.ENDPOINTS,
    Endpoint(method="GET", route="/api/openapi.json", says="This document.", handle=read_openapi),
)


def make_app(system: System) -> Starlette:
    """The application that serves a system."""
    doors = Doors(system=system, token=Token(system.config))
    by_route: dict[str, dict[str, AnyEndpoint]] = {}
    for endpoint in ENDPOINTS:
        by_route.setdefault(endpoint.route, {})[endpoint.method] = endpoint
    public = [*(endpoint.route for endpoint in ENDPOINTS if endpoint.public), *web.ROUTES]
    wake_token = system.config.wake_token.encode() if system.config.wake_token is not None else None

    def wakes(headers: Headers) -> bool:
        return carries(headers, wake_token)

    async def visit(headers: Headers) -> None:
        await system.visit(gateway.read(headers, system.config.entry_secret or ""))
        if system.visits.withdrawn:
            raise Refused(410, "The site shows another deploy than this one, which does nothing any more.")

    door = Middleware(
        Door,
        visit=visit if system.config.platform is not None else None,
        token=doors.token,
        names=system.config.hosts,
        public=public,
        keys={endpoint.route: wakes for endpoint in ENDPOINTS if endpoint.waking},
        redact=lambda text: system.redactor.text(text),
    )
    app = Starlette(
        routes=[
            *(Route(route, dispatch(doors, each), methods=list(each)) for route, each in by_route.items()),
            *web.routes(),
        ],
        middleware=[door],
        exception_handlers={HTTPException: _leave_to_the_door},
    )
    app.router.redirect_slashes = False
    return app


async def _leave_to_the_door(request: Request, error: Exception) -> NoReturn:
    raise error
