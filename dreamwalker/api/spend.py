"""Money: what was spent, the limits of a day and a month, and how to raise one.

One rule: what is reserved counts as used, so what is shown is never under the bill.
"""

from datetime import date, datetime
from typing import Annotated, Literal

from msgspec import Meta

from dreamwalker.house import House
from dreamwalker.settings import NANO
from storage.spend import RaiseLimit, ReadPeriod, Sums, TakeBackRaise

from . import accounts, views
from .endpoint import Asked, Endpoint, Given, Nothing, Shown
from .errors import Refused

Month = Annotated[str, Meta(pattern=r"^\d{4}-(0[1-9]|1[0-2])$(?!\n)", description="A month, such as 2026-11.")]
By = Literal["day", "month", "agent", "model", "kind", "act", "run"]


PeriodName = Annotated[
    str, Meta(pattern=r"^\d{4}-(0[1-9]|1[0-2])(-\d\d)?$(?!\n)", description="2026-11-29 or 2026-11.")
]


class SpendQuery(Given, frozen=True):
    """Which month's spend (this one, if none is named), and summed by what."""

    month: Month | None = None
    by: By = "day"


class Raise(Given, frozen=True):
    """A limit of its own for one day or month, above the one that holds."""

    period: PeriodName
    dollars: Annotated[float, Meta(ge=0, le=1_000_000)]


class Reset(Given, frozen=True):
    """The day or month whose raise is taken back."""

    period: PeriodName


class Period(Shown, frozen=True):
    """What a day or a month has used, and the limit that holds for it. Used is what was spent, and what is set aside.

    `raised`: it has a limit of its own. `reached_at`: since when its limit lets something wait; null if nothing does.
    """

    period: str
    used_dollars: views.Dollars
    spent_dollars: views.Dollars
    unsettled_dollars: accounts.Unsettled
    lost_dollars: accounts.Lost
    limit_dollars: views.Dollars
    raised: bool
    reached_at: datetime | None


class Spend(Shown, frozen=True):
    """Today, one month, and what that month's requests cost."""

    day: Period
    month: Period
    sums: tuple[accounts.Cost, ...]


async def read_spend(asked: Asked[Nothing, SpendQuery, Nothing]) -> Spend:
    return await _spend(await asked.house(), asked.query.month, asked.query.by)


async def raise_limit(asked: Asked[Nothing, Nothing, Raise]) -> Spend:
    house, period, limit = await asked.house(), _period_of(asked.body.period), round(asked.body.dollars * NANO)
    general = house.purse.day_limit if len(period) == 10 else house.purse.month_limit
    holds = await house.store.ask(RaiseLimit(period=period, limit=limit, general=general))
    if limit < holds:
        raise Refused(
            409, f"The limit of {period} is ${holds / NANO:,.2f} already, and a raise does not lower it.", code="lower"
        )
    house.nudge()
    return await _spend(house, period[:7], "day")


async def take_back_raise(asked: Asked[Nothing, Nothing, Reset]) -> Spend:
    house, period = await asked.house(), _period_of(asked.body.period)
    await house.store.ask(TakeBackRaise(period))
    return await _spend(house, period[:7], "day")


def _period_of(period: str) -> str:
    try:
        date.fromisoformat(period if len(period) == 10 else f"{period}-01")
    except ValueError:
        raise Refused(422, f"There is no day {period}.") from None
    return period


async def _spend(house: House, month: str | None, by: By) -> Spend:
    purse, now = house.purse, house.clock.now()
    month = month if month is not None else purse.month(now)
    return Spend(
        day=await _period(house, purse.day(now), purse.day_limit),
        month=await _period(house, month, purse.month_limit),
        sums=tuple(accounts.Cost.of(row) for row in await house.store.ask(Sums(by, month, month))),
    )


async def _period(house: House, period: str, limit: int) -> Period:
    stands = await house.store.ask(ReadPeriod(period))
    return Period(
        period=period,
        used_dollars=stands.used / NANO,
        spent_dollars=(stands.used - stands.aside) / NANO,
        unsettled_dollars=stands.aside / NANO,
        lost_dollars=stands.lost / NANO,
        limit_dollars=max(limit, stands.raised_to or 0) / NANO,
        raised=(stands.raised_to or 0) > limit,
        reached_at=stands.reached_at,
    )


ENDPOINTS = (
    Endpoint(
        method="GET",
        route="/api/spend",
        says="What was spent, and the limits.",
        handle=read_spend,
        query=SpendQuery,
        answer=Spend,
    ),
    Endpoint(
        method="POST",
        route="/api/spend/raise",
        says="Raise the limit of one day or month; what waits for money goes on.",
        handle=raise_limit,
        body=Raise,
        answer=Spend,
        refusals=(409,),
    ),
    Endpoint(
        method="POST",
        route="/api/spend/reset",
        says="Take the raise of a day or month back; the general limit holds again.",
        handle=take_back_raise,
        body=Reset,
        answer=Spend,
    ),
)
