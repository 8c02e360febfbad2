"""Commands in a sandbox of this machine: what they see, what they leave, and what bounds them."""

import os
import subprocess
import sys
from pathlib import Path

import attrs
import pytest
import trio

from dreamwalker.sandboxes.bubblewrap import Bubblewrap
from dreamwalker.sandboxes.measure import descendants
from tests.sandbox.marked import running
from tools.limits import Limits
from tools.sandbox import Ran

pytestmark = pytest.mark.extra


async def sh(sandbox: Bubblewrap, command: str, *, task: int = 1, given: bytes = b"") -> Ran:
    """Run a line of shell."""
    return await sandbox.run(task, ("bash", "-c", command), given=given)


async def says(sandbox: Bubblewrap, command: str, *, task: int = 1) -> str:
    """What a line of shell prints."""
    return (await sh(sandbox, command, task=task)).output.decode()


def limited(base: Path, **limits: float) -> Bubblewrap:
    return Bubblewrap(base, attrs.evolve(Limits(), **limits))  # type: ignore[arg-type]


async def test_no_secret_of_the_server_is_in_any_environment_file_or_process_list(
    sandbox: Bubblewrap, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "the-secret-word-itself")
    (tmp_path / "token").write_text("the-secret-word-itself")
    looked = "env; cat /proc/*/environ /proc/*/cmdline /proc/*/mountinfo | tr '\\0' '\\n'; ps axe"
    seen = await says(sandbox, looked)
    assert "the-secret-word-itself" not in seen and str(Path.home() / ".dreamwalker") not in seen
    assert await says(sandbox, f"ls {tmp_path} /home /root /etc/shadow /var/lib /run 2>&1 | grep -v 'No such'") != ""
    shown = await says(sandbox, "ls /; ls -A /root /root/work")
    assert set(shown.split()) <= {
        "bin", "dev", "etc", "lib", "lib32", "lib64", "libx32", "proc", "root", "sbin", "tmp", "usr", "var",
        "/root:", "/root/work:", "work", "task-1",
    }  # fmt: skip
    pids = await says(sandbox, "ls /proc | grep -c '^[0-9]'")
    assert int(pids) < 8


async def test_nothing_but_the_own_folder_can_be_written(sandbox: Bubblewrap) -> None:
    places = "/ /bin /usr /usr/bin /usr/local/bin /etc /etc/passwd.d /lib /proc /proc/sys/kernel /dev /root /var"
    tried = await says(sandbox, f"for p in {places}; do (echo x > $p/new) 2>/dev/null && echo wrote $p; done; echo end")
    assert tried == "end\n"
    tried = await says(sandbox, "for a in '-o remount,rw /' '-t tmpfs x /usr'; do mount $a && echo did; done; echo end")
    assert "did" not in tried and tried.endswith("end\n")
    assert "failed" in await says(sandbox, "unshare -Ur true")
    assert await says(sandbox, "grep Cap /proc/self/status | grep -vc 0000000000000000") == "0\n"


LEAVES = """
mkdir -p ~/.local/bin ~/.config/git/hooks
echo 'echo caught' > ~/.bashrc; cp ~/.bashrc ~/.profile; cp ~/.bashrc ~/.local/bin/ls; chmod +x ~/.local/bin/ls
echo caught > /tmp/left; echo caught > /var/tmp/left; echo caught > /dev/shm/left; echo caught > ~/left
git config --global core.hooksPath ~/.config/git/hooks
(crontab -l; echo '* * * * * echo caught') 2>&1 | crontab - 2>/dev/null
ipcmk -M 4096; ipcmk -Q
python3 - <<'END' &
import socket, time
for family, address in ((socket.AF_INET, ("0.0.0.0", 7777)), (socket.AF_UNIX, "\\0caught")):
    made = socket.socket(family); made.bind(address); made.listen(); globals()[str(family)] = made
time.sleep(600)
END
(setsid sleep 601 </dev/null >/dev/null 2>&1 &)
while ! grep -q caught /proc/net/unix; do sleep 0.1; done
"""
LOOKS = """
cd /; find / -xdev -name left 2>/dev/null; find ~ /tmp /var/tmp /dev/shm -mindepth 1 -not -name .tmp -not -name .shm
ps ax | grep -E 'sleep 60[01]|7777' | grep -v grep; ipcs -m -q | grep -E '^0x'
grep -a caught /proc/net/unix; (echo > /dev/tcp/127.0.0.1/7777) 2>/dev/null && echo connected
git config --global -l 2>/dev/null; crontab -l 2>/dev/null; ls -d /root/work/*/ | grep -v task-2
"""


