"""The app on its own Netlify site: signed in with Identity, and let through by the site's function.

The function runs in Node with Netlify's own identity package; the Identity endpoint is ours and signs in whoever the
test says. What only the real platform could show is not shown here.
"""

import json
import shutil
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx2
import pytest
import trio
from playwright.sync_api import expect

from tests.app.browser import Chromium, Window, window
from tests.messages_api import say
from tests.messages_api.replies import Gate
from tests.netlify.built import MODULES, build_app
from tests.world import PATIENCE_SECONDS, TOKEN, World, world

pytestmark = pytest.mark.extra

ROOT = Path(__file__).parent.parent.parent
OWNER = "Owner@home.example"


@asynccontextmanager
async def site(
    w: World, *, url: str | None = None, token: str = TOKEN, stream_seconds: float = 45
) -> AsyncIterator[str]:
    """The site in front of a world; yields its address."""
    node = shutil.which("node")
    assert node is not None, "Node is needed"
    assert (ROOT / "netlify/app/node_modules").is_dir(), "`npm ci` in netlify/app is needed; `make test-rest` does it"
    environ = {
        "DREAMWALKER_URL": url or w.url,
        "DREAMWALKER_TOKEN": token,
        "DREAMWALKER_OWNERS": f"{OWNER}, other@home.example",
        "DREAMWALKER_STREAM_SECONDS": str(stream_seconds),
    }
    async with trio.open_nursery() as nursery:
        process = await nursery.start(
            lambda task_status: trio.run_process(
                [node, str(ROOT / "tests/app/site.mjs")],
                env=environ,
                stdout=-1,
                capture_stdout=False,
                check=False,
                task_status=task_status,
            )
        )
        with trio.fail_after(PATIENCE_SECONDS):
            address = (await process.stdout.receive_some()).decode().strip()
        yield address
        process.kill()


async def _sign_in(win: Window) -> None:
    await win.see("Whoever it belongs to signs in here.")
    await win.press("Sign in with Google")


async def test_the_owner_signs_in_and_talks_and_no_token_reaches_his_browser(
    database_url: str, chromium: Chromium
) -> None:
    async with world(database_url, say("Good evening.")) as w, site(w) as address:
        async with window(chromium, w, url=address, token=None) as win:
            await _sign_in(win)
            await win.see("Hello.")
            await win.picture("site")
            await win.send("Good evening")
            await win.see("Good evening.", count=2)
            state = await win.do(lambda page: json.dumps(page.context.storage_state()))
            assert TOKEN not in state and TOKEN not in "".join(win.asked)
            assert "access_token" not in await win.do(lambda page: page.url)
            await win.do(lambda page: page.reload())
            await win.see("Good evening.", count=2)


@pytest.mark.parametrize(
    ("email", "provider"), [("stranger@home.example", "google"), ("owner@home.example", "email"), ("", "google")]
)
async def test_who_is_not_known_as_the_owner_is_told_so_and_let_through_nowhere(
    database_url: str, chromium: Chromium, email: str, provider: str
) -> None:
    async with world(database_url) as w, site(w) as address:
        async with httpx2.AsyncClient() as client:
            await client.post(f"{address}/test/user", json={"email": email, "provider": provider})
        async with window(chromium, w, url=address, token=None) as win:
            await _sign_in(win)
            await win.see("this is somebody else’s dreamwalker")
            await win.picture("stranger")
            await win.press("Sign out")
            await win.see("Whoever it belongs to signs in here.")


async def test_a_sign_in_that_has_run_out_is_renewed_without_the_owner_noticing(
    database_url: str, chromium: Chromium
) -> None:
    async with world(database_url, say("Still here.")) as w, site(w, stream_seconds=1) as address:
        async with window(chromium, w, url=address, token=None) as win:
            await _sign_in(win)
            await win.see("Hello.")
            await win.do(lambda page: page.clock.install())
            await win.do(lambda page: page.context.set_offline(True))  # so that it is told when it is an hour later
            async with httpx2.AsyncClient() as client:
                await client.post(f"{address}/test/expire")
            await win.do(lambda page: page.clock.set_system_time(time.time() + 3_700))
            await win.do(lambda page: page.context.set_offline(False))
            before = len(_streams(win))
            await _more_streams(win, before + 2)  # the stream is the first to find out
            await win.send("Are you there?")
            await win.see("Still here.")


