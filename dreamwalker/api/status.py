"""Whether it is up, and what it is doing. One rule: `health` opens nothing and tells nothing."""

from typing import Literal

import dreamwalker

from .endpoint import Asked, Endpoint, Nothing, Shown


class Health(Shown, frozen=True):
    """It is up."""

    status: Literal["up"] = "up"


class Status(Shown, frozen=True):
    """What this instance is. `practice`: the practice model answers; `home`: home conversations by agent;
    `preview`: it is a deploy that works on a copy of the database.

    `pushes`: whether it pushes to a phone; `buttons`: whether what is pressed there reaches it.
    """

    state: Literal["awake", "asleep", "fenced"]
    version: str
    model: str
    practice: bool
    preview: bool
    commit_no: int
    home: dict[str, int]
    zone: str
    pushes: Literal["on", "off", "no phone"]
    buttons: bool


async def health(asked: Asked[Nothing, Nothing, Nothing]) -> Health:
    return Health()


async def status(asked: Asked[Nothing, Nothing, Nothing]) -> Status:
    house, config = await asked.house(), asked.doors.system.config
    return Status(
        state="awake",
        version=dreamwalker.__version__,
        model=config.model,
        practice=asked.doors.system.practice,
        preview=asked.doors.system.visits.deploy.preview,
        commit_no=house.store.commit_no,
        home=dict(house.homes),
        zone=house.zone.key,
        pushes="no phone" if config.ntfy_topic is None else "on" if house.chosen.pushes else "off",
        buttons=config.ntfy_topic is not None and config.public_url is not None,
    )


ENDPOINTS = (
    Endpoint(
        method="GET",
        route="/api/health",
        says="Whether the server is up. Needs no token and opens nothing.",
        handle=health,
        answer=Health,
        public=True,
    ),
    Endpoint(
        method="GET",
        route="/api/status",
        says="What this instance is; opens the storage if it is not open.",
        handle=status,
        answer=Status,
    ),
)
