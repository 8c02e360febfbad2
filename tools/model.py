"""The Model port: what a conversation asks of a language model, in the words of the Messages API.

One rule: nothing here knows a vendor. `dreamwalker.claude` fills the port; `actors.spend` wraps it, and
conversations only ever hold the wrapped one.
"""

from collections.abc import Callable
from typing import Any, Literal, Protocol

import attrs

Block = dict[str, Any]
"""One content block of the Messages API, as JSON."""

StopReason = Literal[
    "end_turn", "tool_use", "max_tokens", "stop_sequence", "pause_turn", "refusal", "model_context_window_exceeded"
]

ErrorKind = Literal["busy", "failed", "cut", "silent", "unreachable", "unauthorized", "refused", "too_long", "empty"]


@attrs.frozen(kw_only=True)
class Usage:
    """Tokens and searches that one answer is billed for, as the provider reported them."""

    input_tokens: int = 0
    cache_write_tokens: int = 0
    cache_read_tokens: int = 0
    output_tokens: int = 0
    searches: int = 0


@attrs.frozen(kw_only=True, eq=False)
class ModelRequest:
    """One question to a model: everything it will see, and nothing that changes by itself.

    `messages` and `tools` are JSON values of the Messages API without cache markers; the client places the
    markers (end of the system prompt, the end of the previous request, the new end).
    `previous_end` is the number of messages that the previous request of this conversation had, 0 if none.
    `searches_max` is how many searches of its own the provider may make for it.
    `size_bytes` is the size of all of it as JSON, for the worst case of the cost; who reserves for a request says it.
    Two requests are never equal: each is reserved for by itself.
    """

    model: str
    system: str
    tools: tuple[Block, ...]
    messages: tuple[Block, ...]
    max_tokens: int
    previous_end: int = 0
    searches_max: int = 0
    size_bytes: int = 0


@attrs.frozen(kw_only=True)
class ToolUse:
    """One tool use in a reply. `arguments` is None when the model's JSON was cut short or not an object."""

    id: str
    name: str
    arguments: dict[str, Any] | None
    raw: str
    """The argument text exactly as it streamed, for the error the model gets to read."""


@attrs.frozen(kw_only=True)
class Source:
    """A page that a server-side search brought up. Title and address were written by strangers."""

    title: str
    url: str
    age: str = ""
    """How old it says it is, in its own words."""


@attrs.frozen(kw_only=True)
class ModelReply:
    """A whole answer. `blocks` holds text (str) and tool uses in the order they came; it is empty only if a search
    brought `sources` up, or failed, and nothing was said of it. `search_errors` are the provider's words for why.

    Text of nothing but white space is dropped, and so are blocks only the provider can read (thinking, searches):
    history is sent without them. Characters that cannot be stored (NUL, lone surrogates) came in as U+FFFD.
    """

    blocks: tuple[str | ToolUse, ...]
    stop_reason: StopReason | str
    usage: Usage
    model: str
    sources: tuple[Source, ...] = ()
    search_errors: tuple[str, ...] = ()


class ModelError(Exception):
    """The model did not answer, or only in part. The message is worded for the owner and never holds a key.

    `kind`: "busy" (429, 529), "failed" (5xx, 408, an error event, an answer nobody can read), "cut" (the stream
    broke off), "silent" (no byte for the limit), "unreachable" (no connection), "unauthorized" (401, 403, no
    credentials yet), "too_long" (more than the model can read), "refused" (any other 4xx, or the model declined
    without a word), "empty" (an answer with nothing in it). `retry_after_seconds` is what the server asked for, if it
    did. `usage` is None when surely nothing is billed, else what had been reported until then: less than the bill, but
    for "empty" and "refused" all of it.
    """

    def __init__(
        self,
        kind: ErrorKind,
        message: str,
        *,
        retry_after_seconds: float | None = None,
        status: int | None = None,
        usage: Usage | None = None,
    ) -> None:
        super().__init__(message)
        self.kind = kind
        self.retry_after_seconds = retry_after_seconds
        self.status = status
        self.usage = usage

    @property
    def retryable(self) -> bool:
        """Whether it is worth another try, of a request that is too long with a shorter one. A refused one never is."""
        return self.kind != "refused"


class Model(Protocol):
    """A language model. `ask` streams text to `on_text` as it is written and returns the whole reply.

    Raises ModelError. Cancelling the trio scope around it closes the stream at once.
    """

    async def warm(self) -> None:
        """Do what takes long and comes before any first request. Doing it again takes no time."""
        ...

    async def ask(self, request: ModelRequest, on_text: Callable[[str], None]) -> ModelReply: ...
