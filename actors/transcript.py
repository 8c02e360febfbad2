"""The transcript in memory: a mirror of committed rows, and the request that follows from it.

One rule: it is only ever what the database holds. When a step fails it is thrown away and read again.
"""

import re
from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Any

import attrs

from storage.calls import tool_use_id
from storage.conversations import Loaded
from storage.records import Call, Conversation, Entry, Run
from storage.text import loads
from tools.model import Block
from tools.outside import Source, described, source_of
from tools.private import texts_of
from tools.taint import join

_TIME_LINE = re.compile(r"\[\d{4}-\d\d-\d\d \w+ \d\d:\d\d [\w/+-]+\]")
"""The house's own line in a message, which tells a model the time."""


@attrs.define
class _Shown:
    """An entry with its parsed blocks, so that a turn doesn't parse the whole history again."""

    entry: Entry
    message: Block
    size_bytes: int


@attrs.frozen(kw_only=True)
class Mark:
    """How far a transcript had come."""

    shown: int
    last_seq: int
    label: int
    asked: tuple[int, int, int, int]


class Transcript:
    """One conversation as its requests see it, and its open run."""

    def __init__(self, loaded: Loaded) -> None:
        self.conversation: Conversation = loaded.conversation
        self.run: Run | None = loaded.run
        self.last_seq = loaded.last_seq
        self.label = 0
        """The label of a request made now: the highest in it."""
        self.refused_bytes: int | None = None
        """The size of a request that the model found too long, if it did."""
        self._shown: list[_Shown] = []
        self._calls: dict[tuple[int, int], list[Call]] = {}
        for call in loaded.calls:
            self._calls.setdefault((call.run, call.turn), []).append(call)
        for entry in loaded.entries:
            self._append(entry)
        self._begin_anew()

    # -- changing it, after a commit

    def add(self, entries: Iterable[Entry]) -> None:
        """Append committed entries."""
        for entry in entries:
            self._append(entry)
            self.last_seq = entry.seq
            self.label = join((self.label, entry.label))

    def begin(self, calls: Iterable[Call]) -> None:
        """Take in the calls of the reply that was added last."""
        for call in calls:
            self._calls.setdefault((call.run, call.turn), []).append(call)

    def finish(self, call: Call) -> None:
        """Put a call with a result in the place of the unfinished one."""
        calls = self._calls[(call.run, call.turn)]
        calls[call.position] = call
        self.label = join((self.label, call.label))

    def mark(self) -> "Mark":
        """Where it stands, for `back_to` if what is added now is not committed after all."""
        return Mark(
            shown=len(self._shown),
            last_seq=self.last_seq,
            label=self.label,
            asked=(len(self._asked), self._asked_bytes, self._asked_entries, self._asked_before),
        )

    def back_to(self, mark: "Mark") -> None:
        """Take back the entries and calls that were added since."""
        for shown in self._shown[mark.shown :]:
            if shown.entry.run is not None and shown.entry.turn is not None:
                self._calls.pop((shown.entry.run, shown.entry.turn), None)
        del self._shown[mark.shown :]
        self.last_seq, self.label = mark.last_seq, mark.label
        count, self._asked_bytes, self._asked_entries, self._asked_before = mark.asked
        del self._asked[count:]

    def start_fresh(self, seq: int) -> None:
        """Later requests hold nothing below `seq`."""
        self.conversation = attrs.evolve(self.conversation, fresh_from=seq)
        self._shown = [shown for shown in self._shown if shown.entry.seq >= seq]
        self._begin_anew()

    def sum_up(self, summary: Entry) -> None:
        """Put a committed summary in the place of what it covers."""
        assert summary.covers_to is not None
        kept = [shown for shown in self._shown if self._stays(shown.entry, summary)]
        at = sum(shown.entry.seq <= summary.covers_to for shown in kept)
        self._shown = kept
        self._append(summary)
        self._shown.insert(at, self._shown.pop())
        self.last_seq = summary.seq
        self._begin_anew()

    def _stays(self, entry: Entry, summary: Entry) -> bool:
        assert summary.covers_to is not None
        if entry.kind == "summary":
            return False
        kept = summary.keeps_from is not None and entry.seq >= summary.keeps_from and self.was_said(entry)
        return entry.seq > summary.covers_to or kept

    def _begin_anew(self) -> None:
        """Reckon from all that is shown what is kept up from then on, so that no turn goes through the history again.

        What was asked once is asked the same way for ever, so `_asked` only grows.
        """
        self._asked: list[Block] = []
        self._asked_bytes = self._asked_entries = self._asked_before = 0
        self.label = join(
            label
            for shown in self._shown
            for label in (shown.entry.label, *(call.label for call in self._calls_of(shown.entry)))
        )

    # -- asking it

    def knows(self, call: Call) -> bool:
        """Whether it holds this call, in whatever state."""
        return call.position < len(self._calls.get((call.run, call.turn), ()))

    def unfinished(self, *states: str) -> list[Call]:
        """The calls of the open run's newest turn that have no result yet, all or those in some states.

        Turn 0 is what a run does before the model is asked: what a late yes set going.
        """
        if self.run is None:
            return []
        calls = self._calls.get((self.run.id, self.run.turn), [])
        return [call for call in calls if call.result is None and (not states or call.state in states)]

    @property
    def last(self) -> Entry | None:
        """The newest entry that a request made now would hold."""
        return self._shown[-1].entry if self._shown else None

    # -- how long it is

    def parts(self) -> list[tuple[Entry, int]]:
        """The entries of a request made now in their order, each with its size in bytes, its calls' results included.

        Every call must have a result.
        """
        return [
            (
                shown.entry,
                shown.size_bytes + sum(len((call.result or "").encode()) for call in self._calls_of(shown.entry)),
            )
            for shown in self._shown
        ]

    @property
    def size_bytes(self) -> int:
        """The size of its messages, as they were when they were asked for last."""
        return self._asked_bytes

    @property
    def covered_to(self) -> int:
        """Up to which seq a summary stands for what was, 0 if there is none."""
        return next((shown.entry.covers_to or 0 for shown in self._shown if shown.entry.kind == "summary"), 0)

    def was_said(self, entry: Entry) -> bool:
        """Whether somebody whom the agent answers said it: the owner; where he has no part in it, whoever asked."""
        asked = entry.source == "owner" or (entry.source == "outside" and self.conversation.kind != "home")
        return entry.kind == "message" and asked

    # -- what the gate asks

    @property
    def _newest_owner(self) -> Entry | None:
        return next((shown.entry for shown in reversed(self._shown) if shown.entry.source == "owner"), None)

    @property
    def seen_no(self) -> int:
        """The newest commit that the owner had seen when he wrote his newest message here, 0 if there is none."""
        newest = self._newest_owner
        return newest.seen_no or 0 if newest is not None else 0

    @property
    def newest_owner_text(self) -> str:
        """What the owner said last."""
        newest = self._newest_owner
        return "" if newest is None else "\n".join(block["text"] for block in loads(newest.shown))

    def own_texts(self, tool: str, *, derived: bool) -> Iterator[str]:
        """What may be the owner's own in a request made now, but for his newest message.

        `derived`: only what the model wrote while text from outside was about, else all but that. What went out through
        `tool` already is left out, for it is where it would go again; what was private in it stands elsewhere too.
        """
        newest = self._newest_owner
        for shown in self._shown:
            entry, calls = shown.entry, self._calls_of(shown.entry)
            if entry is not newest and derived == (entry.kind == "reply" and entry.label > 0):
                yield from (text for text, foreign in _entry_texts(shown) if not foreign)
                for call in calls:
                    if call.tool != tool or call.failed is not False:
                        yield from texts_of(_arguments(call))
            for call in calls if not derived else ():
                yield from (text for text, foreign in _result_texts(call) if not foreign)

    def foreign_texts(self) -> Iterator[str]:
        """What others wrote in a request made now, and nobody who may have repeated the owner."""
        for shown in self._shown:
            yield from (text for text, foreign in _entry_texts(shown) if foreign)
            for call in self._calls_of(shown.entry):
                yield from (text for text, foreign in _result_texts(call) if foreign)

    def outside_sources(self, above: int) -> Iterator[dict[str, str]]:
        """Which texts from outside with a label above a number a request made now holds: what, whence and when."""
        for shown in self._shown:
            entry = shown.entry
            if (entry.source == "outside" or entry.kind == "summary") and entry.label > above:
                yield from _sources([block["text"] for block in shown.message["content"]], entry.at)
            for call in self._calls_of(entry):
                if call.label > above and call.result is not None and call.finished_at is not None:
                    content = loads(call.result)["content"]
                    yield from _sources([content[at]["text"] for at in _outside_parts(call)], call.finished_at)

    # -- what a model is asked

    def messages(self) -> tuple[tuple[Block, ...], int, int]:
        """The messages of a request made now, how many of them the request before had, and their size in bytes.

        Every call must have a result.
        """
        for shown in self._shown[self._asked_entries :]:
            if shown.entry.kind == "reply":
                self._asked_before = len(self._asked)
            self._ask(shown.message, shown.size_bytes)
            if calls := self._calls_of(shown.entry):
                self._ask(*_results_of(calls))
        self._asked_entries = len(self._shown)
        return tuple(self._asked), self._asked_before, self._asked_bytes

    def _ask(self, message: Block, size_bytes: int) -> None:
        self._asked.append(message)
        self._asked_bytes += size_bytes

    def _append(self, entry: Entry) -> None:
        role = "assistant" if entry.kind == "reply" else "user"
        message = {"role": role, "content": loads(entry.shown)}
        self._shown.append(_Shown(entry, message, len(entry.shown.encode())))

    def _calls_of(self, entry: Entry) -> list[Call]:
        """The calls that an entry asked for, or, if it is an outcome, that it set going."""
        if entry.run is None or entry.turn is None:
            return []
        return self._calls.get((entry.run, entry.turn), [])


