"""The hosted sandbox: one machine for all tasks, gone when it should be, and every failure told in our own words."""

import subprocess
import sys
from collections.abc import AsyncIterator

import attrs
import pytest
import trio

from dreamwalker.config import BadConfiguration, read
from dreamwalker.sandboxes.account import Account
from dreamwalker.sandboxes.vercel import Vercel
from tests.sandbox.marked import running
from tests.vercel import NEEDS_ROOT, PROJECT, TEAM, TOKEN, Garbage, Status, serve_vercel
from tests.vercel import Vercel as Server
from tests.vercel.server import Drop, Scripted
from tools.limits import Limits
from tools.sandbox import SandboxFailed

PREFIX = "dreamwalker-tests-"


@pytest.fixture
async def server() -> AsyncIterator[Server]:
    async with serve_vercel() as serving:
        yield serving


def account(server: Server) -> Account:
    return Account(token=TOKEN, team=TEAM, project=PROJECT, url=server.url)


@pytest.fixture
async def sandbox(server: Server) -> AsyncIterator[Vercel]:
    made = Vercel(account(server), PREFIX, Limits())
    yield made
    for task in (1, 2):
        await made.clean(task)


async def says(sandbox: Vercel, command: str, task: int = 1) -> str:
    return (await sandbox.run(task, ("bash", "-c", command))).output.decode()


@NEEDS_ROOT
@pytest.mark.extra
async def test_tasks_share_one_machine_that_is_made_when_first_used_and_gone_with_the_last(
    sandbox: Vercel, server: Server
) -> None:
    assert await sandbox.unavailable() is None and not server.machines
    async with trio.open_nursery() as nursery:
        for task in (1, 2, 1, 2):
            nursery.start_soon(says, sandbox, "true", task)
    assert len(server.machines) == 1 and len(server.created) == 1
    made = server.created[0]
    assert made["networkPolicy"] == {"mode": "allow-all"} and made["persistent"] is False
    assert made["timeout"] == 2_400_000, "it ends by itself"
    await sandbox.clean(1)
    assert len(server.machines) == 1
    await sandbox.clean(2)
    assert not server.machines
    assert await says(sandbox, "ls -A") == "" and len(server.created) == 2


HOUSE = """
import sys, trio
from dreamwalker.sandboxes.vercel import Vercel
from dreamwalker.sandboxes.account import Account
from tools.limits import Limits

url, token, team, project, prefix = sys.argv[1:]
sandbox = Vercel(Account(token=token, team=team, project=project, url=url), prefix, Limits())

async def main():
    await sandbox.run(1, ("true",))
    async with trio.open_nursery() as nursery:
        for task in (1, 2):
            nursery.start_soon(sandbox.run, task, ("bash", "-c", "setsid sleep 4717 & sleep 4717"))

trio.run(main)
"""


@NEEDS_ROOT
@pytest.mark.extra
async def test_the_machines_of_a_killed_process_are_swept_and_those_of_others_are_not(
    sandbox: Vercel, server: Server
) -> None:
    house = subprocess.Popen([sys.executable, "-c", HOUSE, server.url, TOKEN, TEAM, PROJECT, PREFIX])
    with trio.fail_after(30):
        while len(running("4717")) < 4:
            await trio.sleep(0.05)
    house.kill()
    house.wait()
    other = Vercel(account(server), "dreamwalker-other-", Limits())
    await other.run(1, ("true",))
    assert len(server.machines) == 2
    await sandbox.sweep()
    assert len(server.machines) == 1 and not running("4717")
    await says(sandbox, "true")
    await sandbox.sweep()
    assert len(server.machines) == 2, "nor is its own"
    await other.clean(1)


@NEEDS_ROOT
@pytest.mark.extra
async def test_a_machine_whose_time_is_up_is_told_and_replaced(sandbox: Vercel, server: Server) -> None:
    await says(sandbox, "echo > file")
    server.end(next(iter(server.machines)))
    with pytest.raises(SandboxFailed, match="has ended, and with it all files"):
        await says(sandbox, "ls")
    assert await says(sandbox, "ls") == ""


@NEEDS_ROOT
@pytest.mark.extra
@pytest.mark.parametrize(
    ("asked", "replies"),
    [
        ("GET .*/logs$", (Drop(), Status(502))),
        ("POST .*/v3/sandboxes$", (Status(429),)),
        ("POST .*/cmd$", (Status(429), Status(429))),
        ("GET .*/sandboxes/dreamwalker", (Status(500), Drop())),
        ("GET .*/v2/sandboxes$", (Status(500), Status(500), Status(500))),
    ],
)
async def test_what_passes_is_tried_again(
    sandbox: Vercel, server: Server, asked: str, replies: tuple[Scripted, ...]
) -> None:
    server.script(asked, *replies)
    assert await says(sandbox, "echo once") == "once\n"


@NEEDS_ROOT
@pytest.mark.extra
@pytest.mark.parametrize("reply", [Status(400), Status(403), Status(500), Status(302), Garbage(), Drop()])
@pytest.mark.parametrize("asked", ["POST .*/v3/sandboxes$", "POST .*/cmd$", "GET .*/logs$"])
async def test_every_failure_is_told_in_our_own_words_and_nothing_is_done_twice(
    sandbox: Vercel, server: Server, asked: str, reply: Scripted
) -> None:
    server.script(asked, *[reply] * 3)
    with pytest.raises(SandboxFailed) as failed:
        await says(sandbox, "true")
    assert TOKEN not in str(failed.value) and "words of the server" not in str(failed.value)
    posts = [line for line in server.asked if line.endswith(("/v3/sandboxes", "/cmd"))]
    assert len(posts) == len(set(posts)), "what may have been done is not done again"
    await sandbox.clean(1)
    assert not server.machines


async def test_a_token_that_is_not_known_or_nobody_there_is_the_reason_it_can_not_be_used(server: Server) -> None:
    wrong = Vercel(attrs.evolve(account(server), token="another-token-of-the-tests"), PREFIX, Limits())
    why = await wrong.unavailable()
    assert why is not None and "does not know the access token" in why and "another" not in why
    why = await Vercel(attrs.evolve(account(server), url="http://127.0.0.1:9/api"), PREFIX, Limits()).unavailable()
    assert why == "Vercel can't be reached."


def test_the_environment_chooses_it_and_has_to_give_all_it_takes() -> None:
    base = {"DREAMWALKER_ZONE": "UTC", "DREAMWALKER_HOME": "/nonexistent"}
    assert read(base).sandbox == "bubblewrap" and read(base).vercel is None
    named = {"DREAMWALKER_VERCEL_TOKEN": TOKEN, "DREAMWALKER_VERCEL_TEAM": TEAM, "DREAMWALKER_VERCEL_PROJECT": PROJECT}
    made = read(base | named | {"DREAMWALKER_SANDBOX": "vercel"})
    assert made.vercel == Account(token=TOKEN, team=TEAM, project=PROJECT)
    assert made.secrets() == {"SANDBOX TOKEN": TOKEN} and TOKEN not in repr(made)
    with pytest.raises(BadConfiguration, match="which needs DREAMWALKER_VERCEL_TEAM, DREAMWALKER_VERCEL_PROJECT"):
        read(base | {"DREAMWALKER_SANDBOX": "vercel", "DREAMWALKER_VERCEL_TOKEN": TOKEN})
    with pytest.raises(BadConfiguration, match="DREAMWALKER_SANDBOX is one of bubblewrap, vercel, none"):
        read(base | {"DREAMWALKER_SANDBOX": "docker"})
