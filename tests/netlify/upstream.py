"""What stands at DREAMWALKER_URL, played: it notes what reaches it, and answers as a test says.

One rule: it keeps the bytes as they came. What must not pass is looked for in all of them.
"""

from collections.abc import Awaitable, Callable
from typing import Any

import attrs
import trio

Send = Callable[[Any], Awaitable[None]]
Reply = Callable[["Came", Send], Awaitable[None]]


@attrs.define(kw_only=True, eq=False)
class Came:
    """One request as it came, and whether who sent it has left."""

    method: str
    target: str
    headers: dict[str, str]
    body: bytes
    left: trio.Event = attrs.Factory(trio.Event)


def answer(status: int, body: bytes = b"{}", **headers: str) -> Reply:
    """A whole answer; an underscore in the name of a header is a hyphen."""

    async def reply(came: Came, send: Send) -> None:
        lines = {"content_type": "application/json"} | headers
        raw = [(name.replace("_", "-").encode(), value.encode()) for name, value in lines.items()]
        await send({"type": "http.response.start", "status": status, "headers": raw})
        await send({"type": "http.response.body", "body": body, "more_body": False})

    return reply


def events(*said: bytes, after: trio.Event | None = None) -> Reply:
    """A live stream that says this, and then goes on without a word until its client leaves."""

    async def reply(came: Came, send: Send) -> None:
        if after is not None:
            await after.wait()
        headers = [(b"content-type", b"text/event-stream; charset=utf-8")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        for piece in said:
            await send({"type": "http.response.body", "body": piece, "more_body": True})
        await came.left.wait()

    return reply


async def silence(came: Came, send: Send) -> None:
    """Nothing, until its client leaves."""
    await came.left.wait()


async def break_off(came: Came, send: Send) -> None:
    """Half of an answer."""
    headers = [(b"content-type", b"application/json"), (b"content-length", b"1000")]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": b'{"notes": [', "more_body": True})
    raise ConnectionError("on purpose")


@attrs.define(eq=False)
class Upstream:
    """The server, as an ASGI application."""

    reply: Reply = attrs.field(factory=lambda: answer(200))
    came: list[Came] = attrs.Factory(list)

    async def __call__(self, scope: Any, receive: Any, send: Send) -> None:
        if scope["type"] != "http":
            raise NotImplementedError("there is nothing to start or to stop")
        body = b""
        while (message := await receive())["type"] == "http.request":
            body += message.get("body", b"")
            if not message.get("more_body"):
                break
        target = (scope["raw_path"] + (b"?" + scope["query_string"] if scope["query_string"] else b"")).decode()
        headers = {name.decode(): value.decode() for name, value in scope["headers"]}
        came = Came(method=scope["method"], target=target, headers=headers, body=body)
        self.came.append(came)
        async with trio.open_nursery() as nursery:

            @nursery.start_soon
            async def watch() -> None:
                while (await receive())["type"] != "http.disconnect":
                    pass
                came.left.set()

            await self.reply(came, send)
            nursery.cancel_scope.cancel()