async def test_a_second_worker_finds_nothing_the_first_left_or_is_doing(sandbox: Bubblewrap) -> None:
    async with trio.open_nursery() as nursery:
        nursery.start_soon(sh, sandbox, f"{LEAVES}\ntouch ready; sleep 600")
        with trio.fail_after(60):
            while (await sh(sandbox, "test -e ready")).status != 0:
                await trio.sleep(0.2)
        assert await says(sandbox, LOOKS, task=2) == ""  # while the first is at it
        nursery.cancel_scope.cancel()
    await sandbox.clean(1)
    await sandbox.clean(2)
    assert await says(sandbox, LOOKS, task=2) == ""
    assert await says(sandbox, "find ~ /tmp /dev/shm -mindepth 1 -not -name .tmp -not -name .shm") == ""


async def test_a_fork_bomb_is_bounded(base: Path) -> None:
    sandbox = limited(base, sandbox_seconds=3)
    most, ran = 0, None

    async def bomb() -> None:
        nonlocal ran
        ran = await sh(sandbox, "bomb() { bomb | bomb & }; bomb; sleep 100")
        nursery.cancel_scope.cancel()

    async with trio.open_nursery() as nursery:
        nursery.start_soon(bomb)
        while True:
            most = max(most, len(await trio.to_thread.run_sync(descendants, os.getpid())))
            await trio.sleep(0.05)
    assert ran is not None and ran.ending in ("time", "processes")
    assert most <= 300
    assert await says(sandbox, "echo on") == "on\n"
    await sandbox.clean(1)


async def test_memory_is_bounded_for_one_process_and_for_all_together(base: Path) -> None:
    sandbox = limited(base, sandbox_memory_bytes=128 << 20)
    ran = await sh(sandbox, "python3 -c 'bytearray(200 << 20)'")
    assert ran.status == 1 and b"MemoryError" in ran.output
    ran = await sh(
        sandbox, "for n in 1 2 3 4; do python3 -c 'b = b\"x\" * (60 << 20); input()' < <(sleep 60) & done; wait"
    )
    assert ran.ending == "memory"
    await sandbox.clean(1)


@pytest.mark.parametrize(
    "command",
    [
        "for n in $(seq 100); do head -c 2000000 /dev/zero > f$n; sync f$n; done; sleep 60",
        "for n in $(seq 3000); do : > f$n; done; sleep 60",
        "for n in $(seq 100); do head -c 2000000 /dev/zero > /dev/shm/f$n; done; sleep 60",
        'exec python3 -c \'import os,time\nfor n in range(3000): os.mkdir("d"); os.chdir("d")\ntime.sleep(60)\'',
        'exec python3 -c \'import os,time\nfor n in range(20):\n f = open(str(n), "wb"); os.unlink(str(n)); os.write('
        'f.fileno(), bytes(2000000)); globals()["f%d" % n] = f\ntime.sleep(60)\'',
    ],
    ids=["bytes", "files", "shared memory", "depth", "files without names"],
)
async def test_the_disk_is_bounded(base: Path, command: str) -> None:
    sandbox = limited(base, sandbox_disk_bytes=20_000_000, sandbox_files=1_000, sandbox_seconds=30)
    ran = await sh(sandbox, command)
    assert ran.ending == "disk"
    await sandbox.clean(1)


