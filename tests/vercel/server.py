"""The scripted API: one HTTP/1.1 server on loopback, made of trio and h11, with real machines behind it.

One rule: what it does not know it refuses, with the codes of the real one.
"""

import base64
import json
import os
import re
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from functools import partial
from typing import Any
from urllib.parse import parse_qs, urlsplit

import attrs
import h11
import trio

from tests.vercel.machine import Command, Machine

TOKEN, TEAM, PROJECT = "vcp_a_token_of_the_tests_4Jq81xWz", "team_of_the_tests", "prj_of_the_tests"
_CREATES = {"projectId", "name", "timeout", "persistent", "networkPolicy"}
_RUNS = {"command", "args", "cwd", "sudo", "attachStdin"}


@attrs.frozen
class Status:
    """The next request is answered with this status, and nothing is done."""

    status: int


@attrs.frozen
class Garbage:
    """The next request is answered with something that is no answer to it."""


@attrs.frozen
class Drop:
    """The connection ends before the answer, and nothing is done."""


Scripted = Status | Garbage | Drop
Answer = tuple[int, object]


class Vercel:
    """The running server. `machines` are those that are there, `asked` what it was asked."""

    def __init__(self, nursery: trio.Nursery) -> None:
        self.url = ""
        self.machines: dict[str, Machine] = {}
        self.asked: list[str] = []
        self.created: list[dict[str, Any]] = []
        self._pending: set[str] = set()
        self._script: deque[tuple[str, Scripted]] = deque()
        self._nursery = nursery

    def script(self, pattern: str, *replies: Scripted) -> None:
        """What becomes of the next requests that match."""
        self._script.extend((pattern, reply) for reply in replies)

    def scripted(self, asked: str) -> Scripted | None:
        for entry in self._script:
            if re.search(entry[0], asked):
                self._script.remove(entry)
                return entry[1]
        return None

    def end(self, name: str) -> None:
        """End a machine, as when its time is up."""
        self.machines.pop(name).end()

    async def answer(self, method: str, path: str, query: dict[str, str], body: dict[str, Any]) -> Answer | Command:
        """What comes of a request; a command stands for its log."""
        if query.get("teamId") != TEAM or query.get("projectId", query.get("project", PROJECT)) != PROJECT:
            return 403, {"error": {"code": "forbidden"}}
        match method, *path.removeprefix("/api/").split("/"):
            case "GET", "v2", "sandboxes":
                found = sorted(name for name in self.machines if name.startswith(query["namePrefix"]))
                page = int(query.get("cursor", "0"))
                after = {"next": str(page + 1)} if found[page + 1 :] else {"next": None}
                return 200, {"sandboxes": [{"name": name} for name in found[page : page + 1]], "pagination": after}
            case "POST", "v3", "sandboxes":
                if set(body) != _CREATES or body["projectId"] != PROJECT or body["timeout"] > 2_700_000:
                    return 400, {}
                if body["name"] in self.machines:
                    return 409, {}
                self.created.append(body)
                self.machines[body["name"]] = await trio.to_thread.run_sync(Machine)
                self._pending.add(body["name"])
                return 200, self._sandbox(body["name"])
            case "GET", "v2", "sandboxes", name if name in self.machines:
                self._pending.discard(name)
                return 200, self._sandbox(name)
            case "DELETE", "v2", "sandboxes", name if name in self.machines:
                self.end(name)
                return 200, {"sandbox": {"name": name}}
            case _, "v2", "sandboxes", "sessions", session, *rest if session[5:] in self.machines:
                return await self._of_session(method, self.machines[session[5:]], rest, body)
            case _, "v2", "sandboxes", "sessions", *_:
                return 410, {"error": {"code": "sandbox_stopped"}}
        return 404, {"error": {"code": "not_found"}}

    def _sandbox(self, name: str) -> object:
        status = "pending" if name in self._pending else "running"
        return {"sandbox": {"name": name, "status": status}, "session": {"id": f"sess_{name}", "status": status}}

    async def _of_session(
        self, method: str, machine: Machine, rest: list[str], body: dict[str, Any]
    ) -> Answer | Command:
        match method, *rest:
            case "POST", "extend-timeout":
                return 200, {"session": {}}
            case "POST", "cmd":
                if not set(body) <= _RUNS or not body["sudo"]:
                    return 400, {}
                command = machine.start([body["command"], *body["args"]], takes_input=body.get("attachStdin", False))
                self._nursery.start_soon(_attend, command)
                return 200, {"command": {"id": command.id, "exitCode": None}}
            case "GET", "cmd", id, "logs" if id in machine.commands:
                return machine.commands[id]
            case "POST", "cmd", id, "stdin" if id in machine.commands:
                return await _feed(machine.commands[id], body)
            case "POST", "cmd", id, "kill" if id in machine.commands:
                machine.commands[id].process.kill()
                return 200, {"command": {"id": id}}
        return 404, {}


