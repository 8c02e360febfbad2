"""Money: reserved before a request, settled after it, counted by day and month.

One rule: the worst case is committed before the request leaves, so the books are never under the bill. All amounts
are nano-dollars.
"""

from datetime import datetime
from typing import Literal

import attrs

from .operation import Operation, Read, Reader, Row, Transaction, Write

# The period's own raised limit stands above the general one. A period's first reservation makes its row.
_CHARGE = """
INSERT INTO budget AS b (period, used, no)
SELECT ?, ?::bigint, :no
WHERE ?::bigint <= GREATEST(?::bigint, COALESCE((SELECT raised_to FROM budget WHERE period = ?), 0))
ON CONFLICT (period) DO UPDATE SET used = b.used + excluded.used, no = excluded.no
WHERE b.used + excluded.used <= GREATEST(?::bigint, COALESCE(b.raised_to, 0))
"""
_RESERVE = """
INSERT INTO spend (run, asked, kind, agent, act, model, day, month, reserved, at, no)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, :no)
"""


DAY, MONTH = "the limit of the day", "the limit of the month"
"""What OverBudget says."""


@attrs.frozen(kw_only=True)
class Reserved:
    """A reservation: the `asked`-th request of a run, its worst case, and the periods it is charged to."""

    run: int
    asked: int
    kind: str
    agent: str
    act: str
    model: str
    day: str
    month: str
    amount: int


def reserve(it: Reserved, *, day_limit: int, month_limit: int, now: datetime) -> tuple[Write, ...]:
    """Reserve the worst case. Raises OverBudget if it does not fit under the day's or the month's limit."""
    return (
        _charge(it.day, it.amount, day_limit, DAY),
        _charge(it.month, it.amount, month_limit, MONTH),
        _reserved(it, now),
    )


def _reserved(it: Reserved, now: datetime) -> Write:
    row = (it.run, it.asked, it.kind, it.agent, it.act, it.model, it.day, it.month, it.amount, now)
    return Write(_RESERVE, row, what="reserve")


def _charge(period: str, amount: int, limit: int, what: str) -> Write:
    return Write(_CHARGE, (period, amount, amount, limit, period, limit), code="DW003", what=what)


_EXTEND = "UPDATE spend SET reserved = ?, kind = ?, no = :no WHERE run = ? AND asked = ? AND cost IS NULL"


def extend(it: Reserved, to: Reserved, *, day_limit: int, month_limit: int) -> tuple[Write, ...]:
    """Put the amount and kind of another in the place of an open reservation's own. Raises OverBudget."""
    more = to.amount - it.amount
    return (
        _charge(it.day, more, day_limit, DAY),
        _charge(it.month, more, month_limit, MONTH),
        Write(_EXTEND, (to.amount, to.kind, it.run, it.asked), what="extend the reservation"),
    )


@attrs.frozen(kw_only=True)
class Settled:
    """What a request really cost, and the usage it was reckoned from."""

    cost: int
    input_tokens: int
    cache_write_tokens: int
    cache_read_tokens: int
    output_tokens: int
    searches: int


_REFUND = "UPDATE budget SET used = used + ?, no = :no WHERE period = ?"
_SETTLE = """
UPDATE spend SET cost = ?, input_tokens = ?, cache_write_tokens = ?, cache_read_tokens = ?, output_tokens = ?,
    searches = ?, no = :no
WHERE run = ? AND asked = ? AND cost IS NULL
"""


def settle(it: Reserved, by: Settled) -> tuple[Write, ...]:
    """Put the real cost in the place of the reservation, in the periods that were charged."""
    difference = by.cost - it.amount
    return (
        Write(_REFUND, (difference, it.day), what="settle the day"),
        Write(_REFUND, (difference, it.month), what="settle the month"),
        _settled(it, by),
    )


def _settled(it: Reserved, by: Settled) -> Write:
    return Write(
        _SETTLE,
        (
            by.cost, by.input_tokens, by.cache_write_tokens, by.cache_read_tokens, by.output_tokens, by.searches,
            it.run, it.asked,
        ),
        what="settle the reservation",
    )  # fmt: skip


def turn_over(
    it: Reserved, by: Settled, following: Reserved, *, day_limit: int, month_limit: int, now: datetime
) -> tuple[Write, ...]:
    """Settle one request and reserve the following one, in the same periods. Raises OverBudget if that does not fit."""
    assert (it.day, it.month) == (following.day, following.month), "one change for each period"
    more = following.amount + by.cost - it.amount
    return (
        _charge(it.day, more, day_limit, DAY),
        _charge(it.month, more, month_limit, MONTH),
        _settled(it, by),
        _reserved(following, now),
    )


_PERIOD = "SELECT period, used, raised_to, told_at FROM budget WHERE period = ?"

LOST = "s.cost IS NULL AND (r.state <> 'open' OR s.asked < r.asked)"
"""Of a request `s` and its run `r`: nobody waits for its answer any more, so what was set aside for it stays."""

_ASIDE = f"""
SELECT COALESCE(sum(s.reserved), 0)::bigint AS aside, COALESCE(sum(s.reserved) FILTER (WHERE {LOST}), 0)::bigint AS lost
FROM spend s LEFT JOIN runs r ON r.id = s.run WHERE s.day >= ? AND s.day <= ? AND s.cost IS NULL
"""


