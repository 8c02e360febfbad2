"""Finding and reading: a search that leads to its places, however far back, and transcripts in which nobody writes."""

import time

import pytest
from playwright.sync_api import Page, expect

from tests.app.axe import accessible
from tests.app.browser import Chromium, Size, window
from tests.app.filling import fill
from tests.hand_clock import HandClock
from tests.messages_api import answer, say, use
from tests.messages_api.replies import Answer, Gate
from tests.world import Json, world

pytestmark = pytest.mark.extra


async def test_a_search_answers_as_one_types_and_leads_five_thousand_entries_back(
    database_url: str, chromium: Chromium, size: Size
) -> None:
    async with world(database_url, answer(use("write_note", {"title": "Flowers", "text": "Tulips"})), say("Ok.")) as w:
        await fill(w, 5_000, {37: "Anna likes tulips best, I think"})
        await w.post("/api/agents/dreamwalker/fresh", {"request_id": "f"}, status=202)
        sent = await w.say("Tulips!", quotes=[{"from": "a letter", "text": "tulips are on sale"}])
        await w.answer(await w.asked(sent["accepted_no"] - 1), "yes")
        await w.settled(sent["accepted_no"] - 1)
        async with window(chromium, w, size) as win:
            await win.see("Ok.")
            await win.visit("Search")
            await win.do(lambda page: page.keyboard.type("tul", delay=20))
            await win.do(lambda page: expect(page.locator("mark")).to_have_count(4))
            await win.see("Something that you pasted or attached")
            await win.picture("search")
            await accessible(win)
            await win.do(lambda page: page.keyboard.type("ips best", delay=20))
            await win.do(lambda page: expect(page.locator("a.row")).to_have_count(1))
            began = time.monotonic()
            await win.do(lambda page: page.locator("a.row").click())
            await win.do(lambda page: expect(page.locator(".found")).to_be_in_viewport())
            assert time.monotonic() - began < 1.5
            await win.do(lambda page: expect(page.locator(".found")).to_contain_text("Anna likes tulips best"))
            await win.see("entry 36")
            await win.see("entry 38")
            await win.picture("found")
            await accessible(win)
            place = await win.do(_place)
            assert 0.1 < place < 0.9, "it stands in the midst of the window"
            await win.do(lambda page: page.evaluate("document.querySelector('.transcript').scrollBy(0, 3000)"))
            await win.do(lambda page: page.get_by_text("entry 100", exact=True).wait_for(state="attached"))
            await win.do(lambda page: page.reload())
            await win.do(lambda page: expect(page.locator(".found")).to_be_in_viewport())
            await win.do(lambda page: page.get_by_role("link", name="To the newest").click())
            await win.see("Ok.")
            await win.do(lambda page: page.get_by_role("textbox", name="Message to").wait_for())
            await win.do(lambda page: page.go_back())
            await win.do(lambda page: page.go_back())
            await win.do(lambda page: expect(page.get_by_role("searchbox")).to_have_value("tulips best"))
            await win.do(lambda page: page.get_by_role("searchbox").fill("unicorns"))
            await win.see("Nothing that was said or noted holds all of these words.")
            await win.do(lambda page: page.get_by_role("searchbox").fill("?!"))
            await win.see("Each word is found by its beginning")


def _place(page: Page) -> float:
    """How far down the window what was found stands."""
    place: float = page.evaluate(
        "document.querySelector('.found').getBoundingClientRect().top / document.documentElement.clientHeight"
    )
    return place


async def test_a_workers_and_a_jobs_transcript_are_reached_from_where_they_are_spoken_of(
    database_url: str, chromium: Chromium, size: Size
) -> None:
    gate, clock = Gate(), HandClock()

    def speak(request: Json) -> Answer:
        """The main agent delegates; its worker is slow; the job reports."""
        if "You are a worker" in str(request["system"]):
            return say("Trains go", gate, " every hour.")
        if "Will it rain" in str(request["messages"]):
            return say("It will.")
        if request["messages"][-1]["content"][0]["type"] == "tool_result":
            return say("Every hour.")
        return answer("I have it looked up.", use("delegate", {"task": "Find trains to Graz"}))

    async with world(database_url, clock=clock) as w:
        w.api.script(speak)
        async with window(chromium, w, size) as win:
            await win.send("How do I get to Graz?")
            await gate.reached.wait()
            await win.do(lambda page: page.locator(".worker a").click())
            await win.see("A worker’s task")
            await win.see("Find trains to Graz")
            await win.see("A worker takes no messages: it knows its task and nothing else.")
            assert await win.do(lambda page: page.get_by_role("textbox").count()) == 0
            await win.see("Trains go")
            gate.open()
            await win.see("Trains go every hour.")
            await win.picture("transcript")
            await accessible(win)
            await win.do(lambda page: page.get_by_role("link", name="The run that set it to work").click())
            await win.see("Who worked for it")
            await win.do(lambda page: page.get_by_role("link", name="Read the conversation it ran in").click())
            await win.see("You are reading. To write, go to")
            await win.do(lambda page: page.locator(".worker a", has_text="what was done for it").wait_for())
            job = {"request_id": "j", "title": "Weather", "text": "Will it rain?", "when": "every 1 hour"}
            made = await w.post("/api/jobs", job, status=201)
            clock.move(3_700)
            path = f"/api/jobs/{made['id']}/slots"
            while not any(slot["report"] for slot in (await w.get(path))["slots"]):
                pass
            await win.go(f"/jobs/{made['id']}")
            await win.do(lambda page: page.get_by_role("link", name="What its run did").first.click())
            await win.see("A run of a job")
            await win.see("It will.")
            await win.see("A run of a job takes no messages")
            await accessible(win)
