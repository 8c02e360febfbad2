"""The five-minute prompt cache of the Messages API, at byte level, with a clock that tests move by hand.

One rule: a prefix counts as the same only if every byte before the marker is the same, markers themselves left out.
What the provider's guide says is kept: the order is tools, system, messages; an entry is written at each marker;
a marker also finds entries up to 20 blocks before it; being read renews an entry; a prefix below the minimum is
not cached; another model, or thinking set otherwise, is another cache.
"""

import hashlib
from collections.abc import Iterator

import attrs
import msgspec

from tests.messages_api.replies import Json

LIFETIME_SECONDS = 300.0
LOOKBACK_BLOCKS = 20
BYTES_PER_TOKEN = 4


def tokens(data: bytes) -> int:
    """Four bytes a token, rounded up: near enough, and the same every time."""
    return -(-len(data) // BYTES_PER_TOKEN)


class Clock:
    """Seconds that pass only when a test says so."""

    def __init__(self) -> None:
        self.now = 0.0

    def advance(self, seconds: float) -> None:
        self.now += seconds


@attrs.frozen(kw_only=True)
class Counted:
    """The tokens of one prompt: read from the cache, written to it, and neither."""

    read: int
    written: int
    fresh: int


class PromptCache:
    def __init__(self, clock: Clock, min_tokens: int) -> None:
        self.min_tokens = min_tokens
        self._clock = clock
        self._used_at: dict[bytes, float] = {}

    def count(self, request: Json) -> Counted:
        """Look the prompt up, write its marked prefixes, and say what each token was."""
        hash, size, prefixes, marks = hashlib.sha256(), 0, [], []
        for data, marked in prompt_blocks(request):
            hash.update(data + b"\0")
            size += len(data)
            prefixes.append((hash.digest(), -(-size // BYTES_PER_TOKEN)))
            if marked:
                marks.append(len(prefixes) - 1)
        read = max((self._found(prefixes, mark) for mark in marks), default=0)
        cached = 0
        for mark in marks:
            key, length = prefixes[mark]
            if length >= self.min_tokens:
                self._used_at[key] = self._clock.now
                cached = max(cached, length)
        total = prefixes[-1][1] if prefixes else 0
        written = max(0, cached - read)
        return Counted(read=read, written=written, fresh=total - read - written)

    def _found(self, prefixes: list[tuple[bytes, int]], mark: int) -> int:
        """The longest live entry at this marker or up to 20 blocks before it, in tokens. Finding renews it."""
        for key, length in reversed(prefixes[max(0, mark - LOOKBACK_BLOCKS) : mark + 1]):
            used_at = self._used_at.get(key)
            if used_at is not None and self._clock.now - used_at < LIFETIME_SECONDS:
                self._used_at[key] = self._clock.now
                return length
        return 0


def prompt_blocks(request: Json) -> Iterator[tuple[bytes, bool]]:
    """The prompt, block by block as it is rendered, and whether a marker stands on the block.

    What is no block of its own (the model, thinking, a change of speaker) counts to the block that follows it, so
    two user messages in a row read as one, as they do to the model.
    """
    before = _bytes({"model": request.get("model")})
    for tool in request.get("tools") or []:
        yield _block(tool, before)
        before = b""
    system = request.get("system") or []
    for block in as_blocks(system):
        yield _block(block, before)
        before = b""
    before += _bytes({"thinking": request.get("thinking")})
    role = None
    for message in request["messages"]:
        if message["role"] != role:
            role = message["role"]
            before += _bytes({"role": role})
        for block in as_blocks(message["content"]):
            yield _block(block, before)
            before = b""


def as_blocks(content: str | list[Json]) -> list[Json]:
    """Content as blocks: a str is shorthand for one text block."""
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def _block(block: Json, before: bytes) -> tuple[bytes, bool]:
    bare = {name: value for name, value in block.items() if name != "cache_control"}
    return before + _bytes(bare), block.get("cache_control") is not None


def _bytes(value: Json) -> bytes:
    """JSON in the order the fields came in: a client that shuffles them is caught."""
    return msgspec.json.encode(value)
