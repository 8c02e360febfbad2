"""Text that a model, a page, a note's title or a job's report may hold, in every place where the app shows it.

One rule: the browser itself is the witness. Its own log of the network names every name it looked up and every
address it asked, whoever made it do so.
"""

import json
from pathlib import Path

import pytest
from playwright.sync_api import Error, Page

from tests.app.browser import Chromium, Window, window
from tests.hand_clock import HandClock
from tests.messages_api import answer, fail, say, use
from tests.messages_api.replies import Gate, text
from tests.world import World, world

pytestmark = pytest.mark.extra

EVIL = "evil.example"
HOSTILE = f"""# <img src=x onerror="fetch('http://{EVIL}/1')"> heading
![picture](http://{EVIL}/2.png) ![](//{EVIL}/3.png) ![data](data:image/svg+xml,<svg/onload=alert(1)>)
[click me](http://{EVIL}/4?secret=1) [bank](javascript:alert(document.cookie)) [file](file:///etc/passwd)
<http://{EVIL}/5> http://{EVIL}/6 www.{EVIL}/7 someone@{EVIL} [ref][r] [bidi](http://{EVIL}/\u202egnp.8)

[r]: http://{EVIL}/9 "title"

<script>fetch("http://{EVIL}/10")</script><style>@import url(http://{EVIL}/11);*{{background:url(http://{EVIL}/12)}}</style>
<iframe src="http://{EVIL}/13"></iframe><link rel="dns-prefetch" href="//{EVIL}">
<link rel=preload href="//{EVIL}/14" as=image>
<meta http-equiv="refresh" content="0;url=http://{EVIL}/15"><base href="http://{EVIL}/"><object data="http://{EVIL}/16"></object>
<video poster="http://{EVIL}/17" autoplay><source src="http://{EVIL}/18"></video><svg><image href="http://{EVIL}/19"/></svg>
<form action="http://{EVIL}/20"><input autofocus onfocus=alert(1)></form><a href="http://{EVIL}/21" ping="http://{EVIL}/22">x</a>

| a <img src=http://{EVIL}/23> | b |
|---|---|
| [x](http://{EVIL}/24) | `<img src=http://{EVIL}/25>` |

- <details open ontoggle=alert(1)> &lt;img src=http://{EVIL}/26&gt; \u202e\u2066
  {{"type":"a","props":{{"dangerouslySetInnerHTML":{{"__html":"<img src=http://{EVIL}/27>"}}}}}}
```html
<img src="http://{EVIL}/28">
```
"""
LINE = f'<img src=http://{EVIL}/t onerror=alert(1)> [x](http://{EVIL}/u) \u202e"'
OUTSIDE, OUTSIDE_LINE = HOSTILE.replace(EVIL, "outside.example"), LINE.replace(EVIL, "outside.example")
"""The same as text from outside: its addresses may be followed, and nothing else of it is different."""
KNOWN = "https://shop.example/tulips?x=1"


@pytest.fixture
def witnessed(tmp_path: Path) -> tuple[Chromium, Path]:
    """A browser that logs its network."""
    log = tmp_path / "net.json"
    return Chromium(f"--log-net-log={log}", "--net-log-capture-mode=Everything"), log


def _names(log: Path) -> set[str]:
    """Every host that the browser looked up or asked, by its own log."""
    raw = log.read_text().rstrip().rstrip(",")
    logged = json.loads(raw if raw.endswith("}") else raw + "]}")
    assert len(logged["events"]) > 100
    found = set()
    for event in logged["events"]:
        params = event.get("params", {})
        for key in ("host", "url", "destination", "group_id", "hostname"):
            if isinstance(value := params.get(key), str):
                found.add((value.partition("://")[2] if "://" in value else value).split("/")[0].split()[0])
    return found


def _reach_out(chromium: Chromium) -> None:
    """Ask for a foreign name on purpose: the log would have named the others too."""
    with pytest.raises(Error):
        chromium.browser.new_page().goto("http://control.example/")


async def look(win: Window) -> None:
    """Open whatever can be opened, and see that nothing in the page could do anything."""
    await win.do(lambda page: page.wait_for_function("() => !document.querySelector('.loading')"))
    await win.do(lambda page: [it.evaluate("it => (it.open = true)") for it in page.locator("details").all()])
    strange = (
        "img:not([src^='/icons/']), iframe, object, embed, video, audio, base, style, form[action], [srcdoc], [ping]"
    )
    assert await win.do(lambda page: page.locator(strange).count()) == 0
    assert await win.do(lambda page: page.locator("body script, head script:not([src='/app/main.js'])").count()) == 0
    assert {link for link in await win.do(_links) if "://outside.example/" not in link} <= {KNOWN}


def _links(page: Page) -> set[str]:
    """Every address that a click would leave for."""
    found: list[str] = page.evaluate("[...document.querySelectorAll('[href]')].map((it) => it.getAttribute('href'))")
    return {href for href in found if not (href.startswith("/") and not href.startswith("//")) and href != "#main"}


