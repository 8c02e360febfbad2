"""What becomes of the slots that lie behind: the newest comes up, late if it must, and those before it are skipped.

One rule: it is reckoned from the rule and from how far the ledger has come, so that it makes no difference whether the
house was asleep, stopped, killed or just slow.
"""

from datetime import datetime
from itertools import islice

import attrs

from .schedule import Schedule, Slot

MISSED = "Missed while dreamwalker slept or was stopped; only the latest was made up for."
STILL_RUNNING = "The run before it was still going."
RETIRED = "The agent is retired."
CHANGED = "The schedule was changed before it came up."
PAUSED = "It was paused before it came up."
REMOVED = "It was removed before it came up."


@attrs.frozen(kw_only=True)
class Skipped:
    """Slots in succession that never came up, and why."""

    first: Slot
    last: Slot
    count: int
    why: str


@attrs.frozen(kw_only=True)
class Verdict:
    """The fates of what lies behind: first what is skipped, then what comes up now, then when to look again.

    Every slot up to `reached_at` has its fate by then. `next_at` may have passed: then there is more to judge.
    """

    skipped: Skipped | None
    now: Slot | None
    reached_at: datetime
    next_at: datetime | None


def skipped(slots: list[Slot], why: str) -> Skipped | None:
    """The slots as skipped ones; None if there are none."""
    return Skipped(first=slots[0], last=slots[-1], count=len(slots), why=why) if slots else None


def judge(schedule: Schedule, reached_at: datetime, now: datetime, *, held: str | None, slots_max: int) -> Verdict:
    """Judge the slots after `reached_at` that have come by `now`, at most about `slots_max` at a time.

    `held`: why none of them may come up, if so.
    """
    behind = list(islice(schedule.slots_between(reached_at, now), slots_max + 1))
    more = len(behind) > slots_max
    following = behind.pop() if more else schedule.next_after(max(reached_at, behind[-1].at if behind else reached_at))
    newest = behind.pop() if behind and not more and held is None else None
    reached = newest or (behind[-1] if behind else None)
    return Verdict(
        skipped=skipped(behind, held or MISSED),
        now=newest,
        reached_at=reached_at if reached is None else reached.at,
        next_at=None if following is None else following.at,
    )
