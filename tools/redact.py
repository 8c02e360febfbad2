"""Secrets out of text: every whole secret, however it is spelled, becomes `[redacted NAME]`.

One rule: what is found does not depend on how the text was cut into chunks, for there is only one way through it:
`Redactor.text` is a stream that is fed once.

How it works. All sequences of `tools.spelling` are followed at once, from every position of the text. The set of
those still alive is a state, and what a byte makes of a state is remembered, so that ordinary text costs one look-up
a byte: states are lists of 257, the rows to go to and, last, the state itself. Where nothing is remembered the row is
`_UNKNOWN`, which leads only to itself; the block that ended there is read again with care. Care means to know where
each living match began. A transition that completes a secret is never remembered, so it is always met with care.
"""

import functools
from collections.abc import Iterator, Mapping
from typing import Any

import attrs

from .spelling import ESCAPE_STARTS, Sequence, meaning, sequences
from .unseen import is_gap

_LENGTH_MIN = 8  # characters; fewer are met in ordinary text, above all when white space is skipped
_DISTINCT_MIN = 5  # different characters; with fewer it is a ruler or a row of zeros
_WORD_LENGTH_MIN = 16  # characters that letters alone, or digits alone, need to be no word, date or number

_BLOCK_BYTES = 4096
_CAREFUL_BYTES = 64
_STATES_MAX = 4096  # about 8 MB of rows; then all is forgotten and learned anew

_Row = list[Any]  # 256 rows and one _State: a list of lists is the fastest table that Python has
_Place = tuple[int, int]  # a sequence, and how many of its units have been read
_Thread = tuple[frozenset[_Place], bytes]  # places reached from one start, and the part of an escape read after them
_Found = tuple[int, int, str]  # first byte, byte after the last, name

_UNKNOWN: _Row = []
_UNKNOWN.extend([_UNKNOWN] * 256)

_HIGH = bytes(range(0x80, 0x100))
_ALWAYS_ALIVE = frozenset(_HIGH) | {ord(char) for char in map(chr, range(0x80)) if is_gap(char) or char in ESCAPE_STARTS}


class SecretTooWeak(ValueError):
    """A secret cannot be told from ordinary text, so redacting it would maim answers. Names it, never shows it."""

    def __init__(self, name: str) -> None:
        super().__init__(
            f"{name} is too weak to be kept out of texts: it needs {_LENGTH_MIN} characters or more, {_DISTINCT_MIN} "
            f"of them different, and {_WORD_LENGTH_MIN} or more if they are only letters or only digits"
        )
        self.name = name


@attrs.frozen(kw_only=True, repr=False)
class _Step:
    """What a byte makes of a state: for each thread of the next one the thread it continues, and what was completed.

    A thread is named by its index; the one that began with this byte has the index after the last.
    """

    next: "_State"
    origins: tuple[int, ...]
    completed: tuple[tuple[int, str], ...]
    is_quiet: bool
    """Nothing was completed, and the threads are the old ones in their old order."""


@attrs.frozen(kw_only=True, repr=False, eq=False)
class _State:
    """The threads that are alive, oldest start first; its row; the steps that were needed with care."""

    threads: tuple[_Thread, ...]
    row: _Row
    steps: dict[int, _Step] = attrs.field(factory=dict)


