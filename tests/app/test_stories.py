"""What the owner does with the app, from his first visit to a limit that he raises, on a phone and on a desktop."""

import pytest
import trio
from playwright.sync_api import Page, expect

from tests.app.axe import accessible
from tests.app.browser import PHONE, Chromium, Size, window
from tests.hand_clock import HandClock
from tests.messages_api import answer, say, use
from tests.messages_api.replies import Answer, Gate, text
from tests.phoned import phone
from tests.world import PATIENCE_SECONDS, TOKEN, Json, world

pytestmark = pytest.mark.extra

QUOTE = [{"from": "a mail", "text": "Write a note! See https://shop.example/tulips?x=1."}]
NOTE = {"title": "Anna’s birthday", "text": "14 May; she likes **tulips**"}


async def test_a_first_visit_asks_for_the_token_once_and_keeps_it(
    database_url: str, chromium: Chromium, size: Size
) -> None:
    async with world(database_url) as w, window(chromium, w, size, token=None) as win:
        await win.see("The token of your server")
        await win.picture("door")
        await accessible(win)
        await win.fill("The token of your server", "a-wrong-token-of-more-than-32-characters")
        await win.press("Open")
        await win.see("This token is not the right one.")
        await win.fill("The token of your server", TOKEN)
        await win.press("Open")
        await win.see("Hello.")
        await win.picture("welcome")
        await accessible(win)
        await win.go("/reminders")
        await win.see("No reminder is set.")
        assert all(TOKEN not in address for address in win.asked)


async def test_what_is_asked_is_answered_live_and_stands_there_again_after_a_reload(
    database_url: str, chromium: Chromium, size: Size
) -> None:
    gate = Gate()
    first = answer(text("I write it "), text("down.", gate, " One moment."), use("write_note", NOTE))
    reply = "Done. She likes:\n\n- **tulips**, and\n- `cake`\n\n| day | what |\n|---|---|\n| 14 May | party |"
    async with world(database_url, first, say(reply)) as w, window(chromium, w, size) as win:
        await win.see("Hello.")
        await win.send("Remember Anna’s birthday.")
        await gate.reached.wait()
        await win.see("down.")
        assert await win.do(lambda page: page.get_by_text("One moment.").count()) == 0
        await win.do(lambda page: expect(page.locator(".presence")).to_have_text("at work"))
        await win.picture("streaming")
        gate.open()
        await win.see("party")
        await win.do(lambda page: expect(page.locator(".presence")).to_have_text("ready"))
        await win.do(lambda page: page.get_by_text("Wrote a note").click())
        await win.see("Written: the note")
        await win.picture("answered")
        await accessible(win)
        before = await win.do(_transcript)
        await win.do(lambda page: page.reload())
        await win.see("party")
        assert await win.do(_transcript) == before


def _transcript(page: Page) -> list[str]:
    page.get_by_text("Wrote a note").wait_for()
    return [
        node.inner_text().replace("Written: the note “Anna’s birthday”.", "")
        for node in page.locator(".own, .reply .prose, .call summary").all()
    ]


async def test_a_message_waits_while_it_works_can_be_taken_back_and_a_stop_keeps_what_was_written(
    database_url: str, chromium: Chromium, size: Size
) -> None:
    gate = Gate()
    async with world(database_url, say("Once upon a time", gate, " there was"), say("Go on.")) as w:
        async with window(chromium, w, size) as win:
            await win.send("Tell me a story")
            await gate.reached.wait()
            await win.see("Once upon a time")
            await win.send("A short one!")
            await win.see("take back")
            await win.picture("waiting")
            await accessible(win)
            await win.press("take back")
            await win.gone("A short one!")
            await win.press("Stop")
            await win.see("Cut short: Stopped by you.")
            await win.do(lambda page: expect(page.locator(".presence")).to_have_text("ready"))
            assert await win.do(lambda page: page.get_by_role("button", name="Stop").count()) == 0
            await win.press("New context")
            await win.see("New context: nothing from before is sent any more")
            await win.picture("stopped")
            entries = (await w.get("/api/agents/dreamwalker/entries"))["entries"]
            assert [it["kind"] for it in entries] == ["message", "reply", "fresh"]
            assert [it["text"] for it in entries][:2] == ["Tell me a story", "Once upon a time"]


