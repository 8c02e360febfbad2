"""Finds every spelling of every secret in one pass over text.

One rule: what is found depends on the bytes alone, never on where reading stopped and went on.

All sequences of `tools.spelling` are followed at once, from every position. The set of those still alive is a state,
and what a byte makes of a state is remembered, so that ordinary text costs one look-up a byte: a row is a list of
257, the rows that the bytes lead to and, last, the state itself. Where nothing is remembered stands `UNKNOWN`, a row
that leads only to itself. A byte that completes a secret is never remembered in a row, so it is always read with
care, and care means to know where each living match began.
"""

import functools
from collections.abc import Iterator
from typing import Any

import attrs

from .spelling import ESCAPE_STARTS, Sequence, meaning
from .unseen import is_gap

_STATES_MAX = 4096  # about 8 MB of rows; past that all is forgotten and learned anew

Row = list[Any]  # 256 rows and one State: a list of lists is the fastest table that Python has
Found = tuple[int, int, str]  # first byte, byte after the last, name of the secret
_Place = tuple[int, int]  # a sequence, and how many of its units have been read
_Escapes = tuple[str, ...]  # escapes that have begun, each inside the one before it, as far as they were read
_Thread = tuple[frozenset[_Place], _Escapes]  # places reached from one start, and the escapes begun after them
_Move = tuple[frozenset[_Place], frozenset[_Place], _Escapes]  # places that stayed, places that moved on, escapes

_NESTED_MAX = 2  # an escaped escape is read in all its parts
_NOWHERE: frozenset[_Place] = frozenset()

UNKNOWN: Row = []
UNKNOWN.extend([UNKNOWN] * 256)

_SEPARATING = {byte for byte in range(0x80) if is_gap(chr(byte)) or chr(byte) in ESCAPE_STARTS}
_ALWAYS_ALIVE = frozenset(range(0x80, 0x100)) | _SEPARATING


@attrs.frozen(kw_only=True, repr=False)
class Step:
    """What a byte makes of a state: for each thread of the next one the thread it continues, and what was completed.

    A thread is named by its index; the one that began with this byte has the index after the last.
    """

    next: "State"
    origins: tuple[int, ...]
    completed: tuple[tuple[int, str], ...]
    is_quiet: bool
    """Nothing was completed, and the threads are the old ones in their old order."""


@attrs.frozen(kw_only=True, repr=False, eq=False)
class State:
    """The threads that are alive, oldest start first; its row; the steps that were needed with care."""

    threads: tuple[_Thread, ...]
    row: Row = attrs.field(factory=list)
    steps: dict[int, Step] = attrs.field(factory=dict)


