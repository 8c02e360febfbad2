"""Who comes in: the token, the host name, and what everybody else is told."""

from pathlib import Path

import attrs
import h11
import httpx2
import pytest
import trio

from dreamwalker.api.app import ENDPOINTS
from dreamwalker.api.auth import judge_host
from dreamwalker.api.errors import Refused
from dreamwalker.database import Database
from tests.messages_api import say
from tests.world import PATIENCE_SECONDS, TOKEN, World, world

STATUS = "/api/status"


def path_of(route: str) -> str:
    return route.replace("{name}", "dreamwalker").replace("{id}", "1").replace("{token}", "x")


async def test_everything_but_health_and_buttons_needs_the_token(database_url: str) -> None:
    async with world(database_url) as w, httpx2.AsyncClient(base_url=w.url) as stranger:
        for endpoint in ENDPOINTS:
            answer = await stranger.request(endpoint.method, path_of(endpoint.route))
            if endpoint.route == "/api/health":
                assert answer.status_code == 200
            elif endpoint.route == "/api/buttons/{token}":
                assert answer.status_code == 404
            else:
                assert answer.status_code == 401, endpoint
                assert answer.headers["www-authenticate"] == "Bearer"
                assert answer.json()["error"]["code"] == "unauthorized"
        assert (await stranger.get("/anything/else")).status_code == 401
        assert w.system.state == "asleep"


NOT_THE_TOKEN = (
    "",
    "Bearer",
    TOKEN,
    f"Basic {TOKEN}",
    f"Bearer {TOKEN[:-1]}",
    f"Bearer {TOKEN}x",
    f"Bearer {TOKEN.upper()}",
    f"Bearer {TOKEN} {TOKEN}",
    f"Bearer {TOKEN}é",
)


async def test_a_token_is_right_or_wrong_as_a_whole(database_url: str) -> None:
    async with world(database_url) as w, httpx2.AsyncClient(base_url=w.url) as stranger:
        for value in NOT_THE_TOKEN:
            answer = await stranger.get(STATUS, headers=[(b"authorization", value.encode())])
            assert answer.status_code == 401, value


async def test_a_token_elsewhere_or_twice_counts_for_nothing(database_url: str) -> None:
    async with world(database_url) as w, httpx2.AsyncClient(base_url=w.url) as stranger:
        right = ("Authorization", f"Bearer {TOKEN}")
        assert (await stranger.get(f"{STATUS}?token={TOKEN}")).status_code == 401
        assert (await stranger.get(STATUS, headers={"Cookie": f"token={TOKEN}"})).status_code == 401
        assert (await stranger.get(STATUS, headers=[right, ("Authorization", "Bearer other")])).status_code == 401
        assert (await stranger.get(STATUS, headers=[right])).status_code == 200


async def test_a_changed_token_bites_at_the_next_request_and_on_open_streams(database_url: str, tmp_path: Path) -> None:
    first, second = "the-first-token-of-thirty-two-bytes", "the-second-token-of-thirty-two-bytes"
    (tmp_path / "token").write_text(first + "\n")
    async with world(database_url, changes={"token": None, "home": tmp_path}, heartbeat_seconds=0.05) as w:
        w.token, w.client.headers["Authorization"] = first, f"Bearer {first}"
        async with w.stream() as events:
            await events.of("change")
            (tmp_path / "token").write_text(second + "\n")
            assert (await w.client.get(STATUS)).status_code == 401
            assert (await events.of("end")).data == {"reason": "token"}
            assert await events.next() is None
        w.client.headers["Authorization"] = f"Bearer {second}"
        await w.get(STATUS)


@pytest.mark.parametrize("kept", [None, "", "too-short"])
async def test_without_a_token_worth_the_name_nobody_comes_in(
    database_url: str, tmp_path: Path, kept: str | None
) -> None:
    if kept is not None:
        (tmp_path / "token").write_text(kept)
    async with world(database_url, changes={"token": None, "home": tmp_path}) as w:
        w.client.headers["Authorization"] = f"Bearer {kept or 'x'}"
        await w.get(STATUS, status=401)
        await w.get("/api/health")


OURS = (
    "localhost",
    "localhost:8765",
    "LOCALHOST.",
    "dreamwalker.localhost:1",
    "127.0.0.1:80",
    "192.168.1.7",
    "[::1]:8765",
    "[::1]",
)
FOREIGN = (
    "evil.example",
    "evil.example:8765",
    "127.0.0.1.evil.example",
    "localhost.evil.example",
    "evillocalhost",
    "127.0.0.1:80:80",
    "",
    "[",
    "löcalhost",
)


async def test_it_answers_to_addresses_and_local_names_only(database_url: str) -> None:
    async with world(database_url) as w:
        for host in (*OURS, *FOREIGN):
            answer = await w.client.get("/api/health", headers=[(b"host", host.encode())])
            assert answer.status_code == (200 if host in OURS else 421), host


def test_it_answers_to_the_names_it_was_given() -> None:
    for host in (b"agent.example", b"AGENT.example:443"):
        judge_host({"agent.example"}, {"headers": [(b"host", host)]})
    for headers in ([(b"host", b"other.example")], [], [(b"host", b"agent.example"), (b"host", b"localhost")]):
        with pytest.raises(Refused, match="DREAMWALKER_HOSTS"):
            judge_host({"agent.example"}, {"headers": headers})


