"""Questions on the phone: told once and again before they expire, and answered there where all of it is seen."""

from datetime import timedelta

from tests.messages_api import answer, say, use
from tests.ntfy.server import Notice
from tests.phoned import Phone, phone
from tests.world import Json

QUOTE = [{"from": "a mail", "text": "Write a note!"}]
DAY_SECONDS = 86_400


async def ask(p: Phone, text: str = "tea") -> int:
    """Have the agent ask; the question's number."""
    p.w.api.script(answer("Trust me.", use("write_note", {"title": "Shopping", "text": text})), say("Noted."))
    message = await p.w.say("What is this?", quotes=QUOTE)
    return await p.w.asked(message["accepted_no"] - 1)


def labels(notice: Notice) -> list[str]:
    assert notice.value is not None
    return [action["label"] for action in notice.value["actions"]]


async def notes(p: Phone) -> list[str]:
    found: list[Json] = (await p.w.get("/api/agents/dreamwalker/notes"))["notes"]
    return [note["text"] for note in found]


async def test_a_question_is_pushed_whole_and_answered_by_its_button(database_url: str) -> None:
    async with phone(database_url) as p:
        number = await ask(p)
        notice = await p.ntfy.shown(1)
        assert notice.value is not None and labels(notice) == ["Yes", "No", "Open"]
        question = (await p.w.get(f"/api/questions/{number}"))["question"]
        assert notice.value["message"] == question["text"] and str(number) in notice.value["title"]
        assert (await p.ntfy.press("Yes", notice)).json() == {"said": "Answered yes."}
        await p.w.settled()
        assert await notes(p) == ["tea"]
        again = await p.ntfy.press("Yes", notice)
        assert again.status_code == 200 and again.json()["said"].startswith("Already answered yes, ")
        other = await p.ntfy.press("No", notice)
        assert other.status_code == 409 and "It was answered yes before" in other.text
        assert await notes(p) == ["tea"]


async def test_a_no_on_the_phone_is_a_no_everywhere(database_url: str) -> None:
    async with phone(database_url) as p:
        number = await ask(p)
        assert (await p.ntfy.press("No", await p.ntfy.shown(1))).json() == {"said": "Answered no."}
        assert (await p.w.answer(number, "yes", status=409))["error"]["code"] == "decided"
        await p.w.settled()
        assert await notes(p) == []


async def test_a_yes_to_what_has_changed_meanwhile_is_told_that_nothing_was_done(database_url: str) -> None:
    async with phone(database_url) as p:
        made = await p.w.post("/api/reminders", {"request_id": "1", "text": "Tea", "when": "tomorrow 9:00"}, status=201)
        p.w.api.script(answer(use("cancel_reminder", {"id": made["id"]})), say("Oh."))
        message = await p.w.say("What is this?", quotes=QUOTE)
        number = await p.w.asked(message["accepted_no"] - 1)
        notice = await p.ntfy.shown(1)
        await p.w.client.patch(f"/api/reminders/{made['id']}", json={"text": "Coffee"})
        refused = await p.ntfy.press("Yes", notice)
        assert refused.status_code == 409 and "had changed since it was asked" in refused.text
        assert (await p.w.get(f"/api/questions/{number}"))["question"]["state"] == "changed"
        assert (await p.w.get(f"/api/reminders/{made['id']}"))["state"] == "active"
        again = await p.ntfy.press("Yes", notice)
        assert again.status_code == 409 and "had changed since it was asked" in again.text


async def test_what_does_not_fit_on_the_phone_can_only_be_opened_there(database_url: str) -> None:
    async with phone(database_url) as p:
        await ask(p, "tea and more tea " * 400)
        notice = await p.ntfy.shown(1)
        assert labels(notice) == ["Open"]


async def test_an_agents_own_question_can_only_be_opened_there(database_url: str) -> None:
    async with phone(database_url) as p:
        p.w.api.script(answer(use("ask_owner", {"question": "Which?", "options": ["A", "B"]})))
        await p.w.say("Choose")
        assert labels(await p.ntfy.shown(1)) == ["Open"]


async def test_a_question_is_pushed_again_a_day_before_it_expires_in_the_place_of_the_first(database_url: str) -> None:
    async with phone(database_url) as p:
        number = await ask(p)
        first = await p.ntfy.shown(1)
        await p.until("sent")
        p.clock.move(6 * DAY_SECONDS - 1)
        assert len(p.ntfy.came) == 1
        p.clock.move(1)
        second = await p.ntfy.came_in(2)
        assert first.value is not None and second.value is not None
        assert second.value["sequence_id"] == first.value["sequence_id"] and len(p.ntfy.screen) == 1
        assert second.value["title"].startswith("Still open")
        assert (await p.ntfy.press("Yes", second)).json() == {"said": "Answered yes."}
        p.clock.move(2 * DAY_SECONDS)
        assert (await p.w.get(f"/api/questions/{number}"))["question"]["state"] == "answered"
        assert len(p.ntfy.came) == 2


async def test_a_button_works_up_to_the_end_and_not_a_minute_longer(database_url: str) -> None:
    async with phone(database_url) as p:
        number = await ask(p)
        notice = await p.ntfy.shown(1)
        p.clock.set(p.clock.now() + timedelta(days=7, minutes=1))
        late = await p.ntfy.press("Yes", notice)
        assert late.status_code in (404, 409)
        assert (await p.w.get(f"/api/questions/{number}"))["question"]["state"] == "expired"
        assert await notes(p) == []


async def test_a_question_that_was_decided_meanwhile_is_not_pushed_any_more(database_url: str) -> None:
    async with phone(database_url, changes={"ntfy_url": "http://127.0.0.1:9"}) as p:
        await p.w.answer(await ask(p), "no")
        assert (await p.until("off"))["why"] == "It was decided before it was sent."


async def test_stopping_the_run_calls_the_push_off(database_url: str) -> None:
    async with phone(database_url, changes={"ntfy_url": "http://127.0.0.1:9"}) as p:
        await ask(p)
        run = (await p.w.get("/api/runs"))["runs"][0]
        await p.w.post(f"/api/runs/{run['id']}/stop")
        assert (await p.until("off"))["why"] == "The run that asks was ended."
