"""Which server a command talks to, and how it is found again when the connection is lost.

One rule: a command that waits for an answer may start a server, which ends with it; the others only look for one.
"""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

import attrs
import click

from .. import config as configuration
from ..config import Config
from . import local, tokens
from .client import Api, Event, is_address, is_loopback
from .command import Chosen
from .problems import Conflict, Misconfigured, Problem, Refused, Unreachable, Unready
from .terminal import remark

T = TypeVar("T")

RETURN_SECONDS = 5.0
"""How long a lost server of someone else's is waited for before one of our own takes its place."""
_PAUSE_SECONDS = 0.1
_PAUSE_LONGEST_SECONDS = 5.0


@attrs.frozen
class Lost:
    """The connection broke; `why` in words. What follows comes from the server once it is found again."""

    why: str


class Server:
    """The server of a command: a remote one, the one of this machine, or a child of ours. For several threads."""

    def __init__(self, config: Config, api: Api | None, *, remote: bool, noun: str) -> None:
        self._config, self._remote, self._noun = config, remote, noun
        self._child: local.Child | None = None
        self._finding = threading.Lock()
        self._closed = False
        self.api = api or self._start()

    @property
    def started(self) -> bool:
        """Whether it is a child of ours."""
        return self._child is not None

    def again(self, lost: Api, patience_seconds: float) -> Api:
        """Find it again after `lost` was; who comes second gets what the first found. Raises Unreachable."""
        with self._finding:
            if self.api is lost:
                self.api = self._wait(patience_seconds) if self._remote else self._local_again()
            return self.api

    def close(self) -> None:
        """Close the connection, and end the child, if there is one."""
        self._closed = True
        self.api.close()
        if self._child is not None:
            self._child.close()

    def _wait(self, patience_seconds: float) -> Api:
        deadline, pauses = time.monotonic() + patience_seconds, _pauses()
        while not self.api.healthy():
            pause = next(pauses)
            if time.monotonic() + pause > deadline or self._closed:
                raise Unreachable(f"No dreamwalker can be reached at {self.api.base}.")
            time.sleep(pause)
        return self.api

    def _local_again(self) -> Api:
        deadline = time.monotonic() + (0.0 if self.started else RETURN_SECONDS)
        while (api := local.find(self._config)) is None:
            if time.monotonic() >= deadline:
                return self._start()
            time.sleep(_PAUSE_SECONDS)
        return api

    def _start(self) -> Api:
        if self._child is not None:
            self._child.close()
        if self._closed:
            raise Unreachable("The command is ending.")
        self._child = local.Child(self._config, self._noun)
        try:
            api = self._child.wait_until_up(self._config)
        except BaseException:
            self._child.close()
            raise
        if self._child.ended:  # another one is up, and will stay when we end
            self._child.close()
            self._child = None
        return api


def find(chosen: Chosen) -> Api:
    """The server, if one runs. Raises Unreachable, Misconfigured."""
    config = configuration.read()
    api = _remote(config, chosen.url) if chosen.url is not None else local.find(config)
    if api is None:
        raise Unreachable(
            "No dreamwalker runs on this machine. `dreamwalker serve` starts one; so does `dreamwalker chat`."
        )
    click.get_current_context().call_on_close(api.close)
    return api


@contextmanager
def found_or_started(chosen: Chosen) -> Iterator[Server]:
    """The server; if none runs on this machine, one that ends with the block. Raises Unreachable, Misconfigured."""
    config = configuration.read()
    api = _remote(config, chosen.url) if chosen.url is not None else local.find(config)
    if api is None:
        remark("Starting dreamwalker on this machine …")
    noun = click.get_current_context().info_name or "dreamwalker"
    server = Server(config, api, remote=chosen.url is not None, noun=noun)
    try:
        yield server
    finally:
        server.close()


def patiently(server: Server, send: Callable[[Api], T], *, patience_seconds: float) -> T:
    """Do something that may be done again after a lost connection. Raises Problem; Unreachable when patience ends."""
    deadline = time.monotonic() + patience_seconds
    for pause in _pauses():
        api = server.api
        try:
            return send(api)
        except (Refused, Unready):
            raise
        except Unreachable:
            if time.monotonic() + pause > deadline:
                raise
            time.sleep(pause)
            server.again(api, deadline - time.monotonic())
    raise AssertionError("pauses have no end")


def follow(server: Server, agent: str, after: int, *, patience_seconds: float) -> Iterator[Event | Lost]:
    """What changes in an agent's conversation above commit number `after`, for ever, across lost connections.

    Raises Problem; Unreachable when a lost server isn't found again.
    """
    pauses = _pauses()
    while True:
        api, why = server.api, "The server ended the connection."
        try:
            for event in api.events(agent, after):
                if event.name == "change":
                    after = max(after, event.data["no"])
                pauses = _pauses()
                yield event
        except Conflict:
            raise Problem("The server's database is another one now, or an older copy. Begin anew.") from None
        except Refused:
            raise
        except Unreachable as error:
            why = error.message
        yield Lost(why)
        time.sleep(next(pauses))
        server.again(api, patience_seconds)


def _pauses() -> Iterator[float]:
    """How long to wait before the first next try, the second, and so on."""
    pause = _PAUSE_SECONDS
    while True:
        yield pause
        pause = min(pause * 2, _PAUSE_LONGEST_SECONDS)


def _remote(config: Config, url: str) -> Api:
    if not url.startswith(("http://", "https://")):
        raise Misconfigured(f"The address of a server begins with http:// or https://; this is {url!r}.")
    if not is_address(url):
        raise Misconfigured(f"An address is such as https://agent.example; {url!r} can't be read as one.")
    loopback = is_loopback(url)
    if not loopback and url.startswith("http://"):
        remark(f"{url} is not https: the token and all that is said can be read on the way.")
    token = tokens.read(config) if loopback else config.token  # this machine's token is for this machine
    if token is None:
        raise Misconfigured(f"The token of the server at {url} is missing. Set DREAMWALKER_TOKEN to it.")
    return Api(url, token)
