"""Waking: what a clock outside asks for every few minutes.

One rule: it sets things going and waits for none of them, so that it answers in two seconds whatever there is to do.
"""

from datetime import datetime
from typing import Annotated, Literal

from msgspec import Meta

from .endpoint import Asked, Endpoint, Nothing, Shown

Count = Annotated[int, Meta(description="How many were found; all of them go on now.")]


class Woken(Shown, frozen=True):
    """What was found: reminders and jobs that were due, pushes to be sent, runs that are not over, and those of them
    that wait for something. `next_at`: when something is due next. `opening`: it takes longer, and goes on.
    """

    state: Literal["awake", "opening"]
    due: Count = 0
    unsent: Count = 0
    runs: Count = 0
    waiting: Count = 0
    next_at: datetime | None = None


async def wake(asked: Asked[Nothing, Nothing, Nothing]) -> Woken:
    found = await asked.doors.system.wake()
    if found is None:
        return Woken(state="opening")
    return Woken(
        state="awake",
        due=found.due,
        unsent=found.unsent,
        runs=found.runs,
        waiting=found.waiting,
        next_at=found.next_at,
    )


async def wake_by_reading(asked: Asked[Nothing, Nothing, Nothing]) -> Woken:
    return await wake(asked)


_SAYS = "Wake it: open the storage, bring up what is due, go on with what waits. Takes the wake token too."

ENDPOINTS = (
    Endpoint(method="POST", route="/api/wake", says=_SAYS, handle=wake, answer=Woken, waking=True),
    Endpoint(method="GET", route="/api/wake", says=_SAYS, handle=wake_by_reading, answer=Woken, waking=True),
)
