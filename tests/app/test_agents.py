"""Named agents in the app: made, talked to, asked by one another, retired; and why a run came about."""

import pytest
from playwright.sync_api import expect

from tests.app.axe import accessible
from tests.app.browser import Chromium, Size, window
from tests.app.test_safety import HOSTILE, LINE, look
from tests.messages_api import answer, say, use
from tests.messages_api.replies import Answer
from tests.world import Json, world

pytestmark = pytest.mark.extra


async def test_a_named_agent_is_made_talked_to_asked_by_the_main_one_and_retired(
    database_url: str, chromium: Chromium, size: Size
) -> None:
    def speak(request: Json) -> Answer:
        """Each agent says its own; the main one asks the cook and passes on what it says."""
        if "You are cook" in str(request["system"]):
            return say("Tulips are not for soup.")
        if "ask the cook" in str(request["messages"][-1]):
            return answer(use("message_agent", {"agent": "cook", "text": "Soup of tulips?", "mode": "ask"}))
        return say("The cook says no.")

    async with world(database_url, *[speak] * 4) as w, window(chromium, w, size, path="/agents") as win:
        await win.do(lambda page: page.get_by_text("New agent").first.click())
        await win.fill("Name", "cook")
        await win.fill("What it is for", "knows what is good to eat")
        await win.fill("Standing instructions", "Be short.")
        await win.picture("new-agent")
        await accessible(win)
        await win.press("Make the agent")
        await win.do(lambda page: expect(page.locator(".who h1")).to_have_text("cook"))
        await win.send("Are tulips for soup?")
        await win.see("Tulips are not for soup.")
        await win.picture("cook")
        await win.visit("dreamwalker")
        await win.send("Please ask the cook about tulips")
        await win.see("The cook says no.")
        await win.do(lambda page: page.get_by_text("Wrote to").click())
        await win.picture("asked-the-cook")
        await accessible(win)
        runs = (await w.get("/api/runs", agent="cook"))["runs"]
        await win.go(f"/runs/{next(run['id'] for run in runs if run['kind'] == 'ask')}")
        await win.see("What led to it")
        await win.see("Please ask the cook about tulips")
        await win.picture("why")
        await accessible(win)
        await win.go("/agents/cook/about")
        await win.press("Retire it")
        await win.press("Yes, retire it")
        await win.press("Take it back")
        await win.press("Retire it")
        await win.picture("agent")
        await accessible(win)


async def test_what_an_agent_is_for_is_shown_as_the_text_it_is(database_url: str, chromium: Chromium) -> None:
    async with world(database_url) as w, window(chromium, w, path=None) as win:
        given = {"name": "cook", "job": f"{LINE} cooks", "instructions": HOSTILE}
        await w.post("/api/agents", given, status=201)
        for path in ("/agents", "/agents/cook/about", "/agents/cook"):
            await win.go(path)
            await win.do(lambda page: page.locator("h1").first.wait_for())
            await look(win)