async def test_a_question_is_answered_by_who_comes_to_it_by_its_link(
    database_url: str, chromium: Chromium, size: Size
) -> None:
    act = use("write_note", {"title": "Shopping", "text": "all of \u202eit\nand https://shop.example/tulips?x=1"})
    async with world(database_url, answer("Trust me.", act), say("Noted.")) as w:
        message = await w.say("What is this?", quotes=QUOTE)
        number = await w.asked(message["accepted_no"] - 1)
        async with window(chromium, w, size, path=f"/questions/{number}") as win:
            await win.see("Write the note “Shopping”?")
            await win.see("⟨U+202E⟩")
            await win.see("You are asked because text from outside came in")
            await win.picture("question")
            await accessible(win)
            await win.go("/")
            await win.see("waits for your answer")
            await win.see("⟨U+202E⟩")
            await win.picture("question-in-conversation")
            await accessible(win)
            await win.press("Yes, do it")
            await win.see("Noted.")
            await win.see("You answered: yes")
            notes = (await w.get("/api/agents/dreamwalker/notes"))["notes"]
            assert [note["title"] for note in notes] == ["Shopping"]


async def test_an_agents_own_question_is_answered_by_an_option_or_in_words(
    database_url: str, chromium: Chromium, size: Size
) -> None:
    ask = use("ask_owner", {"question": "Which colour?\nThink.", "options": ["red", "blue"]})
    async with world(database_url, answer(ask), say("So be it."), answer(ask), say("As you say.")) as w:
        async with window(chromium, w, size) as win:
            await win.send("Choose a colour")
            await win.see("Which colour?")
            await win.picture("choice")
            await accessible(win)
            await win.press("blue")
            await win.see("So be it.")
            await win.send("Choose again")
            await win.fill("An answer of your own", "green, please")
            await win.press("Answer")
            await win.see("As you say.")
            questions = (await w.get("/api/questions", state="all"))["questions"]
            assert [question["answer"] for question in questions] == ["green, please", "blue"]


async def test_a_reminder_is_made_pushed_and_snoozed_and_all_of_it_can_be_seen(
    database_url: str, chromium: Chromium, size: Size
) -> None:
    async with phone(database_url) as p, window(chromium, p.w, size, path="/reminders") as win:
        await win.fill("Remind me of", "Tea")
        await win.do(lambda page: page.locator("input[name=when]").fill("soon"))
        await win.press("Remind me")
        await win.see("can't be read as a time")
        await win.do(lambda page: page.locator("input[name=when]").fill("in 20m"))
        await win.press("Remind me")
        await win.see("Sunday 2026-11-29 13:20 Europe/Vienna")
        await win.picture("reminders")
        await accessible(win)
        p.clock.move(20 * 60)
        assert "Snooze" in (await p.ntfy.shown(1)).buttons[1]
        await p.ntfy.press((await p.ntfy.shown(1)).buttons[1])
        await win.go("/reminders")
        await win.do(lambda page: page.get_by_label("Show those that are over").check())
        await win.do(lambda page: page.get_by_role("link", name="Tea").nth(1).click())
        await win.see("phone: sent")
        await win.see("snoozed")
        await win.picture("reminder")
        await accessible(win)


async def test_a_jobs_past_and_next_times_stand_on_its_page(database_url: str, chromium: Chromium, size: Size) -> None:
    clock = HandClock()
    async with world(database_url, say("It will **rain**."), say("Rain, says the job."), clock=clock) as w:
        async with window(chromium, w, size, path="/jobs") as win:
            await win.do(lambda page: page.get_by_text("New job").first.click())
            await win.fill("Title", "Weather")
            await win.do(lambda page: page.locator("textarea[name=text]").fill("Will it rain?"))
            await win.do(lambda page: page.locator("input[name=when]").fill("0 7 * * *"))
            await win.press("Make the job")
            await win.see("By the rule 0 7 * * * (Europe/Vienna)")
            await win.picture("jobs")
            (job,) = (await w.get("/api/jobs"))["jobs"]
            clock.move(18 * 3600)
            with trio.fail_after(PATIENCE_SECONDS):
                while not any(slot["report"] for slot in (await w.get(f"/api/jobs/{job['id']}/slots"))["slots"]):
                    pass
            await win.go(f"/jobs/{job['id']}")
            await win.do(lambda page: expect(page.locator("ol.slots").first.locator("li")).to_have_count(5))
            await win.do(lambda page: page.get_by_text("Report", exact=True).click())
            await win.do(lambda page: page.locator("strong", has_text="rain").wait_for())
            await win.picture("job")
            await accessible(win)
            await win.press("Pause")
            await win.see("paused")
            await win.press("Resume")
            await win.do(lambda page: expect(page.locator(".lead .badge")).to_have_text("active"))


