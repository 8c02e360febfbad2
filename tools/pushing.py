"""What is pushed to the phone, and what its buttons do.

One rule: the text is redacted and rid of what cannot be seen before it is stored; a button does one thing to one
push, says what holds already when it is pressed again, and never undoes what was decided.
"""

from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from typing import Literal

import attrs

from storage import pushes, things
from storage.answers import push_id
from storage.operation import Transaction, Write
from storage.pushes import Button, Declined, Effect, Pressing
from storage.records import Question

from .limits import Limits
from .redact import Redactor
from .things import made, remove, told
from .timing import read_timing
from .unseen import cleaned
from .zones import said, zone_named

DONE = "done"
SNOOZE = "snooze"
YES, NO = "yes", "no"

_TITLES = {"reminder": "Reminder", "report": "Report"}


@attrs.frozen(kw_only=True)
class Outbox:
    """Makes the writes that put pushes into the outbox. `snooze_minutes`: how long a snooze is to last now."""

    redactor: Callable[[], Redactor]
    snooze_minutes: Callable[[], int]
    limits: Limits

    def push(
        self, *, id: str, kind: Literal["reminder", "report"], thing: int, title: str, text: str, now: datetime
    ) -> tuple[Write, ...]:
        """The push of a slot. `id` is the slot's key; `thing` the number of the reminder or job."""
        minutes = self.snooze_minutes()
        buttons = (
            Button(purpose=DONE, label="Done"),
            Button(purpose=f"{SNOOZE}:{minutes}", label=f"Snooze {minutes} min"),
        )
        return (self._write(id, kind, title or _TITLES[kind], text, now, thing, buttons if kind == "reminder" else ()),)

    def question(self, it: Question, shown: str, now: datetime, *, again: bool) -> tuple[Write, ...]:
        """The push of a question, `again` if it is told of a second time. `shown` is all that the owner is shown.

        It can be answered under the push only where all of it is seen there.
        """
        title = f"{'Still open: question' if again else 'Question'} {it.id} of {it.agent}"
        decide = (Button(purpose=YES, label="Yes", whole=True), Button(purpose=NO, label="No", whole=True))
        buttons = decide if it.kind == "act" else ()
        return (self._write(push_id(it.id), "question", title, shown, now, None, buttons, until=it.expires_at),)

    def limit(self, period: str, limit_dollars: float, now: datetime) -> Write:
        """The one notice that the limit of a day or month is reached; a raised one has its own."""
        what = "month" if len(period) == len("2026-11") else "day"
        text = (
            f"${limit_dollars:,.2f} are used or set aside for {period}, so nothing more is asked for now. What waits "
            f"goes on with the next {what}, or as soon as you raise the limit: dreamwalker spend raise DOLLARS --{what}"
        )
        title = f"The spending limit of the {what} is reached"
        return pushes.tell_once(id=f"limit:{period}:{limit_dollars:g}", title=title, text=self._fit(text), now=now)

    def test(self, id: str, now: datetime) -> Write:
        """A push that shows whether pushes arrive, and whether its button reaches us."""
        text = (
            "Pushes reach this phone. “Done” shows whether its buttons reach dreamwalker: `dreamwalker pushes` tells."
        )
        return self._write(id, "test", "A test", text, now, None, (Button(purpose=DONE, label="Done"),))

    def _write(
        self,
        id: str,
        kind: str,
        title: str,
        text: str,
        now: datetime,
        thing: int | None,
        buttons: tuple[Button, ...],
        *,
        until: datetime | None = None,
    ) -> Write:
        return pushes.enqueue(
            id=id,
            kind=kind,
            thing=thing,
            title=self._fit(title),
            text=self._fit(text),
            buttons=buttons,
            buttons_until=until or now + timedelta(days=self.limits.button_days),
            now=now,
        )

    def _fit(self, text: str) -> str:
        return cleaned(self.redactor().text(text))[0]


def effects(*, id: int) -> Mapping[str, Effect]:
    """What buttons do, by purpose; `id` is for what a press makes."""

    async def snooze(tx: Transaction, it: Pressing) -> str:
        return await _snooze(tx, it, id)

    return {DONE: _done, SNOOZE: snooze}


async def _done(tx: Transaction, it: Pressing) -> str:
    """It is settled; if it was snoozed, it does not come up again."""
    if it.push.answer == DONE:
        return "It is done already."
    snoozed = await things.FindThing(made_by=_snoozed_by(it)).read(tx)
    if snoozed is not None and snoozed.state == "active":
        await tx.write(*remove(snoozed, it.now).writes)
        tx.ring(things.CHANGED)
    return "Done."


async def _snooze(tx: Transaction, it: Pressing, id: int) -> str:
    """It comes up once more, so many minutes from now."""
    if it.push.answer == DONE:
        raise Declined("It is done already, so it does not come up again.")
    snoozed = await things.FindThing(made_by=_snoozed_by(it)).read(tx)
    if snoozed is not None:
        return f"It is snoozed already. {told(snoozed, it.now)}"
    reminder = None if it.push.thing is None else await things.FindThing(id=it.push.thing).read(tx)
    if reminder is None:
        raise Declined("There is no reminder of it that could come up again.")
    zone = zone_named(reminder.zone)
    timing = read_timing(f"in {it.argument} minutes", zone, it.now)
    again = made(
        id=id,
        agent=reminder.agent,
        kind="reminder",
        title="",
        text=reminder.text,
        timing=timing,
        made_by=_snoozed_by(it),
        label=reminder.label,
        act=it.push.id,
        hops=reminder.hops,
        now=it.now,
    )
    await tx.write(things.make(again))
    tx.ring(things.CHANGED)
    return f"It comes up again {said(timing.first.at, zone)}."


def _snoozed_by(it: Pressing) -> str:
    return f"snooze:{it.push.id}"
