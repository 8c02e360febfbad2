"""The app's own site when dreamwalker is slow, ill or gone, and when a stream is longer than a function may run.

One rule: a browser is told the truth, in time: what was said whole is passed on whole, and what was not as broken off.
"""

import re

import attrs
import httpx2
import trio

from tests.instance import Instance, instance
from tests.messages_api import Gate, say
from tests.messages_api.server import MessagesApi
from tests.netlify.app_site import ANSWER_SECONDS, FUNCTION_SECONDS, STREAM_SECONDS, AppSite, code, info, signed_in
from tests.netlify.upstream import answer, break_off, events, silence
from tests.world import PATIENCE_SECONDS, TOKEN, Event, Events

TORN_SECONDS, MARGIN_SECONDS = 5.0, 10.0
"""How long an event that is under way is waited for; and how long before the cut the time is over."""


class Times(AppSite):
    """The steps of what takes long or goes wrong."""

    async def failures(self, it: Instance) -> None:
        owner = self.owner()
        for status, headers in ((503, {"retry_after": "7"}), (429, {"retry_after": "10"}), (405, {"allow": "GET"}),
                                (404, {}), (409, {}), (410, {}), (422, {}), (500, {}), (304, {})):  # fmt: skip
            said = b"" if status == 304 else b'{"error": {"code": "said", "message": "by dreamwalker"}}'
            self.upstream.reply = answer(status, said, **headers)
            got = await it.client.get("/api/status", headers=owner)
            if status == 304:  # what is not dreamwalker's
                assert (got.status_code, code(got)) == (502, "unreachable")
                continue
            assert (got.status_code, code(got)) == (status, "said")
            assert all(got.headers[name.replace("_", "-")] == value for name, value in headers.items())
        for reply, wanted in (
            (answer(401, b'{"error": {}}', www_authenticate="Bearer"), "site_token"),
            (answer(302, b"", location="https://evil.example/"), "unreachable"),
            (silence, "unreachable"),
        ):
            self.upstream.reply = reply
            with trio.fail_after(ANSWER_SECONDS + 5):
                got = await it.client.get("/api/status", headers=owner)
            assert (got.status_code, code(got)) == (502, wanted), got.text
            assert "www-authenticate" not in got.headers and "location" not in got.headers
        assert got.headers["retry-after"] == "5"
        await self.heard()
        self.upstream.reply = break_off
        try:
            got = await it.client.get("/api/status", headers=owner)
            raise AssertionError(f"half of an answer was passed on as a whole one: {got.text}")
        except httpx2.RemoteProtocolError:
            pass
        self.step("what dreamwalker refuses is passed on with when to come again; slow, broken, moved: told as such")

    async def limits(self, it: Instance) -> None:
        """A live stream ends before the platform would cut it, between two events, however late it began."""
        first, torn = b'event: change\ndata: {"no": 1}\n\n', b"event: text\ndata: {"
        stream, ended = "/api/agents/dreamwalker/stream", b'event: end\ndata: {"reason":"closed"}\n\n'
        for said in ((first,), (first[:-1], first[-1:]), ()):
            woken = trio.Event()
            self.upstream.reply = events(*said, after=woken)
            began = trio.current_time()
            async with trio.open_nursery() as nursery:
                nursery.start_soon(set_after, woken, ANSWER_SECONDS * 0.8)
                got = await it.client.get(stream, headers=self.owner())
            assert got.content == b"".join(said) + ended, got.content
            assert abs(trio.current_time() - began - STREAM_SECONDS) < 0.5, "its time counts from the request"
            await self.heard()
        self.upstream.reply = events(first, torn)
        with trio.fail_after(STREAM_SECONDS + TORN_SECONDS + 1):
            try:
                got = await it.client.get(stream, headers=self.owner())
                raise AssertionError(f"half of an event was passed on as the end: {got.content!r}")
            except httpx2.RemoteProtocolError:
                await self.heard()
        unless_told = re.search(
            r"DREAMWALKER_STREAM_SECONDS \?\? (\d+)\)", (self.entry.parent / "functions/api.mjs").read_text()
        )
        assert unless_told is not None and int(unless_told[1]) + MARGIN_SECONDS <= FUNCTION_SECONDS
        self.step("a live stream ends in time and between two events, and dreamwalker hears that it is over")

    async def outage(self, it: Instance) -> None:
        before, owner = len(self.upstream.came), self.owner()
        self.identity.broken = True
        got = await it.client.get("/api/status", headers=owner)
        assert got.status_code == 401 and len(self.upstream.came) == before
        self.identity.broken = False
        self.upstream.reply = answer(200)
        assert (await it.client.get("/api/status", headers=owner)).status_code == 200
        self.step("while Identity is out of order nobody is let in, and afterwards the owner is again")

    async def set_up_wrongly(self) -> None:
        for variables, wanted in (
            ({"DREAMWALKER_URL": "http://127.0.0.1:9"}, (502, "unreachable")),
            ({"DREAMWALKER_URL": "nonsense"}, (502, "unreachable")),
            ({"DREAMWALKER_OWNERS": ""}, (403, "not_the_owner")),
            ({"DREAMWALKER_OWNERS": " , "}, (403, "not_the_owner")),
        ):
            async with self.site(self.upstream_url, **variables) as it:
                for who in (self.owner(), signed_in(self.identity.issue(""))):
                    got = await it.client.get("/api/status", headers=who)
                    assert (got.status_code, code(got)) in (wanted, (403, "not_the_owner")), got.text
        self.step("a site without owners lets in nobody, and one without an address says so")

    async def talk(self, database_url: str, api: MessagesApi) -> None:
        """A reply that is longer than a function may run comes whole, by joining the stream again and again."""
        gates = [Gate() for _ in range(4)]
        words = ("Once. ", "Upon. ", "A time. ", "There was. ", "The end.")
        api.script(say(*(piece for pair in zip(words, [*gates, ""], strict=True) for piece in pair if piece)))
        async with (
            instance(database_url, api.url, self.folder / "dreamwalker") as behind,
            self.site(f"http://127.0.0.1:{behind.port}") as it,
        ):
            owner = self.owner()
            body = {"request_id": "once", "text": "Tell me a story"}
            for _ in range(2):  # the same twice is one
                sent = await it.client.post(
                    "/api/agents/dreamwalker/messages", json=body, headers=owner | {"Origin": self.url}
                )
                assert sent.status_code == 202, sent.text
            shown, joined = Shown(sent.json()["message"]["accepted_no"] - 1), 0
            with trio.fail_after(PATIENCE_SECONDS):
                while not shown.settled:
                    async with await trio.open_tcp_stream("127.0.0.1", it.port) as wire:
                        stream = Events(wire)
                        await stream.open(f"/api/agents/dreamwalker/stream?from={shown.no}", owner | info(self.url))
                        joined += 1
                        while (event := await stream.next()) is not None:
                            shown.take(event)
                    if joined <= len(gates):
                        gates[joined - 1].open()
            assert shown.replies == ["".join(words)] and joined >= len(gates), (shown, joined)
            await self.leave(behind, it, owner)
            answers = [(await it.client.get(path, headers=owner)).text for path in ("/api/status", "/api/doctor")]
            assert TOKEN not in "".join(answers)
        self.step(f"a reply of {joined} functions' time comes whole: no word of it twice, none missing")

    async def leave(self, behind: Instance, it: Instance, owner: dict[str, str]) -> None:
        """Of a browser that leaves the platform tells nobody: its stream at dreamwalker ends when its time is over."""
        async with await trio.open_tcp_stream("127.0.0.1", it.port) as wire:
            await Events(wire).open("/api/agents/dreamwalker/stream", owner | info(self.url))
        route = "/api/agents/{name}/stream"
        with trio.fail_after(STREAM_SECONDS + 1):
            ended = len([line for line in behind.lines() if line.get("route") == route])
            while len([line for line in behind.lines() if line.get("route") == route]) == ended:
                await trio.sleep(0.02)  # another process: nothing tells when it writes


@attrs.define
class Shown:
    """What a client has seen of a conversation, joining again from the newest number."""

    no: int
    settled: bool = False
    replies: list[str] = attrs.Factory(list)

    def take(self, event: Event) -> None:
        """One event."""
        if event.name != "change":
            return
        self.no = event.data["no"]
        self.replies += [entry["text"] for entry in event.data["entries"] if entry["kind"] == "reply"]
        self.settled = self.settled or any(run["closed_at"] for run in event.data["runs"])


async def set_after(event: trio.Event, seconds: float) -> None:
    """Set it after a while."""
    await trio.sleep(seconds)
    event.set()
