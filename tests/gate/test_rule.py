"""The gate's table of cases, and what must hold of any conversation, however it comes about."""

from collections.abc import Iterable
from typing import Any

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from actors.transcript import Transcript
from actors.window import summary_of, to_cover
from storage.conversations import Loaded
from storage.records import Conversation, Entry, Run
from storage.text import dumps
from tests.hand_clock import HandClock
from tools.limits import Limits
from tools.redact import Redactor
from tools.taint import Held, Mode, Rule, gate, join, seen

NOW = HandClock().now()
RUN = Run(
    id=9, conversation=1, act="message:1", hops=0, asked_by=None, state="open", turn=0, attempt=0, retries=0, asked=0,
    retry_at=None, reason=None, opened_at=NOW, closed_at=None, no=1,
)  # fmt: skip
DEFAULT, STRICT = Mode.SINCE_MESSAGE, Mode.STRICT
FRESH = Held(rule=Rule.FRESH)


def decided(label: int, seen_no: int, mode: Mode = DEFAULT, private: str | None = None) -> Held | None:
    return gate(label=label, seen_no=seen_no, mode=mode, private=lambda: private)


@pytest.mark.parametrize(
    ("what", "label", "seen_no", "mode", "private", "held"),
    [
        ("nothing from outside", 0, 0, DEFAULT, None, None),
        ("nothing from outside, private text", 0, 0, DEFAULT, "4711", None),
        ("nothing from outside, strict", 0, 0, STRICT, "4711", None),
        ("nothing from outside, seen much", 0, 99, STRICT, None, None),
        ("he never wrote", 1, 0, DEFAULT, None, FRESH),
        ("it came in since", 8, 7, DEFAULT, None, FRESH),
        ("it came in since, private text", 8, 7, DEFAULT, "4711", FRESH),
        ("it came in since, strict", 8, 7, STRICT, None, FRESH),
        ("it came in with what he saw last", 7, 7, DEFAULT, None, None),
        ("he had seen it", 7, 9, DEFAULT, None, None),
        ("he had seen it, private text", 7, 9, DEFAULT, "4711", Held(rule=Rule.PRIVATE, found="4711")),
        ("he had seen it, strict", 7, 9, STRICT, None, Held(rule=Rule.STRICT)),
        ("he had seen it, strict, private text", 7, 9, STRICT, "4711", Held(rule=Rule.STRICT)),
    ],
)
def test_the_gate_holds_what_it_must_and_nothing_else(
    what: str, label: int, seen_no: int, mode: Mode, private: str | None, held: Held | None
) -> None:
    assert decided(label, seen_no, mode, private) == held


@pytest.mark.parametrize(
    ("claimed", "accepted", "counts"),
    [(0, 9, 0), (5, 9, 5), (8, 9, 8), (9, 9, 8), (10**18, 9, 8), (-3, 9, 0), (5, 0, 0)],
)
def test_a_client_can_have_shown_nothing_that_came_with_the_message_or_later(
    claimed: int, accepted: int, counts: int
) -> None:
    assert seen(claimed, accepted) == counts


@given(st.integers(0, 99), st.integers(0, 99), st.sampled_from(Mode), st.sampled_from([None, "4711"]))
def test_more_from_outside_never_asks_less(label: int, seen_no: int, mode: Mode, private: str | None) -> None:
    if decided(label, seen_no, mode, private) is not None:
        assert decided(label + 1, seen_no, mode, private) is not None
    if decided(label, seen_no, DEFAULT, private) is not None:
        assert decided(label, seen_no, STRICT, private) is not None


# -- conversations: each event is a commit; labels and what was seen are numbers of commits


@attrs.frozen
class Said:
    """The owner writes; his client has shown him all but the newest `behind` commits, or claims to."""

    behind: int


@attrs.frozen
class Came:
    """Text from outside comes in."""


@attrs.frozen
class Replied:
    """The model writes."""


EVENTS = st.lists(
    st.one_of(st.builds(Said, st.integers(-5, 6)), st.just(Came()), st.just(Replied())), min_size=1, max_size=20
)


def entries_of(events: Iterable[Any]) -> list[Entry]:
    """The entries that events make, as the house makes them."""
    made: list[Entry] = []
    for no, event in enumerate(events, 1):
        source, label, seen_no = "owner", 0, None
        match event:
            case Said(behind=behind):
                seen_no = seen(no - 1 - behind, no)
            case Came():
                source, label = "outside", no
            case Replied():
                source, label = "model", join(entry.label for entry in made)
        made.append(entry(no, source, label, seen_no))
    return made