class Matcher:
    """Follows all sequences through text. Learns its states as it meets them."""

    def __init__(self, known: list[Sequence]) -> None:
        self._known = known
        self._everywhere = frozenset((index, 0) for index in range(len(known)))
        in_ascii = {index for index, sequence in enumerate(known) if all(char < "\x80" for char in sequence.units[0])}
        self._ascii_first = frozenset((index, 0) for index in in_ascii)
        self._learn_anew()

    def passes(self, data: bytes) -> bool:
        """Whether a whole text surely holds nothing, as far as is known without care: most do."""
        row = self.root.row
        for byte in data:
            row = row[byte]
        return row is not UNKNOWN

    def _learn_anew(self) -> None:
        self._states: dict[tuple[_Thread, ...], State] = {}
        self.root = self._state(())
        for byte in range(256):
            self.step(self.root, byte)
        for threads, state in self._states.items():  # they were made while the root's row was still being filled
            if threads:
                state.row[:] = self._row(threads, state)

    def _state(self, threads: tuple[_Thread, ...]) -> State:
        """The one state of these threads."""
        if (state := self._states.get(threads)) is not None:
            return state
        self._states[threads] = state = State(threads=threads)
        state.row[:] = self._row(threads, state)
        return state

    def _row(self, threads: tuple[_Thread, ...], state: State) -> Row:
        """A row to begin with: bytes that end all threads lead where they lead from the root."""
        if not threads:
            return [*UNKNOWN, state]
        row: Row = [*self.root.row[:256], state]
        for byte in self._alive(threads):
            row[byte] = UNKNOWN
        return row

    def _alive(self, threads: tuple[_Thread, ...]) -> frozenset[int]:
        """The bytes with which one of the threads might go on."""
        units = {self._known[index].units[at] for places, escapes in threads if not escapes for index, at in places}
        going_on = {after for _, escapes in threads if escapes for after in _continuations(escapes[-1])}
        return _ALWAYS_ALIVE | going_on | {ord(char) for unit in units for char in unit if char < "\x80"}

    def step(self, state: State, byte: int) -> Step:
        """What one byte makes of a state; remembered in its row unless it completes a secret."""
        if (known := state.steps.get(byte)) is not None:
            return known
        if len(self._states) > _STATES_MAX:
            self._learn_anew()
        reached: dict[tuple[int, _Escapes], set[_Place]] = {}
        completed: dict[tuple[int, str], None] = {}
        for origin, (places, escapes) in enumerate((*state.threads, (self._everywhere, ()))):
            for stayed, moved, rest in self._moves(places, escapes, byte):
                whole = [self._known[index].name for index, at in moved if at >= self._known[index].whole]
                completed.update(((origin, name), None) for name in sorted(whole))
                going = {(index, at) for index, at in moved if at < len(self._known[index].units)}
                reached.setdefault((origin, rest), set()).update(stayed, going)
        threads, origins = self._newest(reached)
        is_quiet = not completed and origins == tuple(range(len(state.threads)))
        step = Step(next=self._state(threads), origins=origins, completed=tuple(completed), is_quiet=is_quiet)
        state.steps[byte] = step
        if not completed:
            state.row[byte] = step.next.row
        return step

    @staticmethod
    def _newest(reached: dict[tuple[int, _Escapes], set[_Place]]) -> tuple[tuple[_Thread, ...], tuple[int, ...]]:
        """The threads of the next state. A place reached from two starts counts for the newer, so that nothing that
        lies further back than the oldest living start has a say in where the living ones began."""
        taken: set[tuple[_Place, _Escapes]] = set()
        threads: list[_Thread] = []
        origins: list[int] = []
        for origin, escapes in sorted(reached, reverse=True):
            fresh = frozenset(place for place in reached[origin, escapes] if (place, escapes) not in taken)
            taken.update((place, escapes) for place in fresh)
            if fresh:
                threads.append((fresh, escapes))
                origins.append(origin)
        return tuple(reversed(threads)), tuple(reversed(origins))

    def _moves(self, places: frozenset[_Place], escapes: _Escapes, byte: int) -> Iterator[_Move]:
        """What a byte makes of one thread. The UTF-8 of a letter is read as if it were an escape of it."""
        letter = escapes[-1] if escapes and escapes[-1] >= "\x80" else ""
        if byte < 0x80:
            yield from self._feed(places, escapes, chr(byte))
        elif not letter and byte < 0xC0:
            return  # the end of a letter begins nothing
        elif len(letter) + 1 < _utf8_bytes(letter + chr(byte)):
            held = escapes[:-1] if letter else escapes
            yield (places if held else places - self._ascii_first), _NOWHERE, (*held, letter + chr(byte))
        else:
            whole = (letter + chr(byte)).encode("latin-1").decode("utf-8", "surrogatepass")
            yield from self._feed(places, escapes[:-1], whole)

    def _feed(self, places: frozenset[_Place], escapes: _Escapes, char: str) -> Iterator[_Move]:
        """What a character makes of one thread, be it of the text itself or what an escape in it meant.

        It goes on with the innermost escape, or begins one inside it, since escapes may be escaped again.
        """
        if char in ESCAPE_STARTS and len(escapes) < _NESTED_MAX:
            yield places, _NOWHERE, (*escapes, char)
        if not escapes:
            stayed = frozenset((index, at) for index, at in places if at) if is_gap(char) else _NOWHERE
            yield stayed, frozenset((index, at + 1) for index, at in places if char in self._known[index].units[at]), ()
        elif is_gap(char):
            yield places, _NOWHERE, escapes
        else:
            says, more = meaning(escapes[-1] + char)
            if says:
                yield from self._feed(places, escapes[:-1], says)
            if more:
                yield places, _NOWHERE, (*escapes[:-1], escapes[-1] + char)

    def skim(self, row: Row, data: bytes) -> State | None:
        """The state after `data`, learning what is unknown; None if something is completed on the way."""
        for byte in data:
            if (following := row[byte]) is UNKNOWN:
                step = self.step(row[256], byte)
                if step.completed:
                    return None
                following = step.next.row
            row = following
        state: State = row[256]
        return state

    def follow(self, state: State, starts: list[int], data: bytes, base: int) -> tuple[State, list[int], list[Found]]:
        """Read with care: the state after `data`, where its threads began, and what was completed on the way.

        `starts` belongs to `state`; positions count bytes, and `data` begins at `base`.
        """
        found: list[Found] = []
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
def _continuations(escape: str) -> frozenset[int]:
    """The ASCII bytes that may follow in an escape."""
    if escape >= "\x80":
        return frozenset()
    return frozenset(byte for byte in range(0x80) if meaning(escape + chr(byte)) != (None, False))


def _utf8_bytes(letter: str) -> int:
    """How many bytes the letter has that begins with these, here as characters."""
    return 2 if letter < "\xe0" else 3 if letter < "\xf0" else 4
