"""One streamed answer, put together from the raw events of the Messages API.

One rule: only what came is kept. A tool use that broke off keeps its text and has no arguments.
"""

import json
import math
import re
from collections.abc import Iterator
from typing import Any

import attrs

from tools.model import ErrorKind, ModelError, ModelReply, Source, ToolUse, Usage

UNSTORABLE = re.compile("[\x00\ud800-\udfff]")
WORDLESS = {
    "refusal": "The model declined to answer this.",
    "max_tokens": "The model ran out of room before its first word.",
}
BUSY_TYPES = frozenset({"overloaded_error", "rate_limit_error"})
UNAUTHORIZED_TYPES = frozenset({"authentication_error", "permission_error"})
REFUSED_TYPES = frozenset({"invalid_request_error", "request_too_large", "not_found_error", "billing_error"})
SERVER_MESSAGE_CHARACTERS = 300

Event = dict[str, Any]


class Events:
    """The data of server-sent events, out of bytes that come in pieces of any size. Bad UTF-8 becomes U+FFFD."""

    def __init__(self) -> None:
        self._rest = b""
        self._data: list[bytes] = []

    def feed(self, chunk: bytes) -> Iterator[str]:
        *lines, self._rest = (self._rest + chunk).split(b"\n")
        for line in lines:
            field, _, value = line.rstrip(b"\r").partition(b":")
            if field == b"data":
                self._data.append(value.removeprefix(b" "))
            elif not field and not value and self._data:
                data, self._data = b"\n".join(self._data), []
                yield data.decode(errors="replace")


@attrs.define(kw_only=True)
class _Block:
    type: str
    id: str = ""
    name: str = ""
    parts: list[str] = attrs.field(factory=list)
    given: Any = None
    """A tool's arguments when they came whole with the start of the block, as some other servers send them."""


