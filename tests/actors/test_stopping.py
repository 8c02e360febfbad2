"""Stopping a run, and conversations that fail: nothing is doubled, nothing spoils what comes after."""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest
import trio
import trio.testing

from actors import journal
from dreamwalker.house import MAIN_AGENT
from storage.notes import ListNotes
from storage.records import Call
from storage.runs import ListRuns
from tests.actors.house import inside, open_house
from tests.messages_api import Gate, answer, empty, say, serve_messages_api, text, use
from tests.proxy import PASS, Action, Await, Request, open_proxy
from tests.storage.harness import outside
from tools.contract import Arguments, Result, Tool
from tools.notes import NOTE_TOOLS
from tools.redact import Redactor
from tools.toolbox import Toolbox


def hold(wanted: Callable[[Request], bool], until: trio.Event) -> Callable[[Request], Action]:
    """Hold back the first such request until the event."""
    left = [Await(until)]
    return lambda request: left.pop() if left and request.runs and wanted(request) else PASS


async def test_a_stop_while_the_reply_is_being_committed_does_not_keep_its_text_twice(database_url: str) -> None:
    gate, go_on, held = Gate(), trio.Event(), trio.Event()

    def commits_a_reply(request: Request) -> bool:
        if "the call with its result" in request.sql:
            held.set()
        return "the call with its result" in request.sql

    async with serve_messages_api() as api, open_proxy(database_url) as proxy, open_house(proxy.url, api) as it:
        proxy.on_request = hold(commits_a_reply, go_on)
        api.script(answer(text("I look", gate, "."), use("list_notes", {})))
        await it.say("What is on my list?")
        (run,) = await it.until(lambda runs: bool(runs))
        gate.open()
        with trio.fail_after(30):
            await held.wait()
        async with trio.open_nursery() as nursery:
            actor = it.house.agent(MAIN_AGENT)
            assert actor is not None
            nursery.start_soon(actor.stop, run.id, it.home, "Stopped by you.", 5)
            await trio.testing.wait_all_tasks_blocked(0.01)
            go_on.set()
        (run,) = await it.runs()
        assert run.state == "stopped"
        assert await it.said() == ["What is on my list?", "I look."]
        _, calls = await it.transcript()
        assert [call.state for call in calls] == ["finished"]


async def test_what_he_was_still_being_asked_about_is_said_not_to_have_been_done(database_url: str) -> None:
    async with inside(database_url) as it:
        it.api.script(answer(use("ask_owner", {"question": "Tea?", "options": ["Yes", "No"]})))
        await it.say("Ask me")
        (run,) = await it.until(lambda runs: bool(runs) and runs[0].state == "waiting")
        actor = it.house.agent(MAIN_AGENT)
        assert actor is not None
        await actor.stop(run.id, it.home, "Stopped by you.", 5)
        _, calls = await it.transcript()
        assert [journal.NOT_ALLOWED in (call.result or "") for call in calls] == [True]


async def test_of_notes_that_were_not_written_yet_a_stop_says_that_nothing_was_done(database_url: str) -> None:
    go_on, held = trio.Event(), trio.Event()

    def finishes_a_call(request: Request) -> bool:
        if "finish the call" in request.sql:
            held.set()
        return "finish the call" in request.sql

    async with serve_messages_api() as api, open_proxy(database_url) as proxy, open_house(proxy.url, api) as it:
        proxy.on_request = hold(finishes_a_call, go_on)
        api.script(answer(*(use("write_note", {"title": title, "text": "x"}) for title in ("One", "Two"))))
        await it.say("Write them")
        (run,) = await it.until(lambda runs: bool(runs))
        with trio.fail_after(30):
            await held.wait()
        async with trio.open_nursery() as nursery:
            actor = it.house.agent(MAIN_AGENT)
            assert actor is not None
            nursery.start_soon(actor.stop, run.id, it.home, "Stopped by you.", 5)
            await trio.testing.wait_all_tasks_blocked(0.01)
            go_on.set()
        _, calls = await it.transcript()
        told = [journal.NOT_BEGUN in (call.result or "") for call in calls]
        written = {note.title for note in await it.ask(ListNotes(MAIN_AGENT, 10))}
        assert written == {title for title, undone in zip(("One", "Two"), told, strict=True) if not undone}
        assert sorted(told) == [False, True]


