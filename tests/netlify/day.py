"""An owner's day on Netlify, through the real archive and the real bootstrap: whatever the platform does to it.

One rule: at the end of the day every message was answered exactly once, and nothing was noted twice.
"""

import itertools
import os
import signal
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from typing import Any

import attrs
import httpx2
import trio

from tests.messages_api import Gate, answer, fail, say, use
from tests.messages_api.server import MessagesApi
from tests.netlify.built import Site
from tests.netlify.platform import FORGED, WAKE_TOKEN, Deployed, Platform, deployed, front, scheduled
from tests.netlify.visits import HEADER, header
from tests.ntfy.server import TOKEN as NTFY_TOKEN
from tests.ntfy.server import TOPIC, Ntfy
from tests.world import TOKEN

FIRST = "66a0aaaa0123456789abcdef"
SECOND = "66b0aaaa0123456789abcdef"
"""Deploy ids: what the morning begins with, and what is deployed at noon."""

COLD_STARTS, REQUESTS = 5, 200
STOP_SECONDS = 10.0
LOOK_SECONDS = 0.05
"""Between two looks at another process, which nothing else tells of."""

ENTRY = ("entry.started", "entry.ended")
"""What the log of an instance says of the Python server's life."""

QUOTE = [{"from": "a mail", "text": "Write a note!"}]

Ask = Callable[[str], Awaitable[list[tuple[Any, ...]]]]


