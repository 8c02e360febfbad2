"""The scripted ntfy: one HTTP/1.1 server on loopback, made of trio and h11 so that it can break at will.

One rule: what comes is recorded, whatever becomes of it; only what was answered with a success is shown.
"""

import json
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from typing import Any
from urllib.parse import urlsplit

import attrs
import h11
import httpx2
import trio

from tests.ntfy.refusals import refuse

READ_BYTES = 65_536
PATIENCE_SECONDS = 20.0
TOPIC = "a-topic-of-the-tests-x7Kq"
TOKEN = "tk_a_token_of_the_tests_91Zx"


@attrs.frozen
class Publish:
    """It is published."""


@attrs.frozen
class Status:
    """It is answered with this status."""

    status: int
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes = b'{"code":40000,"http":400,"error":"words of the server that nobody should read"}'


@attrs.frozen
class Drop:
    """It is published, but the connection ends before the answer."""


@attrs.frozen
class Hang:
    """It is published, but never answered."""


Reply = Publish | Status | Drop | Hang


@attrs.frozen(kw_only=True)
class Notice:
    """One request as it came: its headers, its value if it was one that ntfy takes, and what became of it."""

    headers: dict[str, str]
    raw: bytes
    value: dict[str, Any] | None
    reply: Reply

    @property
    def buttons(self) -> list[str]:
        """What stands on its buttons."""
        return [action["label"] for action in (self.value or {}).get("actions", ())]


class Ntfy:
    """The running server and the phone: what came, and what is shown, by sequence id, the oldest first."""

    def __init__(self) -> None:
        self.url = ""
        self.topic, self.token = TOPIC, TOKEN
        self.came: list[Notice] = []
        self.screen: dict[str, Notice] = {}
        self.names: dict[str, str] = {}
        """Where the phone finds an address: `{"https://dream.example": "http://127.0.0.1:1234"}`."""
        self._queue: deque[Reply] = deque()
        self._news = trio.Condition()

    def script(self, *replies: Reply) -> None:
        """Queue what becomes of the next requests; those after are published."""
        self._queue.extend(replies)

    def forget(self) -> None:
        """Begin anew: nothing came, nothing is shown, nothing is scripted."""
        self.came.clear()
        self.screen.clear()
        self._queue.clear()

    async def came_in(self, count: int) -> Notice:
        """Wait until so many requests have come in all; that one."""
        await self._until(lambda: len(self.came) >= count)
        return self.came[count - 1]

    async def shown(self, count: int) -> Notice:
        """Wait until so many notifications are on the screen; the newest."""
        await self._until(lambda: len(self.screen) >= count)
        return list(self.screen.values())[-1]

    async def press(self, label: str, notice: Notice | None = None) -> httpx2.Response:
        """Press a button of a notification, the newest if none is named; a success clears it from the screen."""
        notice = notice or list(self.screen.values())[-1]
        assert notice.value is not None
        action = next(action for action in notice.value["actions"] if action["label"] == label)
        named = urlsplit(action["url"])
        found = self.names.get(f"{named.scheme}://{named.netloc}", f"{named.scheme}://{named.netloc}")
        async with httpx2.AsyncClient(timeout=PATIENCE_SECONDS, trust_env=False) as client:
            answer = await client.request(action["method"], found + named.path, headers={"Host": named.netloc})
        if answer.is_success and action["clear"]:
            self.screen.pop(notice.value["sequence_id"], None)
        return answer

    async def _until(self, condition: Any) -> None:
        with trio.fail_after(PATIENCE_SECONDS):
            async with self._news:
                while not condition():
                    await self._news.wait()

    async def take(self, headers: dict[str, str], raw: bytes) -> Reply:
        """Record a request; what becomes of it."""
        judged = refuse(raw)
        reply = self._queue.popleft() if self._queue else Publish()
        if headers.get("authorization") != f"Bearer {self.token}":
            reply = Status(401)
        elif not isinstance(judged, dict):
            reply = Status(judged[0], body=judged[1].encode())
        value = judged if isinstance(judged, dict) else None
        notice = Notice(headers=headers, raw=raw, value=value, reply=reply)
        if notice.value is not None and not isinstance(reply, Status):
            self.screen.pop(notice.value["sequence_id"], None)
            self.screen[notice.value["sequence_id"]] = notice
        async with self._news:
            self.came.append(notice)
            self._news.notify_all()
        return reply


@asynccontextmanager
async def serve_ntfy() -> AsyncIterator[Ntfy]:
    """A scripted ntfy on 127.0.0.1, gone when the block is left."""
    ntfy = Ntfy()
    failure: Exception | None = None
    async with trio.open_nursery() as nursery:
        serve = partial(trio.serve_tcp, partial(_connection, ntfy), 0, host="127.0.0.1")
        listeners = await nursery.start(serve)
        ntfy.url = f"http://127.0.0.1:{listeners[0].socket.getsockname()[1]}"
        try:
            yield ntfy
        except Exception as error:
            failure = error  # raised again below as it is, not wrapped in the nursery's group
        nursery.cancel_scope.cancel()
    if failure is not None:
        raise failure


async def _connection(ntfy: Ntfy, stream: trio.SocketStream) -> None:
    http = h11.Connection(h11.SERVER)
    try:
        while (request := await _read(http, stream)) is not None:
            match await ntfy.take(*request):
                case Publish():
                    receipt = {"id": "hwQ2YpKdmg5k", "time": 1_765_000_000, "event": "message", "topic": ntfy.topic}
                    await _answer(http, stream, 200, (), json.dumps(receipt).encode())
                case Status(status=status, headers=headers, body=body):
                    await _answer(http, stream, status, headers, body)
                case Drop():
                    return
                case Hang():
                    await stream.receive_some(1)
                    return
            http.start_next_cycle()
    except (h11.RemoteProtocolError, h11.LocalProtocolError, trio.BrokenResourceError):
        pass
    finally:
        with trio.CancelScope(shield=True):
            await stream.aclose()


async def _read(http: h11.Connection, stream: trio.SocketStream) -> tuple[dict[str, str], bytes] | None:
    headers: dict[str, str] = {}
    body = bytearray()
    while True:
        match http.next_event():
            case h11.NEED_DATA:
                http.receive_data(await stream.receive_some(READ_BYTES))
            case h11.Request() as head:
                headers = {name.decode().lower(): value.decode("latin-1") for name, value in head.headers}
                headers[":target"] = f"{head.method.decode()} {head.target.decode()}"
            case h11.Data() as data:
                body += data.data
            case h11.EndOfMessage():
                return headers, bytes(body)
            case _:
                return None


async def _answer(
    http: h11.Connection, stream: trio.SocketStream, status: int, headers: tuple[tuple[str, str], ...], body: bytes
) -> None:
    head = h11.Response(status_code=status, headers=[("content-length", str(len(body))), *headers])
    for event in (head, h11.Data(data=body), h11.EndOfMessage()):
        await stream.send_all(http.send(event) or b"")
