"""What must be true of a year: each slot has one fate, each fate its reason, each thing that came up its one message.

One rule: what should have come up is counted out by the patterns, from what the owner did; the ledger is only read.
"""

from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Any
from zoneinfo import ZoneInfo

import attrs

from actors.pusher import CUT_SHORT
from storage.records import Fate
from tests.storage.harness import outside
from tests.year.patterns import Steps, instants
from tests.year.year import Track, Year
from tools.catchup import MISSED, STILL_RUNNING
from tools.limits import Limits
from tools.phone import Outcome, Refused, Shown

LEDGER = f"SELECT {Fate.columns()} FROM slots ORDER BY thing, at"
_MESSAGES = "SELECT kind, source_key, accepted_at FROM messages WHERE kind IN ('reminder', 'job', 'notice')"
_PUSHES = "SELECT id, state, tries, next_at, why FROM pushes"
_RUNS = """
SELECT c.made_by, count(r.id), count(r.closed_at) FROM conversations c LEFT JOIN runs r ON r.conversation = c.id
WHERE c.kind = 'job' GROUP BY c.made_by
"""
_LEFT = "SELECT id FROM things WHERE running IS NOT NULL OR next_at <= $1"


@attrs.frozen(kw_only=True)
class Verdict:
    """How many slots have a fate, what is wrong, and the whole ledger as text, to compare with another."""

    slots: int
    violations: tuple[str, ...]
    ledger: tuple[str, ...]
    fates: dict[str, int]


async def judge(year: Year) -> Verdict:
    """Judge a year that is over."""
    columns = Fate.columns().split(", ")
    rows = [Fate(**dict(zip(columns, row, strict=True))) for row in await outside(year.url, LEDGER)]
    by_thing: defaultdict[int, list[Fate]] = defaultdict(list)
    for row in rows:
        by_thing[row.thing].append(row)
    found = [f"thing {id} is not one that was made" for id in by_thing.keys() - year.tracks.keys()]
    slots = 0
    for track in year.tracks.values():
        expected = _expected(track, year)
        slots += len(expected)
        found.extend(f"thing {track.id}: {said}" for said in _fates(expected, by_thing[track.id]))
        found.extend(f"thing {track.id}: {said}" for said in _reasons(by_thing[track.id], year))
    found.extend(await _effects(rows, year))
    found.extend(f"thing {id} is left over" for (id,) in await outside(year.url, _LEFT, year.clock.at))
    return Verdict(
        slots=slots,
        violations=tuple(found),
        ledger=tuple(str(attrs.evolve(row, no=0)) for row in rows),
        fates=dict(Counter(f"{row.fate} {row.why or ''}".strip() for row in rows for _ in range(row.count))),
    )


def _expected(track: Track, year: Year) -> list[tuple[datetime, str]]:
    """What should have come up: instants and names, in order."""
    found: list[tuple[datetime, str]] = []
    for span in track.spans:
        for at in instants(span.pattern, span.since, span.begin, span.end or year.clock.at):
            if isinstance(span.pattern, Steps):
                found.append((at, f"{at:%Y-%m-%dT%H:%M:%SZ}"))
            else:
                found.append((at, at.astimezone(ZoneInfo(span.pattern.zone)).isoformat(timespec="minutes")))
    return found


def _fates(expected: list[tuple[datetime, str]], rows: list[Fate]) -> list[str]:
    """Each slot has exactly one fate, and there is no fate of what is no slot."""
    found: list[str] = []
    times = [at for at, _ in expected]
    covered = Counter[datetime]()
    for row in rows:
        last_at, last_slot = row.last_at or row.at, row.last_slot or row.slot
        there = expected[bisect_left(times, row.at) : bisect_right(times, last_at)]
        if not there or there[0] != (row.at, row.slot) or there[-1] != (last_at, last_slot):
            found.append(f"{row.slot} is no slot of it, or {last_slot} is none")
        if len(there) != row.count:
            found.append(f"the row of {row.slot} stands for {row.count} slots and should for {len(there)}")
        covered.update(at for at, _ in there)
    found.extend(f"{name} has {covered[at]} fates" for at, name in expected if covered[at] != 1)
    for earlier, later in pairwise(rows):
        if earlier.why == later.why and earlier.fate == later.fate == "skipped" and earlier.version == later.version:
            found.append(f"{earlier.slot} and {later.slot} are two rows of skipped slots in succession")
    return found


