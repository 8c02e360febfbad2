"""Secrets out of text: every whole secret, however it is spelled, becomes `[redacted NAME]`.

One rule: what comes out does not depend on how the text was cut into chunks, for there is only one way through here:
`Redactor.text` is a stream that is fed once.
"""

from collections.abc import Mapping
from typing import Any

from .matcher import UNKNOWN, Found, Matcher, State
from .spelling import sequences
from .unseen import is_gap

# What ordinary text might hold by chance is no secret. Fewer than 8 characters are met by accident, above all since
# white space is skipped; fewer than 5 different ones make a ruler or a row of zeros; letters alone may be a word and
# digits alone a date or a number, until they are 16.
_LENGTH_MIN = 8
_DISTINCT_MIN = 5
_WORD_LENGTH_MIN = 16

_BLOCK_BYTES = 4096
_CAREFUL_BYTES = 64


class SecretTooWeak(ValueError):
    """A secret cannot be told from ordinary text, so redacting it would maim answers. Names it, never shows it."""

    def __init__(self, name: str) -> None:
        super().__init__(
            f"{name} is too weak to be kept out of texts: it needs {_LENGTH_MIN} characters or more, {_DISTINCT_MIN} "
            f"of them different, and {_WORD_LENGTH_MIN} or more if they are only letters or only digits"
        )
        self.name = name


class RedactingStream:
    """Redacts text that comes in chunks. What is held back begins with the oldest match that may still be completed.

    The same chunks in other portions give the same text. Feed, and flush once at the end.
    """

    def __init__(self, matcher: Matcher) -> None:
        self._matcher = matcher
        self._state = matcher.root
        self._starts: list[int] = []
        self._found: list[Found] = []
        self._held = bytearray()
        self._sent = 0  # bytes of the stream before `_held`
        self._end = 0  # bytes of the stream that were read

    def __repr__(self) -> str:
        return f"<RedactingStream holding {len(self._held)} bytes>"

    def feed(self, chunk: str) -> str:
        """Take the next chunk in; returns what is settled, which may be nothing."""
        data = chunk.encode("utf-8", "surrogatepass")
        self._held += data
        for at in range(0, len(data), _BLOCK_BYTES):
            self._take(data[at : at + _BLOCK_BYTES])
        return self._settle(min(self._starts, default=self._end))

    def flush(self) -> str:
        """The rest, now that nothing follows."""
        self._state, self._starts = self._matcher.root, []
        return self._settle(self._end)

    def _take(self, block: bytes) -> None:
        row = self._state.row
        for byte in block:
            row = row[byte]
        state = row[256] if row is not UNKNOWN else self._matcher.skim(self._state.row, block)
        if state is not None:
            self._starts = self._begun(block, state)
            self._state = state
            self._end += len(block)
        elif len(block) > _CAREFUL_BYTES:
            self._take(block[: len(block) // 2])
            self._take(block[len(block) // 2 :])
        else:
            self._state, self._starts, found = self._matcher.follow(self._state, self._starts, block, self._end)
            self._found += found
            self._end += len(block)

    def _begun(self, block: bytes, state: State) -> list[int]:
        """Where the threads of the state after `block` began.

        Mostly a few bytes ago: read from the root, the block's end gives the same state if nothing older lives.
        """
        if not state.threads:
            return []
        for size in (16, 128):
            if size < len(block):
                base = self._end + len(block) - size
                same, starts, _ = self._matcher.follow(self._matcher.root, [], block[-size:], base)
                if same.threads == state.threads:
                    return starts
        return self._matcher.follow(self._state, self._starts, block, self._end)[1]

    def _settle(self, until: int) -> str:
        """Everything before `until`, redacted. A match that one still alive might join is held back with it."""
        parts: list[bytes | bytearray] = []
        at = self._sent
        for first, end, name in _joined(self._found):
            if end > until:
                until = min(until, first)
                break
            parts += (self._held[at - self._sent : first - self._sent], f"[redacted {name}]".encode())
            at = end
        parts.append(self._held[at - self._sent : until - self._sent])
        self._found = [match for match in self._found if match[0] >= until]
        del self._held[: until - self._sent]
        self._sent = until
        return b"".join(parts).decode("utf-8", "surrogatepass")


def _joined(found: list[Found]) -> list[Found]:
    """Matches in order, overlapping ones as one; it has the name of the one that begins first, the longest of these."""
    joined: list[Found] = []
    for first, end, name in sorted(found, key=lambda match: (match[0], -match[1])):
        if joined and first < joined[-1][1]:
            begun, until, kept = joined[-1]
            joined[-1] = (begun, max(until, end), kept)
        else:
            joined.append((first, end, name))
    return joined


class Redactor:
    """Knows the secrets by name, and takes them out of text.

    Raises SecretTooWeak for a value that ordinary text might hold by chance. White space around a value does not
    count as part of it. Two names of one value: the first is shown. Without secrets nothing is changed.
    """

    def __init__(self, secrets: Mapping[str, str]) -> None:
        values: dict[str, str] = {}
        for name, value in secrets.items():
            seen = _without_edges(value)
            if is_weak(seen):
                raise SecretTooWeak(name)
            values.setdefault(seen, name)
        self._names = tuple(values.values())
        self._matcher = Matcher([spelled for value, name in values.items() for spelled in sequences(name, value)])

    def __repr__(self) -> str:
        return f"<Redactor of {', '.join(self._names) or 'nothing'}>"

    def text(self, text: str) -> str:
        """The text with each whole secret in it, in whatever spelling, as `[redacted NAME]`."""
        if self._matcher.passes(text.encode("utf-8", "surrogatepass")):
            return text
        stream = self.stream()
        return stream.feed(text) + stream.flush()

    def value(self, value: Any) -> Any:
        """A JSON value with each of its texts redacted by itself, so that it stays one whatever is taken out of it."""
        match value:
            case str():
                return self.text(value)
            case list():
                return [self.value(each) for each in value]
            case dict():
                return {self.text(name): self.value(each) for name, each in value.items()}
        return value

    def stream(self) -> RedactingStream:
        """A new stream for text that comes in chunks."""
        return RedactingStream(self._matcher)


def _without_edges(value: str) -> str:
    """The value from its first character that is read to its last one: a file's newline or byte order mark is not."""
    read = [at for at, char in enumerate(value) if not is_gap(char)]
    return value[read[0] : read[-1] + 1] if read else ""


def is_weak(value: str) -> bool:
    """Whether ordinary text might hold the value by chance."""
    seen = "".join(char for char in value if not is_gap(char))
    if len(seen) < _LENGTH_MIN or len(set(seen)) < _DISTINCT_MIN:
        return True
    return len(seen) < _WORD_LENGTH_MIN and (seen.isalpha() or seen.isdigit())
