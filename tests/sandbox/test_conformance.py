"""What every sandbox does, the one of this machine and the hosted one alike: one list of cases for both."""

from collections.abc import AsyncIterator, Callable
from pathlib import Path

import attrs
import pytest
import trio

from dreamwalker.sandboxes.account import Account
from dreamwalker.sandboxes.bubblewrap import Bubblewrap
from dreamwalker.sandboxes.vercel import Vercel
from tests.sandbox.marked import running
from tests.vercel import NEEDS_ROOT, PROJECT, TEAM, TOKEN, serve_vercel
from tools.limits import Limits
from tools.sandbox import Ran, Sandbox

pytestmark = pytest.mark.extra

Make = Callable[..., Sandbox]


@pytest.fixture(params=["bubblewrap", pytest.param("vercel", marks=NEEDS_ROOT)])
async def make(request: pytest.FixtureRequest, base: Path) -> AsyncIterator[Make]:
    """Makes sandboxes of a kind, with limits."""
    made: list[Sandbox] = []
    async with serve_vercel() as server:

        def one(**given: float) -> Sandbox:
            limits = attrs.evolve(Limits(), **given)  # type: ignore[arg-type]
            account = Account(token=TOKEN, team=TEAM, project=PROJECT, url=server.url)
            hosted = request.param == "vercel"
            made.append(Vercel(account, "dreamwalker-tests-", limits) if hosted else Bubblewrap(base, limits))
            return made[-1]

        yield one
        for sandbox in made:
            for task in (1, 2):
                await sandbox.clean(task)
        assert not server.machines, "once there is no task, there is no machine"


@pytest.fixture
async def sandbox(make: Make) -> Sandbox:
    made = make()
    assert await made.unavailable() is None and made.offline is None
    return made


async def sh(sandbox: Sandbox, command: str, *, task: int = 1, given: bytes = b"") -> Ran:
    """Run a line of shell."""
    return await sandbox.run(task, ("bash", "-c", command), given=given)


async def says(sandbox: Sandbox, command: str, *, task: int = 1) -> str:
    """What a line of shell prints."""
    return (await sh(sandbox, command, task=task)).output.decode()


async def test_a_command_runs_with_its_input_and_says_how_it_ended(sandbox: Sandbox) -> None:
    ran = await sh(sandbox, "cat; echo oops >&2; exit 3", given=b"given")
    assert (ran.status, ran.ending, ran.output, ran.cut_bytes) == (3, "exited", b"givenoops\n", 0)


async def test_a_large_input_arrives_whole_and_bytes_that_are_no_text_come_back(sandbox: Sandbox) -> None:
    assert (await sh(sandbox, "wc -c", given=b"x" * 1_200_000)).output.strip() == b"1200000"
    assert (await sh(sandbox, "printf '\\xff\\x00'; true", given=b"nobody reads this")).output == b"\xff\x00"


async def test_files_stay_from_command_to_command_until_the_task_is_cleaned(sandbox: Sandbox) -> None:
    assert await says(sandbox, "echo one > file; pwd; echo $HOME") == "/root/work/task-1\n" * 2
    assert await says(sandbox, "cat file; echo two > $TMPDIR/file; cat /tmp/file") == "one\ntwo\n"
    await sandbox.clean(1)
    await sandbox.clean(1)
    assert "No such file" in await says(sandbox, "cat file")


async def test_nothing_of_the_server_is_in_the_environment_and_nothing_else_can_be_written(
    sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "the-secret-word-itself")
    seen = await says(sandbox, "env; cat /proc/*/environ /proc/*/cmdline | tr '\\0' '\\n'; whoami")
    assert "the-secret-word-itself" not in seen and TOKEN not in seen and seen.endswith("worker\n")
    places = "/ /bin /usr /usr/bin /etc /lib /proc /root /root/work /var /var/lib /home"
    tried = await says(sandbox, f"for p in {places}; do (echo x > $p/new) 2>/dev/null && echo wrote $p; done; echo end")
    assert tried == "end\n"
    assert await says(sandbox, "grep Cap /proc/self/status | grep -vc 0000000000000000") == "0\n"


LEAVES = """
mkdir -p ~/.local/bin; echo 'echo caught' > ~/.bashrc; cp ~/.bashrc ~/.local/bin/ls; chmod +x ~/.local/bin/ls
echo caught > /tmp/left; echo caught > /var/tmp/left; echo caught > /dev/shm/left; echo caught > ~/left
ipcmk -M 4096; ipcmk -Q; (setsid sleep 601 </dev/null >/dev/null 2>&1 &)
"""
LOOKS = """
cd /; find / -xdev -name left 2>/dev/null; find ~ /tmp /var/tmp /dev/shm -mindepth 1 -not -name .tmp -not -name .shm
ps ax | grep 'sleep 60[01]' | grep -v grep; ipcs -m -q | grep -E '^0x'; ls -d /root/work/*/ | grep -v task-2
"""


async def test_a_second_task_finds_nothing_the_first_left_or_is_doing(sandbox: Sandbox) -> None:
    async with trio.open_nursery() as nursery:
        nursery.start_soon(sh, sandbox, f"{LEAVES}\ntouch ready; sleep 600")
        with trio.fail_after(60):
            while (await sh(sandbox, "test -e ready")).status != 0:
                await trio.sleep(0.2)
        assert await says(sandbox, LOOKS, task=2) == ""  # while the first is at it
        nursery.cancel_scope.cancel()
    await sandbox.clean(1)
    assert await says(sandbox, LOOKS, task=2) == ""
    await sandbox.clean(2)
    assert await says(sandbox, LOOKS, task=2) == ""


@pytest.mark.parametrize(
    ("command", "status"),
    [
        ("sleep 4711 & echo started", 0),  # holds stdout
        ("(setsid sleep 4711 &); echo started", 0),
        ("echo started; kill -9 $$", 137),
        ("echo started; kill -9 -1; sleep 0.2", 0),
        ("trap '' TERM INT HUP; echo started", 0),
    ],
)
async def test_what_a_command_leaves_running_ends_with_it(sandbox: Sandbox, command: str, status: int) -> None:
    with trio.fail_after(20):
        ran = await sh(sandbox, command)
    assert ran.output.startswith(b"started\n") and ran.status == status
    assert not running("4711")


async def test_a_day_of_sleep_is_cut_short(make: Make) -> None:
    ran = await sh(make(sandbox_seconds=1), "echo started; trap '' TERM; sleep 86411")
    assert (ran.status, ran.ending, ran.output) == (None, "time", b"started\n")
    assert not running("86411")


async def test_a_hundred_megabytes_of_output_are_heard_out_and_cut(sandbox: Sandbox) -> None:
    with trio.fail_after(60):
        ran = await sh(sandbox, "head -c 100000000 /dev/zero | tr '\\0' x")
    assert ran.status == 0 and len(ran.output) == 100_000 and ran.cut_bytes == 99_900_000


async def test_a_command_that_is_given_up_leaves_nothing(sandbox: Sandbox) -> None:
    await sh(sandbox, "true")
    with trio.move_on_after(1):
        await sh(sandbox, "setsid sleep 4712 & sleep 4712")
    with trio.fail_after(5):
        while running("4712"):
            await trio.sleep(0.05)


async def test_cleaning_a_task_leaves_the_others_alone(sandbox: Sandbox) -> None:
    assert await says(sandbox, "echo mine > file", task=2) == ""
    await sh(sandbox, "mkdir -p a/b; echo x > a/b/c; chmod 0 a/b a; ln -s / root; mkfifo f")
    await sandbox.clean(1)
    assert await says(sandbox, "cat file", task=2) == "mine\n"