def _reasons(rows: list[Fate], year: Year) -> list[str]:
    """What is late or was missed was due while no house lived; what is skipped for a run was due while that ran."""
    found: list[str] = []
    ends = {end for _, end in year.down}
    for row in rows:
        if row.settled_at is None:
            found.append(f"{row.slot} has no fate yet")
        late = timedelta(seconds=row.late_seconds or 0)
        if row.late_seconds and not any(begin <= row.at <= end for begin, end in year.down):
            found.append(f"{row.slot} came up {row.late_seconds} s late though the house lived")
        if row.late_seconds and not any(timedelta() <= end - row.at - late < timedelta(seconds=1) for end in ends):
            found.append(f"{row.slot} came up at no end of a sleep")
        if row.why == MISSED and row.settled_at not in ends:
            found.append(f"{row.slot} was missed though the house lived")
    runs = [(row.at + timedelta(seconds=row.late_seconds or 0), row.settled_at) for row in rows if row.conversation]
    for (_, end), (begin, _) in pairwise(runs):
        if end is None or begin + timedelta(seconds=1) < end:
            found.append(f"a run that began at {begin} overlaps the one before it")
    found.extend(
        f"{row.slot} was skipped for a run that was not going on"
        for row in rows
        if row.why == STILL_RUNNING and not any(begin <= row.at and end and row.at <= end for begin, end in runs)
    )
    return found


def _push(
    state: str, tries: int, next_at: datetime | None, why: str | None, made: list[tuple[int, Outcome]], year: Year
) -> list[str]:
    """It was tried at most five times, each try counted; it is over, or its next try lies ahead."""
    found: list[str] = []
    last = made[-1][1] if made else None
    if not len(made) <= tries <= Limits().push_tries:
        found.append(f"counts {tries} tries, and {len(made)} were made")
    if state == "waiting" and (next_at is None or next_at <= year.clock.at):
        found.append("was left over")
    if state == "sent" and last != Shown():
        found.append("is said to be sent, and was not")
    if state == "failed" and (why is None or (last == Shown() and why != CUT_SHORT)):
        found.append("is said to have failed, and did not")
    for (life, outcome), (later, _) in pairwise(made):
        if isinstance(outcome, Shown | Refused) and life == later:
            found.append("was tried again though its fate was known")
    return found


async def _effects(rows: list[Fate], year: Year) -> list[str]:
    """What came up has one message, one run if it is a job's, one push; what did not has none."""
    came_up = {f"slot:{row.thing}:{row.slot}": row for row in rows if row.fate != "skipped"}
    jobs = {key for key, row in came_up.items() if row.conversation is not None}
    messages: Counter[tuple[str, str]] = Counter()
    for kind, key, _ in await outside(year.url, _MESSAGES):
        messages[kind, key] += 1
    reported = {key for key, row in came_up.items() if row.report is not None}
    failed = {key for key, row in came_up.items() if row.fate == "failed"}
    wanted = Counter({("reminder", key): 1 for key in came_up.keys() - jobs})
    wanted.update({("job", key): 1 for key in jobs})
    wanted.update({("notice", f"report:{key}"): 1 for key in reported | failed})
    found = [
        f"{kind} {key}: {messages[kind, key]} messages"
        for kind, key in (messages | wanted)
        if messages[kind, key] != wanted[kind, key]
    ]
    pushes: list[tuple[Any, ...]] = await outside(year.url, _PUSHES)
    pushed = {id for id, *_ in pushes}
    for id, state, tries, next_at, why in pushes:
        found.extend(f"the push {id} {said}" for said in _push(state, tries, next_at, why, year.phone.tries[id], year))
    must = (came_up.keys() - jobs) | reported
    found.extend(f"{key} was not pushed" for key in must - pushed)
    found.extend(f"{key} was pushed without a reason" for key in pushed - must - failed)
    runs = {made_by: (opened, closed) for made_by, opened, closed in await outside(year.url, _RUNS)}
    found.extend(f"{key} has runs {runs.get(key)}" for key in jobs if runs.get(key) != (1, 1))
    found.extend(f"{key} has a run and no fate" for key in runs.keys() - jobs)
    return found