async def _attend(command: Command) -> None:
    process = command.process
    assert process.stdout is not None and process.stderr is not None
    async with trio.open_nursery() as nursery:
        for name, pipe in (("stdout", process.stdout), ("stderr", process.stderr)):
            nursery.start_soon(command.follow, name, os.dup(pipe.fileno()))
            pipe.close()
    await trio.to_thread.run_sync(process.wait)
    async with command.news:
        command.ended = True
        command.news.notify_all()


async def _feed(command: Command, body: dict[str, Any]) -> Answer:
    stdin = command.process.stdin
    if not command.takes_input or stdin is None or stdin.closed:
        return 400, {"error": {"code": "command_stdin_unavailable"}}
    data = base64.b64decode(body["data"])
    if body["offset"] > command.written:
        return 409, {}
    data = data[command.written - body["offset"] :]
    with suppress(BrokenPipeError):
        await trio.to_thread.run_sync(stdin.write, data)
        command.written += len(data)
        if body["close"]:
            stdin.close()
        else:
            stdin.flush()
    return 200, {"command": {"id": command.id}, "bytesWritten": command.written}


@asynccontextmanager
async def serve_vercel() -> AsyncIterator[Vercel]:
    """A scripted Vercel on 127.0.0.1, gone with its machines when the block is left."""
    async with trio.open_nursery() as nursery:
        vercel = Vercel(nursery)
        listeners = await nursery.start(partial(trio.serve_tcp, partial(_connection, vercel), 0, host="127.0.0.1"))
        vercel.url = f"http://127.0.0.1:{listeners[0].socket.getsockname()[1]}/api"
        try:
            yield vercel
        finally:
            for name in list(vercel.machines):
                vercel.end(name)
            nursery.cancel_scope.cancel()


async def _connection(vercel: Vercel, stream: trio.SocketStream) -> None:
    http = h11.Connection(h11.SERVER)
    with suppress(h11.RemoteProtocolError, h11.LocalProtocolError, trio.BrokenResourceError):
        while (request := await _read(http, stream)) is not None:
            head, raw = request
            method, target = head.method.decode(), urlsplit(head.target.decode())
            vercel.asked.append(asked := f"{method} {target.path}")
            answer: Answer | Command
            match vercel.scripted(asked):
                case Status(status=status):
                    answer = status, {"error": {"message": f"words of the server about {TOKEN}"}}
                case Garbage():
                    answer = 200, ["garbage"]
                case Drop():
                    break
                case None:
                    query = {name: values[0] for name, values in parse_qs(target.query).items()}
                    known = (b"authorization", f"Bearer {TOKEN}".encode()) in list(head.headers)
                    body = json.loads(raw or b"{}")
                    answer = await vercel.answer(method, target.path, query, body) if known else (401, {})
            await _send(http, stream, answer)
            http.start_next_cycle()
    with trio.CancelScope(shield=True):
        await stream.aclose()


async def _read(http: h11.Connection, stream: trio.SocketStream) -> tuple[h11.Request, bytes] | None:
    head, body = None, b""
    while True:
        match http.next_event():
            case h11.NEED_DATA:
                http.receive_data(await stream.receive_some(65_536))
            case h11.Request() as head:
                pass
            case h11.Data() as data:
                body += data.data
            case h11.EndOfMessage():
                assert head is not None
                return head, body
            case _:
                return None


async def _send(http: h11.Connection, stream: trio.SocketStream, answer: Answer | Command) -> None:
    async def send(event: Any) -> None:
        if data := http.send(event):
            await stream.send_all(data)

    if isinstance(answer, Command):
        await send(h11.Response(status_code=200, headers=[("Transfer-Encoding", "chunked")]))
        shown = 0
        while True:
            async with answer.news:
                while shown == len(answer.log) and not answer.ended:
                    await answer.news.wait()
            for name, text in answer.log[shown:]:
                await send(h11.Data(data=json.dumps({"stream": name, "data": text}).encode() + b"\n"))
                shown += 1
            if answer.ended and shown == len(answer.log):
                break
    else:
        body = json.dumps(answer[1]).encode()
        await send(h11.Response(status_code=answer[0], headers=[("Content-Length", str(len(body)))]))
        await send(h11.Data(data=body))
    await send(h11.EndOfMessage())