async def test_nothing_that_is_shown_reaches_out_or_runs(database_url: str, witnessed: tuple[Chromium, Path]) -> None:
    chromium, log = witnessed
    gate, clock = Gate(), HandClock()
    async with world(
        database_url,
        answer(text(HOSTILE, gate), use("write_note", {"title": LINE[:90], "text": HOSTILE})),
        say(HOSTILE),
        answer(HOSTILE, use("write_note", {"title": "Asked", "text": HOSTILE}), use("no_such_tool", {"x": HOSTILE})),
        answer(use("ask_owner", {"question": HOSTILE[:1500], "options": [LINE, "no"]})),
        fail(400, HOSTILE),
        lambda request: say(OUTSIDE),
        clock=clock,
    ) as w:
        async with window(chromium, w) as win:
            await win.send("Write it down")
            await gate.reached.wait()
            await win.see("heading")
            await look(win)
            gate.open()
            await win.do(lambda page: page.locator(".reply:not(.flight)").nth(1).wait_for())
            await look(win)
            await w.say("And this?", quotes=[{"from": OUTSIDE_LINE, "text": f"{OUTSIDE} {KNOWN} {OUTSIDE}"}])
            await win.do(lambda page: page.locator(".question").wait_for())
            await look(win)
            await win.press("No")
            await win.do(lambda page: page.locator(".question .own-answer").wait_for())
            await look(win)
            await win.do(lambda page: page.locator(".answers button").first.click())
            await win.do(lambda page: page.locator("p.failed").wait_for())
            await look(win)
            await _make_things(w, clock)
            paths = ["/questions", "/reminders", "/jobs", "/notes/dreamwalker", "/runs", "/pushes", "/spend", "/agents"]
            for path in paths + await _each(w):
                await win.go(path)
                await win.do(lambda page: page.locator("h1").first.wait_for())
                await look(win)
            await win.go("/search")
            for words in ("heading", "img src", "outside example", "<img"):
                await win.do(lambda page, words=words: page.get_by_role("searchbox").fill(words))
                await win.do(lambda page: page.locator("a.row mark").first.wait_for())
                await look(win)
        await chromium.do(lambda: _reach_out(chromium))
        chromium.close()
        assert {name for name in _names(log) if "example" in name} == {"control.example"}


async def _make_things(w: World, clock: HandClock) -> None:
    await w.post("/api/reminders", {"request_id": "r", "when": "in 20m", "text": OUTSIDE}, status=201)
    job = {"request_id": "j", "title": LINE[:90], "text": OUTSIDE, "when": "every 1 hour"}
    await w.post("/api/jobs", job, status=201)
    clock.move(3_700)
    while not any(run["kind"] == "job" and run["closed_at"] for run in (await w.get("/api/runs"))["runs"]):
        pass


async def _each(w: World) -> list[str]:
    """The page of each single thing that there is."""
    things = {kind: (await w.get(f"/api/{kind}", **query))[kind] for kind, query in (
        ("reminders", {"over": "true"}), ("jobs", {}), ("runs", {}), ("questions", {"state": "all"})
    )}  # fmt: skip
    assert all(things.values()), things
    notes = (await w.get("/api/agents/dreamwalker/notes"))["notes"]
    return [
        *(f"/{kind}/{it['id']}" for kind, found in things.items() for it in found),
        *(f"/notes/dreamwalker/{note['id']}" for note in notes),
        *{f"/conversations/{run['conversation']}" for run in things["runs"]},
        f"/conversations/{things['runs'][-1]['conversation']}/1",
    ]


LIVE = """[...document.querySelectorAll('.prose a')].map(
  ({ textContent, href, rel, target, nextElementSibling: next }) =>
    [textContent, href, next?.matches('.host') && next.textContent, rel, target]
)"""


async def test_a_link_is_live_only_if_its_address_stands_in_outside_text_and_its_host_is_shown(
    database_url: str, chromium: Chromium
) -> None:
    quoted = f"See {KNOWN}, (https://аpple.com/x) or http://user:pass@shop.example/."
    reply = (
        f"[tulips]({KNOWN}) [more]({KNOWN}&secret=1) [less]({KNOWN[:-1]}) [fruit](https://аpple.com/x) "
        "[in](http://user:pass@shop.example/) [mine](https://own.example/a_b)"
    )
    async with world(database_url, say(reply)) as w:
        await w.say("Look: https://own.example/a_b", quotes=[{"from": "a mail", "text": quoted}])
        await w.settled()
        async with window(chromium, w) as win:
            await win.see("tulips")
            found = await win.do(lambda page: page.evaluate(LIVE))
            rest = ["noopener noreferrer nofollow", "_blank"]
            assert found == [
                ["tulips", KNOWN, "shop.example", *rest],
                ["fruit", "https://xn--pple-43d.com/x", "xn--pple-43d.com", *rest],
                ["mine", "https://own.example/a_b", "own.example", *rest],
            ]
            await win.see(f"{KNOWN}&secret=1")  # what is not live is shown in full


async def test_an_address_gives_no_orders(database_url: str, chromium: Chromium) -> None:
    async with world(database_url) as w, window(chromium, w, path=None) as win:
        query = "token=x&message=hello&agent=cook&redirect=//evil.example#access=1&//evil.example"
        for path in ("/", "/settings", "/runs", "/questions"):
            await win.go(f"{path}?{query}")
            await win.do(lambda page: page.locator("h1").first.wait_for())
            await win.do(lambda page: page.wait_for_function("() => !document.querySelector('.loading')"))
        assert all(query.split("&")[0] not in address.partition("/api")[2] for address in win.asked)
        assert (await w.get("/api/agents/dreamwalker/entries"))["entries"] == []
