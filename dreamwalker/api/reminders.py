"""Reminders: texts that come up at their times, on the phone and at home.

One rule: when is said in words of local time, and said back as the exact instant.
"""

from datetime import datetime
from typing import Literal

import msgspec

from dreamwalker.cast import MAIN_AGENT
from dreamwalker.house import House
from storage import records
from tools.things import remove, told

from . import views
from .endpoint import Asked, Endpoint, Given, Nothing, Shown
from .messages import RequestId
from .things import (
    Label,
    Rule,
    Said,
    Slots,
    SlotsQuery,
    ThingPath,
    ThingsQuery,
    When,
    Zone,
    altering,
    changed,
    checked,
    found,
    given,
    ledger,
    listed,
    make,
    unless,
)


class NewReminder(Given, frozen=True):
    """A reminder to be made."""

    request_id: RequestId
    when: When
    text: str
    zone: Zone | None = None
    agent: str = MAIN_AGENT


class ReminderChange(Given, frozen=True):
    """What to change of it; what is left out stays."""

    when: When | msgspec.UnsetType = msgspec.UNSET
    text: str | msgspec.UnsetType = msgspec.UNSET
    zone: Zone | msgspec.UnsetType = msgspec.UNSET


class Reminder(Shown, frozen=True):
    """A reminder. It is `done` when it has come up for the last time, `removed` when it was cancelled."""

    id: int
    agent: str
    text: str
    label: Label
    rule: Rule
    zone: str
    state: Literal["active", "paused", "done", "removed"]
    next_at: datetime | None
    said: Said
    made_at: datetime
    no: views.No

    @classmethod
    def of(cls, row: records.Thing, said: str) -> "Reminder":
        """From its row."""
        names = [name for name in cls.__struct_fields__ if name != "said"]
        return cls(said=said, **{name: getattr(row, name) for name in names})


class Reminders(Shown, frozen=True):
    """Reminders, the newest first. `more`: there are older ones."""

    reminders: tuple[Reminder, ...]
    more: bool


def _shown(house: House, row: records.Thing) -> Reminder:
    return Reminder.of(row, told(row, house.clock.now()))


async def list_reminders(asked: Asked[Nothing, ThingsQuery, Nothing]) -> Reminders:
    house = await asked.house()
    rows, more = await listed(house, "reminder", asked.query)
    return Reminders(reminders=tuple(_shown(house, row) for row in rows), more=more)


async def make_reminder(asked: Asked[Nothing, Nothing, NewReminder]) -> Reminder:
    house, body = await asked.house(), asked.body
    thing, said = await make(
        house,
        "reminder",
        request_id=body.request_id,
        agent=body.agent,
        when=body.when,
        zone=body.zone,
        text=checked(house, body.text, house.limits.reminder_characters, "A reminder's text"),
    )
    return Reminder.of(thing, said)


async def read_reminder(asked: Asked[ThingPath, Nothing, Nothing]) -> Reminder:
    house = await asked.house()
    return _shown(house, await found(house, "reminder", asked.path.id))


async def change_reminder(asked: Asked[ThingPath, Nothing, ReminderChange]) -> Reminder:
    house, body = await asked.house(), asked.body
    text = given(body.text)
    if text is not None:
        text = checked(house, text, house.limits.reminder_characters, "A reminder's text")
    alter = altering(given(body.when), given(body.zone), text)
    return _shown(house, await changed(house, "reminder", asked.path.id, alter))


async def cancel_reminder(asked: Asked[ThingPath, Nothing, Nothing]) -> Reminder:
    house = await asked.house()
    return _shown(house, await changed(house, "reminder", asked.path.id, unless("removed", remove)))


async def list_reminder_slots(asked: Asked[ThingPath, SlotsQuery, Nothing]) -> Slots:
    return await ledger(await asked.house(), "reminder", asked.path.id, asked.query)


ENDPOINTS = (
    Endpoint(
        method="GET",
        route="/api/reminders",
        says="The reminders that are set, the newest first.",
        handle=list_reminders,
        query=ThingsQuery,
        answer=Reminders,
        refusals=(404,),
    ),
    Endpoint(
        method="POST",
        route="/api/reminders",
        says="Set a reminder. The answer says when it comes up.",
        handle=make_reminder,
        body=NewReminder,
        answer=Reminder,
        status=201,
        refusals=(404, 409, 429),
    ),
    Endpoint(
        method="GET",
        route="/api/reminders/{id}",
        says="One reminder.",
        handle=read_reminder,
        path=ThingPath,
        answer=Reminder,
    ),
    Endpoint(
        method="PATCH",
        route="/api/reminders/{id}",
        says="Change when it comes up, or what it says. One that is over begins anew with another time.",
        handle=change_reminder,
        path=ThingPath,
        body=ReminderChange,
        answer=Reminder,
        refusals=(409,),
    ),
    Endpoint(
        method="DELETE",
        route="/api/reminders/{id}",
        says="Cancel a reminder for good.",
        handle=cancel_reminder,
        path=ThingPath,
        answer=Reminder,
        refusals=(409,),
    ),
    Endpoint(
        method="GET",
        route="/api/reminders/{id}/slots",
        says="What became of each time at which it should have come up.",
        handle=list_reminder_slots,
        path=ThingPath,
        query=SlotsQuery,
        answer=Slots,
    ),
)
