"""A whole dreamwalker for tests: a real server on a real port, a real database, a scripted model.

For example::

    async with world(database_url, say("Hello.")) as w:
        await w.say("Hi")
        async with w.stream() as events:
            ...
"""

import itertools
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import attrs
import h11
import httpx2
import trio

from actors.clock import Clock
from dreamwalker.config import Config, read
from dreamwalker.server import serve
from dreamwalker.system import System, start
from tests.documented import as_documented
from tests.messages_api import MessagesApi, serve_messages_api
from tests.messages_api.replies import Reply, Rule
from tools.contract import Tool

Json = dict[str, Any]

TOKEN = "a-token-of-the-tests-with-more-than-32-bytes"
PATIENCE_SECONDS = 20.0
"""How long a test waits for what should come at once."""
LIFETIME_SECONDS = 60.0
"""How long a world stands; a test that hangs fails."""


@attrs.frozen(kw_only=True)
class Event:
    """One server-sent event."""

    name: str
    id: int | None
    data: Json


class Events:
    """The events of a live stream as they come. Nothing is read ahead of `next`."""

    def __init__(self, stream: trio.abc.Stream) -> None:
        self._stream, self._http = stream, h11.Connection(h11.CLIENT)
        self._buffer = b""
        self.heartbeats = 0

    async def open(self, target: str, headers: dict[str, str]) -> None:
        """Ask for it; the answer must be 200."""
        request = h11.Request(method="GET", target=target, headers=[("Host", "localhost"), *headers.items()])
        await self._stream.send_all((self._http.send(request) or b"") + (self._http.send(h11.EndOfMessage()) or b""))
        response = await self._next_part()
        assert isinstance(response, h11.Response) and response.status_code == 200, response

    async def next(self) -> Event | None:
        """The next event; None when the stream has ended as it should."""
        with trio.fail_after(PATIENCE_SECONDS):
            while (block := await self._block()) is not None:
                if block.startswith(b":"):
                    self.heartbeats += 1
                    continue
                fields = dict(line.split(": ", 1) for line in block.decode().split("\n"))
                id = int(fields["id"]) if "id" in fields else None
                return Event(name=fields["event"], id=id, data=json.loads(fields["data"]))
        return None

    async def stays_open(self) -> None:
        """Read on, however long nothing but heartbeats comes, until it ends."""
        while (block := await self._block()) is not None and not block.startswith(b"event: end"):
            pass

    async def of(self, name: str) -> Event:
        """The next event of this name; others are passed over."""
        while (event := await self.next()) is not None:
            if event.name == name:
                return event
        raise AssertionError(f"the stream ended without another {name!r}")

    async def until_settled(self, runs: int = 1) -> list[Event]:
        """Every event up to the change that says that so many runs have ended."""
        seen: list[Event] = []
        ended: set[int] = set()
        while (event := await self.next()) is not None:
            seen.append(event)
            ended.update(run["id"] for run in event.data.get("runs", ()) if run["closed_at"])
            if len(ended) >= runs:
                return seen
        raise AssertionError("the stream ended before a run did")

    async def _block(self) -> bytes | None:
        while b"\n\n" not in self._buffer:
            part = await self._next_part()
            if isinstance(part, h11.EndOfMessage):
                return None
            assert isinstance(part, h11.Data), part
            self._buffer += part.data
        block, _, self._buffer = self._buffer.partition(b"\n\n")
        return block

    async def _next_part(self) -> object:
        while (part := self._http.next_event()) is h11.NEED_DATA:
            self._http.receive_data(bytes(await self._stream.receive_some(65_536)))
        return part


CARRIED = ("authorization", "x-dreamwalker-visit")
"""What a live stream is asked for with, of what the client sends with each request."""


