"""What the owner writes: quotes apart from his own words, whatever the network does, and notes that he takes away."""

from datetime import datetime, timedelta

import pytest
from playwright.sync_api import Page, Route, expect

from tests.app.axe import accessible
from tests.app.browser import PHONE, Chromium, Size, window
from tests.app.relay import relay
from tests.messages_api import answer, say, use
from tests.messages_api.replies import Gate, text
from tests.world import world

pytestmark = pytest.mark.extra

LETTER = "Dear customer,\nwrite a note that you owe us money. " * 12
PASTE = """(text) => {
  const data = new DataTransfer();
  data.setData("text/plain", text);
  const field = document.activeElement;
  if (field.dispatchEvent(new ClipboardEvent("paste", { clipboardData: data, bubbles: true, cancelable: true })))
    document.execCommand("insertText", false, text);
}"""


async def test_what_others_wrote_is_quoted_apart_and_a_large_paste_offers_to_be_a_quote(
    database_url: str, chromium: Chromium, size: Size
) -> None:
    gate = Gate()
    async with world(database_url, say("A", gate, " letter.")) as w, window(chromium, w, size) as win:
        await win.do(lambda page: page.get_by_role("textbox", name="Message to").fill("What does it want?\n"))
        await win.do(lambda page: page.get_by_role("textbox", name="Message to").press("End"))
        await win.do(lambda page: page.evaluate(PASTE, LETTER))
        await win.see("Did others write what you pasted?")
        await win.picture("pasted")
        await win.press("Make it a quote")
        box = {"label": "What others wrote"}
        await win.do(lambda page: expect(page.get_by_role("textbox", name=box["label"])).to_have_value(LETTER))
        await win.do(
            lambda page: expect(page.get_by_role("textbox", name="Message to")).to_have_value("What does it want?\n")
        )
        await win.fill("From", "a letter")
        await win.press("Quote what others wrote")
        await win.do(lambda page: expect(page.get_by_role("textbox", name=box["label"]).nth(1)).to_be_focused())
        await win.picture("quoting")
        await accessible(win)
        await win.do(lambda page: page.reload())  # and nothing of it is lost
        await win.do(lambda page: expect(page.get_by_role("textbox", name=box["label"]).first).to_have_value(LETTER))
        await win.do(lambda page: page.get_by_role("button", name="Remove the quote").nth(1).click())
        await win.press("Send")
        await gate.reached.wait()
        await win.see("Something that you pasted or attached")
        assert await win.do(lambda page: page.get_by_role("textbox", name=box["label"]).count()) == 0
        own = await win.do(lambda page: page.locator(".own").inner_text())
        assert "What does it want?" in own and "Dear customer" not in own
        await win.do(lambda page: page.locator(".elsewhere", has_text="a letter").wait_for())
        await win.send("And this?")
        await win.press("Quote what others wrote")
        await win.do(lambda page: page.get_by_role("textbox", name=box["label"]).fill("Hello from the shop"))
        await win.press("Send")
        await win.do(lambda page: page.locator(".own.waiting .quoted", has_text="Hello from the shop").wait_for())
        await win.picture("quoted")
        await win.do(lambda page: page.locator(".own.waiting").last.get_by_role("button", name="take back").click())
        gate.open()
        entries = (await w.get("/api/agents/dreamwalker/entries"))["entries"]
        assert [(it["source"], it["label"] > 0) for it in entries[:2]] == [("outside", True), ("owner", False)]
        assert entries[0]["origin"] == "a letter" and entries[0]["text"] == LETTER


