"""What opens a sandbox's one way out: a program of its own, which joins the sandbox's network and nothing else of it.

One rule: it opens one listening socket on the loopback there, hands it over, and is gone before the command begins.
Its text is run as it stands, so it needs nothing but Python's own library.
"""

import ctypes
import fcntl
import os
import socket
import sys

PORT = 3128
"""Where the way out is found, on the sandbox's own loopback."""
NEW_NET, NEW_USER, OWNING_USER = 0x40000000, 0x10000000, 0xB701  # setns(2), ioctl_ns(2)


def _join(namespace: int, kind: int) -> None:
    if ctypes.CDLL(None, use_errno=True).setns(namespace, kind) != 0:
        raise OSError(ctypes.get_errno(), "setns")


def main(pid: str, door_fd: str) -> None:
    """Open the way out of the sandbox that a process is in, and send it through a socket. Raises OSError."""
    network = os.open(f"/proc/{pid}/ns/net", os.O_RDONLY)
    if os.geteuid() != 0:  # only who is root where the network belongs may join it
        _join(fcntl.ioctl(network, OWNING_USER), NEW_USER)
    _join(network, NEW_NET)
    with socket.socket(fileno=int(door_fd)) as door, socket.create_server(("127.0.0.1", PORT), backlog=128) as listener:
        socket.send_fds(door, [b"+"], [listener.fileno()])


if __name__ == "__main__":
    main(*sys.argv[1:])