async def test_a_stream_through_the_site_ends_in_good_time_and_nothing_is_doubled_or_missing(
    database_url: str, chromium: Chromium
) -> None:
    gates = [Gate() for _ in range(4)]
    words = ["Once. ", "Upon. ", "A time. ", "There was. ", "The end."]
    pieces = [piece for pair in zip(words, [*gates, ""], strict=True) for piece in pair if piece != ""]
    async with world(database_url, say(*pieces)) as w, site(w, stream_seconds=0.3) as address:
        async with window(chromium, w, url=address, token=None) as win:
            await _sign_in(win)
            await win.see("Hello.")
            await win.send("Go")
            for word, gate in zip(words, gates, strict=False):
                await gate.reached.wait()
                await win.see(word.strip())
                before = len(_streams(win))
                await _more_streams(win, before + 1)
                gate.open()
            await win.do(
                lambda page: expect(page.locator(".reply:not(.flight) .prose")).to_have_text("".join(words).strip())
            )
            assert await win.do(lambda page: page.locator(".reply").count()) == 1


async def _more_streams(win: Window, count: int) -> None:
    """Wait until so many streams were asked for."""
    with trio.fail_after(PATIENCE_SECONDS):
        while len(_streams(win)) < count:
            await win.do(lambda page: page.evaluate("new Promise((it) => setTimeout(it, 20))"))
            await trio.lowlevel.checkpoint()  # what the browser does can't be cut short


def _streams(win: Window) -> list[str]:
    return [address for address in win.asked if "/stream?" in address]


async def test_the_function_refuses_what_comes_from_elsewhere_or_from_nobody(database_url: str) -> None:
    async with world(database_url) as w, site(w) as address, httpx2.AsyncClient() as client:
        grant = await client.get(f"{address}/.netlify/identity/authorize?provider=google", follow_redirects=False)
        jwt = grant.headers["location"].partition("access_token=")[2].partition("&")[0]
        owner, here = {"Cookie": f"nf_jwt={jwt}"}, {"Origin": address}
        body = {"request_id": "1", "text": "Hi"}
        path = f"{address}/api/agents/dreamwalker/messages"
        for headers, status, code in (
            ({}, 401, "unauthorized"),
            ({"Authorization": f"Bearer {TOKEN}"}, 401, "unauthorized"),
            ({"Cookie": "nf_jwt=made.up.token"}, 401, "unauthorized"),
            (owner | {"Sec-Fetch-Site": "cross-site"}, 403, "origin"),
            (owner | {"Sec-Fetch-Site": "same-site"}, 403, "origin"),
        ):
            answer = await client.get(f"{address}/api/status", headers=headers)
            assert (answer.status_code, answer.json()["error"]["code"]) == (status, code)
            assert ("identity" in answer.headers.get("www-authenticate", "").lower()) == (status == 401)
        for headers in (owner, owner | {"Origin": "http://evil.example"}, owner | {"Origin": "null"}):
            assert (await client.post(path, json=body, headers=headers)).status_code == 403
        assert (await client.post(path, json=body, headers=owner | here)).status_code == 202
        large = await client.post(path, json=body | {"text": "x" * 5_000_001}, headers=owner | here)
        assert large.status_code == 413
        answer = await client.get(f"{address}/api/status", headers=owner)
        assert answer.status_code == 200 and answer.headers["cache-control"] == "no-store"
        assert TOKEN not in answer.text + str(answer.headers)


async def test_a_site_that_is_set_up_wrongly_says_what_is_wrong(database_url: str) -> None:
    async with world(database_url) as w, httpx2.AsyncClient() as client:
        for fields, code in (({"token": "x" * 40}, "site_token"), ({"url": "http://127.0.0.1:9"}, "unreachable")):
            async with site(w, **fields) as address:
                grant = await client.get(f"{address}/.netlify/identity/authorize", follow_redirects=False)
                jwt = grant.headers["location"].partition("access_token=")[2].partition("&")[0]
                answer = await client.get(f"{address}/api/status", headers={"Cookie": f"nf_jwt={jwt}"})
                assert (answer.status_code, answer.json()["error"]["code"]) == (502, code)


@pytest.mark.skipif(not MODULES.is_dir(), reason="`make tests/netlify/node_modules` installs Netlify's own packages")
def test_netlifys_own_build_takes_the_site_as_it_is(tmp_path: Path) -> None:
    archive = build_app(tmp_path).parent
    for name in ("functions/api.mjs", "node_modules/@netlify/identity/dist/main.js"):
        assert (archive / name).is_file()