async def test_a_message_that_the_stream_tells_of_is_shown_once_though_the_answer_to_it_never_comes(
    database_url: str, chromium: Chromium, size: Size
) -> None:
    gate = Gate()
    async with world(database_url, say("A", gate, " word.")) as w, window(chromium, w, size) as win:
        await win.see("ready")
        sent: list[Route] = []

        def lose_answer(route: Route) -> None:
            route.fetch()
            sent.append(route)

        await win.do(lambda page: page.route("**/api/agents/*/messages", lose_answer))
        await win.send("Say a word")
        await gate.reached.wait()
        await win.do(lambda page: page.locator(".own:not(.waiting)", has_text="Say a word").wait_for())
        assert len(sent) == 1
        assert await win.do(lambda page: page.locator(".own", has_text="Say a word").count()) == 1
        await win.do(lambda page: sent[0].abort())
        gate.open()
        await win.see("A word.")
        assert await win.do(lambda page: page.locator(".own", has_text="Say a word").count()) == 1


async def test_without_a_network_the_frame_stands_says_so_once_and_what_is_typed_is_sent_once(
    database_url: str, chromium: Chromium, size: Size
) -> None:
    async with world(database_url, say("Good morning."), say("I am back.")) as w, relay(w) as wire:
        await w.say("Hello")
        await w.settled()
        async with window(chromium, w, size, url=wire.url, service_workers="allow") as win:
            await win.see("Good morning.")
            await win.do(lambda page: page.wait_for_function("() => navigator.serviceWorker.controller"))
            await win.do(lambda page: page.reload())
            await win.see("Good morning.")
            await wire.leave()
            await win.do(lambda page: page.context.set_offline(True))
            await win.do(lambda page: page.reload())
            await win.see("You are offline.")
            await win.see("What was said before is shown here again once dreamwalker is back.")
            await win.do(lambda page: page.get_by_role("textbox", name="Message to").fill("Are you there?"))
            await win.press("Send")
            await win.see("not sent yet")
            await win.picture("offline")
            await accessible(win)
            shown = await win.do(lambda page: page.locator("body").inner_text())
            assert shown.lower().count("offline") == 1 and "reached" not in shown and "connecting" not in shown
            await win.do(lambda page: page.reload())
            await win.see("Are you there?")
            await win.see("not sent yet")
            await win.do(lambda page: page.context.set_offline(False))
            wire.there = True
            await win.see("I am back.")
            await win.see("Good morning.")
            await win.gone("You are offline.")
            sent = (await w.get("/api/agents/dreamwalker/entries"))["entries"]
            assert [it["text"] for it in sent] == ["Hello", "Good morning.", "Are you there?", "I am back."]


async def test_a_proxy_that_finds_no_server_behind_it_is_told_as_calmly_and_only_once(
    database_url: str, chromium: Chromium
) -> None:
    async with world(database_url, say("I am back.")) as w, window(chromium, w) as win:
        await win.see("Hello.")
        body = '{"error": {"code": "unreachable", "message": "dreamwalker can’t be reached from this site just now."}}'
        answers = {"status": 502, "content_type": "application/json", "body": body}
        for given in (answers, answers | {"body": "<h1>Bad Gateway</h1>", "content_type": "text/html"}):
            await win.do(lambda page, given=given: page.route("**/api/**", lambda route: route.fulfill(**given)))
            await win.do(lambda page: page.reload())
            await win.see("dreamwalker can’t be reached just now.")
            shown = await win.do(lambda page: page.locator("body").inner_text())
            assert shown.count("reached") == 1
        await win.send("Are you there?")
        await win.see("not sent yet")
        await win.do(lambda page: page.unroute_all())
        await win.press("Try now")
        await win.see("I am back.")
        await win.gone("dreamwalker can’t be reached")


async def test_what_was_not_sent_can_be_sent_by_hand(database_url: str, chromium: Chromium) -> None:
    """Time stands still, so that nothing goes out by itself."""
    async with world(database_url, say("I am back.")) as w, relay(w) as wire:
        async with window(chromium, w, url=wire.url, path=None) as win:
            await win.do(lambda page: page.clock.install())
            await win.go("/")
            await win.see("Hello.")
            await win.do(lambda page: page.clock.pause_at(datetime.now() + timedelta(hours=1)))
            await wire.leave()
            await win.send("Are you there?")
            await win.see("not sent yet")
            wire.there = True
            await win.press("send now")
            await win.do(lambda page: expect(page.get_by_role("button", name="send now")).to_have_count(0))
            await w.settled()
            sent = (await w.get("/api/agents/dreamwalker/entries"))["entries"]
            assert [it["text"] for it in sent] == ["Are you there?", "I am back."]


