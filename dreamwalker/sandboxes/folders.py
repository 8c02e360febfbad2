"""The folders of tasks on this machine's disk.

One rule: every process has a folder of its own with a lock that it holds until it dies, whatever it dies of, so the
next one knows which are left behind.
"""

import fcntl
import hashlib
import logging
import os
import secrets
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from .measure import delete

log = logging.getLogger("dreamwalker.sandbox")

NOBODY = 65534
"""Whom commands run as where this process is root: root itself is bound by few limits."""
UID = "1000"
"""Who they take themselves for, inside."""
_TRIES = 10
_FILES = {
    "passwd": f"worker:x:{UID}:{UID}:worker:/:/bin/bash\n",
    "group": f"worker:x:{UID}:\n",
    "hosts": "127.0.0.1 localhost\n::1 localhost\n",
    "nsswitch.conf": "passwd: files\ngroup: files\nhosts: files\n",
}
"""What a sandbox has in /etc instead of this machine's."""


def base_folder(home: Path) -> Path:
    """Where the folders of tasks of a project are.

    Not in the project: a sandbox can read where its folder is, and that is no place to learn the owner's name from.
    """
    return Path("/var/tmp") / f"dreamwalker-{hashlib.sha256(bytes(home.resolve())).hexdigest()[:16]}"


class Folders:
    """The folders below one. Any thread may ask."""

    def __init__(self, base: Path) -> None:
        self._base = base
        self._place: Path | None = None
        self._lock = -1
        self._one_at_a_time = threading.Lock()

    @property
    def etc(self) -> Iterator[Path]:
        """The files that a sandbox has in /etc."""
        return ((self._own() / "etc" / name) for name in _FILES)

    def of(self, task: int) -> Path:
        """The folder of a task, made if it isn't there. Raises OSError."""
        with self._one_at_a_time:
            folder = self._own() / f"task-{task}"
            if not folder.exists():
                for made in (folder, folder / ".tmp", folder / ".shm"):
                    made.mkdir(mode=0o700)
                    if os.geteuid() == 0:
                        os.chown(made, NOBODY, NOBODY)
            return folder

    def clean(self, task: int) -> None:
        """Delete the folder of a task; once there is none, all that this process has. Never raises."""
        if (place := self._place) is None:
            return
        _delete(place / f"task-{task}")
        with self._one_at_a_time:
            if self._place is None or any(self._place.glob("task-*")):
                return
            place, self._place = self._place, None
            _delete(place)
            os.close(self._lock)
            self._leave()

    def sweep(self) -> None:
        """Delete what processes that are no more left behind. Raises OSError."""
        if not self._base.is_dir():
            return
        with self._one_at_a_time:
            with _alone(self._base):
                for place in self._base.iterdir():
                    if place != self._place and place.is_dir() and not place.is_symlink():
                        _delete_if_left(place)
            if self._place is None:
                self._leave()

    def _leave(self) -> None:
        """Delete the folder of folders, unless others have theirs there."""
        with suppress(OSError), _alone(self._base):
            self._base.rmdir()

    def _own(self) -> Path:
        """The folder of this process."""
        if self._place is None:
            with _alone(self._base):
                place = self._base / f"process-{secrets.token_hex(8)}"
                place.mkdir()
                self._lock = os.open(place / "lock", os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
                fcntl.flock(self._lock, fcntl.LOCK_EX)
            place.chmod(0o711)
            (place / "etc").mkdir()
            (place / "etc").chmod(0o755)
            for name, text in _FILES.items():
                (place / "etc" / name).write_text(text)
                (place / "etc" / name).chmod(0o644)
            self._place = place
        return self._place


@contextmanager
def _alone(base: Path) -> Iterator[None]:
    """Be the only process that makes or deletes folders below one. Raises OSError."""
    here = _locked(base)
    try:
        yield
    finally:
        os.close(here)


def _locked(base: Path) -> int:
    """Make the folder if it isn't there, and lock it until what is returned is closed."""
    while True:
        _claim(base)
        here = -1
        try:
            here = os.open(base, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            fcntl.flock(here, fcntl.LOCK_EX)
            if os.fstat(here).st_ino == os.stat(base).st_ino:
                return here
        except FileNotFoundError:
            pass  # somebody deleted it since: make it anew
        if here >= 0:
            os.close(here)


def _delete_if_left(place: Path) -> None:
    """Delete the folder of a process, if that is no more."""
    try:
        lock = os.open(place / "lock", os.O_RDWR | os.O_CLOEXEC)
    except FileNotFoundError:  # it was being deleted when its process died
        _delete(place)
        return
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        _delete(place)
    except BlockingIOError:
        pass
    finally:
        os.close(lock)


def _claim(base: Path) -> None:
    """Make the folder of folders, or see that it is nobody else's. Raises OSError."""
    base.parent.mkdir(parents=True, exist_ok=True)
    try:
        base.mkdir()
        base.chmod(0o711)
    except FileExistsError:
        stat = base.lstat()
        if base.is_symlink() or stat.st_uid != os.geteuid() or stat.st_mode & 0o022:
            raise PermissionError(f"{base} belongs to somebody else") from None


def _delete(folder: Path) -> None:
    last: OSError | None = None
    for _ in range(_TRIES):  # a process that is dying may still write for a moment
        try:
            if folder.exists():
                delete(folder)
            return
        except OSError as error:
            last = error
    log.warning("sandbox.left_behind", {"folder": folder.name, "why": last})
