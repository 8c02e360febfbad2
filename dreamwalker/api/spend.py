"""Money: what was spent, the limits of a day and a month, and how to raise one.

One rule: what is reserved counts as used, so what is shown is never under the bill.
"""

from datetime import date
from typing import Annotated, Literal

from msgspec import Meta

from actors.spend import Purse
from dreamwalker.house import House
from dreamwalker.settings import NANO
from storage.spend import RaiseLimit, ReadPeriod, Sums

from . import views
from .endpoint import Asked, Endpoint, Given, Nothing, Shown
from .errors import Refused

Month = Annotated[str, Meta(pattern=r"^\d{4}-(0[1-9]|1[0-2])$(?!\n)", description="A month, such as 2026-11.")]
By = Literal["day", "agent", "model", "month"]


class SpendQuery(Given, frozen=True):
    """Which month's spend (this one, if none is named), and summed by what."""

    month: Month | None = None
    by: By = "day"


class Raise(Given, frozen=True):
    """A limit of its own for one day or month; it never lowers the general one."""

    period: Annotated[str, Meta(pattern=r"^\d{4}-(0[1-9]|1[0-2])(-\d\d)?$(?!\n)", description="2026-11-29 or 2026-11.")]
    dollars: Annotated[float, Meta(ge=0, le=1_000_000)]


class Period(Shown, frozen=True):
    """What a day or a month has used, open reservations included, and the limit that holds for it."""

    period: str
    used_dollars: views.Dollars
    limit_dollars: views.Dollars


class Spend(Shown, frozen=True):
    """Today, one month, and what that month's requests cost."""

    day: Period
    month: Period
    sums: tuple[views.Cost, ...]


async def read_spend(asked: Asked[Nothing, SpendQuery, Nothing]) -> Spend:
    return await _spend(await asked.house(), asked.query.month, asked.query.by)


async def raise_limit(asked: Asked[Nothing, Nothing, Raise]) -> Spend:
    house, period = await asked.house(), asked.body.period
    try:
        date.fromisoformat(period if len(period) == 10 else f"{period}-01")
    except ValueError:
        raise Refused(422, f"There is no day {period}.") from None
    await house.store.ask(RaiseLimit(period, round(asked.body.dollars * NANO)))
    house.nudge()
    return await _spend(house, period[:7], "day")


async def _spend(house: House, month: str | None, by: By) -> Spend:
    chosen, now = house.chosen, house.clock.now()
    purse = Purse(day_limit=chosen.day_limit, month_limit=chosen.month_limit, zone=chosen.zone)
    month = month if month is not None else purse.month(now)
    return Spend(
        day=await _period(house, purse.day(now), purse.day_limit),
        month=await _period(house, month, purse.month_limit),
        sums=tuple(views.Cost.of(row) for row in await house.store.ask(Sums(by, month, month))),
    )


async def _period(house: House, period: str, limit: int) -> Period:
    stands = await house.store.ask(ReadPeriod(period))
    return Period(
        period=period,
        used_dollars=stands.used / NANO,
        limit_dollars=max(limit, stands.raised_to or 0) / NANO,
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
    ),
)
