"""What a scripted Messages API answers: values that say what is streamed, and where it breaks.

One rule: a reply is a plain value that is made beforehand; only a `Gate` in it is ever touched later.
"""

import json
from collections.abc import Callable
from typing import Any, Literal

import attrs
import trio

Json = dict[str, Any]


class Gate:
    """A place in a stream where it halts until the test opens it. `reached` is set once all before it is sent."""

    def __init__(self) -> None:
        self.reached = trio.Event()
        self._opened = trio.Event()

    def open(self) -> None:
        self._opened.set()

    async def passed(self) -> None:
        self.reached.set()
        await self._opened.wait()


@attrs.frozen(kw_only=True)
class Text:
    """A text block. Each str of `pieces` is one `text_delta`."""

    pieces: tuple[str | Gate, ...]
    citation: Json | None = None


@attrs.frozen(kw_only=True)
class Use:
    """A tool use whose argument text is streamed as it stands, valid or not. `id` None: one is made up."""

    name: str
    pieces: tuple[str | Gate, ...]
    id: str | None = None


@attrs.frozen(kw_only=True)
class Search:
    """A search that the server itself did: its use and its result block. `error` instead of results.

    A result is a title and an address, and perhaps the age that the page names.
    """

    query: str
    results: tuple[tuple[str, ...], ...] = ()
    error: str | None = None


@attrs.frozen(kw_only=True)
class Thinking:
    """A thinking block whose text is withheld, as newer models send it: nothing but a signature."""

    signature: str = "c2lnbmF0dXJl"


Piece = Text | Use | Search | Thinking


@attrs.frozen(kw_only=True)
class Break:
    """How a stream ends before its time: after `after` events, in this manner."""

    after: int
    manner: Literal["cut", "reset", "stall", "error"]
    error_type: str = "overloaded_error"
    message: str = "Overloaded"


@attrs.frozen(kw_only=True)
class Answer:
    """A streamed answer (status 200)."""

    blocks: tuple[Piece, ...]
    stop_reason: str = "end_turn"
    broken: Break | None = None
    usage: Json = attrs.field(factory=dict)
    """Fields that replace what the server would have counted."""
    slice_bytes: int | None = None
    """Write the stream in slices of this many bytes, across event and character boundaries."""

    def cut(self, *, after: int) -> "Answer":
        """Close the connection after so many events, in the middle of the body."""
        return attrs.evolve(self, broken=Break(after=after, manner="cut"))

    def reset(self, *, after: int) -> "Answer":
        """Reset the connection (RST) after so many events."""
        return attrs.evolve(self, broken=Break(after=after, manner="reset"))

    def stall(self, *, after: int) -> "Answer":
        """Say nothing more after so many events, and keep the connection open."""
        return attrs.evolve(self, broken=Break(after=after, manner="stall"))

    def error(self, *, after: int, type: str = "overloaded_error", message: str = "Overloaded") -> "Answer":
        """Send `event: error` after so many events and end the body properly."""
        return attrs.evolve(self, broken=Break(after=after, manner="error", error_type=type, message=message))

    def stopping(self, stop_reason: str) -> "Answer":
        return attrs.evolve(self, stop_reason=stop_reason)

    def billed(self, **usage: Any) -> "Answer":
        return attrs.evolve(self, usage=usage)

    def sliced(self, slice_bytes: int) -> "Answer":
        return attrs.evolve(self, slice_bytes=slice_bytes)


@attrs.frozen(kw_only=True)
class Failure:
    """An answer that is not 200, in Anthropic's error JSON unless `body` is given."""

    status: int
    type: str
    message: str
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes | None = None


@attrs.frozen(kw_only=True)
class Silence:
    """The request is read and nothing ever comes back."""


@attrs.frozen(kw_only=True)
class HangUp:
    """The request is read and the connection closed (or reset) without a byte."""

    reset: bool = False


@attrs.frozen(kw_only=True)
class Plain:
    """Status 200 with a body of any kind: what a captive portal or a wrong address would answer."""

    body: bytes
    content_type: str = "text/html"


Reply = Answer | Failure | Silence | HangUp | Plain
Rule = Callable[[Json], Reply]

ERROR_TYPES = {
    400: "invalid_request_error",
    401: "authentication_error",
    402: "billing_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    500: "api_error",
    504: "timeout_error",
    529: "overloaded_error",
}


def text(*pieces: str | Gate, chunk: int | None = None, citation: Json | None = None) -> Text:
    """A text block; `chunk` cuts each piece into deltas of so many characters."""
    return Text(pieces=_chunked(pieces, chunk), citation=citation)


def use(name: str, arguments: Json | str, *, id: str | None = None, chunk: int | None = None) -> Use:
    """A tool use. A str is streamed as it stands, so it may be cut or no JSON at all."""
    raw = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
    return Use(name=name, pieces=_chunked((raw,), chunk), id=id)


def say(*pieces: str | Gate, chunk: int | None = None) -> Answer:
    """One text block: `say("Hello")`, `say("Hel", gate, "lo")`, `say(long, chunk=5)`."""
    return Answer(blocks=(text(*pieces, chunk=chunk),))


def answer(*blocks: Piece | str, stop_reason: str | None = None) -> Answer:
    """Several blocks; a str is a text block. It stops for tools if it uses any, unless told otherwise."""
    made = tuple(text(block) if isinstance(block, str) else block for block in blocks)
    uses = any(isinstance(block, Use) for block in made)
    return Answer(blocks=made, stop_reason=stop_reason or ("tool_use" if uses else "end_turn"))


def empty(stop_reason: str = "end_turn") -> Answer:
    """An answer without a single block, which the real API does give."""
    return Answer(blocks=(), stop_reason=stop_reason)


def paused(*blocks: Piece | str) -> Answer:
    """`pause_turn`: a long turn of server-side searches, to be continued by asking again."""
    return answer(*blocks, stop_reason="pause_turn")


def fail(status: int, message: str = "It did not work.", *, retry_after: str | int | None = None) -> Failure:
    """An HTTP error; `retry_after` in seconds or as an HTTP date."""
    headers = () if retry_after is None else (("retry-after", str(retry_after)),)
    return Failure(status=status, type=ERROR_TYPES.get(status, "api_error"), message=message, headers=headers)


def _chunked(pieces: tuple[str | Gate, ...], chunk: int | None) -> tuple[str | Gate, ...]:
    if chunk is None:
        return pieces
    cut: list[str | Gate] = []
    for piece in pieces:
        if isinstance(piece, Gate):
            cut.append(piece)
        else:
            cut.extend(piece[i : i + chunk] for i in range(0, len(piece), chunk))
    return tuple(cut)