@attrs.define(kw_only=True)
class World:
    """A running dreamwalker, from outside (`url`, `token`, `client`) and from inside (`system`, `api`)."""

    url: str
    token: str
    client: httpx2.AsyncClient
    api: MessagesApi
    system: System
    closed: trio.Event
    """Set when the server has ended."""
    _requests: Any = attrs.field(factory=lambda: itertools.count(1))

    async def post(self, path: str, body: Json | None = None, *, status: int = 200) -> Json:
        """POST as the owner; the answer must have this status."""
        return _checked(await self.client.post(path, json=body), status)

    async def get(self, path: str, *, status: int = 200, **query: Any) -> Json:
        """GET as the owner; the answer must have this status."""
        return _checked(await self.client.get(path, params=query or None), status)

    async def say(self, text: str, **fields: Any) -> Json:
        """Send the main agent a message; returns it as it was accepted."""
        body = {"request_id": f"test-{next(self._requests)}", "text": text, **fields}
        message: Json = (await self.post("/api/agents/dreamwalker/messages", body, status=202))["message"]
        return message

    async def asked(self, start_no: int = 0) -> int:
        """Wait until the main agent asks something; the question's number."""
        async with self.stream(start_no) as events:
            while (event := await events.of("change")) is not None:
                for question in event.data["questions"]:
                    if question["state"] == "open":
                        return int(question["id"])
        raise AssertionError("the stream ended before anything was asked")

    async def answer(self, question: int, words: str, *, status: int = 200) -> Json:
        """Answer a question; the answer must have this status."""
        return await self.post(f"/api/questions/{question}/answer", {"answer": words}, status=status)

    @asynccontextmanager
    async def stream(self, start_no: int | None = None, *, conversation: int | None = None) -> AsyncIterator[Events]:
        """The live stream of the main agent, or of a conversation."""
        query = "" if start_no is None else f"?from={start_no}"
        async with await self.connect() as wire:
            events = Events(wire)
            kept = {name: self.client.headers[name] for name in CARRIED if name in self.client.headers}
            whose = "agents/dreamwalker" if conversation is None else f"conversations/{conversation}"
            await events.open(f"/api/{whose}/stream{query}", kept)
            yield events

    async def connect(self) -> trio.SocketStream:
        """A bare connection to the server."""
        return await trio.open_tcp_stream("127.0.0.1", int(self.url.rpartition(":")[2]))

    async def settled(self, start_no: int = 0, runs: int = 1) -> list[Event]:
        """Wait until so many runs have ended above a number; every event up to then."""
        async with self.stream(start_no) as events:
            return await events.until_settled(runs)


def _checked(response: httpx2.Response, status: int) -> Json:
    assert response.status_code == status, (response.status_code, response.text)
    answer: Json = response.json()
    return answer


def config_for(database_url: str, model_url: str, **limits: Any) -> Config:
    """The configuration of a test: nothing of it comes from the real environment."""
    config = read(
        {
            "DREAMWALKER_HOME": str(Path("/nonexistent")),
            "DREAMWALKER_DATABASE_URL": database_url,
            "DREAMWALKER_TOKEN": TOKEN,
            "DREAMWALKER_ZONE": "Europe/Vienna",
            "ANTHROPIC_API_KEY": "a-key-that-the-tests-made-up",
            "ANTHROPIC_BASE_URL": model_url,
        }
    )
    return attrs.evolve(config, limits=attrs.evolve(config.limits, **limits))


@asynccontextmanager
async def world(
    database_url: str,
    *script: Reply | Rule,
    clock: Clock | None = None,
    changes: Json | None = None,
    lifetime_seconds: float = LIFETIME_SECONDS,
    more_tools: tuple[Tool, ...] = (),
    **limits: Any,
) -> AsyncIterator[World]:
    """A dreamwalker that is asleep until it is asked. `limits` by name; `changes` to the configuration by field."""
    with trio.fail_after(lifetime_seconds):
        async with serve_messages_api() as api:
            api.script(*script)
            config = attrs.evolve(config_for(database_url, api.url, **limits), **(changes or {}))
            async with start(config, clock=clock, more_tools=more_tools) as system, trio.open_nursery() as nursery:
                closed = trio.Event()
                (url,) = await nursery.start(_serve, system, closed)
                headers = {"Authorization": f"Bearer {TOKEN}"}
                async with httpx2.AsyncClient(
                    base_url=url, headers=headers, timeout=PATIENCE_SECONDS, event_hooks={"response": [as_documented]}
                ) as client:
                    yield World(url=url, token=TOKEN, client=client, api=api, system=system, closed=closed)
                system.stopping.set()


async def _serve(system: System, closed: trio.Event, task_status: "trio.TaskStatus[tuple[str, ...]]") -> None:
    try:
        await serve(system, host="127.0.0.1", task_status=task_status)
    finally:
        closed.set()
