"""The client of the HTTP API.

One rule: an answer is a value or a `Problem` in words. A server that isn't ready is waited for within a bound; one that
can't be reached is for the caller to look for again.
"""

import json
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import quote, urlsplit

import attrs
import httpx2

from .problems import Conflict, NotFound, Problem, Refused, Unreachable, Unready
from .terminal import Json, sendable
from .times import Times

PATIENCE_SECONDS = 10.0
"""How long a server may say that it isn't ready before the command gives up."""
ANSWER_SECONDS = 70.0
"""How long one answer may take; the server itself gives up on its storage earlier."""
SILENCE_SECONDS = 40.0
"""How long a live stream may be silent: its server gives a sign of life every 15 seconds."""


@attrs.frozen
class Event:
    """One event of a live stream: "change", "text" or "end"."""

    name: str
    data: Json


class Api:
    """The API of the server at `base`. For `patience_seconds` a server that isn't ready is asked again."""

    def __init__(self, base: str, token: str) -> None:
        self.base = base.rstrip("/")
        self.patience_seconds = PATIENCE_SECONDS
        self._times: Times | None = None
        self._http = httpx2.Client(
            base_url=f"{self.base}/api",
            headers={"authorization": f"Bearer {token}"},
            timeout=httpx2.Timeout(ANSWER_SECONDS, connect=10.0),
            trust_env=not is_loopback(self.base),  # no proxy stands between a machine and itself
        )

    def close(self) -> None:
        """Close its connections."""
        self._http.close()

    def get(self, path: str, **query: str | int | None) -> Json:
        """Read. Raises Problem, as all of these do."""
        given = {name: value for name, value in query.items() if value is not None}
        said = {name: sendable(value) if isinstance(value, str) else value for name, value in given.items()}
        return self._ask("GET", path, params=said)

    def post(self, path: str, body: Json | None = None) -> Json:
        """Send; `body` may hold a request id, which makes it safe to send again."""
        return self._ask("POST", path, **_sent(body or {}))

    def patch(self, path: str, body: Json) -> Json:
        """Change."""
        return self._ask("PATCH", path, **_sent(body))

    def delete(self, path: str) -> Json:
        """Take back."""
        return self._ask("DELETE", path)

    @property
    def times(self) -> Times:
        """How the owner reads times: in his zone, for which the server is asked once. Raises Problem."""
        if self._times is None:
            self._times = Times.of(self.get("/status")["zone"])
        return self._times

    def healthy(self) -> bool:
        """Whether a dreamwalker answers there."""
        try:
            answer = self._http.get("/health", timeout=3.0)
            return bool(answer.status_code == 200 and _json(answer).get("status") == "up")
        except httpx2.HTTPError:
            return False

    def events(self, agent: str, after: int) -> Iterator[Event]:
        """What changes in an agent's conversation above commit number `after`, until the server ends the stream.

        Raises Unreachable also when the connection breaks.
        """
        with self._reaching():
            timeout = httpx2.Timeout(10.0, read=SILENCE_SECONDS)
            url = f"/agents/{quoted(agent)}/stream"
            deadline = time.monotonic() + self.patience_seconds
            while True:
                with self._http.stream("GET", url, params={"from": after}, timeout=timeout) as answer:
                    if answer.status_code == 200:
                        yield from parse(answer.iter_bytes())
                        return
                    answer.read()
                _wait_or_raise(answer, deadline)

    def download(self, path: str, **query: str) -> Iterator[bytes]:
        """The body of an answer as it comes. Raises Unreachable also when it breaks off, for it may be long."""
        with self._reaching():
            deadline = time.monotonic() + self.patience_seconds
            while True:
                with self._http.stream("GET", path, params=query) as answer:
                    if answer.status_code == 200:
                        yield from answer.iter_bytes()
                        return
                    answer.read()
                _wait_or_raise(answer, deadline)

    def _ask(self, method: str, path: str, **options: Any) -> Json:
        deadline = time.monotonic() + self.patience_seconds
        while True:
            with self._reaching():
                answer = self._http.request(method, path, **options)
            if answer.is_success:
                return _json(answer)
            _wait_or_raise(answer, deadline)

    @contextmanager
    def _reaching(self) -> Iterator[None]:
        try:
            yield
        except (httpx2.HTTPError, httpx2.InvalidURL) as error:
            why = str(error) or type(error).__name__
            raise Unreachable(f"No dreamwalker can be reached at {self.base}: {why}") from error
        except RuntimeError as error:
            if not self._http.is_closed:
                raise
            raise Unreachable("The command is ending.") from error  # another thread still asked