def _results_of(calls: list[Call]) -> tuple[Block, int]:
    """The message that gives calls their results, and its size in bytes."""
    texts = [call.result for call in calls if call.result is not None]
    assert len(texts) == len(calls), "a request was built while a call was unfinished"
    results = [loads(text) for text in texts]
    if calls[0].turn == 0:  # no tool use asked for it: its result is shown as it is
        results = [block for result in results for block in result["content"]]
    return {"role": "user", "content": results}, sum(len(text.encode()) for text in texts)


def _arguments(call: Call) -> Any:
    try:
        return loads(call.arguments)
    except ValueError:
        return call.arguments


def _entry_texts(shown: _Shown) -> Iterator[tuple[str, bool]]:
    """The texts of an entry, without the time it tells, and whether each is foreign."""
    outside = shown.entry.source == "outside" and shown.entry.label > 0
    for block in shown.message["content"]:
        if block["type"] == "text" and _TIME_LINE.fullmatch(block["text"]) is None:
            yield block["text"], outside and _is_foreign(block["text"])


def _result_texts(call: Call) -> Iterator[tuple[str, bool]]:
    """The texts of a call's result, and whether each is foreign. What a tool tells of jobs is how he has set them."""
    outside = _outside_parts(call)
    for at, block in enumerate(loads(call.result)["content"] if call.result is not None else ()):
        yield block["text"], at in outside and source_of(block["text"]) is not Source.JOB and _is_foreign(block["text"])


def _is_foreign(text: str) -> bool:
    """Whether a block from outside is others' text. A remark of the house, as to how a worker ended, is not."""
    source = source_of(text)
    return source is not None and not source.may_be_his


def _outside_parts(call: Call) -> list[int]:
    parts: list[int] = loads(call.outside) if call.outside is not None else []
    return parts


def _sources(texts: list[str], at: datetime) -> Iterator[dict[str, str]]:
    """Each block of outside text that opens with our remark, once."""
    for what, origin in dict.fromkeys(found for text in texts if (found := described(text)) is not None):
        yield {"what": what, "origin": origin, "at": at.isoformat()}


def use_block(run: int, turn: int, position: int, name: str, arguments: dict[str, object]) -> Block:
    """The tool_use block of a call, under our own id."""
    return {
        "type": "tool_use",
        "id": tool_use_id(run, turn, position),
        "name": name,
        "input": arguments,
    }
