"""The owner's settings. One rule: they are judged together before any is set."""

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from dreamwalker import settings
from tools.taint import Mode

from .endpoint import Asked, Endpoint, Given, Nothing, Shown
from .errors import Refused


class SettingsChange(Given, frozen=True):
    """What to set; what is left out stays as it is."""

    zone: str | msgspec.UnsetType = msgspec.UNSET
    day_limit_dollars: float | msgspec.UnsetType = msgspec.UNSET
    month_limit_dollars: float | msgspec.UnsetType = msgspec.UNSET
    ask: Annotated[str, Meta(extra_json_schema={"enum": [mode.value for mode in Mode]})] | msgspec.UnsetType = (
        msgspec.UNSET
    )
    pushes: bool | msgspec.UnsetType = msgspec.UNSET
    snooze_minutes: int | msgspec.UnsetType = msgspec.UNSET
    keep_days: int | msgspec.UnsetType = msgspec.UNSET


class Settings(Shown, frozen=True):
    """What holds now. `zone` is a name of the IANA list; `pushes`: whether anything is pushed to the phone.

    `ask` says how much the owner wants to be asked. "since-message": about what happens after text from outside came
    in that he had not seen when he last wrote, and about what carries private text while any is about. "strict": about
    every exit while any is about. `keep_days`: see /api/retention.
    """

    zone: str
    day_limit_dollars: float
    month_limit_dollars: float
    ask: Literal["since-message", "strict"]
    pushes: bool
    snooze_minutes: int
    keep_days: int


async def read_settings(asked: Asked[Nothing, Nothing, Nothing]) -> Settings:
    house = await asked.house()
    return Settings(**house.chosen.shown())


async def change_settings(asked: Asked[Nothing, Nothing, SettingsChange]) -> Settings:
    values = {name: value for name, value in msgspec.structs.asdict(asked.body).items() if value is not msgspec.UNSET}
    try:
        for name, value in values.items():
            settings.judge(name, value)
    except settings.BadSetting as error:
        raise Refused(422, f"{error}.") from None
    house = await asked.house()
    for name, value in values.items():
        await house.choose(name, value)
    return Settings(**house.chosen.shown())


ENDPOINTS = (
    Endpoint(method="GET", route="/api/settings", says="The owner's settings.", handle=read_settings, answer=Settings),
    Endpoint(
        method="PATCH",
        route="/api/settings",
        says="Change settings.",
        handle=change_settings,
        body=SettingsChange,
        answer=Settings,
    ),
)
