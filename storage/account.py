"""Whom Postgres runs as, which refuses to run as root.

One rule: the files belong to whoever runs it, and the owner of the folder tells who that is.
"""

import os
import pwd
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import attrs

# Root outside, user 1 inside: Postgres, which refuses to run as root, agrees, and the files stay root's.
# A program of its own, since Python code between fork and exec can deadlock where there are threads.
_NAMESPACED = """
import ctypes, os, sys
CLONE_NEWUSER = 0x10000000
group = os.getegid()
if ctypes.CDLL(None).unshare(CLONE_NEWUSER):
    sys.exit(1)
for name, text in (("setgroups", "deny"), ("uid_map", "1 0 1"), ("gid_map", f"1 {group} 1")):
    with open("/proc/self/" + name, "w") as file:
        file.write(text)
os.execv(sys.argv[1], sys.argv[1:])
"""


@attrs.frozen(kw_only=True)
class Account:
    """Whom Postgres runs as: ourselves, if `uid` and `gid` are None. `prefix` goes before each command."""

    uid: int | None = None
    gid: int | None = None
    prefix: tuple[str, ...] = ()

    def spawn(
        self, *command: str | Path, output: int, errors: int, keep: tuple[int, ...] = (), **env: str
    ) -> subprocess.Popen[bytes]:
        """Start a program that inherits the descriptors `keep`, and of the environment only what it needs."""
        return subprocess.Popen(
            [*self.prefix, *command],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=errors,
            env={"PATH": os.defpath, "LC_ALL": "C", "TZ": "UTC"} | env,
            cwd="/",
            start_new_session=True,  # Ctrl-C is for us, not for Postgres
            pass_fds=keep,
            user=self.uid,
            group=self.gid,
            extra_groups=None if self.uid is None else (),
        )

    def reaches(self, program: Path, folder: Path) -> bool:
        """Whether we may act as this account, and it may run the program and enter the folder."""
        try:
            probe = ("/bin/sh", "-c", 'test -x "$1" && cd "$2"', "sh", program, folder)
            return self.spawn(*probe, output=subprocess.DEVNULL, errors=subprocess.DEVNULL).wait() == 0
        except OSError:
            return False

    def take_over(self, folder: Path) -> None:
        """As root, make this account the owner of the folder and all in it; of the folder last, whose owner tells
        that this is done.
        """
        uid, gid = self.uid or 0, self.gid or 0
        if os.geteuid() != 0 or folder.stat().st_uid == uid:
            return
        for path, folders, files in os.walk(folder, topdown=False):
            for name in (*folders, *files):
                os.lchown(os.path.join(path, name), uid, gid)
        os.chown(folder, uid, gid)


def choose(folder: Path, program: Path) -> Account | None:
    """The account that is to run the program in the folder, or None if none could."""
    if os.geteuid() != 0:
        return Account()
    return next((account for account in _for_root(folder) if account.reaches(program, folder.parent)), None)


def give_to_owner(descriptor: int, folder: Path) -> None:
    """As root, make the owner of the folder the owner of an open file, so that he can open it himself another time."""
    if os.geteuid() == 0:
        owner = folder.stat()
        os.fchown(descriptor, owner.st_uid, owner.st_gid)


def _for_root(folder: Path) -> Iterator[Account]:
    """The best first. A folder that somebody else owns stays his, and Postgres runs as him."""
    owner = folder.stat().st_uid
    known = {entry.pw_name: Account(uid=entry.pw_uid, gid=entry.pw_gid) for entry in pwd.getpwall() if entry.pw_uid}
    yield from [account for account in known.values() if account.uid == owner]
    yield Account(prefix=(sys.executable, "-I", "-S", "-c", _NAMESPACED))
    yield from [known[name] for name in ("postgres", "nobody") if name in known]
