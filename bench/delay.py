"""A delay in front of Postgres: each request waits so many milliseconds, each answer none. A process of its own.

`python -m bench.delay SOCKET MILLISECONDS` listens on a loopback port, which it prints. Plain sockets and a thread for
each direction, since those add the least of their own; what is to be told apart or counted goes through `tests.proxy`.
"""

import socket
import sys
import threading
import time
from contextlib import suppress


def _pump(source: socket.socket, sink: socket.socket, seconds: float) -> None:
    with suppress(OSError):
        while data := source.recv(1 << 20):
            if seconds:
                time.sleep(seconds)
            sink.sendall(data)
        sink.shutdown(socket.SHUT_WR)


def _serve(target: str, seconds: float) -> None:
    listener = socket.create_server(("127.0.0.1", 0))
    print(listener.getsockname()[1], flush=True)
    while True:
        client, _ = listener.accept()
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        server = socket.socket(socket.AF_UNIX)
        server.connect(target)
        threading.Thread(target=_pump, args=(client, server, seconds), daemon=True).start()
        threading.Thread(target=_pump, args=(server, client, 0.0), daemon=True).start()


if __name__ == "__main__":
    _serve(sys.argv[1], float(sys.argv[2]) / 1000)
