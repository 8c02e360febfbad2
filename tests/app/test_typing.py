"""What is typed: by keyboard alone, and into forms while the server has news."""

import pytest
from playwright.sync_api import expect

from tests.app.browser import DESKTOP, Chromium, window
from tests.messages_api import say
from tests.messages_api.replies import Gate
from tests.world import world

pytestmark = pytest.mark.extra


async def test_what_is_being_typed_into_a_form_outlasts_news_from_the_server(
    database_url: str, chromium: Chromium
) -> None:
    async with world(database_url) as w, window(chromium, w, path="/settings") as win:
        await win.fill("Your time zone", "Asia/To")
        await win.do(lambda page: page.get_by_label("always", exact=True).check())
        await w.client.patch("/api/settings", json={"snooze_minutes": 45})
        await win.do(lambda page: page.evaluate("dispatchEvent(new Event('visibilitychange'))"))
        await win.do(lambda page: expect(page.get_by_label("Snooze, in minutes")).to_have_value("45"))
        assert await win.do(lambda page: page.get_by_label("Your time zone").input_value()) == "Asia/To"
        assert await win.do(lambda page: page.get_by_label("always", exact=True).is_checked())


async def test_everything_of_a_conversation_can_be_done_by_keyboard(database_url: str, chromium: Chromium) -> None:
    gate = Gate()
    async with world(database_url, say("Once upon", gate), say("Again.")) as w:
        async with window(chromium, w, DESKTOP) as win:
            await win.see("Hello.")
            await win.do(lambda page: page.keyboard.type("Tell me a story"))
            await win.do(lambda page: page.keyboard.press("Shift+Enter"))
            await win.do(lambda page: page.keyboard.type("of two lines"))
            await win.do(lambda page: page.keyboard.press("Enter"))
            await gate.reached.wait()
            await win.do(lambda page: page.keyboard.type("Wait"))
            await win.do(lambda page: page.keyboard.press("Enter"))
            await win.see("take back")
            await win.do(lambda page: page.keyboard.press("ArrowUp"))
            await win.gone("take back")
            assert await win.do(lambda page: page.get_by_role("textbox").input_value()) == "Wait"
            await win.do(lambda page: page.keyboard.press("Control+A"))
            await win.do(lambda page: page.keyboard.press("Delete"))
            await win.do(lambda page: page.keyboard.press("Escape"))
            await win.see("Cut short: Stopped by you.")
            await win.do(lambda page: page.locator("a.skip").focus())
            await win.do(lambda page: page.keyboard.press("/"))
            assert await win.do(lambda page: page.evaluate("document.activeElement.tagName")) == "TEXTAREA"
            entries = (await w.get("/api/agents/dreamwalker/entries"))["entries"]
            assert [it["text"] for it in entries] == ["Tell me a story\nof two lines", "Once upon"]