@pytest.mark.parametrize(
    ("tool", "fields", "marked", "says"),
    [
        ("write_note", {"state": "asked"}, False, journal.NOT_ALLOWED),
        ("mail", {"state": "asked"}, False, journal.NOT_ALLOWED),
        ("write_note", {"state": "begun"}, True, journal.NOT_BEGUN),
        ("mail", {"state": "begun"}, False, journal.NOT_BEGUN),
        ("mail", {"state": "begun"}, True, journal.STOPPED),
        ("read", {"state": "begun"}, False, journal.STOPPED),
        ("gone", {"state": "begun"}, False, journal.STOPPED),
    ],
)
def test_a_call_that_is_cut_off_is_doubted_only_where_nothing_tells(
    tool: str, fields: dict[str, Any], marked: bool, says: str
) -> None:
    async def run(*_: Any) -> Result:
        raise AssertionError

    mail = Tool(name="mail", description="", arguments=Arguments, run=run)
    read = Tool(name="read", description="", arguments=Arguments, run=run, repeatable=True)
    cut_off = journal.cut_off(Toolbox((*NOTE_TOOLS, mail, read), Redactor({})), journal.STOPPED)
    call = Call(
        run=1,
        turn=1,
        position=0,
        conversation=1,
        tool=tool,
        arguments="{}",
        result=None,
        failed=None,
        label=0,
        began_at=datetime.now(UTC),
        finished_at=None,
        no=0,
        **fields,
    )
    assert cut_off(call, marked) == says


async def test_a_refusal_in_the_middle_of_tool_uses_leaves_a_history_that_can_be_gone_on_with(
    database_url: str,
) -> None:
    async with inside(database_url) as it:
        it.api.script(
            answer("I begin", use("list_notes", {}), stop_reason="refusal"),
            answer(use("list_notes", {}), stop_reason="refusal"),
            say("Gladly."),
        )
        for count, said in enumerate(("Something bad", "Something worse", "Something good"), 1):
            await it.say(said)
            runs = await it.settled(count)
        assert [run.state for run in runs] == ["failed", "failed", "done"]
        assert runs[0].reason == runs[1].reason == "The model declined to answer this."
        assert await it.said() == ["Something bad", "I begin", "Something worse", "Something good", "Gladly."]
        _, calls = await it.transcript()
        assert not calls
        assert all(request.refused is None for request in it.api.requests)


async def test_a_conversation_that_cannot_be_gone_on_with_leaves_the_others_alone(database_url: str) -> None:
    async with inside(database_url) as it:
        it.api.script(lambda request: say("Here."))
        await it.say("Hello")
        await it.settled(1)
        await outside(
            database_url, f"INSERT INTO conversations VALUES (900, '{MAIN_AGENT}', 'ask', 'test', 1, now(), 0)"
        )
        await outside(
            database_url,
            "INSERT INTO entries VALUES (900, 1, NULL, NULL, 'message', 'owner', '7', 0, NULL, NULL, NULL, now(), 0)",
        )
        await it.say("Are you there?", conversation=900)
        await it.say("And here?")
        runs = await it.settled(2)
        assert [run.state for run in runs] == ["done", "done"]
        with trio.fail_after(5), it.house.live.watch(900) as watch:
            while (
                not (listed := await it.ask(ListRuns(before=2**60, limit=1, conversation=900)))
                or not listed[0].run.ended
            ):
                await watch.wait()
        assert listed[0].run.state == "failed" and "taken up" in (listed[0].run.reason or "")


async def test_an_answer_without_a_word_after_a_refusal_keeps_no_entry(database_url: str) -> None:
    async with inside(database_url) as it:
        it.api.script(empty("refusal"), say("Yes."))
        await it.say("Something bad")
        await it.settled(1)
        await it.say("Something good")
        await it.settled(2)
        assert await it.said() == ["Something bad", "Something good", "Yes."]
