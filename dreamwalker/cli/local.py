"""The server of this machine: how it is found, and how a command starts one that ends with it.

One rule: `server.json` is only a hint. What it names counts if that process lives and answers.
"""

import contextlib
import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import IO, TYPE_CHECKING

import attrs

from ..config import Config
from . import tokens
from .problems import Misconfigured, Refused, Unreachable

if TYPE_CHECKING:
    from .client import Api

START_SECONDS = 90.0
"""How long a first start may take: it makes a database, or recovers one."""
ANOTHER_SECONDS = 10.0
"""How long one is waited for that somebody else is just starting."""
STOP_SECONDS = 12.0
"""How long a server may take to end; it promises 10."""
_LOOK_AGAIN_SECONDS = 0.05
_LOGGED = re.compile(r"\d{4}-\d\d-\d\dT")
"""How a line of the log begins, unlike what is said to a person."""


@attrs.frozen
class Running:
    """A server as it wrote itself down. `noun`: the command that started it for itself, and with which it ends."""

    pid: int
    url: str
    noun: str | None = None

    @property
    def in_the_way(self) -> str:
        """Who has this machine's database, and how it comes free."""
        if self.noun is None:
            return (
                f"dreamwalker runs on this machine already, at {self.url}. Ctrl-C ends it where it runs, or "
                f"`kill {self.pid}`."
            )
        return (
            f"`dreamwalker {self.noun}` has started dreamwalker on this machine for itself, at {self.url}, and it ends "
            "with that. Leave that first; a chat that is opened beside `dreamwalker serve` uses the server it finds."
        )


def reachable(address: str) -> str:
    """Where this machine reaches a server that listens at an address; that may be all of its addresses."""
    return address.replace("//0.0.0.0:", "//127.0.0.1:").replace("//[::]:", "//[::1]:")


def announce(home: Path, running: Running) -> None:
    """Write a running server down. Raises OSError."""
    path = _path(home)
    os.replace(tokens.write_private(path.with_name(f"server.{running.pid}"), json.dumps(attrs.asdict(running))), path)


def withdraw(home: Path, pid: int) -> None:
    """Take it back, if it is still that process's."""
    running = announced(home)
    if running is not None and running.pid == pid:
        _path(home).unlink(missing_ok=True)


def announced(home: Path) -> Running | None:
    """The server that is written down, whether or not it still lives."""
    try:
        value = json.loads(_path(home).read_text())
        noun = value.get("noun")
        return Running(pid=int(value["pid"]), url=str(value["url"]), noun=None if noun is None else str(noun))
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None


def find(config: Config) -> "Api | None":
    """The server that runs on this machine, if one does. Raises Refused if there is no token for it."""
    running = announced(config.home)
    if running is None or not _alive(running.pid):
        return None
    return _if_healthy(_api(config, running))


def in_the_way(config: Config) -> str | None:
    """Who serves on this machine, and how its database comes free; None if nobody does."""
    if (api := find(config)) is None:
        return None
    api.close()
    running = announced(config.home)
    return None if running is None else running.in_the_way


class Child:
    """A server of our own. It ends when we end, however that happens, since we hold the other end of its stdin."""

    def __init__(self, config: Config, noun: str) -> None:
        self._log = config.home / "serve.log"
        with _new_log(self._log) as log:
            # -P: nothing in the present folder may pass for a module of ours.
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-m", "dreamwalker", "serve", "--attached", "--for", noun, "--port", "0"],
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=log,
                start_new_session=True,  # Ctrl-C is for the command, not for the server
            )

    def wait_until_up(self, config: Config) -> "Api":
        """Wait until it serves, or another one does that was quicker. Raises Unreachable with its last words."""
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline:
            running = announced(config.home)
            if running is not None and running.pid == self._process.pid:
                api = _if_healthy(_api(config, running))
                if api is not None:
                    return api
            if self._process.poll() is not None:
                break
            time.sleep(_LOOK_AGAIN_SECONDS)
        return self._another(config)

    def _another(self, config: Config) -> "Api":
        """The server that somebody else started at the same time, and because of which ours could not."""
        from storage.embedded import is_owned  # `serve` imports it only when it opens a database

        deadline = time.monotonic() + ANOTHER_SECONDS
        while config.embedded and is_owned(config.home / "postgres") and time.monotonic() < deadline:
            if (api := find(config)) is not None:
                return api
            time.sleep(_LOOK_AGAIN_SECONDS)
        raise Unreachable(f"A server could not be started. {self._last_words()}")

    @property
    def ended(self) -> bool:
        """Whether it runs no more."""
        return self._process.poll() is not None

    def close(self) -> None:
        """End it and wait until it has ended."""
        assert self._process.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.close()
        try:
            self._process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def _last_words(self) -> str:
        lines = [line for line in self._log.read_text(errors="replace").splitlines() if line.strip()]
        spoken = [line for line in lines if not _LOGGED.match(line)]
        return f"{(spoken or ['It said nothing.'])[-1]} (All that it said is in {self._log}.)"


def _new_log(path: Path) -> IO[bytes]:
    """A new file for what a server says; the one before it is kept beside. Raises Misconfigured."""
    try:
        tokens.make_home(path.parent)
        while True:  # somebody else may make one at this very moment
            with contextlib.suppress(FileNotFoundError):
                path.replace(path.with_suffix(".log.old"))
            with contextlib.suppress(FileExistsError):
                return open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb")
    except OSError as error:
        raise Misconfigured(
            f"Nothing can be kept in {path.parent}, the folder that DREAMWALKER_HOME names: {error}"
        ) from error


def _api(config: Config, running: Running) -> "Api":
    from .client import Api  # on the platform `serve` never looks for another server, and starts sooner

    token = tokens.read(config)
    if token is None:
        raise Refused(f"A server runs at {running.url}, but there is no token for it in {config.token_file}.")
    return Api(running.url, token)


def _if_healthy(api: "Api") -> "Api | None":
    if api.healthy():
        return api
    api.close()
    return None


def _path(home: Path) -> Path:
    return home / "server.json"


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except PermissionError:
        return True
    except (ProcessLookupError, ValueError, OverflowError):
        return False
    return pid > 0
