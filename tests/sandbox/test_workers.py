"""Workers with a sandbox: what they do there reaches the agent, and nothing of it is left however the task ends."""

from datetime import timedelta
from pathlib import Path

import pytest
import trio

from dreamwalker.house import MAIN_AGENT
from dreamwalker.sandboxes.bubblewrap import Bubblewrap
from tests.actors.delegating import Cast, nobody_at_work, worker_runs
from tests.actors.house import Inside, inside
from tests.hand_clock import HandClock
from tests.messages_api import answer, fail, say, use
from tests.sandbox.marked import running
from tools.limits import Limits
from tools.outside import Source

pytestmark = pytest.mark.extra


def shell(command: str) -> object:
    return use("shell", {"command": command})


def delegate(task: str) -> object:
    return use("delegate", {"task": task})


async def test_a_worker_runs_commands_and_reads_and_writes_files(database_url: str, base: Path) -> None:
    async with inside(database_url, sandbox=Bubblewrap(base, Limits())) as it:
        cast = Cast().play(it.api)
        cast.says(answer(delegate("Count to three")), say("Six."))
        cast.does(
            "Count",
            answer(use("write_file", {"path": "made/list", "text": "1\n2\n3\n"}), use("read_file", {"path": "none"})),
            answer(shell("paste -sd+ made/list; exit 4"), use("read_file", {"path": "/etc/hosts"})),
            say("It is 6."),
        )
        await it.say("What is one and two and three?")
        await it.settled()
        assert sorted(tool["name"] for tool in cast.asked[0]["tools"]) == ["read_file", "shell", "write_file"]
        written, missing = (result["content"] for result in cast.asked[1]["messages"][-1]["content"])
        assert written[0]["text"] == "Written." and "No such file" in missing[1]["text"]
        ran, hosts = (result["content"] for result in cast.asked[2]["messages"][-1]["content"])
        assert ran[0]["text"] == "It ended with status 4." and "1+2+3" in ran[1]["text"]
        assert ran[1]["text"].startswith(Source.SANDBOX.remark) and "localhost" in str(hosts)
        assert not list(base.glob("*/task-*"))


async def _at_work(it: Inside, base: Path, cast: Cast) -> None:
    """Have a worker leave files and processes, and wait until it has."""
    cast.says(answer(delegate("Leave something")))
    cast.does("Leave", answer(shell("setsid sleep 4714 & echo > left; sleep 4714")))
    await it.say("Leave something")
    with trio.fail_after(60):
        while not list(base.glob("*/task-*/left")):
            await trio.sleep(0.05)


def _left(base: Path) -> list[Path | int]:
    return [*base.rglob("*"), *([base] if base.exists() else []), *running("4714")]


async def test_nothing_is_left_when_the_run_is_stopped(database_url: str, base: Path) -> None:
    async with inside(database_url, sandbox=Bubblewrap(base, Limits())) as it:
        await _at_work(it, base, Cast().play(it.api))
        (run,) = await it.runs()
        actor = it.house.agent(MAIN_AGENT)
        assert actor is not None
        await actor.stop(run.id, it.home, "Stopped by you.", 10)
        assert _left(base) == []
        assert await nobody_at_work(it)


async def test_nothing_is_left_when_the_worker_takes_too_long(database_url: str, base: Path) -> None:
    async with inside(database_url, sandbox=Bubblewrap(base, Limits()), limits=Limits(worker_seconds=900)) as it:
        cast = Cast().play(it.api)
        await _at_work(it, base, cast)
        cast.says(say("It took too long."))
        assert isinstance(it.clock, HandClock)
        it.clock.set(it.clock.now() + timedelta(seconds=901))
        await it.settled()
        assert _left(base) == []
        assert await nobody_at_work(it)


async def test_nothing_is_left_when_the_worker_fails(database_url: str, base: Path) -> None:
    async with inside(database_url, sandbox=Bubblewrap(base, Limits())) as it:
        cast = Cast().play(it.api)
        cast.says(answer(delegate("Leave something")), say("It failed."))
        cast.does("Leave", answer(shell("setsid sleep 4714 & echo > left")), fail(400))
        await it.say("Leave something")
        await it.settled()
        assert [run.state for run in await worker_runs(it)] == ["failed"]
        assert _left(base) == []
        assert await nobody_at_work(it)


async def test_nothing_is_left_when_the_house_closes(database_url: str, base: Path) -> None:
    async with inside(database_url, sandbox=Bubblewrap(base, Limits())) as it:
        await _at_work(it, base, Cast().play(it.api))
    assert _left(base) == []


async def test_where_there_is_no_bubblewrap_workers_have_no_tools(
    database_url: str, base: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    async with inside(database_url, sandbox=Bubblewrap(base, Limits())) as it:
        cast = Cast().play(it.api)
        cast.says(answer(delegate("Count to three")), say("Six."))
        cast.does("Count", say("I have no tools."))
        await it.say("What is one and two and three?")
        await it.settled()
        assert not cast.asked[0].get("tools")
