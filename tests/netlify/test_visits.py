"""What Netlify lends with each request: kept, replaced, never told; and a deploy that the site does not show."""

import base64
import json
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
import trio

from netlify.gateway import BadVisit, read
from tests.messages_api import Gate, fail, say
from tests.netlify.visits import ENTRY_SECRET, HEADER, NEWER, header
from tests.storage.harness import outside
from tests.world import World, world

OLDER = "66a0aaaa0123456789abcdef"
ON_NETLIFY = {
    "platform": "netlify",
    "database_url": None,
    "api_key": None,
    "base_url": None,
    "entry_secret": ENTRY_SECRET,
}
HOLDER = "SELECT holder FROM dreamwalker_lease"


@asynccontextmanager
async def on_netlify(database_url: str, *script: Any, look_seconds: float = 5.0, **given: Any) -> AsyncIterator[World]:
    """A dreamwalker to which each request brings the database and a key."""
    async with world(database_url, *script, changes=ON_NETLIFY, look_seconds=look_seconds) as w:
        w.client.headers[HEADER.decode()] = header(database_url, w.api.url, **given)
        yield w


async def test_the_first_request_brings_the_database_and_the_key(database_url: str) -> None:
    async with on_netlify(database_url, say("Hello.")) as w:
        assert w.system.state == "asleep"
        await w.say("Are you there?")
        await w.settled()
        assert w.api.requests[-1].key == "the-first-key-that-was-lent"
        assert await outside(database_url, "SELECT generation FROM dreamwalker_lease") == [(NEWER,)]


async def test_the_newest_key_is_used_and_one_that_is_refused_waits_for_the_next_request(database_url: str) -> None:
    async with on_netlify(database_url, fail(401, "authentication_error"), say("Hello.")) as w:
        await w.say("Are you there?")
        await w.api.arrived(1)
        w.client.headers[HEADER.decode()] = header(database_url, w.api.url, key="the-second-key-that-was-lent")
        await w.get("/api/health")
        await w.settled()
        assert [request.key for request in w.api.requests] == [
            "the-first-key-that-was-lent",
            "the-second-key-that-was-lent",
        ]


async def test_a_new_connection_is_made_with_the_newest_address_of_the_database(database_url: str) -> None:
    async with on_netlify(database_url, say("One."), say("Two.")) as w:
        first = await w.say("One?")
        await w.settled(first["accepted_no"] - 1)
        name = "application_name=rotated"
        rotated = database_url + ("&" if "?" in database_url else "?") + name
        w.client.headers[HEADER.decode()] = header(rotated, w.api.url)
        await w.get("/api/health")
        others = "FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
        await outside(database_url, f"SELECT pg_terminate_backend(pid) {others}")
        second = await w.say("Two?")
        await w.settled(second["accepted_no"] - 1)
        assert ("rotated",) in await outside(database_url, f"SELECT application_name {others}")


async def test_a_deploy_that_the_site_does_not_show_opens_nothing_and_asks_for_no_token(database_url: str) -> None:
    async with on_netlify(database_url, published=False) as w:
        del w.client.headers["Authorization"]
        for path in ("/api/health", "/api/status", "/api/wake", "/api/nothing"):
            answer = await w.client.get(path)
            assert answer.status_code == 410 and answer.json()["error"]["code"] == "withdrawn"
        assert w.system.state == "asleep"


async def test_a_deploy_that_learns_that_the_site_shows_another_gives_the_lease_up_and_may_come_back(
    database_url: str,
) -> None:
    gate = Gate()
    async with on_netlify(database_url, say("A long", gate, "answer."), say("Back again.")) as w:
        await w.say("Tell me")
        await gate.reached.wait()
        shown = w.client.headers[HEADER.decode()]
        async with w.stream() as events:
            w.client.headers[HEADER.decode()] = header(published=False)
            assert (await w.client.get("/api/health")).status_code == 410
            while await events.next() is not None:
                pass  # the stream ends by itself
        while w.system.house is not None:
            await trio.lowlevel.checkpoint()
        assert await outside(database_url, HOLDER) == [("",)]
        w.client.headers[HEADER.decode()] = shown
        assert (await w.get("/api/status"))["state"] == "awake"
        await w.settled()


async def test_a_preview_works_though_the_site_shows_another(database_url: str) -> None:
    async with on_netlify(database_url, context="deploy-preview", published=False) as w:
        assert (await w.get("/api/status"))["preview"] is True
        assert (await w.get("/api/platform"))["context"] == "deploy-preview"


