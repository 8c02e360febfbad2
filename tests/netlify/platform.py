"""The platform, played: instances of the unpacked site under Netlify's own bootstrap, and the headers it sends.

One rule: an instance gets nothing but what Netlify gives one: an empty environment with the site's variables, and with
each request the deploy's identity, a key and an address of the database.
"""

import base64
import json
import os
import signal
import subprocess
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

import attrs
import httpx2
import trio

from tests.instance import PATIENCE_SECONDS, Instance
from tests.kill.server import free_port
from tests.netlify.built import MODULES, NODE
from tests.netlify.visits import header
from tests.world import TOKEN

BOOTSTRAP = MODULES / "@netlify/serverless-functions-api/dist/index_server.js"
LAMBDA = Path(__file__).with_name("lambda.mjs")
WAKE_TOKEN = "w4k3-Qm7Zt2Lx9Vb5Nc1Hs8Jd6Fg0Rp3Ky"
FORGED = header(published=False)


@attrs.define(kw_only=True)
class Platform:
    """What it lends now, for every request that goes through it."""

    model_url: str
    model_key: str
    database_url: str

    def headers(self, deploy_id: str, *, published: bool = True) -> dict[str, str]:
        """The headers of a request to a deploy, and one that a visitor forged."""
        gateway = {
            "url": self.model_url,
            "token": self.model_key,
            "envVars": [{"key": "ANTHROPIC_API_KEY", "url": "ANTHROPIC_BASE_URL"}],
        }
        return {
            "x-nf-deploy-id": deploy_id,
            **({"x-nf-deploy-published": "1"} if published else {}),
            "x-nf-ai-gateway": base64.b64encode(json.dumps(gateway).encode()).decode(),
            "x-nf-netlify-db-url": self.database_url,
            "x-nf-purge-api-token": "a-purge-token-that-nobody-needs",
            "x-dreamwalker-visit": FORGED,
        }


@attrs.define(kw_only=True, eq=False)
class Deployed(Instance):
    """An instance of a deploy."""

    platform: Platform
    deploy_id: str
    published: bool = True

    async def refresh(self, request: httpx2.Request) -> None:
        """Give a request what the platform lends now."""
        request.headers.update(self.platform.headers(self.deploy_id, published=self.published))

    def headers(self) -> dict[str, str]:
        """What a live stream is asked for with."""
        lent = self.platform.headers(self.deploy_id, published=self.published)
        return {"Authorization": f"Bearer {TOKEN}", **lent}

    def python(self) -> int:
        """The pid of the Python server behind the entry."""
        children = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split()
        (pid,) = (int(child) for child in children if b"dreamwalker" in Path(f"/proc/{child}/cmdline").read_bytes())
        return pid

    async def permalink(self, path: str) -> httpx2.Response:
        """Ask it by the address of its deploy, when the site shows another."""
        published, self.published = self.published, False
        try:
            return await self.get(path)
        finally:
            self.published = published


@asynccontextmanager
async def deployed(
    server: Path, platform: Platform, home: Path, *, deploy_id: str, variables: Mapping[str, str]
) -> AsyncIterator[Deployed]:
    """Start an instance; it is killed when the block is left."""
    home.mkdir(parents=True, exist_ok=True)
    port = free_port()
    log = home / f"log-{port}"
    entry = {"NETLIFY_PLAY_ENTRY_PATH": str(server / "netlify/server/index.mjs"), "NETLIFY_PLAY_ENTRY_KIND": "server"}
    async with _node(server, port, log, {**entry, "DREAMWALKER_TOKEN": TOKEN, **variables}) as process:
        async with httpx2.AsyncClient(
            base_url=f"http://127.0.0.1:{port}",
            headers={"Authorization": f"Bearer {TOKEN}", "Host": "agent.example"},
            timeout=PATIENCE_SECONDS,
            trust_env=False,
        ) as client:
            made = Deployed(process=process, port=port, client=client, log=log, platform=platform, deploy_id=deploy_id)
            client.event_hooks["request"] = [made.refresh]
            await made.listens()
            yield made


@asynccontextmanager
async def scheduled(wake: Path, home: Path, *, url: str) -> AsyncIterator[httpx2.AsyncClient]:
    """The function under the functions' bootstrap, for a client whose POST is the schedule."""
    port = free_port()
    (entry,) = wake.rglob("wake.mjs")
    environ = {"NETLIFY_PLAY_ENTRY_PATH": str(entry), "URL": url, "DREAMWALKER_WAKE_TOKEN": WAKE_TOKEN}
    log = home / f"log-{port}"
    async with _node(wake, port, log, environ) as process, httpx2.AsyncClient(trust_env=False) as client:
        client.base_url = httpx2.URL(f"http://127.0.0.1:{port}")
        client.timeout = httpx2.Timeout(PATIENCE_SECONDS)
        await Instance(process=process, port=port, client=client, log=log).listens()
        yield client


@asynccontextmanager
async def function(entry: Path, home: Path, variables: Mapping[str, str], *, seconds: float) -> AsyncIterator[Instance]:
    """A function by the entry point that the build gave it, with the variables of its site; cut off after `seconds`."""
    home.mkdir(parents=True, exist_ok=True)
    port = free_port()
    log = home / f"log-{port}"
    environ = {"ENTRY": str(entry), "PORT": str(port), "FUNCTION_SECONDS": str(seconds), **variables}
    runs = _node(entry.parent, port, log, environ, program=LAMBDA)
    async with runs as process, httpx2.AsyncClient(trust_env=False) as client:
        client.base_url = httpx2.URL(f"http://127.0.0.1:{port}")
        client.timeout = httpx2.Timeout(PATIENCE_SECONDS)
        made = Instance(process=process, port=port, client=client, log=log)
        await made.listens()
        yield made


@asynccontextmanager
async def _node(
    folder: Path, port: int, log: Path, environ: Mapping[str, str], program: Path = BOOTSTRAP
) -> AsyncIterator[trio.Process]:
    with log.open("wb") as out:
        process = await trio.lowlevel.open_process(
            [NODE, program],
            env={"PATH": os.defpath, "NETLIFY_PLAY_PORT": str(port), **environ},
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=out,
            cwd=folder,
        )
    try:
        yield process
    finally:
        process.send_signal(signal.SIGKILL)
        with trio.CancelScope(shield=True):
            await process.wait()


async def front(it: Deployed, task_status: "trio.TaskStatus[str]" = trio.TASK_STATUS_IGNORED) -> None:
    """The site's own address, as the platform serves it: one request a connection, passed on to the instance."""

    async def attend(client: trio.SocketStream) -> None:
        head, _, rest = bytes(await client.receive_some(65_536)).partition(b"\r\n")
        lent = "".join(f"{name}: {value}\r\n" for name, value in it.headers().items() if name != "Authorization")
        async with client, await trio.open_tcp_stream("127.0.0.1", it.port) as server, trio.open_nursery() as nursery:
            await server.send_all(head + b"\r\n" + lent.encode() + b"connection: close\r\n" + rest)

            @nursery.start_soon
            async def forth() -> None:
                async for chunk in client:
                    await server.send_all(chunk)

            async for chunk in server:
                await client.send_all(chunk)
            nursery.cancel_scope.cancel()

    async with trio.open_nursery() as nursery:
        (listener,) = await trio.open_tcp_listeners(0, host="127.0.0.1")
        nursery.start_soon(trio.serve_listeners, attend, [listener])
        task_status.started(f"http://127.0.0.1:{listener.socket.getsockname()[1]}")
