"""What the SDK and its transport raise, in the owner's words.

One rule: a message says what happened and what the server said of it, shortened, and never holds the key.
"""

import importlib
import math
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from dreamwalker.claude_answer import said_by_server
from tools.model import ErrorKind, ModelError, Usage

RETRY_AFTER_SECONDS_MAX = 86_400.0
"""A server that asks for more than a day is taken to have asked for a day."""

MAYBE_BILLED = (408, 502, 504)
"""Somebody in between gave up waiting; the model itself may have answered."""

WORDS: dict[ErrorKind, str] = {
    "busy": "The model is busy just now.",
    "failed": "The model failed.",
    "unauthorized": "The model does not accept the key.",
    "refused": "The model refused the request.",
    "too_long": "The request is too long for the model.",
}

_TOO_LONG = re.compile("(prompt|input|request).{0,40} too (long|large)|context (length|limit|window)", re.IGNORECASE)
"""How servers word that a request holds more than the model can read."""


def no_credentials() -> ModelError:
    return ModelError("unauthorized", "There is no key for the model yet.")


def unsendable() -> ModelError:
    return ModelError("refused", "The request or its key holds something that cannot be sent.")


def from_sdk(error: Exception, *, usage: Usage, api_key: str) -> ModelError | None:
    """What an exception of the SDK or of httpx2 means; None if it is neither's. `usage` is what was reported."""
    anthropic = importlib.import_module("anthropic")
    httpx2 = importlib.import_module("httpx2")
    if isinstance(error, anthropic.APIStatusError):
        return _from_status(
            error.status_code, error.response.headers, getattr(error, "api_message", None), api_key=api_key
        )
    cause = error.__cause__ if isinstance(error, anthropic.APIConnectionError) else error
    if isinstance(cause, httpx2.ConnectError | httpx2.ConnectTimeout | httpx2.UnsupportedProtocol | httpx2.ProxyError):
        return ModelError("unreachable", "The model cannot be reached: no connection.")
    if isinstance(cause, httpx2.LocalProtocolError):
        return ModelError("unauthorized", "The key for the model holds a character that no key can have.")
    if isinstance(cause, httpx2.TimeoutException):
        return ModelError("silent", "The model went silent, so the answer was given up.", usage=usage)
    if isinstance(cause, httpx2.TransportError):
        return ModelError("cut", "The connection to the model broke off.", usage=usage)
    if isinstance(error, anthropic.AnthropicError) or isinstance(cause, httpx2.HTTPError | httpx2.InvalidURL):
        return ModelError("failed", "The request to the model did not work.", usage=usage)
    return None


def _from_status(status: int, headers: Mapping[str, str], said: object, *, api_key: str) -> ModelError:
    words = said_by_server(said, api_key=api_key)
    kind = _kind(status, words)
    retry_after = retry_after_seconds(headers.get("retry-after"), headers.get("date"))
    message = f"{WORDS[kind]} It said: {words}" if words else f"{WORDS[kind]} (HTTP {status})"
    usage = Usage() if status in MAYBE_BILLED else None
    return ModelError(kind, message, retry_after_seconds=retry_after, status=status, usage=usage)


def _kind(status: int, words: str) -> ErrorKind:
    if status in (429, 529):
        return "busy"
    if status in (401, 403):
        return "unauthorized"
    if status >= 500 or status == 408:
        return "failed"
    return "too_long" if status == 413 or _TOO_LONG.search(words) else "refused"


def retry_after_seconds(value: str | None, date: str | None) -> float | None:
    """The wait that `Retry-After` asks for, in seconds or as a date. A date is read by the server's own clock
    where its `Date` header gives it. None for no header, or nonsense.
    """
    if not value:
        return None
    try:
        seconds = float(value)
    except ValueError:
        try:
            now = parsedate_to_datetime(date) if date else datetime.now(UTC)
            seconds = (parsedate_to_datetime(value) - now).total_seconds()
        except (ValueError, TypeError):
            return None
    return min(max(seconds, 0.0), RETRY_AFTER_SECONDS_MAX) if math.isfinite(seconds) else None
