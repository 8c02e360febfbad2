"""How much a sandbox uses: its processes, their memory, and what its folder holds.

One rule: what it finds there may change under its hands or be made to hurt it, so it follows no link, goes to a bounded
depth, and counts what it can't look at as too much.
"""

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import attrs

from tools.limits import Limits
from tools.sandbox import Ending

TOO_MUCH = 1 << 62
_BLOCK_BYTES = 512


@attrs.frozen(kw_only=True)
class Use:
    """What a sandbox uses now."""

    processes: int
    memory_bytes: int
    disk_bytes: int
    files: int

    def over(self, limits: Limits) -> Ending | None:
        """Which limit is exceeded, if one is."""
        if self.processes > limits.sandbox_processes:
            return "processes"
        if self.memory_bytes > limits.sandbox_memory_bytes:
            return "memory"
        if self.disk_bytes > limits.sandbox_disk_bytes or self.files > limits.sandbox_files:
            return "disk"
        return None


def measure(root_pid: int, folder: Path, files_max: int) -> Use:
    """What a process with all its descendants uses, and a folder."""
    pids = descendants(root_pid)
    disk_bytes, files = held(folder, files_max)
    return Use(
        processes=len(pids),
        memory_bytes=sum(map(_memory_bytes, pids)),
        disk_bytes=disk_bytes + sum(map(_unlinked_bytes, pids)),
        files=files,
    )


def descendants(root_pid: int) -> list[int]:
    """The processes below one, threads aside."""
    children: dict[int, list[int]] = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                stat = Path("/proc", name, "stat").read_bytes()
            except OSError:
                continue
            children.setdefault(int(stat.rpartition(b")")[2].split()[1]), []).append(int(name))
    found, todo = [], [root_pid]
    while todo:
        below = children.get(todo.pop(), [])
        found += below
        todo += below
    return found


def _memory_bytes(pid: int) -> int:
    """What a process holds for itself or in shared memory."""
    used = 0
    try:
        for line in Path("/proc", str(pid), "status").read_text().splitlines():
            if line.startswith(("RssAnon:", "RssShmem:", "VmSwap:")):
                used += int(line.split()[1]) * 1024
    except (OSError, ValueError):
        pass
    return used


def _unlinked_bytes(pid: int) -> int:
    """What a process holds open of files that have no name any more."""
    used = 0
    try:
        with os.scandir(f"/proc/{pid}/fd") as fds:
            for fd in fds:
                try:
                    stat = os.stat(fd.path)
                except OSError:
                    continue
                if stat.st_nlink == 0:
                    used += stat.st_blocks * _BLOCK_BYTES
    except OSError:
        pass
    return used


def held(folder: Path, files_max: int) -> tuple[int, int]:
    """The bytes on disk of all that is in a folder, and how many files and folders that is."""
    used = files = 0
    try:
        for entry in _below(folder):
            files += 1
            if files > files_max:
                break
            with suppress(FileNotFoundError):
                used += entry.stat(follow_symlinks=False).st_blocks * _BLOCK_BYTES
    except OSError:  # deeper than a path can say
        return TOO_MUCH, files
    return used, files


def _below(folder: Path) -> Iterator[os.DirEntry[str]]:
    todo = [str(folder)]
    while todo:
        try:
            with os.scandir(todo.pop()) as entries:
                for entry in entries:
                    yield entry
                    if entry.is_dir(follow_symlinks=False):
                        todo.append(entry.path)
        except (FileNotFoundError, PermissionError):
            continue


def delete(folder: Path) -> None:
    """Delete a folder that strangers filled, however deep. Raises OSError for what can't be deleted.

    Folders in it are moved up first, so that no path grows long.
    """
    todo, moved = [folder], 0
    while todo:
        here = todo.pop()
        os.chmod(here, 0o700)
        with os.scandir(here) as entries:
            inside = list(entries)
        for entry in inside:
            if entry.is_dir(follow_symlinks=False):
                moved += 1
                aside = folder.parent / f"{folder.name}.gone-{moved}"
                os.chmod(entry.path, 0o700)  # a folder is moved only by who may write it
                os.rename(entry.path, aside)
                todo.append(aside)
            else:
                os.unlink(entry.path)
        os.rmdir(here)
