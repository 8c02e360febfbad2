"""The Claude client: fills the Model port over the official SDK, streamed, on trio.

One rule: whatever goes wrong comes out as a ModelError in the owner's words, and never with a key in it.

The SDK builds, signs and sends the request and reads HTTP errors; the events of the stream are read raw, because an
answer is kept as it streamed: a tool use whose JSON broke off needs a fate, and the SDK's own parser has none.
"""

import importlib
import logging
import ssl
import sys
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs
import trio

from dreamwalker.certificates import authorities
from dreamwalker.claude_answer import Answer, Events
from dreamwalker.claude_errors import from_sdk, no_credentials, unsendable
from dreamwalker.claude_request import body_of
from tools.model import ModelError, ModelReply, ModelRequest, Usage

if TYPE_CHECKING:
    import anthropic
    import httpx2

log = logging.getLogger("dreamwalker.claude")

DEFAULT_BASE_URL = "https://api.anthropic.com"
CONNECT_SECONDS = 10.0
LOOK_SECONDS = 10.0
"""How long it may take to say that it is there."""
SILENCE_SECONDS = 60.0
TRAILING_SECONDS = 1.0
"""How long the end of the body may take after the last event: reading it lets the connection be used again."""
HEADERS = frozenset(
    {
        "accept",
        "accept-encoding",
        "anthropic-version",
        "authorization",
        "connection",
        "content-length",
        "content-type",
        "host",
        "transfer-encoding",
        "user-agent",
        "x-api-key",
    }
)
"""What may be sent. The SDK adds more from variables of the environment, and the platform's gateway passes none."""


@attrs.frozen(kw_only=True)
class Credentials:
    """A key and the Messages API it is for; `base_url` None is Anthropic's own."""

    api_key: str = attrs.field(repr=False)
    base_url: str | None = None


class NewestCredentials:
    """The credentials seen last. On the platform they come with requests and rotate."""

    def __init__(self, first: Credentials | None = None) -> None:
        self._current = first

    @property
    def current(self) -> Credentials | None:
        return self._current

    def seen(self, credentials: Credentials) -> bool:
        """Keep them. True if they are new: then what waited for credentials may try again."""
        changed = credentials != self._current
        self._current = credentials
        return changed


@attrs.define(kw_only=True, eq=False)
class _Client:
    """An SDK client made for one set of credentials. It is closed when replaced and its last stream is over."""

    credentials: Credentials
    sdk: "anthropic.AsyncAnthropic"
    streams: int = 0


