"""The log of a whole day: every line can be read, none holds a word that anybody wrote, and a message is followed."""

import logging
from typing import Any

import pytest

from tests.api.test_agents import GARDENER
from tests.api.test_failures import alter
from tests.log_lines import lines_of, logged
from tests.messages_api import Gate, answer, fail, say, use
from tests.messages_api.server import Request
from tests.ntfy.server import Status
from tests.phoned import Phone, phone
from tests.storage.harness import outside
from tests.world import Json, World
from tools.contract import Arguments, Result, Tool, ToolContext

MARK = "zwickelbock"
"""A word that stands in all that is written and said on this day, and nowhere else."""
QUOTES = [{"from": f"{MARK} a mail", "text": f"{MARK} Write a note!"}]
ACTS = (
    use("write_note", {"title": f"{MARK} title", "text": f"{MARK} text"}),
    use("delegate", {"task": f"{MARK} task"}),
    use("message_agent", {"agent": "gardener", "text": f"{MARK} letter"}),
    use("set_reminder", {"text": f"{MARK} tea", "when": "in 20m"}),
    use("make_job", {"title": f"{MARK} job", "text": f"{MARK} prompt", "when": "every day 9:00"}),
)
LOOKS = (
    use("search_notes", {"query": f"{MARK}?"}),
    use("read_note", {"title": f"{MARK} title"}),
    use(f"{MARK}_tool", {"x": MARK}),
    use("write_note", '{"title": "' + MARK),
    use("break", {}),
)


class _Nothing(Arguments, frozen=True):
    """No arguments."""


async def _breaks(context: ToolContext, arguments: _Nothing) -> Result:
    raise RuntimeError(f"{MARK} is no number")


BREAKS = Tool(name="break", description="It breaks.", arguments=_Nothing, run=_breaks, exit=False)


def _speak(request: Request) -> Any:
    """Whoever is asked says the word; the main agent does all that there is first."""
    assert request.json is not None
    system, asked = str(request.json["system"]), request.json["messages"]
    turns = sum(message["role"] == "assistant" for message in asked)
    job = f"{MARK} prompt" in str(asked[0])
    if job or "You are a worker" in system or "another agent has written to you" in system:
        return say(f"{MARK} answer")
    if turns >= 2 or not any(f"{MARK} Write a note!" in str(message) for message in asked):
        return say(f"{MARK} reply")
    return answer(f"{MARK} says", *(LOOKS if turns else ACTS))


async def _do_everything(p: Phone) -> Json:
    """A message that has all of it done, with a yes to all that is asked; the message."""
    message = await p.w.say(f"{MARK} Do what you can", quotes=QUOTES)
    async with p.w.stream(message["accepted_no"] - 1) as events:
        while (event := await events.next()) is not None:
            for question in event.data.get("questions", ()):
                if question["state"] == "open":
                    await p.w.answer(question["id"], "yes")
            if any(run["closed_at"] for run in event.data.get("runs", ())):
                break
    return message


async def _be_reminded(p: Phone) -> None:
    p.ntfy.script(Status(500, body=f"{MARK} went wrong".encode()), Status(403, body=MARK.encode()))
    p.clock.move(21 * 60)
    await p.ntfy.came_in(1)
    await p.until("retrying")
    p.clock.move(60)
    await p.until("failed")
    p.clock.move(24 * 3_600)
    await p.ntfy.came_in(3)


async def _ask_oddly(w: World) -> None:
    """Requests that go wrong, with the word wherever a request can hold one."""
    for method, path, body, status in (
        ("GET", f"/api/agents/{MARK}?{MARK}={MARK}", "", 422),
        ("GET", f"/{MARK}", "", 404),
        (MARK.upper(), "/api/runs", "", 405),
        ("GET", f"/api/search?query={MARK}", "", 200),
        ("POST", f"/api/buttons/{MARK}", "", 404),
        ("POST", "/api/agents/dreamwalker/messages", '{"' + MARK, 400),
        ("POST", "/api/agents/dreamwalker/messages", f'{{"request_id": "{MARK}", "text": ""}}', 422),
        ("DELETE", "/api/search", MARK, 405),
        ("GET", "/api/health", "", 200),
        ("GET", "/app.css", "", 200),
    ):
        got = await w.client.request(method, path, content=body, headers={"X-Odd": MARK})
        assert got.status_code == status, (path, got.text)
    assert (await w.client.get("/api/runs", headers={"Authorization": f"Bearer {MARK}"})).status_code == 401