class _Machine:
    """Follows all sequences through text. Learns its states as it meets them."""

    def __init__(self, known: list[Sequence]) -> None:
        self._known = known
        self._everywhere = frozenset((index, 0) for index in range(len(known)))
        self._ascii_first = frozenset((index, 0) for index, _ in self._everywhere if all(map(str.isascii, known[index].units[0])))
        self._learn_anew()

    def _learn_anew(self) -> None:
        self._states: dict[tuple[_Thread, ...], _State] = {}
        self.root = self._state(())
        for byte in range(256):
            self.step(self.root, byte)

    def _state(self, threads: tuple[_Thread, ...]) -> _State:
        """The one state of these threads. Bytes that end them all lead where they lead from the root."""
        if (state := self._states.get(threads)) is not None:
            return state
        if threads:
            row = list(self.root.row)
            for byte in self._alive(threads):
                row[byte] = _UNKNOWN
        else:
            row = [_UNKNOWN] * 257
        row[256] = state = _State(threads=threads, row=row)
        self._states[threads] = state
        return state

    def _alive(self, threads: tuple[_Thread, ...]) -> frozenset[int]:
        """The bytes with which one of the threads might go on."""
        units = {self._known[index].units[at] for places, escape in threads if not escape for index, at in places}
        going_on = {after for _, escape in threads if escape for after in _continuations(escape)}
        return _ALWAYS_ALIVE | going_on | {ord(char) for unit in units for char in unit if char < "\x80"}

    def step(self, state: _State, byte: int) -> _Step:
        """What one byte makes of a state; remembered in its row unless it completes a secret."""
        if (known := state.steps.get(byte)) is not None:
            return known
        if len(self._states) > _STATES_MAX:
            self._learn_anew()
        reached: dict[tuple[int, bytes], set[_Place]] = {}
        completed: dict[tuple[int, str], None] = {}
        for origin, (places, escape) in enumerate((*state.threads, (self._everywhere, b""))):
            for stayed, moved, rest in self._moves(places, escape, byte):
                whole = [self._known[index].name for index, at in moved if at >= self._known[index].whole]
                completed.update(((origin, name), None) for name in sorted(whole))
                going = {(index, at) for index, at in moved if at < len(self._known[index].units)}
                reached.setdefault((origin, rest), set()).update(stayed, going)
        threads, origins = self._newest(reached)
        is_quiet = not completed and origins == tuple(range(len(state.threads)))
        step = _Step(next=self._state(threads), origins=origins, completed=tuple(completed), is_quiet=is_quiet)
        state.steps[byte] = step
        if not completed:
            state.row[byte] = step.next.row
        return step

    @staticmethod
    def _newest(reached: dict[tuple[int, bytes], set[_Place]]) -> tuple[tuple[_Thread, ...], tuple[int, ...]]:
        """The threads of the next state. A place reached from two starts counts for the newer, so that nothing that
        lies further back than the oldest living start has a say in where the living ones began."""
        taken: set[tuple[_Place, bytes]] = set()
        threads: list[_Thread] = []
        origins: list[int] = []
        for origin, escape in sorted(reached, reverse=True):
            fresh = frozenset(place for place in reached[origin, escape] if (place, escape) not in taken)
            taken.update((place, escape) for place in fresh)
            if fresh:
                threads.append((fresh, escape))
                origins.append(origin)
        return tuple(reversed(threads)), tuple(reversed(origins))

    def _moves(
        self, places: frozenset[_Place], escape: bytes, byte: int
    ) -> Iterator[tuple[frozenset[_Place], frozenset[_Place], bytes]]:
        """What a byte makes of one thread: places that stayed, places that moved on, and the escape begun since."""
        nowhere: frozenset[_Place] = frozenset()
        token = escape + bytes((byte,))
        begun = token.rstrip(_HIGH)
        if letter := token[len(begun) :]:  # the UTF-8 of one letter, in the text itself or inside an escape
            if letter[0] < 0xC0:  # the end of a letter begins nothing
                return
            if len(letter) < _utf8_bytes(letter[0]):
                yield (places if begun else places - self._ascii_first), nowhere, token
            elif not begun:
                yield *self._read(places, letter.decode("utf-8", "surrogatepass")), b""
            elif is_gap(letter.decode("utf-8", "surrogatepass")):
                yield places, nowhere, begun
            return
        char = chr(byte)
        if not escape:
            yield *self._read(places, char), b""
            if char in ESCAPE_STARTS:
                yield places, nowhere, token
        elif is_gap(char):
            yield places, nowhere, escape
        else:
            says, more = meaning(token.decode())
            if says:
                yield *self._read(places, says), b""
                if says in ESCAPE_STARTS:  # escaped twice
                    yield places, nowhere, says.encode()
            if more:
                yield places, nowhere, token

    def _read(self, places: frozenset[_Place], char: str) -> tuple[frozenset[_Place], frozenset[_Place]]:
        """The places that a character leaves where they are, being a gap, and those that it moves on."""
        stayed = frozenset((index, at) for index, at in places if at) if is_gap(char) else frozenset[_Place]()
        return stayed, frozenset((index, at + 1) for index, at in places if char in self._known[index].units[at])

    def skim(self, row: _Row, data: bytes) -> _State | None:
        """The state after `data`, learning what is unknown; None if something is completed on the way."""
        for byte in data:
            if (following := row[byte]) is _UNKNOWN:
                step = self.step(row[256], byte)
                if step.completed:
                    return None
                following = step.next.row
            row = following
        state: _State = row[256]
        return state

    def follow(
        self, state: _State, starts: list[int], data: bytes, base: int
    ) -> tuple[_State, list[int], list[_Found]]:
        """Read with care: the state after `data`, where its threads began, and what was completed on the way.

        `starts` belongs to `state`; positions count bytes, and `data` begins at `base`.
        """
        found: list[_Found] = []
        for at, byte in enumerate(data, base):
            step = state.steps.get(byte) or self.step(state, byte)
            state = step.next
            if step.is_quiet:
                continue
            begun = [*starts, at]
            found += [(begun[origin], at + 1, name) for origin, name in step.completed]
            starts = [begun[origin] for origin in step.origins]
        return state, starts, found


