"""The live stream in the app: fast, and whole whatever becomes of the wire; and a conversation of years."""

import statistics
import time

import pytest
from playwright.sync_api import Page, expect

from tests.app.browser import Chromium, window
from tests.app.filling import fill
from tests.app.relay import relay
from tests.messages_api import say
from tests.messages_api.replies import Gate
from tests.world import world

pytestmark = pytest.mark.extra


async def test_the_first_text_is_on_the_screen_fifty_milliseconds_after_the_models_first_token(
    database_url: str, chromium: Chromium
) -> None:
    gates = [Gate() for _ in range(9)]
    answers = [say(gate, f"First words {number}.", " And more.") for number, gate in enumerate(gates)]
    async with world(database_url, *answers) as w, window(chromium, w) as win:
        await win.see("Hello.")
        took = []
        for number, gate in enumerate(gates):
            await win.send(f"Question {number}")
            await gate.reached.wait()
            await win.do(lambda page, text=f"First words {number}.": page.evaluate(WATCH, text))
            began = time.time()
            gate.open()
            took.append(await win.do(lambda page: page.evaluate("window.appeared")) - began)
            await win.do(lambda page: expect(page.locator(".presence")).to_have_text("ready"))
        assert statistics.median(took) <= 0.050, took


WATCH = """(text) => {
  window.appeared = new Promise((resolve) => {
    const look = () => document.body.innerText.includes(text) && requestAnimationFrame(() => {
      seen.disconnect();
      resolve((performance.timeOrigin + performance.now()) / 1000);
    });
    const seen = new MutationObserver(look);
    seen.observe(document.body, { subtree: true, childList: true, characterData: true });
  });
}"""


async def test_nothing_is_doubled_or_missing_however_often_the_wire_is_cut(
    database_url: str, chromium: Chromium
) -> None:
    words = [f"word {number} …" for number in range(9)]
    gates = [Gate() for _ in words[1:]]
    pieces = [piece for pair in zip(words, [*gates, ""], strict=True) for piece in pair if piece != ""]
    async with world(database_url, say(*pieces)) as w, relay(w) as wire, window(chromium, w, url=wire.url) as win:
        await win.send("Tell me all the words")
        for word, gate in zip(words, gates, strict=False):
            await gate.reached.wait()
            await win.see(word)
            await wire.cut()
            gate.open()  # so the next comes while nobody listens
        await win.do(lambda page: expect(page.locator(".reply:not(.flight) .prose")).to_have_text("".join(words)))
        await win.do(lambda page: expect(page.locator(".presence")).to_have_text("ready"))
        assert await win.do(lambda page: page.locator(".reply").count()) == 1
        assert await win.do(lambda page: page.locator(".own").count()) == 1
        assert len([address for address in win.asked if "/stream?" in address]) > len(gates)


async def test_a_wire_that_died_in_silence_is_found_out_after_sleep(database_url: str, chromium: Chromium) -> None:
    async with world(database_url, say("While you slept."), heartbeat_seconds=0.2) as w, relay(w) as wire:
        async with window(chromium, w, url=wire.url, path=None) as win:
            await win.do(lambda page: page.clock.install())
            await win.go("/")
            await win.see("Hello.")
            await win.do(lambda page: expect(page.locator(".presence")).to_have_text("ready"))
            wire.frozen = True
            await w.say("Good night")
            await w.settled()
            wire.frozen = False  # but what was held back is lost, and that connection stays silent
            await win.do(lambda page: page.clock.fast_forward(60_000))
            await win.see("While you slept.")


async def test_a_conversation_that_went_on_without_us_is_opened_anew(database_url: str, chromium: Chromium) -> None:
    async with world(database_url, say("Hello!")) as w, relay(w) as wire, window(chromium, w, url=wire.url) as win:
        await win.send("Hi")
        await win.see("Hello!")
        await wire.leave()
        await win.do(lambda page: page.locator(".presence.lost").wait_for())
        await fill(w, 900, start_seq=3)
        wire.there = True
        await win.see("entry 902")
        behind = [address for address in win.asked if "behind=" in address]
        assert len(behind) >= 2
        assert await win.do(lambda page: page.locator(".flow article").count()) < 200


async def test_without_the_server_the_app_opens_says_so_and_sends_later_what_is_typed(
    database_url: str, chromium: Chromium
) -> None:
    async with world(database_url, say("I am back.")) as w, relay(w) as wire:
        async with window(chromium, w, url=wire.url, service_workers="allow") as win:
            await win.see("Hello.")
            await win.do(lambda page: page.evaluate("navigator.serviceWorker.ready.then(() => null)"))
            await win.do(lambda page: page.wait_for_function("() => navigator.serviceWorker.controller"))
            await wire.leave()
            await win.go("/reminders")
            await win.see("dreamwalker can’t be reached just now. What you write is kept")
            await win.picture("offline")
            await win.go("/")
            await win.send("Are you there?")
            await win.see("not sent yet")
            await win.do(lambda page: page.reload())
            await win.see("not sent yet")
            wire.there = True
            await win.see("I am back.")
            await win.gone("What you write is kept")
            sent = (await w.get("/api/agents/dreamwalker/entries"))["entries"]
            assert [it["text"] for it in sent] == ["Are you there?", "I am back."]


async def test_five_thousand_entries_open_within_a_second_and_only_what_is_near_is_drawn(
    database_url: str, chromium: Chromium
) -> None:
    async with world(database_url) as w:
        await fill(w, 5_000)
        async with window(chromium, w, path=None) as win:
            await win.go("/reminders")  # what a browser keeps of the app is there; a conversation is not
            await win.see("No reminder is set.")
            began = time.monotonic()
            await win.go("/")
            await win.see("entry 5000")
            assert time.monotonic() - began < 1.0
            assert await win.do(lambda page: page.locator(".flow article").count()) <= 80
            most = 0
            while not await win.do(lambda page: page.get_by_text("entry 1", exact=True).count()):
                await win.do(_scroll_up)
                most = max(most, await win.do(lambda page: page.locator(".flow article").count()))
            assert most <= 400, most
            await win.press("To the newest")
            await win.do(lambda page: expect(page.locator(".flow").get_by_text("entry 5000")).to_be_in_viewport())


def _scroll_up(page: Page) -> None:
    """Scroll so far up as there is something, and wait until more has come."""
    page.evaluate("""async () => {
      const it = document.querySelector(".transcript");
      it.scrollTop = -it.scrollHeight;
      await new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)));
    }""")


async def test_whoever_reads_further_up_stays_there_while_the_end_grows(database_url: str, chromium: Chromium) -> None:
    gate = Gate()
    async with world(database_url, say("A new line.\n\n" * 5, gate, "And another.\n\n" * 30)) as w:
        await fill(w, 100)
        async with window(chromium, w) as win:
            await win.see("entry 100")
            await win.do(lambda page: page.evaluate("document.querySelector('.transcript').scrollTop = -900"))
            await win.do(lambda page: page.get_by_role("button", name="To the newest").wait_for())
            await win.do(_scrolled)
            place = await win.do(_place)
            await w.say("Go on")
            await gate.reached.wait()
            gate.open()
            await w.settled()
            await win.do(lambda page: page.get_by_text("And another.").last.wait_for(state="attached"))
            await win.do(_scrolled)
            assert abs(await win.do(_place) - place) <= 2


def _scrolled(page: Page) -> None:
    page.evaluate("new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)))")


def _place(page: Page) -> float:
    """Where an entry stands on the screen."""
    place: float = page.get_by_text("entry 90", exact=True).evaluate("(it) => it.getBoundingClientRect().top")
    return place