@attrs.define(kw_only=True)
class Day:
    """What the day is lived with, and what was promised in it. `ask` asks the database, past dreamwalker."""

    site: Site
    folder: Path
    platform: Platform
    api: MessagesApi
    ntfy: Ntfy
    ask: Ask
    stack: AsyncExitStack
    promised: list[str] = attrs.Factory(list)
    figures: dict[str, float] = attrs.Factory(dict)
    steps: int = 0
    _numbers: Any = attrs.field(factory=lambda: itertools.count(1))

    async def live(self) -> None:
        """Morning to night."""
        it = await self.start(FIRST)
        await self.chat(it)
        await self.hide(it)
        it = await self.wake(it)
        it = await self.decide(it)
        await self.rotate(it)
        it = await self.deploy(it)
        it = await self.swap(it)
        it = await self.roll_back(it)
        await self.crash(it)
        it = await self.stop(it)
        await self.balance(it)
        await self.measure(it)

    # -- its parts

    async def chat(self, it: Deployed) -> None:
        gate = Gate()
        async with it.stream() as events:
            await self.say(it, "It begins", gate, " and ends.")
            written = ""
            while "It begin" not in written:
                written += (await events.of("text")).data["text"]
            gate.open()
            await events.until_settled(1)
        self.step("chat: text comes while the model still writes")

    async def hide(self, it: Deployed) -> None:
        lent = (self.platform.model_key, self.platform.database_url, "a-purge-token-that-nobody-needs")
        told = Path(f"/proc/{it.python()}/environ").read_text() + it.log.read_text()
        ground = (await it.get("/api/platform")).json()
        assert not any(secret in told + str(ground) for secret in lent), "something that was lent is told"
        assert (ground["deploy"], ground["published"]) == (FIRST, True), f"a visitor was believed: {ground}"
        assert "x-nf-netlify-db-url" in ground["headers"] and not any("DB_URL" in name for name in ground["variables"])
        refused = await it.client.get("/api/status", headers={"Authorization": "Bearer nobody"})
        assert refused.status_code == 401
        for method in ("GET", "HEAD", "DELETE", "OPTIONS", "POST"):
            await smuggle(it, method)
        after = (await it.get("/api/platform")).json()
        assert after["visits"] == ground["visits"] + 7, "a request within a request got through"
        self.step("what is lent stands in no environment, log or answer; a forged visit is thrown away")

    async def wake(self, it: Deployed) -> Deployed:
        body = {"request_id": "tea", "text": "Tea is ready", "when": "in 2s"}
        made = await it.client.post("/api/reminders", json=body)
        assert made.status_code == 201, made.text
        await self.end(it)
        left = datetime.fromisoformat(made.json()["next_at"]) - datetime.now(UTC)
        await trio.sleep(max(left.total_seconds(), 0.0))
        assert not self.ntfy.came
        it = await self.start(FIRST)
        self.api.script(say("Mind the tea."))
        async with trio.open_nursery() as nursery:
            url = await nursery.start(front, it)
            async with scheduled(self.site.wake, self.folder, url=url) as clock:
                woken = await clock.post("/", json={"next_run": "2026-11-30T12:00:00Z"})
                assert woken.status_code in (200, 204), woken.text
            nursery.cancel_scope.cancel()
        notice = await self.ntfy.shown(1)
        assert notice.value is not None and "Tea is ready" in notice.value["message"]
        await self.quiet(it)
        self.step("wake: a reminder that came due while nothing ran reaches the phone by the scheduled function")
        return it

    async def decide(self, it: Deployed) -> Deployed:
        note = use("write_note", {"title": "Shopping", "text": "tulips"})
        self.api.script(answer(note))
        await self.accept(it, "What is this?", quotes=QUOTE)
        question = await self.asked(it)
        await self.end(it)
        it = await self.start(FIRST)
        self.api.script(say("Noted, as you said."))
        self.promised.append("Noted, as you said.")
        answered = await it.client.post(f"/api/questions/{question}/answer", json={"answer": "yes"})
        assert answered.status_code == 200, answered.text
        await self.quiet(it)
        self.step("question: asked, put to sleep, answered as the first request of the next instance, carried out")
        return it

    async def rotate(self, it: Deployed) -> None:
        old_key, old_url = self.platform.model_key, self.platform.database_url
        self.api.script(fail(401, "authentication_error"))
        asked = len(self.api.requests)
        await self.say(it, "A new key was needed.")
        await self.api.arrived(asked + 1)
        self.platform.model_key = "sk-gateway-second-4Vb8Nm2Qx7Lc"
        self.platform.database_url = old_url.replace("owner_a", "owner_b")
        await it.get("/api/health")
        await self.ask("ALTER ROLE owner_a NOLOGIN")
        await self.ask("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'owner_a'")
        await self.quiet(it)
        keys = [request.key for request in self.api.requests]
        assert keys[-1] == self.platform.model_key and old_key in keys
        await self.say(it, "And a new address.")
        await self.quiet(it)
        users = await self.ask("SELECT DISTINCT usename FROM pg_stat_activity WHERE usename LIKE 'owner%'")
        assert users == [("owner_b",)]
        self.step(
            "rotation: a refused key waits for the next request; a lost connection is made with the newest address"
        )

    async def deploy(self, it: Deployed) -> Deployed:
        gate = Gate()
        await self.say(it, "It was begun", gate, " by the old deploy.", anew="It was ended by the new deploy.")
        await gate.reached.wait()
        newer = await self.start(SECOND)
        assert (await newer.get("/api/status")).status_code == 200
        await self.quiet(newer)
        late = await it.permalink("/api/health")
        assert late.status_code == 410, late.text
        await self.end(it)
        self.step("deploy: the newer takes over in the middle of a run and ends it; the older answers 410")
        return newer

    async def swap(self, it: Deployed) -> Deployed:
        gate = Gate()
        await self.say(it, "Eight hours", gate, " were over.", anew="The next instance has said it.")
        await gate.reached.wait()
        other = await self.start(SECOND)
        assert (await other.get("/api/status")).status_code == 200
        await self.end(it)
        await self.quiet(other)
        self.step("swap: another instance of the same deploy goes on with the run")
        return other

    async def roll_back(self, it: Deployed) -> Deployed:
        older = await self.start(FIRST)
        waiting = await older.get("/api/status")
        assert waiting.status_code == 503 and int(waiting.headers["retry-after"]) >= 1, waiting.text
        assert (await it.permalink("/api/health")).status_code == 410
        await self.until(older, 200)
        await self.say(older, "Back again.")
        await self.quiet(older)
        await self.end(it)
        self.step("rollback: the older deploy works as soon as the newer knows that it is not shown any more")
        return older

    async def crash(self, it: Deployed) -> None:
        gate = Gate()
        await self.say(it, "It breaks", gate, " off.", anew="It was said after the crash.")
        await gate.reached.wait()
        os.kill(it.python(), signal.SIGKILL)
        await self.until(it, 200)
        await self.quiet(it)
        ended = [(line["event"], line.get("code")) for line in it.lines() if line["event"] in ENTRY]
        assert ended == [("entry.started", None), ("entry.ended", "SIGKILL"), ("entry.started", None)], ended
        self.step("crash: Python is killed, the next request starts another, which goes on with the run")

    async def stop(self, it: Deployed) -> Deployed:
        gate = Gate()
        await self.say(it, "It is cut", gate, " short.", anew="It was said after the stop.")
        await gate.reached.wait()
        async with it.stream() as events:
            began = time.monotonic()
            it.signal(signal.SIGTERM)
            while await events.next() is not None:
                pass
            assert await it.ended() == 0
        assert time.monotonic() - began < STOP_SECONDS
        it = await self.start(FIRST)
        assert (await it.get("/api/status")).status_code == 200
        await self.quiet(it)
        self.step("SIGTERM in the middle of a run: streams end cleanly, the process in time, the run in the next one")
        return it

    async def balance(self, it: Deployed) -> None:
        replies = Counter(await it.replies())
        wrong = {text: replies[text] for text in self.promised if replies[text] != 1}
        assert not wrong, f"not answered exactly once: {wrong}"
        notes = (await it.get("/api/agents/dreamwalker/notes")).json()["notes"]
        assert [note["title"] for note in notes] == ["Shopping"], notes
        runs = (await it.get("/api/runs?limit=100")).json()["runs"]
        assert all(run["state"] == "done" for run in runs), runs
        self.step(f"balance: {len(self.promised)} answers, each once; one note; {len(runs)} runs, all done")

    async def measure(self, it: Deployed) -> None:
        """First requests of new instances, and what the entry adds to talking to Python directly."""
        firsts, through, direct = [], [], []
        for _ in range(COLD_STARTS):
            await self.end(it)
            it = await self.start(FIRST)
            firsts.append(await timed(it.client, "/api/status"))
        socket = Path(f"/proc/{it.python()}/cmdline").read_text().split("\0")[6]
        environ = Path(f"/proc/{it.python()}/environ").read_text().split("\0")
        (secret,) = (line.partition("=")[2] for line in environ if line.startswith("DREAMWALKER_ENTRY_SECRET="))
        visit = header(self.platform.database_url, secret=secret)
        headers = {"Authorization": f"Bearer {TOKEN}", HEADER.decode(): visit}
        transport = httpx2.AsyncHTTPTransport(uds=socket)
        entry = f"http://127.0.0.1:{it.port}"
        async with (
            httpx2.AsyncClient(base_url=entry, headers=it.headers(), trust_env=False) as passed,
            httpx2.AsyncClient(transport=transport, base_url="http://localhost", headers=headers) as bare,
        ):
            for _ in range(REQUESTS):
                through.append(await timed(passed, "/api/health"))
                direct.append(await timed(bare, "/api/health"))
        self.figures = {
            "archive_mb": round(self.site.archive_bytes / 1e6, 1),
            "first_request_ms": round(1000 * median(firsts)),
            "added_ms": round(1000 * (median(through) - median(direct)), 2),
        }

    # -- what they are made of

    async def start(self, deploy_id: str) -> Deployed:
        variables = {
            "DREAMWALKER_WAKE_TOKEN": WAKE_TOKEN,
            "DREAMWALKER_NTFY_URL": self.ntfy.url,
            "DREAMWALKER_NTFY_TOPIC": TOPIC,
            "DREAMWALKER_NTFY_TOKEN": NTFY_TOKEN,
            "DREAMWALKER_SANDBOX": "none",
            "DREAMWALKER_ZONE": "Europe/Vienna",
        }
        home = self.folder / f"instance-{next(self._numbers)}"
        made = deployed(self.site.server, self.platform, home, deploy_id=deploy_id, variables=variables)
        return await self.stack.enter_async_context(made)

    def step(self, what: str) -> None:
        """Say what has gone well."""
        self.steps += 1
        print(f"✓ {what}", flush=True)

    async def end(self, it: Deployed) -> None:
        """The platform ends an instance."""
        it.signal(signal.SIGTERM)
        with trio.fail_after(STOP_SECONDS):
            assert await it.ended() == 0, it.log.read_text()

    async def say(self, it: Deployed, *reply: str | Gate, anew: str | None = None) -> None:
        """The owner writes, and the model replies; if that is cut short, it replies `anew` when it is asked again."""
        self.api.script(say(*reply))
        if anew is not None:
            self.api.script(say(anew))
        self.promised.append(anew or "".join(part for part in reply if isinstance(part, str)))
        await self.accept(it, f"Message {len(self.promised)}")

    async def accept(self, it: Deployed, text: str, **fields: Any) -> None:
        body = {"request_id": f"day-{next(self._numbers)}", "text": text, **fields}
        accepted = await it.client.post("/api/agents/dreamwalker/messages", json=body)
        assert accepted.status_code == 202, accepted.text

    async def asked(self, it: Deployed) -> int:
        """Wait until the owner is asked something; the question's number."""
        while not (questions := (await it.get("/api/questions")).json()["questions"]):
            await trio.sleep(LOOK_SECONDS)
        return int(questions[0]["id"])

    async def quiet(self, it: Deployed) -> None:
        """Wait until no run is open."""
        while any(run["closed_at"] is None for run in await it.runs()):
            await trio.sleep(LOOK_SECONDS)

    async def until(self, it: Deployed, status: int) -> None:
        """Ask until it answers so."""
        while (await it.get("/api/status")).status_code != status:
            await trio.sleep(LOOK_SECONDS)


async def smuggle(it: Deployed, method: str) -> None:
    """Send a request whose body looks like another one, as a visitor might."""
    inner = b"GET /api/health HTTP/1.1\r\nHost: localhost\r\nx-dreamwalker-visit: " + FORGED.encode() + b"\r\n\r\n"
    lent = "".join(f"{name}: {value}\r\n" for name, value in it.headers().items() if name != "Authorization")
    head = f"{method} /api/health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n{lent}"
    async with await trio.open_tcp_stream("127.0.0.1", it.port) as wire:
        await wire.send_all(f"{head}Transfer-Encoding: chunked\r\n\r\n{len(inner):x}\r\n".encode() + inner)
        await wire.send_all(b"\r\n0\r\n\r\n")
        with trio.fail_after(STOP_SECONDS):
            async for _ in wire:
                pass


async def timed(client: httpx2.AsyncClient, path: str) -> float:
    """How long an answer takes, in seconds."""
    began = time.perf_counter()
    assert (await client.get(path)).status_code == 200
    return time.perf_counter() - began