async def _fail_in_every_way(p: Phone) -> None:
    w = p.w
    w.api.script(fail(400, f"{MARK} is not allowed"))
    message = await w.say(f"{MARK} again")
    await w.settled(message["accepted_no"] - 1)
    w.api.script(say(f"{MARK} half").error(after=3, message=MARK))
    message = await w.say(f"{MARK} once more")
    async with w.stream(message["accepted_no"] - 1) as events:
        while not any(run["state"] == "waiting" for run in (await events.of("change")).data["runs"]):
            pass
        p.clock.move(120)
        await events.until_settled()
    gate = Gate()
    w.api.script(say(f"{MARK} begins", gate))
    message = await w.say(f"{MARK} and stop")
    await gate.reached.wait()
    run = (await w.get("/api/runs", agent="dreamwalker"))["runs"][0]["id"]
    await w.post(f"/api/runs/{run}/stop")
    await outside(
        w.system.config.database_url or "",
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
        "WHERE datname = current_database() AND pid <> pg_backend_pid()",
    )
    await w.get("/api/runs")
    await alter(w.system.config.database_url or "", "ALTER TABLE messages DROP COLUMN digest")
    body = {"request_id": "last", "text": f"{MARK} is lost"}
    assert (await w.client.post("/api/agents/dreamwalker/messages", json=body)).status_code == 500


EXPECTED = {
    "request", "request.failed", "message.placed", "model.answered", "model.failed", "call.ended", "call.broke",
    "question.asked",
    "run.waits", "run.ended", "slot.settled", "push.sent", "push.failed", "push.refused", "house.opened",
    "database.lost", "library",
}  # fmt: skip


@pytest.mark.slow
async def test_a_day_is_logged_line_by_line_and_no_line_holds_a_word_of_it(database_url: str) -> None:
    with logged(level=logging.DEBUG) as stream:
        async with phone(database_url, more_tools=(BREAKS,)) as p:
            p.w.api.answer_with(_speak)
            told = {"job": f"{MARK} job", "instructions": f"{MARK} instructions"}
            await p.w.post("/api/agents", GARDENER | told, status=201)
            message = await _do_everything(p)
            await _be_reminded(p)
            await _ask_oddly(p.w)
            await _fail_in_every_way(p)
            logging.getLogger("a.library").warning(f"{MARK} {len(QUOTES)}")
        said = stream.getvalue()
    assert MARK not in said.lower()
    assert said.count("\n") == len(lines_of(said))
    lines = lines_of(said)
    assert {line["event"] for line in lines} >= EXPECTED
    assert {line["run"] for line in lines if "run" in line} == {
        line["run"] for line in lines if line["event"] == "run.ended"
    }, "whatever was begun has one end"
    assert [line["state"] for line in lines if line["event"] == "run.ended"].count("stopped") == 1
    _followed(lines, message["id"])


def _followed(lines: list[Json], message: int) -> None:
    """From the door to the end of the run, by ids alone."""
    at_door, placed = (line for line in lines if line.get("message") == message)
    assert (at_door["event"], at_door["status"]) == ("request", 202)
    assert at_door["route"] == "/api/agents/{name}/messages"
    run = [line for line in lines if line.get("run") == placed["run"]]
    assert run[0] == placed and run[-1]["event"] == "run.ended" and run[-1]["state"] == "done"
    assert {line["conversation"] for line in run} == {placed["conversation"]}
    calls = [line for line in run if line["event"] == "call.ended"]
    assert {line["tool"] for line in calls} >= {"write_note", "delegate", "message_agent", "none", "break"}
    assert sum(line["event"] == "model.answered" for line in run) == run[-1]["turns"]
    others = {line["run"] for line in lines if line["event"] == "run.ended" and line["act"] == f"message:{message}"}
    assert len(others) == 3, "its own, the worker's and the gardener's"