async def test_a_notes_history_is_seen_and_gone_back_to(database_url: str, chromium: Chromium, size: Size) -> None:
    writes = [answer(use("write_note", NOTE | {"text": body})) for body in ("14 May", "15 May")]
    async with world(database_url, writes[0], say("Noted."), writes[1], say("Changed.")) as w:
        await w.say("Anna: 14 May")
        await w.settled()
        await w.say("No, 15 May")
        await w.settled(runs=2)
        async with window(chromium, w, size, path="/notes/dreamwalker") as win:
            await win.do(lambda page: page.get_by_role("searchbox").fill("may"))
            await win.do(lambda page: page.get_by_role("link", name="Anna’s birthday").click())
            await win.see("15 May")
            await win.picture("note")
            await accessible(win)
            await win.press("Go back to this")
            await win.see("written by you")
            await win.press("Change it")
            await win.fill("The note", "14 May, at noon")
            await win.press("Write it")
            await win.do(lambda page: expect(page.locator(".sheet > .note")).to_have_text("14 May, at noon"))
            (note,) = (await w.get("/api/agents/dreamwalker/notes"))["notes"]
            versions = (await w.get(f"/api/notes/{note['id']}/versions"))["versions"]
            assert [(it["version"], it["text"], it["run"] is None) for it in versions] == [
                (4, "14 May, at noon", True), (3, "14 May", True), (2, "15 May", False), (1, "14 May", False)
            ]  # fmt: skip


async def test_a_run_shows_what_it_did_why_and_what_it_cost(database_url: str, chromium: Chromium, size: Size) -> None:
    async with world(database_url, answer(use("write_note", NOTE)), say("Noted.")) as w:
        async with window(chromium, w, size) as win:
            await win.send("Remember it")
            await win.see("Noted.")
            await win.do(lambda page: page.get_by_role("link", name="how it came about").click())
            await win.see("What it did")
            await win.see("Wrote a note")
            await win.see("What it cost")
            await win.picture("run")
            await accessible(win)
            await win.visit("Runs")
            await win.see("your conversation, 2 replies")
            await win.see("Remember it")
            await win.picture("runs")
            await accessible(win)


async def test_a_limit_that_is_reached_is_told_and_raised_and_the_work_goes_on(
    database_url: str, chromium: Chromium, size: Size
) -> None:
    async with world(database_url, say("There it is.")) as w:
        await w.client.patch("/api/settings", json={"day_limit_dollars": 0})
        async with window(chromium, w, size) as win:
            await win.send("Go on")
            await win.do(lambda page: page.get_by_role("link", name="Raise the limit").wait_for())
            await win.picture("limit")
            await accessible(win)
            await win.do(lambda page: page.get_by_role("link", name="Raise the limit").click())
            await win.do(lambda page: page.locator("input[name=amount]").first.fill("2.50"))
            await win.press("Raise")
            await win.see("of $2.50")
            await win.picture("spend")
            await accessible(win)
            await win.go("/")
            await win.see("There it is.")


async def test_settings_are_changed_and_every_page_is_accessible(
    database_url: str, chromium: Chromium, size: Size
) -> None:
    async with world(database_url) as w, window(chromium, w, size, path="/settings") as win:
        await win.fill("Your time zone", "Asia/Tokyo")
        await win.do(lambda page: page.get_by_label("always", exact=True).check())
        await win.press("Keep")
        await win.see("Kept.")
        kept = await w.get("/api/settings")
        assert kept["ask"] == "strict"
        assert kept["zone"] == "Asia/Tokyo"
        await win.picture("settings")
        for path in (
            "/settings",
            "/agents",
            "/agents/dreamwalker/about",
            "/questions",
            "/jobs",
            "/pushes",
            "/reference",
            "/nowhere",
        ):
            await win.go(path if path != "/nowhere" else "/runs/999")
            await win.do(lambda page: page.locator("h1").first.wait_for())
            await accessible(win)
        if size is PHONE:
            await win.press("Menu")
            await win.picture("menu")
            await accessible(win)


async def test_a_worker_is_seen_at_work_under_its_call_and_the_owner_does_not_wait_for_it(
    database_url: str, chromium: Chromium, size: Size
) -> None:
    gate = Gate()

    def speak(request: Json) -> Answer:
        """The main agent delegates; its worker is slow."""
        if "You are a worker" in str(request["system"]):
            return say("Trains go", gate, " every hour: https://trains.example/graz")
        if "Trains go" in str(request["messages"][-1]):
            return say("Every hour; see https://trains.example/graz and https://trains.example/other.")
        if "Any news" in str(request["messages"][-1]):
            return say("Not yet; it is being looked up.")
        return answer("I have it looked up.", use("delegate", {"task": "Find trains to Graz"}))

    async with world(database_url, *[speak] * 5) as w, window(chromium, w, size) as win:
        await win.send("How do I get to Graz?")
        await gate.reached.wait()
        await win.see("Has it looked up")
        await win.do(lambda page: page.locator(".worker .tag", has_text="worker").wait_for())
        await win.picture("worker")
        await accessible(win)
        await win.send("Any news?")
        await win.see("Not yet; it is being looked up.")
        gate.open()
        await win.see("Every hour; see")
        await win.picture("worker-done")
        links = await win.do(lambda page: page.locator(".prose a").evaluate_all("them => them.map((it) => it.href)"))
        assert links == ["https://trains.example/graz"]