async def test_a_file_larger_than_the_limit_is_cut_off_by_the_kernel(base: Path) -> None:
    sandbox = limited(base, sandbox_disk_bytes=20_000_000)
    ran = await sh(sandbox, "head -c 200000000 /dev/zero > big; stat -c %s big")
    assert ran.ending == "disk" or int(ran.output.split()[-1]) <= 20_000_256
    await sandbox.clean(1)


async def test_folders_that_cannot_be_entered_or_are_very_deep_are_deleted(sandbox: Bubblewrap) -> None:
    await sh(sandbox, "mkdir -p a/b; echo x > a/b/c; chmod 0 a/b a; ln -s / root; ln -s /etc/passwd p; mkfifo f")
    await sh(sandbox, 'exec python3 -c \'import os\nfor n in range(3000): os.mkdir("d" * 9); os.chdir("d" * 9)\'')
    await sandbox.clean(1)
    assert os.path.exists("/etc/passwd")


SERVER = """
import sys, trio
from pathlib import Path
from dreamwalker.sandboxes.bubblewrap import Bubblewrap
from tools.limits import Limits

async def main():
    sandbox = Bubblewrap(Path(sys.argv[1]), Limits())
    assert await sandbox.unavailable() is None
    async with trio.open_nursery() as nursery:
        for task in (1, 2, 3):
            nursery.start_soon(sandbox.run, task, ("bash", "-c", "setsid sleep 4713 & echo > started; sleep 4713"))
        while len(list(Path(sys.argv[1]).glob("*/task-*/started"))) < 3:
            await trio.sleep(0.05)
        print("up", flush=True)

trio.run(main)
"""


async def test_everything_dies_with_the_server_and_its_folders_are_swept_at_the_next_opening(base: Path) -> None:
    server = subprocess.Popen([sys.executable, "-c", SERVER, str(base)], stdout=subprocess.PIPE)
    assert server.stdout is not None and server.stdout.readline() == b"up\n"
    below = [Path(f"/proc/{pid}") for pid in descendants(server.pid)]
    assert len(below) >= 9
    other = Bubblewrap(base, Limits())
    await other.sweep()
    assert len(list(base.glob("*/task-*"))) == 3  # whoever lives is left alone
    server.kill()
    server.wait()
    server.stdout.close()
    with trio.fail_after(10):
        while any(_running(process) for process in below):
            await trio.sleep(0.05)
    await other.sweep()
    assert not base.exists()


def _running(process: Path) -> bool:
    try:
        return b"sleep" in (process / "cmdline").read_bytes()
    except OSError:
        return False


async def test_a_sandbox_in_a_folder_of_somebody_else_is_refused(base: Path) -> None:
    base.mkdir()
    base.chmod(0o777)
    why = await Bubblewrap(base, Limits()).unavailable()
    assert why is not None and "belongs to somebody else" in why
    base.rmdir()


async def test_without_bubblewrap_it_says_so(base: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    why = await Bubblewrap(base, Limits()).unavailable()
    assert why is not None and "not installed" in why


DYING = """
import os, signal, sys, trio
from pathlib import Path
from dreamwalker.sandboxes.bubblewrap import Bubblewrap
from tools.limits import Limits

async def main():
    sandbox = Bubblewrap(Path(sys.argv[1]), Limits())
    assert await sandbox.unavailable() is None
    async with trio.open_nursery() as nursery:
        nursery.start_soon(sandbox.run, 1, sys.argv[3].split())
        await trio.sleep(int(sys.argv[2]) / 1000)
        os.kill(os.getpid(), signal.SIGKILL)

trio.run(main)
"""


async def test_a_server_that_dies_while_a_command_starts_leaves_it_nowhere(base: Path) -> None:
    program = (sys.executable, "-c", DYING, str(base))
    for server in [subprocess.Popen([*program, str(after), "sleep 4715"]) for after in range(0, 160, 16)]:
        assert server.wait() == -9
    with trio.fail_after(20):
        while running("4715"):
            await trio.sleep(0.05)
    await Bubblewrap(base, Limits()).sweep()
    assert not base.exists()