@attrs.frozen(kw_only=True)
class Period:
    """What a day or a month has used, open reservations included, and its own raised limit if it has one.

    `aside`: how much of it are reservations; `lost`: how much of these stay, for answers that were cut off.
    `reached_at`: since when its limit lets something wait.
    """

    period: str
    used: int
    raised_to: int | None
    reached_at: datetime | None
    aside: int = 0
    lost: int = 0


@attrs.frozen
class ReadPeriod(Read[Period]):
    """One day ('2026-11-29') or month ('2026-11')."""

    period: str

    async def read(self, reader: Reader) -> Period:
        row = await reader.get(_PERIOD, self.period)
        if row is None:
            return Period(period=self.period, used=0, raised_to=None, reached_at=None)
        month = len(self.period) == len("2026-11")
        days = (f"{self.period}-01", f"{self.period}-31") if month else (self.period, self.period)
        aside = await reader.get(_ASIDE, *days) or {}
        return Period(
            period=self.period,
            used=row["used"],
            raised_to=row["raised_to"],
            reached_at=row["told_at"],
            aside=aside["aside"],
            lost=aside["lost"],
        )


_RAISE = """
INSERT INTO budget (period, used, raised_to, no) VALUES (?, 0, ?, :no)
ON CONFLICT (period) DO UPDATE SET raised_to = excluded.raised_to, told_at = NULL, no = excluded.no
"""


@attrs.frozen(kw_only=True)
class RaiseLimit(Operation[int]):
    """Give one day or month a limit of its own, in nano-dollars; waiting runs find it at their next try.

    `general` is the one of all such periods. Returns the limit that holds now: a higher one stays as it was.
    """

    period: str
    limit: int
    general: int

    async def perform(self, tx: Transaction) -> int:
        row = await tx.get(_PERIOD, self.period)
        holds = max(self.general, (row["raised_to"] or 0) if row is not None else 0)
        if self.limit > holds:
            await tx.run(_RAISE, self.period, self.limit)
        return max(self.limit, holds)


_LOWER = "UPDATE budget SET raised_to = NULL, no = :no WHERE period = ?"


@attrs.frozen
class TakeBackRaise(Operation[None]):
    """Let the general limit hold again for a day or month that had one of its own."""

    period: str

    async def perform(self, tx: Transaction) -> None:
        await tx.run(_LOWER, self.period)


_TOLD = """
INSERT INTO budget AS b (period, used, told_at, no) VALUES (?, 0, ?, :no)
ON CONFLICT (period) DO UPDATE SET told_at = COALESCE(b.told_at, excluded.told_at), no = excluded.no
"""


def reached(period: str, now: datetime) -> Write:
    """Note since when a period's limit lets nothing more be asked, if that is not noted."""
    return Write(_TOLD, (period, now), what="note that the limit is reached")


_SUMS = f"""
SELECT {{by}} AS name, kind, count(*) AS requests,
    COALESCE(sum(cost), 0)::bigint AS cost,
    COALESCE(sum(reserved) FILTER (WHERE cost IS NULL), 0)::bigint AS unsettled,
    COALESCE(sum(reserved) FILTER (WHERE {LOST}), 0)::bigint AS lost,
    COALESCE(sum(input_tokens), 0)::bigint AS input_tokens,
    COALESCE(sum(cache_write_tokens), 0)::bigint AS cache_write_tokens,
    COALESCE(sum(cache_read_tokens), 0)::bigint AS cache_read_tokens,
    COALESCE(sum(output_tokens), 0)::bigint AS output_tokens,
    COALESCE(sum(searches), 0)::bigint AS searches
FROM spend s LEFT JOIN runs r ON r.id = s.run WHERE {{where}} GROUP BY 1, 2 ORDER BY 1 DESC, 2
"""
_SUMS_BY = {
    by: _SUMS.format(by=column, where="month >= ? AND month <= ?")
    for by, column in {
        "day": "day",
        "month": "month",
        "agent": "agent",
        "model": "model",
        "kind": "kind",
        "act": "s.act",
        "run": "run::text",
    }.items()
}
_SUMS_OF = {
    "run": _SUMS.format(by="run::text", where="s.run = ?"),
    "act": _SUMS.format(by="s.act", where="s.act = ?"),
}


@attrs.frozen(kw_only=True)
class Sum:
    """Requests of one kind under one name: settled cost and open reservations in nano-dollars, and tokens.

    `lost`: how much of the reservations stays, for answers that were cut off.
    """

    name: str
    kind: str
    requests: int
    cost: int
    unsettled: int
    lost: int
    input_tokens: int
    cache_write_tokens: int
    cache_read_tokens: int
    output_tokens: int
    searches: int

    @classmethod
    def of(cls, row: Row) -> "Sum":
        """From one row of a sum."""
        return cls(**row)


@attrs.frozen
class Sums(Read[tuple[Sum, ...]]):
    """Spend of the months from `first` to `last` ('2026-11'), the newest names first.

    By "day", "month", "agent", "model", "kind", "act" (what the owner said, or a slot) or "run".
    """

    by: str
    first: str
    last: str

    async def read(self, reader: Reader) -> tuple[Sum, ...]:
        return tuple(Sum.of(row) for row in await reader.all(_SUMS_BY[self.by], self.first, self.last))


@attrs.frozen
class SumsOf(Read[tuple[Sum, ...]]):
    """What one "run" (its id) or all of one "act" cost, by kind."""

    what: Literal["run", "act"]
    key: int | str

    async def read(self, reader: Reader) -> tuple[Sum, ...]:
        return tuple(Sum.of(row) for row in await reader.all(_SUMS_OF[self.what], self.key))