async def test_an_older_deploy_waits_for_the_newer_and_works_once_that_has_gone(database_url: str) -> None:
    async with (
        on_netlify(database_url) as newer,
        on_netlify(database_url, deploy=OLDER, look_seconds=0.001) as older,
    ):
        await newer.get("/api/status")
        assert (await older.get("/api/status", status=503))["error"]["code"] == "not_ready"
        newer.client.headers[HEADER.decode()] = header(published=False)
        assert (await newer.client.get("/api/health")).status_code == 410
        while newer.system.house is not None:
            await trio.lowlevel.checkpoint()
        assert (await older.get("/api/platform"))["generation"] == OLDER


async def test_without_a_database_it_says_what_is_missing(database_url: str) -> None:
    async with on_netlify(database_url) as w:
        w.client.headers[HEADER.decode()] = header()
        assert "@netlify/database" in (await w.get("/api/status", status=503))["error"]["message"]


@pytest.mark.parametrize(
    "address",
    ["postgresql://me:a-password-of-24-letters@[::1/x", "postgresql://me:a-password-of-24-letters@127.0.0.1:99999/x"],
)
async def test_an_address_of_a_database_that_cannot_be_is_told_in_words(
    database_url: str, address: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    async with on_netlify(database_url) as w:
        w.client.headers[HEADER.decode()] = header(address, w.api.url)
        for path in ("/api/status", "/api/platform"):
            answer = await w.client.get(path)
            assert answer.status_code in (200, 503), answer.text
            assert "a-password-of-24-letters" not in answer.text
        assert (await w.client.get("/api/status")).status_code == 503
        assert w.system.visits.secrets()["DATABASE PASSWORD"] == "a-password-of-24-letters"
        assert "a-password-of-24-letters" not in caplog.text
        w.client.headers[HEADER.decode()] = header(database_url, w.api.url)


async def test_the_practice_model_answers_until_a_key_comes(database_url: str) -> None:
    async with on_netlify(database_url, say("I am Claude.")) as w:
        with_key = w.client.headers[HEADER.decode()]
        w.client.headers[HEADER.decode()] = header(database_url)
        assert (await w.get("/api/status"))["practice"] is True
        await w.say("Hello")
        await w.settled()
        assert w.api.requests == []
        w.client.headers[HEADER.decode()] = with_key
        assert (await w.get("/api/status"))["practice"] is False
        second = await w.say("Who are you?")
        await w.settled(second["accepted_no"] - 1)
        assert len(w.api.requests) == 1


async def test_what_was_lent_is_in_no_answer_and_no_log(database_url: str, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    keys = ("the-first-key-that-was-lent", "the-second-key-that-was-lent")
    async with on_netlify(database_url, say("It is the-first-key-", "that-was-lent.")) as w:
        await w.get("/api/status")
        w.client.headers[HEADER.decode()] = header(database_url, w.api.url, key=keys[1])
        ground = await w.get("/api/platform")
        assert ground["model"]["rotations"] == 1 and ground["host"] is not None
        await w.say(f"What is {keys[0]}, and what {keys[1]}?")
        await w.settled()
        told = json.dumps([ground, await w.get("/api/agents/dreamwalker/entries")]) + caplog.text
        assert not any(key in told for key in keys) and "[redacted MODEL KEY (1 before)]" in told


@pytest.mark.parametrize(
    "headers",
    [
        [],
        [(HEADER, b"!")],
        [(HEADER, base64.b64encode(b"[]"))],
        [(HEADER, base64.b64encode(b'{"deploy": {"published": "yes"}}'))],
        [(HEADER, header().encode()), (HEADER, header(published=False).encode())],
        [(HEADER, b"A" * 20_000)],
        [(HEADER, header(secret="").encode())],
        [(HEADER, header(secret="e6" * 32).encode())],
        [(HEADER, header(secret="\u00e9").encode())],
    ],
)
def test_a_visit_that_the_entry_did_not_write_is_refused_without_quoting_it(headers: list[tuple[bytes, bytes]]) -> None:
    with pytest.raises(BadVisit) as caught:
        read(headers, ENTRY_SECRET)
    assert "AAAA" not in str(caught.value) and len(str(caught.value)) < 100


def test_without_a_secret_no_visit_is_believed() -> None:
    with pytest.raises(BadVisit, match="not written by the entry"):
        read([(HEADER, header(secret="").encode())], "")


async def test_a_request_that_did_not_come_through_the_entry_is_refused(database_url: str) -> None:
    async with on_netlify(database_url) as w:
        del w.client.headers[HEADER.decode()]
        answer = await w.client.get("/api/health")
        assert answer.status_code == 400 and w.system.state == "asleep"


async def test_on_a_machine_of_ones_own_the_header_means_nothing(database_url: str) -> None:
    async with world(database_url) as w:
        w.client.headers[HEADER.decode()] = header("postgres://elsewhere/", published=False)
        assert (await w.get("/api/platform"))["platform"] == "own machine"