@functools.cache
def _continuations(escape: bytes) -> frozenset[int]:
    """The ASCII bytes that may follow in an escape."""
    if escape[-1] >= 0x80:
        return frozenset()
    return frozenset(byte for byte in range(0x80) if meaning(escape.decode() + chr(byte)) != (None, False))


def _utf8_bytes(first: int) -> int:
    """How many bytes the letter has that begins with this one."""
    return 2 if first < 0xE0 else 3 if first < 0xF0 else 4


class RedactingStream:
    """Redacts text that comes in chunks. What is held back begins with the oldest match that may still be completed.

    The same chunks in other portions give the same text. Feed, and flush once at the end.
    """

    def __init__(self, machine: _Machine) -> None:
        self._machine = machine
        self._state = machine.root
        self._starts: list[int] = []
        self._found: list[_Found] = []
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
        self._state, self._starts = self._machine.root, []
        return self._settle(self._end)

    def _take(self, block: bytes) -> None:
        row = self._state.row
        for byte in block:
            row = row[byte]
        state = row[256] if row is not _UNKNOWN else self._machine.skim(self._state.row, block)
        if state is not None:
            self._starts = self._begun(block, state)
            self._state = state
            self._end += len(block)
        elif len(block) > _CAREFUL_BYTES:
            self._take(block[: len(block) // 2])
            self._take(block[len(block) // 2 :])
        else:
            self._state, self._starts, found = self._machine.follow(self._state, self._starts, block, self._end)
            self._found += found
            self._end += len(block)

    def _begun(self, block: bytes, state: _State) -> list[int]:
        """Where the threads of the state after `block` began.

        Mostly a few bytes ago: read from the root, the block's end gives the same state if nothing older lives.
        """
        if not state.threads:
            return []
        for size in (16, 128):
            if size < len(block):
                base = self._end + len(block) - size
                same, starts, _ = self._machine.follow(self._machine.root, [], block[-size:], base)
                if same.threads == state.threads:
                    return starts
        return self._machine.follow(self._state, self._starts, block, self._end)[1]

    def _settle(self, until: int) -> str:
        """Everything before `until`, redacted. A match that one still alive might join is held back with it."""
        parts: list[bytes] = []
        at = self._sent
        waiting: list[_Found] = []
        for first, end, name in _joined(self._found):
            if end > until:
                until = min(until, first)
                waiting.append((first, end, name))
                continue
            parts += (self._held[at - self._sent : first - self._sent], f"[redacted {name}]".encode())
            at = end
        parts.append(self._held[at - self._sent : until - self._sent])
        self._found = waiting
        del self._held[: until - self._sent]
        self._sent = until
        return b"".join(parts).decode("utf-8", "surrogatepass")


def _joined(found: list[_Found]) -> list[_Found]:
    """Matches in order, overlapping ones as one; it has the name of the one that begins first, the longest of these."""
    joined: list[_Found] = []
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
            if _is_weak(value.strip()):
                raise SecretTooWeak(name)
            values.setdefault(value.strip(), name)
        self._names = tuple(values.values())
        self._machine = _Machine([spelled for value, name in values.items() for spelled in sequences(name, value)])

    def __repr__(self) -> str:
        return f"<Redactor of {', '.join(self._names) or 'nothing'}>"

    def text(self, text: str) -> str:
        """The text with each whole secret in it, in whatever spelling, as `[redacted NAME]`."""
        stream = self.stream()
        return stream.feed(text) + stream.flush()

    def stream(self) -> RedactingStream:
        """A new stream for text that comes in chunks."""
        return RedactingStream(self._machine)


def _is_weak(value: str) -> bool:
    """Whether ordinary text might hold the value by chance."""
    seen = "".join(value.split())
    if len(seen) < _LENGTH_MIN or len(set(seen)) < _DISTINCT_MIN:
        return True
    return len(seen) < _WORD_LENGTH_MIN and (seen.isalpha() or seen.isdigit())