def _sent(body: Json) -> dict[str, Any]:
    """A body as it goes out, whatever a terminal that isn't UTF-8 put into it."""
    text = json.dumps(body, ensure_ascii=False, allow_nan=False)
    return {"content": sendable(text).encode(), "headers": {"content-type": "application/json"}}


def is_loopback(base: str) -> bool:
    """Whether an address is this machine itself."""
    host = urlsplit(base).hostname or ""
    return host == "localhost" or host == "::1" or host.startswith("127.")


def is_address(base: str) -> bool:
    """Whether an address can be taken apart, into a host at least."""
    try:
        parts = urlsplit(base)
        return bool(parts.hostname) and parts.port != 0 and bool(httpx2.URL(base).host)
    except (ValueError, httpx2.InvalidURL):
        return False


def quoted(name: str) -> str:
    """A name as one part of a path."""
    return quote(sendable(name), safe="")


def parse(chunks: Iterable[bytes]) -> Iterator[Event]:
    """The events of a `text/event-stream` as our server writes it: lines end with a line feed, data is JSON."""
    name, data, rest = "message", "", b""
    for chunk in chunks:
        *lines, rest = (rest + chunk).split(b"\n")
        for raw in lines:
            line = raw.decode("utf-8", "replace").removesuffix("\r")
            field, _, value = line.partition(":")
            value = value.removeprefix(" ")
            if field == "event":
                name = value
            elif field == "data":
                data += value
            elif line == "":
                if data:
                    yield Event(name, json.loads(data))
                name, data = "message", ""


def _wait_or_raise(answer: httpx2.Response, deadline: float) -> None:
    """Wait as long as a server that isn't ready asks for, if that is within the bound; else raise what it says."""
    if answer.status_code != 503:
        raise _problem(answer)
    try:
        pause = max(float(answer.headers.get("retry-after", "1")), 0.1)
    except ValueError:
        pause = 1.0
    if time.monotonic() + pause > deadline:
        raise _problem(answer)
    time.sleep(pause)


def _problem(answer: httpx2.Response) -> Problem:
    """A refusal as the owner should read it."""
    said = _json(answer, strict=False).get("error")
    code, message = (said.get("code", ""), said.get("message", "")) if isinstance(said, dict) else ("", "")
    if not message:
        return Refused(f"What answers at {_where(answer)} is not a dreamwalker (status {answer.status_code}).")
    match answer.status_code:
        case 401 | 403:
            return Refused(f"The server at {_where(answer)} refused the token. {_TOKEN}")
        case 404:
            return NotFound(message)
        case 409:
            return Conflict(message, code)
        case 410:
            return Refused(message)
        case status if status >= 500:
            return Unready(message)
    return Problem(message)


_TOKEN = "Set DREAMWALKER_TOKEN to the one that it was started with."


def _where(answer: httpx2.Response) -> str:
    return f"{answer.url.scheme}://{answer.url.netloc.decode()}"


def _json(answer: httpx2.Response, *, strict: bool = True) -> Json:
    try:
        value = json.loads(answer.content)
    except ValueError:
        value = None
    if isinstance(value, dict):
        return value
    if strict:
        raise Refused(f"What answers at {_where(answer)} is not a dreamwalker: it sent something else than JSON.")
    return {}
