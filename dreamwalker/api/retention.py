"""What retention would let go of. One rule: a look touches nothing; the setting `keep_days` is what does."""

from datetime import timedelta
from typing import Annotated

from msgspec import Meta

from storage.retention import Preview

from .endpoint import Asked, Endpoint, Given, Nothing, Shown


class RetentionQuery(Given, frozen=True):
    """With how many days; the setting's, if it is left out."""

    days: Annotated[int, Meta(ge=1, le=36_500)] | None = None


class Retention(Shown, frozen=True):
    """`keep_days` is the setting, 0 for ever. The rest is what would go with `days`, in rows: what finished workers
    wrote and did, pushes that were settled, and times of reminders and jobs that are long over."""

    keep_days: int
    days: int
    workers: int
    pushes: int
    slots: int


async def preview(asked: Asked[Nothing, RetentionQuery, Nothing]) -> Retention:
    house = await asked.house()
    keep_days = house.chosen.keep_days
    days = asked.query.days or keep_days
    if days == 0:
        return Retention(keep_days=0, days=0, workers=0, pushes=0, slots=0)
    found = await house.store.ask(Preview(house.clock.now() - timedelta(days=days)))
    return Retention(keep_days=keep_days, days=days, workers=found.workers, pushes=found.pushes, slots=found.slots)


ENDPOINTS = (
    Endpoint(
        method="GET",
        route="/api/retention",
        says="What would be let go of if things were kept for so many days.",
        handle=preview,
        query=RetentionQuery,
        answer=Retention,
    ),
)