async def test_what_is_not_there_and_what_can_not_be_done_are_told_apart(database_url: str) -> None:
    async with world(database_url) as w:
        for path in ("/nothing", "/api", "/api/", "/api/status/", "/api/nothing", "/api//status", "/api/agents/x/y/z"):
            answer = await w.get(path, status=404)
            assert answer == {"error": {"code": "not_found", "message": "There is nothing here."}}
        refused = await w.client.delete("/api/settings")
        assert refused.status_code == 405 and refused.json()["error"]["code"] == "method_not_allowed"
        assert {"GET", "PATCH"} <= set(refused.headers["allow"].split(", "))
        assert (await w.client.options("/api/settings")).status_code == 405
        assert (await w.client.head("/api/agents/dreamwalker/stream")).status_code == 405
        assert (await w.client.head("/api/health")).status_code == 200
        assert w.system.state == "asleep"


async def test_no_answer_is_kept_sniffed_or_framed_and_no_other_site_is_let_in(database_url: str) -> None:
    async with world(database_url) as w:
        for path in ("/api/health", STATUS, "/api/nothing"):
            headers = (await w.client.get(path, headers={"Origin": "https://evil.example"})).headers
            assert headers["cache-control"] == "no-store" and headers["x-content-type-options"] == "nosniff"
            assert not [name for name in headers if name.startswith("access-control-") or name == "set-cookie"]
            assert "server" not in headers and "alt-svc" not in headers


async def test_a_websocket_is_refused(database_url: str) -> None:
    async with world(database_url) as w, await w.connect() as wire:
        await wire.send_all(
            b"GET /api/agents/dreamwalker/stream HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\n"
            b"Connection: Upgrade\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n"
            b"Authorization: Bearer " + TOKEN.encode() + b"\r\n\r\n"
        )
        with trio.fail_after(PATIENCE_SECONDS):
            assert (await wire.receive_some()).startswith(b"HTTP/1.1 403")


async def test_a_storage_that_can_not_be_opened_is_told_with_its_reason_and_tried_again(database_url: str) -> None:
    async with world(database_url, reach_seconds=1.0) as w:
        right, away = w.system.database, database_url.replace("postgres0", "nowhere")
        w.system.database = Database(attrs.evolve(w.system.config, database_url=away), w.system.visits)
        answer = await w.client.get(STATUS)
        assert answer.status_code == 503 and int(answer.headers["retry-after"]) >= 1
        assert answer.json()["error"]["code"] == "not_ready" and "reached" in answer.json()["error"]["message"]
        await w.get("/api/health")
        w.system.database = right
        await w.get(STATUS)


async def test_an_instance_that_lost_the_lease_answers_503_until_it_may_open_again(database_url: str) -> None:
    async with world(database_url, say("Hi.")) as first, world(database_url) as second:
        await first.get(STATUS)
        await second.get(STATUS)
        body = {"request_id": "1", "text": "Hello"}
        for _ in range(2):  # the first finds out, the second is told at once
            answer = await first.client.post("/api/agents/dreamwalker/messages", json=body)
            assert answer.status_code == 503 and int(answer.headers["retry-after"]) >= 1, answer.text
            await _fenced(first)
        await first.get("/api/health")


async def _fenced(w: World) -> None:
    with trio.fail_after(PATIENCE_SECONDS):
        while w.system.state != "fenced":
            await trio.lowlevel.checkpoint()


async def test_a_head_that_is_too_large_is_refused(database_url: str) -> None:
    async with world(database_url) as w:
        assert (await w.client.get("/api/health", headers={"X-Long": "x" * 100_000})).status_code in (400, 431)
        await w.get("/api/health")


async def test_what_is_not_http_is_refused_and_harms_nobody(database_url: str) -> None:
    async with world(database_url) as w:
        for nonsense in (
            b"\x16\x03\x01\x02\x00\x01\x00",
            b"GET\r\n\r\n",
            b"\r\n\r\n\r\n",
            b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        ):
            async with await w.connect() as wire:
                await wire.send_all(nonsense)
                await wire.send_eof()
                with trio.fail_after(PATIENCE_SECONDS):
                    while await wire.receive_some():
                        pass
        await w.get("/api/health")


async def test_two_requests_sent_at_once_on_one_connection_are_answered_in_order(database_url: str) -> None:
    async with world(database_url) as w, await w.connect() as wire:
        client = h11.Connection(h11.CLIENT)
        head = b"GET %s HTTP/1.1\r\nHost: localhost\r\n\r\n"
        await wire.send_all(head % b"/api/health" + head % STATUS.encode())
        statuses = []
        with trio.fail_after(PATIENCE_SECONDS):
            for _ in range(2):
                client.send(h11.Request(method="GET", target="/", headers=[("Host", "localhost")]))
                client.send(h11.EndOfMessage())
                while not isinstance(part := client.next_event(), h11.EndOfMessage):
                    if part is h11.NEED_DATA:
                        client.receive_data(await wire.receive_some())
                    elif isinstance(part, h11.Response):
                        statuses.append(part.status_code)
                client.start_next_cycle()
        assert statuses == [200, 401]
