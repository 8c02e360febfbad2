"""The doorstep: what holds for every request before anything looks at it, and for every answer after.

One rule: a request that is refused is still heard out, within bounds, since a client that is cut off while it sends
does not read the answer.
"""

from collections.abc import Awaitable, Callable, Iterable, Mapping

import trio
from starlette.routing import compile_path
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tools.limits import FIXED

from .auth import Headers, Token, judge_host, judge_token
from .errors import Refused, refusal
from .noted import Noted

HEAR_OUT_BYTES = FIXED.hear_out_bytes
HEAR_OUT_SECONDS = FIXED.hear_out_seconds
"""How much of a body that nobody wants is read away before the answer is sent and the connection closed."""

HEADERS = (
    (b"cache-control", b"no-store"),
    (b"x-content-type-options", b"nosniff"),
    (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'"),
    (b"referrer-policy", b"no-referrer"),
)
"""What every answer says, unless it says something else of its own: the web app's pages have another policy."""


class Door:
    """Judges host and token, and turns whatever is raised into an answer.

    `names` are the host names it answers to beside the local ones; `public`, the routes without a token; `keys`, the
    paths that something else than the token opens too; `redact` takes secrets out of what errors say. `visit` takes
    in what a platform lends with each request, and refuses those of a deploy that the site does not show.
    """

    def __init__(
        self,
        app: ASGIApp,
        token: Token,
        visit: Callable[[Headers], Awaitable[None]] | None,
        names: Iterable[str],
        public: Iterable[str],
        keys: Mapping[str, Callable[[Headers], bool]],
        redact: Callable[[str], str],
    ) -> None:
        self._app, self._token, self._redact, self._visit = app, token, redact, visit
        self._names, self._keys = frozenset(names), keys
        self._public = {route: compile_path(route)[0] for route in public}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1008})
        elif scope["type"] == "http":
            noted = scope[Noted.KEY] = Noted(scope["method"])
            exchange = Exchange(receive, send)
            try:
                await self._admit(scope, exchange)
            finally:
                noted.log(exchange.status)
        else:
            await self._app(scope, receive, send)

    async def _admit(self, scope: Scope, exchange: "Exchange") -> None:
        path: str = scope["path"]
        route = next((route for route, pattern in self._public.items() if pattern.fullmatch(path)), None)
        try:
            if self._visit is not None:
                await self._visit(scope["headers"])
            judge_host(self._names, scope)
            if route is None and not (path in self._keys and self._keys[path](scope["headers"])):
                judge_token(self._token, scope)
            await self._app(scope, exchange.receive, exchange.send)
        except Exception as error:
            refused = refusal(error, Noted.of(scope))
            if refused is not None and not exchange.started:
                said = Refused(
                    refused.status, self._redact(refused.message), code=refused.code, headers=refused.headers
                )
                await said.response(scope, exchange.receive, exchange.send)


class Exchange:
    """One request and its answer, as the server passes them."""

    def __init__(self, receive: Receive, send: Send) -> None:
        self._receive, self._send = receive, send
        self._heard_out = False
        self.status: int | None = None
        """Of the answer, once it has begun."""

    @property
    def started(self) -> bool:
        """Whether the answer has begun."""
        return self.status is not None

    async def receive(self) -> Message:
        message = await self._receive()
        if message["type"] == "http.disconnect" or not message.get("more_body", False):
            self._heard_out = True
        return message

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            said = list(message.get("headers", ()))
            names = {name.lower() for name, _ in said}
            message = {**message, "headers": [*said, *(header for header in HEADERS if header[0] not in names)]}
        elif not message.get("more_body", False) and not self._heard_out:
            await self._hear_out()
            await self._send_listening(message)
            return
        await self._send(message)

    async def _hear_out(self) -> None:
        left_bytes = HEAR_OUT_BYTES
        with trio.move_on_after(HEAR_OUT_SECONDS):
            while not self._heard_out and left_bytes > 0:
                left_bytes -= len((await self.receive()).get("body", b""))

    async def _send_listening(self, message: Message) -> None:
        """Send the end of the answer. What still comes is thrown away meanwhile, or the server would wait for us."""
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._listen)
            await self._send(message)
            nursery.cancel_scope.cancel()

    async def _listen(self) -> None:
        while True:
            await self.receive()