class Claude:
    """The Model port over `anthropic.AsyncAnthropic`. Use as `async with Claude(credentials) as model`.

    New credentials are used from the next request on; streams under way keep theirs. Nothing is retried here.
    `extra_ca_file` is trusted besides the usual authorities. Variables for proxies and certificates are not read.
    """

    def __init__(
        self,
        credentials: NewestCredentials,
        *,
        silence_seconds: float = SILENCE_SECONDS,
        connect_seconds: float = CONNECT_SECONDS,
        extra_ca_file: Path | None = None,
    ) -> None:
        self._credentials = credentials
        self._silence_seconds = silence_seconds
        self._connect_seconds = connect_seconds
        self._extra_ca_file = extra_ca_file
        self._client: _Client | None = None
        self._building = trio.Lock()

    async def __aenter__(self) -> "Claude":
        return self

    async def __aexit__(self, *_: object) -> None:
        """Close the connections that no stream uses any more."""
        replaced, self._client = self._client, None
        if replaced is not None:
            await _close_if_idle(replaced)

    async def warm(self) -> None:
        """Load what takes a second or two, the SDK and the certificates, in a thread. `ask` does it if need be."""
        await trio.to_thread.run_sync(self._load, abandon_on_cancel=True)

    async def look(self) -> None:
        """See whether it answers, and accepts the key, without paying for an answer. Raises ModelError.

        The list of models is asked for. A gateway or a local model may have none: that is an answer too.
        """
        credentials = self._credentials.current
        if credentials is None:
            raise no_credentials()
        try:
            async with self._client_for(credentials) as sdk:
                await sdk.with_options(timeout=LOOK_SECONDS).models.list(limit=1)
        except Exception as error:
            failed = from_sdk(error, usage=Usage(), api_key=credentials.api_key)
            if failed is None:
                raise
            if failed.kind != "refused":
                raise failed from None

    async def ask(self, request: ModelRequest, on_text: Callable[[str], None]) -> ModelReply:
        began = time.monotonic()
        try:
            reply = await self._ask(request, on_text)
        except ModelError as error:
            log.info("model.failed", {"model": request.model, "kind": error.kind, "ms": _since(began)})
            raise
        log.info("model.answered", {"model": request.model, "ms": _since(began), **_tokens(reply.usage)})
        return reply

    async def _ask(self, request: ModelRequest, on_text: Callable[[str], None]) -> ModelReply:
        credentials = self._credentials.current
        if credentials is None:
            raise no_credentials()
        answer = Answer(api_key=credentials.api_key)
        thrown: Exception | None = None
        try:
            async with self._client_for(credentials) as sdk:
                thrown = await _read(sdk, body_of(request), answer, on_text)
        except ModelError:
            raise
        except Exception as error:
            failed = from_sdk(error, usage=answer.usage, api_key=credentials.api_key)
            if failed is None:
                raise
            if not answer.complete:  # once it has said why it stopped, nothing is missing
                raise failed from None
        if thrown is not None:
            raise thrown
        return answer.reply()

    @asynccontextmanager
    async def _client_for(self, credentials: Credentials) -> AsyncIterator["anthropic.AsyncAnthropic"]:
        async with self._building:
            client = self._client
            if client is None or client.credentials != credentials:
                sdk = await trio.to_thread.run_sync(self._build, credentials)
                replaced, self._client = client, _Client(credentials=credentials, sdk=sdk)
                client = self._client
                if replaced is not None:
                    await _close_if_idle(replaced)
        client.streams += 1
        try:
            yield client.sdk
        finally:
            client.streams -= 1
            if client is not self._client:
                await _close_if_idle(client)

    def _load(self) -> None:
        began = time.monotonic()
        first = "anthropic" not in sys.modules
        _import_sdk()
        with suppress(ModelError):  # whoever asks is told
            _trusted(self._extra_ca_file)
        if first:
            log.info("model.ready", {"seconds": time.monotonic() - began})

    def _build(self, credentials: Credentials) -> "anthropic.AsyncAnthropic":
        """In a thread: importing the SDK and reading certificates both take their time."""
        sdk = _import_sdk()
        httpx2 = importlib.import_module("httpx2")
        http_client = httpx2.AsyncClient(
            timeout=httpx2.Timeout(self._silence_seconds, connect=self._connect_seconds),
            limits=httpx2.Limits(max_connections=None),
            verify=_trusted(self._extra_ca_file),
            trust_env=False,
            event_hooks={"request": [_drop_foreign_headers]},
        )
        made: anthropic.AsyncAnthropic = sdk.AsyncAnthropic(
            api_key=credentials.api_key,
            base_url=credentials.base_url or DEFAULT_BASE_URL,
            max_retries=0,
            open_telemetry=False,
            http_client=http_client,
        )
        return made


def _since(began: float) -> int:
    return round(1_000 * (time.monotonic() - began))


def _tokens(usage: Usage) -> dict[str, int]:
    return {name: count for name, count in attrs.asdict(usage).items() if name.endswith("_tokens")}


async def _read(
    sdk: "anthropic.AsyncAnthropic", body: dict[str, Any], answer: Answer, on_text: Callable[[str], None]
) -> Exception | None:
    """Send the request and take the answer's events until it is over. What `on_text` raised is returned.

    A failure in the middle leaves by cancelling the read, never by leaving the loop: so every generator under it
    ends at once instead of being finalised later.
    """
    failure: Exception | None = None
    events = Events()
    async with _opened(sdk, body) as chunks:
        with trio.CancelScope() as scope:
            async for chunk in chunks:
                try:
                    for event in events.feed(chunk) if failure is None else ():
                        if (text := answer.take(event)) is not None:
                            on_text(text)
                except Exception as error:
                    failure = error
                    scope.cancel()
                if answer.over:
                    scope.deadline = trio.current_time() + TRAILING_SECONDS
    if isinstance(failure, ModelError):
        raise failure
    return failure


@asynccontextmanager
async def _opened(sdk: "anthropic.AsyncAnthropic", body: dict[str, Any]) -> AsyncIterator[AsyncIterator[bytes]]:
    """The body of the answer as it comes. Raises ModelError when the request cannot even be written down."""
    try:
        response = await sdk.messages.with_streaming_response.create(**body, stream=True).__aenter__()
    except ValueError:  # a lone surrogate, a number that is none
        raise unsendable() from None
    try:
        yield response.http_response.aiter_bytes()
    finally:
        await response.close()


async def _close_if_idle(client: _Client) -> None:
    if client.streams == 0:
        with trio.CancelScope(shield=True):
            await client.sdk.close()


async def _drop_foreign_headers(request: "httpx2.Request") -> None:
    for name in list(request.headers):
        if name.lower() not in HEADERS and not name.lower().startswith("x-stainless-"):
            del request.headers[name]


def _import_sdk() -> Any:
    importlib.import_module("anthropic.resources.messages")
    return importlib.import_module("anthropic")


def _trusted(extra_ca_file: Path | None) -> ssl.SSLContext:
    try:
        return authorities(extra_ca_file)
    except (OSError, ssl.SSLError):
        words = f"The file of extra certificates, {extra_ca_file}, cannot be read."
        raise ModelError("unreachable", words) from None