def entry(seq: int, source: str, label: int, seen_no: int | None, kind: str = "message") -> Entry:
    return Entry(
        conversation=1, seq=seq, run=None, turn=None, kind="reply" if source == "model" else kind, source=source,
        shown=dumps([{"type": "text", "text": f"text {seq}"}]), label=label, message=None, covers_to=None, cut=None,
        at=NOW, no=seq, seen_no=seen_no,
    )  # fmt: skip


def loaded(entries: list[Entry]) -> Transcript:
    """The transcript as it is read after a restart."""
    head = Conversation(id=1, agent="dreamwalker", kind="home", made_by="home", fresh_from=1, made_at=NOW, no=1)
    return Transcript(
        Loaded(
            conversation=head, entries=tuple(entries), calls=(), run=None, last_seq=entries[-1].seq if entries else 0
        )
    )


def held(transcript: Transcript, mode: Mode = DEFAULT) -> Held | None:
    return decided(transcript.label, transcript.seen_no, mode)


@given(EVENTS, st.sampled_from(Mode))
def test_a_transcript_that_grew_and_one_read_after_a_restart_are_judged_alike(events: list[Any], mode: Mode) -> None:
    grown = loaded([])
    for each in entries_of(events):
        grown.add([each])
    assert held(grown, mode) == held(loaded(entries_of(events)), mode)


@given(EVENTS)
def test_what_came_in_after_his_newest_message_is_fresh_whatever_the_order(events: list[Any]) -> None:
    transcript = loaded(entries_of(events))
    newest = max((at for at, event in enumerate(events) if isinstance(event, Said)), default=-1)
    if any(isinstance(event, Came) for event in events[newest + 1 :]):
        assert held(transcript) == FRESH


@given(EVENTS)
def test_only_what_his_client_had_shown_is_ever_seen(events: list[Any]) -> None:
    said = [(no, event.behind) for no, event in enumerate(events, 1) if isinstance(event, Said)]
    came = [no for no, event in enumerate(events, 1) if isinstance(event, Came)]
    expected = FRESH if came and (not said or came[-1] > max(said[-1][0] - 1 - max(said[-1][1], 0), 0)) else None
    assert held(loaded(entries_of(events))) == expected


@given(EVENTS, EVENTS)
def test_a_fork_from_before_the_outside_text_is_clean(before: list[Any], after: list[Any]) -> None:
    clean = [event for event in before if not isinstance(event, Came)]
    made = entries_of([*clean, *after])
    fork = loaded(made[: len(clean)])
    assert held(fork, STRICT) is None and fork.label == 0


@given(EVENTS, st.integers(0, 20), st.sampled_from(Mode))
def test_a_summary_in_the_place_of_older_entries_changes_no_answer(events: list[Any], upto: int, mode: Mode) -> None:
    made = entries_of(events)
    owners = [at for at, each in enumerate(made) if each.source == "owner"]
    covered = min(upto, owners[-1] if owners else len(made))  # his newest words stay as they are
    if covered == 0:
        return
    label = join(each.label for each in made[:covered])
    summary = entry(covered, "house", label, None, "summary")
    assert held(loaded([summary, *made[covered:]]), mode) == held(loaded(made), mode)


@given(EVENTS, EVENTS, st.integers(0, 200), st.integers(0, 200), st.sampled_from(Mode))
def test_summing_up_makes_nothing_cleaner_and_asks_no_less(
    before: list[Any], after: list[Any], recent: int, words: int, mode: Mode
) -> None:
    made = entries_of([*before, *after])
    whole, summed = loaded(made[: len(before)]), loaded(made[: len(before)])
    limits = Limits(bytes_per_token=1, recent_tokens=recent, words_tokens=words)
    cover = to_cover(summed, RUN, limits)
    if cover is None:
        return
    summary = summary_of("a summary", summed, RUN, label=summed.label, now=NOW, redactor=Redactor({}), limits=limits)
    summed.sum_up(summary)
    later = [attrs.evolve(entry, seq=entry.seq + 1) for entry in made[len(before) :]]
    whole.add(made[len(before) :])
    summed.add(later)
    assert summed.label == whole.label
    if held(whole, mode) is not None:
        assert held(summed, mode) is not None
    if summed.newest_owner_text:
        assert summed.newest_owner_text == whole.newest_owner_text and summed.seen_no == whole.seen_no


@given(EVENTS)
def test_once_tainted_always_tainted(events: list[Any]) -> None:
    labels = [loaded(entries_of(events[:upto])).label for upto in range(1, len(events) + 1)]
    assert labels == sorted(labels)
