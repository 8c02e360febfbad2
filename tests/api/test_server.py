"""The server: where it listens, and that it ends in time whoever holds on to it."""

import os
import socket
import stat
import time
from functools import partial
from pathlib import Path

import httpx2
import pytest
import trio

from dreamwalker.server import serve
from dreamwalker.system import start
from tests.messages_api import Gate, answer, say, text
from tests.world import PATIENCE_SECONDS, TOKEN, World, config_for, world

NOBODY = "http://127.0.0.1:9"


async def _refused(w: World) -> bool:
    try:
        await (await w.connect()).aclose()
    except OSError:
        return True
    return False


async def test_port_0_takes_a_free_port_and_says_which(database_url: str) -> None:
    async with world(database_url) as first, world(database_url) as second:
        assert first.url != second.url
        await first.get("/api/health")
        await second.get("/api/health")


async def test_an_address_that_is_taken_is_an_error_at_once(database_url: str) -> None:
    async with world(database_url) as w, start(config_for(database_url, NOBODY)) as other:
        with pytest.raises(OSError, match="in use"):
            await serve(other, host="127.0.0.1", port=int(w.url.rpartition(":")[2]))


async def test_a_socket_file_is_for_its_owner_alone_and_replaces_a_dead_one(database_url: str, tmp_path: Path) -> None:
    path = tmp_path / "private"
    dead = socket.socket(socket.AF_UNIX)
    dead.bind(str(path))
    dead.close()
    async with start(config_for(database_url, NOBODY)) as system, trio.open_nursery() as nursery:
        assert await nursery.start(partial(serve, system, unix=path)) == (f"unix:{path}",)
        mode = path.stat().st_mode
        assert stat.S_ISSOCK(mode) and stat.S_IMODE(mode) == 0o600
        transport = httpx2.AsyncHTTPTransport(uds=str(path))
        async with httpx2.AsyncClient(transport=transport, base_url="http://localhost") as client:
            assert (await client.get("/api/health")).status_code == 200
            headers = {"Authorization": f"Bearer {TOKEN}"}
            assert (await client.get("/api/status", headers=headers)).status_code == 200
        system.stopping.set()
    assert not path.exists()


async def test_a_file_that_is_no_socket_is_left_alone(database_url: str, tmp_path: Path) -> None:
    path = tmp_path / "precious"
    path.write_text("keep me")
    async with start(config_for(database_url, NOBODY)) as system:
        with pytest.raises(OSError, match="in use"):
            await serve(system, unix=path)
    assert path.read_text() == "keep me"


async def test_it_ends_at_once_when_nobody_is_there(database_url: str) -> None:
    async with world(database_url) as w:
        await w.get("/api/health")  # the connection is kept by both sides
        began = time.monotonic()
        w.system.stopping.set()
        await w.closed.wait()
        assert time.monotonic() - began < 2
        assert await _refused(w)


async def test_who_is_being_heard_is_answered_before_the_end(database_url: str) -> None:
    async with world(database_url, say("Ok.")) as w:
        await w.get("/api/status")
        async with await w.connect() as wire:
            body = b'{"request_id": "1", "text": "The last words"}'
            head = f"POST /api/agents/dreamwalker/messages HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {TOKEN}"
            await wire.send_all(f"{head}\r\nContent-Length: {len(body)}\r\nExpect: 100-continue\r\n\r\n".encode())
            with trio.fail_after(PATIENCE_SECONDS):
                assert b"100" in await wire.receive_some()  # it is being read
                w.system.stopping.set()
                while not await _refused(w):
                    await trio.lowlevel.checkpoint()
                await wire.send_all(body)
                answered = b""
                while part := await wire.receive_some():
                    answered += part
                assert answered.startswith(b"HTTP/1.1 503") and b"stopping" in answered
                await w.closed.wait()


async def test_clients_that_hold_on_are_let_go_in_time(database_url: str) -> None:
    gate = Gate()
    async with world(database_url, answer(text("Wait", gate)), stop_seconds=1.0) as w:
        head = f"HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {TOKEN}\r\n"
        held = (
            b"",
            b"GET /api/health HTT",
            f"POST /api/agents/dreamwalker/messages {head}Content-Length: 50\r\n\r\n{{".encode(),
            f"GET /api/agents/dreamwalker/stream {head}\r\n".encode(),
        )
        wires = [await w.connect() for _ in held]
        for wire, sent in zip(wires, held, strict=True):
            await wire.send_all(sent)
        with trio.fail_after(PATIENCE_SECONDS):
            await wires[-1].receive_some()
        await w.say("Begin")
        await gate.reached.wait()
        began = time.monotonic()
        w.system.stopping.set()
        await w.closed.wait()
        assert time.monotonic() - began < 5
        for wire in wires:
            await wire.aclose()


async def test_a_server_that_is_cancelled_ends_the_same_way(database_url: str) -> None:
    async with start(config_for(database_url, NOBODY)) as system, trio.open_nursery() as nursery:
        (url,) = await nursery.start(partial(serve, system))
        async with httpx2.AsyncClient(base_url=url, headers={"Authorization": f"Bearer {TOKEN}"}) as client:
            async with client.stream("GET", "/api/agents/dreamwalker/stream") as response:
                assert response.status_code == 200
                nursery.cancel_scope.cancel()
                with trio.CancelScope(shield=True), trio.fail_after(PATIENCE_SECONDS):
                    assert '"reason":"stopping"' in (await response.aread()).decode()
    assert system.stopping.is_set()


async def test_one_that_is_cancelled_before_it_has_begun_ends_too(database_url: str, tmp_path: Path) -> None:
    path = tmp_path / "private"
    async with start(config_for(database_url, NOBODY)) as system:
        with trio.CancelScope() as scope:
            scope.cancel()
            await serve(system, unix=path)
        assert scope.cancelled_caught and system.stopping.is_set()
    assert not path.exists()


async def test_many_clients_are_served_at_once_and_none_is_forgotten(database_url: str) -> None:
    async with world(database_url) as w:
        await w.get("/api/status")
        answered = 0

        async def ask() -> None:
            nonlocal answered
            async with httpx2.AsyncClient(base_url=w.url, headers=w.client.headers, timeout=PATIENCE_SECONDS) as client:
                for path in ("/api/status", "/api/settings", "/api/agents"):
                    assert (await client.get(path)).status_code == 200
                    answered += 1

        before = len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 0
        async with trio.open_nursery() as nursery:
            for _ in range(30):
                nursery.start_soon(ask)
        assert answered == 90
        with trio.fail_after(PATIENCE_SECONDS):
            while before and len(os.listdir("/proc/self/fd")) > before + 2:
                await trio.lowlevel.checkpoint()
