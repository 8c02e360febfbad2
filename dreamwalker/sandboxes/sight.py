"""What a command in a sandbox sees, as arguments of bubblewrap.

One rule: what is not named here is not there.
"""

import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from .door import PORT
from .folders import UID

_NAMESPACES = ("user", "ipc", "pid", "net", "uts", "cgroup-try")
_SYSTEM = ("/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32")
_CONFIGURATION = (
    "/etc/alternatives",
    "/etc/ca-certificates",
    "/etc/ld.so.cache",
    "/etc/localtime",
    "/etc/mime.types",
    "/etc/pki/ca-trust/extracted",
    "/etc/pki/tls/certs",
    "/etc/ssl/certs",
    "/etc/ssl/openssl.cnf",
)


def seen(folder: Path, etc: Iterable[Path]) -> Iterator[str]:
    """Namespaces of its own, the base system, files for /etc, the folder of its task, and an environment."""
    home = f"/root/work/{folder.name}"
    yield from (f"--unshare-{namespace}" for namespace in _NAMESPACES)
    yield from ("--die-with-parent", "--new-session", "--hostname", "sandbox", "--uid", UID, "--gid", UID)
    yield from ("--ro-bind", "/usr", "/usr")
    for path in _SYSTEM:
        if os.path.islink(path):
            yield from ("--symlink", os.readlink(path), path)
        elif os.path.isdir(path):
            yield from ("--ro-bind", path, path)
    for path in _CONFIGURATION:
        yield from ("--ro-bind-try", path, path)
    for file in etc:
        yield from ("--ro-bind", str(file), f"/etc/{file.name}")
    yield from ("--proc", "/proc", "--dev", "/dev", "--dir", "/var", "--symlink", "/tmp", "/var/tmp")
    yield from ("--bind", str(folder), home)
    yield from ("--bind", str(folder / ".tmp"), "/tmp", "--bind", str(folder / ".shm"), "/dev/shm")
    yield from ("--remount-ro", "/dev", "--remount-ro", "/", "--chdir", home, "--clearenv")
    for name, value in _environment(home):
        yield from ("--setenv", name, value)


def _environment(home: str) -> Iterator[tuple[str, str]]:
    yield "PATH", "/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin"
    yield "HOME", home
    yield "TMPDIR", f"{home}/.tmp"
    yield "USER", "worker"
    yield "LOGNAME", "worker"
    yield "LANG", "C.UTF-8"
    yield "TERM", "dumb"
    for name in ("http_proxy", "https_proxy", "all_proxy"):
        yield name, f"http://127.0.0.1:{PORT}"
        yield name.upper(), f"http://127.0.0.1:{PORT}"