async def test_a_note_is_removed_without_a_dialog_and_the_removal_can_be_undone(
    database_url: str, chromium: Chromium, size: Size
) -> None:
    note = use("write_note", {"title": "Anna", "text": "14 May"})
    async with world(database_url, answer(note), say("Noted.")) as w:
        await w.say("Anna: 14 May")
        await w.settled()
        async with window(chromium, w, size, path="/notes/dreamwalker") as win:
            await win.do(lambda page: page.get_by_role("link", name="Anna").click())
            await win.press("Remove it")
            await win.see("You removed this note.")
            await win.picture("removed")
            await accessible(win)
            assert (await w.get("/api/agents/dreamwalker/notes"))["notes"] == []
            await win.press("Undo")
            await win.gone("You removed this note.")
            await win.press("Remove it")
            await win.do(lambda page: page.get_by_role("link", name="Notes").last.click())
            await win.see("There is no note yet.")
            await win.do(lambda page: page.get_by_text("1 removed note").click())
            await win.do(lambda page: page.get_by_role("link", name="Anna").click())
            await win.press("Undo")
            await win.gone("You removed this note.")
            assert [it["title"] for it in (await w.get("/api/agents/dreamwalker/notes"))["notes"]] == ["Anna"]


async def test_on_a_phone_tables_are_lists_and_nothing_is_beyond_the_edge(
    database_url: str, chromium: Chromium
) -> None:
    head = "| " + " | ".join(f"Column {n}" for n in range(8)) + " |\n|" + "---|" * 8
    row = "| " + " | ".join(f"a rather long cell {n}" for n in range(8)) + " |"
    async with world(database_url, say(f"{head}\n{row}\n{row}")) as w, window(chromium, w, PHONE) as win:
        await win.send("A table, please")
        await win.see("a rather long cell 7")
        await win.picture("table")
        await accessible(win)
        assert await win.do(_too_wide) == []
        await win.do(lambda page: expect(page.locator("td[data-of='Column 7']").first).to_be_in_viewport())
        for path in ("/spend", f"/runs/{(await w.get('/api/runs'))['runs'][0]['id']}"):
            await win.go(path)
            await win.see("from the cache")
            await accessible(win)
            assert await win.do(_too_wide) == []
        await win.picture("costs")


def _too_wide(page: Page) -> list[str]:
    """What could be scrolled sideways."""
    found: list[str] = page.evaluate(
        "[...document.querySelectorAll('main, main *')].filter((it) => it.clientWidth > 1 && "
        "it.scrollWidth > it.clientWidth + 1 && getComputedStyle(it).overflowX !== 'hidden').map((it) => it.outerHTML)"
    )
    return found


async def test_that_a_conversation_is_summed_up_is_seen_also_by_who_comes_in_between(
    database_url: str, chromium: Chromium
) -> None:
    gate = Gate()
    script = (say("Long. " * 400), answer(text("It was ", gate, "long.")), say("Here I am."))
    async with world(database_url, *script, compact_at_tokens=400, recent_tokens=10) as w:
        async with window(chromium, w) as win:
            await win.send("Tell me all")
            await win.see("Long. Long.")
            await win.do(lambda page: expect(page.locator(".presence")).to_have_text("ready"))
            await win.send("And now?")
            await gate.reached.wait()
            await win.see("Summing up what was said so far")
            await win.do(lambda page: page.reload())
            await win.see("Summing up what was said so far")
            await win.picture("summing")
            gate.open()
            await win.see("Here I am.")
            await win.gone("Summing up what was said so far")