class Answer:
    """The answer so far. `over`: nothing more will come. `complete`: it says why it stopped, so nothing is missing."""

    def __init__(self, *, api_key: str) -> None:
        self.over = False
        self._api_key = api_key
        self._started = False
        self._model = ""
        self._stop_reason: str | None = None
        self._usage: dict[str, int] = {}
        self._blocks: dict[int, _Block] = {}
        self._sources: list[Source] = []
        self._search_errors: list[str] = []

    @property
    def complete(self) -> bool:
        return self._stop_reason is not None

    @property
    def usage(self) -> Usage:
        """What has been reported until now."""
        return Usage(**self._usage)

    def take(self, data: str) -> str | None:
        """Take one event in; the text that it added, if any. Raises ModelError for an error event or nonsense."""
        if self.over:
            return None
        try:
            event = json.loads(data)
            match event.get("type"):
                case "message_start":
                    self._started = True
                    self._model = str(event["message"]["model"])
                    self._report(event["message"].get("usage"))
                case "content_block_start":
                    self._begin(event["index"], event["content_block"])
                case "content_block_delta":
                    return self._add(event["index"], event["delta"])
                case "message_delta":
                    self._stop_reason = event["delta"].get("stop_reason") or self._stop_reason
                    self._report(event.get("usage"))
                case "message_stop":
                    self.over = True
                case "error":
                    raise self._error(event["error"])
        except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
            raise ModelError("failed", "The model sent something that cannot be read.", usage=self.usage) from None
        return None

    def reply(self) -> ModelReply:
        """The whole answer. Raises ModelError if it is not whole, or nothing."""
        if not self._started:
            raise ModelError("failed", "What answered is no model: it sent nothing that can be read.", usage=self.usage)
        if self._stop_reason is None:
            raise ModelError("cut", "The answer broke off before its end.", usage=self.usage)
        last = max(self._blocks, default=None)
        blocks: list[str | ToolUse] = []
        for index, block in sorted(self._blocks.items()):
            text = "".join(block.parts)
            if block.type == "tool_use":
                blocks.append(self._tool_use(block, text, last=index == last))
            elif text.strip():
                blocks.append(text)
        if not blocks and not self._sources and not self._search_errors:
            kind: ErrorKind = "refused" if self._stop_reason == "refusal" else "empty"
            words = WORDLESS.get(self._stop_reason, "The model answered with nothing.")
            raise ModelError(kind, words, usage=self.usage)
        return ModelReply(
            blocks=tuple(blocks),
            stop_reason=self._stop_reason,
            usage=self.usage,
            model=self._model,
            sources=tuple(dict.fromkeys(self._sources)),
            search_errors=tuple(self._search_errors),
        )

    def _begin(self, index: int, block: Event) -> None:
        match block["type"]:
            case "text":
                self._blocks[index] = _Block(type="text", parts=[clean(block.get("text") or "")])
            case "tool_use":
                self._blocks[index] = _Block(
                    type="tool_use", id=clean(block["id"]), name=clean(block["name"]), given=block.get("input")
                )
            case "web_search_tool_result" if isinstance(block["content"], list):
                for found in block["content"]:
                    age = clean(found.get("page_age") or "")
                    self._sources.append(Source(title=clean(found["title"]), url=clean(found["url"]), age=age))
            case "web_search_tool_result":
                self._search_errors.append(clean(str(block["content"].get("error_code"))))

    def _add(self, index: int, delta: Event) -> str | None:
        block = self._blocks.get(index)
        if block is None:
            return None  # thinking, or the server's own search
        match delta["type"]:
            case "text_delta":
                text = clean(delta["text"])
                block.parts.append(text)
                return text or None
            case "input_json_delta":
                block.parts.append(clean(delta["partial_json"]))
        return None

    def _tool_use(self, block: _Block, raw: str, *, last: bool) -> ToolUse:
        if not raw and block.given:
            raw = clean(json.dumps(block.given, ensure_ascii=False))
        elif not raw and not (last and self._stop_reason == "max_tokens"):
            raw = "{}"  # a tool without arguments streams none
        return ToolUse(id=block.id, name=block.name, arguments=arguments_of(raw), raw=raw)

    def _report(self, usage: Event | None) -> None:
        """Counts are cumulative: a later one replaces an earlier one, and a missing one leaves it."""
        reported = usage or {}
        searches = (reported.get("server_tool_use") or {}).get("web_search_requests")
        for name, count in (
            ("input_tokens", reported.get("input_tokens")),
            ("cache_write_tokens", reported.get("cache_creation_input_tokens")),
            ("cache_read_tokens", reported.get("cache_read_input_tokens")),
            ("output_tokens", reported.get("output_tokens")),
            ("searches", searches),
        ):
            if count is not None:
                self._usage[name] = int(count)

    def _error(self, error: Event) -> ModelError:
        type, said = str(error.get("type")), said_by_server(error.get("message"), api_key=self._api_key)
        if type in BUSY_TYPES:
            return ModelError("busy", f"The model is overloaded just now. {said}".strip(), usage=self.usage)
        if type in UNAUTHORIZED_TYPES:
            return ModelError("unauthorized", f"The model does not accept the key. {said}".strip(), usage=self.usage)
        if type in REFUSED_TYPES:
            return ModelError("refused", f"The model refused the request. {said}".strip(), usage=self.usage)
        return ModelError("failed", f"The model failed in the middle of its answer. {said}".strip(), usage=self.usage)


DEPTH_MAX = 100
"""How deep lists and objects may stand in one another in a tool's arguments."""


def arguments_of(raw: str) -> dict[str, Any] | None:
    """A tool's arguments, or None if the text is no JSON object."""
    try:
        value = json.loads(raw, parse_constant=_refuse_constant, parse_float=_finite)
        if not isinstance(value, dict) or _depth(value) > DEPTH_MAX:
            return None
        cleaned: dict[str, Any] = _cleaned(value)
    except (ValueError, RecursionError):
        return None
    return cleaned


def clean(text: str) -> str:
    """Text with every character that cannot be stored replaced by U+FFFD."""
    return UNSTORABLE.sub("\ufffd", text)


def said_by_server(message: object, *, api_key: str) -> str:
    """What a server said of itself: on one line, not too long, and without the key."""
    said = clean(str(message or ""))
    words = " ".join((said.replace(api_key, "[key]") if api_key else said).split())
    return words if len(words) <= SERVER_MESSAGE_CHARACTERS else words[: SERVER_MESSAGE_CHARACTERS - 1] + "…"


def _cleaned(value: Any) -> Any:
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, dict):
        return {clean(name): _cleaned(part) for name, part in value.items()}
    return [_cleaned(part) for part in value] if isinstance(value, list) else value


def _depth(value: Any) -> int:
    """How deep lists and objects stand in one another. Raises RecursionError far past any sensible depth."""
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return 1 + max(map(_depth, parts), default=0)


def _finite(number: str) -> float:
    value = float(number)
    if math.isinf(value):
        raise ValueError(f"{number} is beyond any number that can be kept")
    return value


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is no JSON")
