"""What is run as root on a hosted machine, so that each task has a part of it to itself: programs for bash.

One rule: of a task's own doing nothing runs as root, and nothing of it outlives its command: every command has mount,
pid and ipc namespaces of its own, which end with their first process, and that ends with whoever started it.

The folders of tasks stand where only root can look. A command finds its own at /root/work/task-…, and below /tmp,
/var/tmp and /dev/shm others of its own; all else it may only read.
"""

import base64
import re
import shlex

import attrs

from tools.limits import Limits
from tools.sandbox import Ran, SandboxFailed

_FOLDERS = "/var/lib/dreamwalker"

ENTER = f"""
umask 022 && mkdir -p -m 700 {_FOLDERS} && cd {_FOLDERS} && mkdir "$1" && cd "$1" &&
mkdir -m 700 home tmp shm && chown "$1:$1" home tmp shm &&
{{ cat /etc/passwd; echo "worker:x:$1:$1:worker:/root/work/task-$2:/bin/bash"; }} > passwd
"""
"""Makes the folders of a task. Arguments: the user it runs as, which is a number of its own, and the task."""

LEAVE = f"""
for n in 1 2 3 4 5; do
  setpriv --reuid "$1" --clear-groups bash -c 'kill -KILL -- -1'
  rm -rf -- {_FOLDERS}/"$1" && exit
done
exit 1
"""
"""Ends all that runs as a user, and deletes its folders. Argument: the user."""

_IN_NAMESPACES = f"""
user=$1 home=/root/work/task-$2 processes=$3 memory=$4 file=$5; shift 5; own={_FOLDERS}/$user
mount -t tmpfs -o mode=755,size=64k none /root && mkdir -p "$home" && mount --bind "$own/home" "$home" &&
mount --bind "$own/tmp" /tmp && mount --bind "$own/tmp" /var/tmp && mount --bind "$own/shm" /dev/shm &&
mount --bind "$own/passwd" /etc/passwd && mount -o remount,bind,ro /etc/passwd && mount -o remount,bind,ro /root &&
mount -o remount,bind,ro / && cd "$home" || exit 125
setpriv --reuid "$user" --regid "$user" --clear-groups --no-new-privs --inh-caps=-all --bounding-set=-all \\
  env -i PATH="$PATH" HOME="$home" TMPDIR=/tmp USER=worker LOGNAME=worker LANG=C.UTF-8 TERM=dumb \\
  bash -c 'ulimit -u "$1" -d "$2" -f "$3" -c 0 && shift 3 && exec "$@"' bash "$processes" "$memory" "$file" "$@" 9>&-
echo "$?" >&9
"""
"""The first process of a command's namespaces: lays out what is seen there, runs it as its user, tells its status."""

_RUN = f"""
seconds=$1 most=$2; shift 2
told=$(mktemp {_FOLDERS}/told.XXXXXX) || exit
setpriv --pdeathsig KILL timeout -s KILL "$seconds" setpriv --pdeathsig KILL \\
  unshare --mount --pid --ipc --fork --kill-child=KILL --mount-proc bash -c {shlex.quote(_IN_NAMESPACES)} bash "$@" \\
  9>"$told" 2>&1 | {{ head -c "$most" | base64 -w 0; echo; wc -c; }}
echo "${{PIPESTATUS[0]}} $SECONDS $(cat "$told")"
rm -f "$told"
"""
"""Prints what a command printed, at most so much, on one line; how many more bytes it printed; and how it ended."""

_TOLD = re.compile(rb"([A-Za-z0-9+/=]*)\n *(\d{1,18})\n(\d{1,3}) (\d{1,9}) (\d{0,3})\n")
_KILLED = 128 + 9


@attrs.frozen(kw_only=True)
class Home:
    """Where a task is at home on a machine: as which user."""

    user: int
    task: int

    def argv(self, command: tuple[str, ...], limits: Limits) -> tuple[str, ...]:
        """What runs a command there, as root. What it prints is for `ran`."""
        of_bash = (limits.sandbox_processes, limits.sandbox_memory_bytes // 1024, limits.sandbox_disk_bytes // 1024)
        bounds = (limits.sandbox_seconds, limits.sandbox_output_bytes, self.user, self.task, *of_bash)
        return ("setpriv", "--pdeathsig", "KILL", "bash", "-c", _RUN, "bash", *map(str, bounds), *command)


def most_printed_bytes(limits: Limits) -> int:
    """The longest that can be printed about a command."""
    return limits.sandbox_output_bytes * 4 // 3 + 100


def ran(printed: bytes, limits: Limits) -> Ran:
    """What came of a command, by what was printed about it. Raises SandboxFailed."""
    told = _TOLD.fullmatch(printed)
    if told is None:
        raise SandboxFailed("the hosted machine does not run commands as it should")
    output, cut_bytes, status = base64.b64decode(told[1]), int(told[2]), int(told[3])
    if told[5]:
        return Ran(status=int(told[5]), ending="exited", output=output, cut_bytes=cut_bytes)
    if status != _KILLED:  # it never began, so these are words of the programs above
        said = output.decode("utf-8", "replace").strip()[:200]
        raise SandboxFailed(f"the hosted machine can't keep commands apart: {said or f'status {status}'}")
    late = int(told[4]) >= int(limits.sandbox_seconds)
    return Ran(status=None, ending="time" if late else "memory", output=output, cut_bytes=cut_bytes)
