"""What only the platform can show: which deploy this is, what was lent, how it lives there.

One rule: names, counts and times, never a value that was lent.
"""

import os
import platform as machine
import resource
import sys
import time
from typing import Annotated, Literal

from msgspec import Meta

from dreamwalker.reading import host_in

from .endpoint import Asked, Endpoint, Nothing, Shown

Seconds = Annotated[float, Meta(description="In seconds.")]
STARTED_AT = time.monotonic()


class Lent(Shown, frozen=True):
    """Something that comes with requests: whether it has, how often another one came, how old the newest is."""

    there: bool
    rotations: int
    age: Seconds | None


class Ground(Shown, frozen=True):
    """Where this instance lives. `host`: of the database; `headers`: names of the platform's own, of this request;
    `memory_mb`: the most it has used; `writable`: whether the disk can be written to, which it does not rely on.
    """

    platform: Literal["netlify", "own machine"]
    deploy: str
    context: str
    published: bool
    generation: str
    visits: int
    model: Lent
    database: Lent
    host: str
    drops: int
    up: Seconds
    first_visit: Seconds | None
    python: str
    machine: str
    memory_mb: int
    writable: bool
    headers: tuple[str, ...]
    variables: tuple[str, ...]


async def read_platform(asked: Asked[Nothing, Nothing, Nothing]) -> Ground:
    house, system = await asked.house(), asked.doors.system
    visits = system.visits
    return Ground(
        platform="netlify" if system.config.platform else "own machine",
        deploy=visits.deploy.id,
        context=visits.deploy.context,
        published=visits.deploy.published,
        generation=visits.generation,
        visits=visits.count,
        model=_lent(visits.rotations["model"], visits.newest_at["model"]),
        database=_lent(visits.rotations["database"], visits.newest_at["database"]),
        host="embedded" if system.config.embedded else host_in(system.config.database_url or visits.database_url) or "",
        drops=house.store.drops,
        up=round(time.monotonic() - STARTED_AT, 1),
        first_visit=None if visits.first_at is None else round(visits.first_at - STARTED_AT, 3),
        python=machine.python_version(),
        machine=f"{machine.system()} {machine.machine()}",
        memory_mb=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // (1024 if sys.platform == "linux" else 1 << 20),
        writable=os.access(".", os.W_OK),
        headers=visits.headers,
        variables=tuple(sorted(os.environ)),
    )


def _lent(rotations: int, newest_at: float) -> Lent:
    age = round(time.monotonic() - newest_at, 1) if rotations else None
    return Lent(there=rotations > 0, rotations=max(rotations - 1, 0), age=age)


ENDPOINTS = (
    Endpoint(
        method="GET",
        route="/api/platform",
        says="Where this instance lives and what the platform lent it: names, counts and times, no values.",
        handle=read_platform,
        answer=Ground,
    ),
)
