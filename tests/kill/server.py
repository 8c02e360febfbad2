"""A real `dreamwalker serve` as a child process that can be killed and started again on the same home folder."""

import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import httpx2
import trio


def free_port() -> int:
    """A port that nobody listens on now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


class Server:
    """One server at a time, on one home folder, at one port. `log` collects what all of its lives print."""

    def __init__(self, home: Path, model_url: str, **environ: str) -> None:
        self.home, self.port = home, free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.lives = 0
        self._environ = {
            "PATH": os.environ.get("PATH", ""),
            "HOME": str(home),
            "DREAMWALKER_HOME": str(home),
            "DREAMWALKER_PORT": str(self.port),
            "ANTHROPIC_API_KEY": "a key that the tests made up",
            "ANTHROPIC_BASE_URL": model_url,
            **environ,
        }
        self._process: subprocess.Popen[bytes] | None = None
        self._log = (home / "log").open("ab")

    def start(self) -> None:
        """Start a life of it."""
        self.lives += 1
        self._process = subprocess.Popen(
            [sys.executable, "-m", "dreamwalker", "serve"],
            env=self._environ,
            stdin=subprocess.DEVNULL,
            stdout=self._log,
            stderr=self._log,
            cwd=Path(__file__).parent.parent.parent,
        )

    def kill(self, number: int = signal.SIGKILL) -> None:
        """End it, by default with SIGKILL."""
        assert self._process is not None
        self._process.send_signal(number)
        self._process.wait()

    def tell_to_stop(self) -> None:
        """Ask it to end; it is not waited for."""
        assert self._process is not None
        self._process.terminate()

    async def ended(self) -> int:
        """Wait until this life has ended; its exit code."""
        assert self._process is not None
        return await trio.to_thread.run_sync(self._process.wait, abandon_on_cancel=True)

    def end(self) -> None:
        """Stop it for good."""
        if self._process is not None and self._process.poll() is None:
            self.kill(signal.SIGTERM)
        self._log.close()

    @property
    def exited(self) -> int | None:
        """The exit code of a life that ended by itself."""
        return self._process.poll() if self._process is not None else None

    def token(self) -> str | None:
        """The API token, once the server has made it."""
        try:
            return (self.home / "token").read_text().strip()
        except FileNotFoundError:
            return None

    async def request(self, client: httpx2.AsyncClient, method: str, path: str, **fields: object) -> httpx2.Response:
        """One request, tried again until an answer comes that is not 503, whatever happens to the server."""
        with trio.fail_after(60):
            while True:
                if token := self.token():
                    try:
                        answer = await client.request(
                            method, self.url + path, headers={"Authorization": f"Bearer {token}"}, **fields
                        )
                        if answer.status_code != 503:
                            return answer
                    except httpx2.HTTPError:
                        pass
                await trio.sleep(0.02)  # the one place that waits for a process: nothing tells when it answers

    def said(self) -> str:
        """What its lives printed."""
        return (self.home / "log").read_text(errors="replace")
