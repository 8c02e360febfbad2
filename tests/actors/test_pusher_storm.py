"""Storms: reminders with a phone that fails in every way, deaths, sleeps and presses at random. The laws still hold."""

import random
from contextlib import suppress
from datetime import datetime, timedelta
from itertools import pairwise

import pytest
import trio

from storage.pushes import Declined, ListPushes
from storage.records import Push
from storage.things import ListThings
from tests.actors.house import Inside, open_house
from tests.actors.timed import FOREVER, ledger, make
from tests.hand_clock import HandClock
from tests.messages_api import say, serve_messages_api
from tools.limits import Limits
from tools.phone import Key, Notification, NotNow, Outcome, Refused, Shown

pytestmark = pytest.mark.slow

LIMITS = Limits()


class Fickle:
    """A phone that does whatever a generator of random numbers says, and remembers what came."""

    has_buttons = True

    def __init__(self, luck: random.Random) -> None:
        self._luck = luck
        self.came: list[tuple[Notification, datetime, str]] = []
        self.hangs = 0

    async def show(self, it: Notification, now: datetime) -> Outcome:
        fate = self._luck.choices(
            ("shown", "lost", "later", "not now", "refused", "bug", "hangs"), (8, 3, 1, 3, 1, 1, 1)
        )[0]
        self.came.append((it, now, fate))
        match fate:
            case "shown":
                return Shown()
            case "lost":
                return NotNow(why="The answer was lost; it may have been shown.")
            case "later":
                return NotNow(why="Too many.", retry_at=now + timedelta(seconds=self._luck.choice((5, 900, 200_000))))
            case "not now":
                return NotNow(why="It can't be reached.")
            case "refused":
                return Refused(why="It is refused.")
            case "bug":
                raise ZeroDivisionError
        self.hangs += 1
        try:
            await trio.sleep_forever()  # until the house dies
        finally:
            self.hangs -= 1
        raise AssertionError

    def keys(self) -> list[tuple[str, Key]]:
        """Every button that reached the screen, with the push that it is of."""
        return [(it.id, key) for it, _, fate in self.came if fate in ("shown", "lost") for key in it.keys]


@pytest.mark.parametrize("seed", range(3))
async def test_in_a_storm_every_push_has_one_row_at_most_five_tries_and_one_answer(
    database_url: str, seed: int
) -> None:
    luck = random.Random(seed)
    clock, phone = HandClock(), Fickle(luck)
    answers: dict[str, str] = {}
    async with serve_messages_api() as api:
        api.script(lambda request: say("Noted."))
        for life in range(8):
            async with open_house(database_url, api, clock=clock, phone=phone, limits=LIMITS) as it:
                if life == 0:
                    for n in range(4):
                        await make(it, "reminder", f"in {luck.randrange(5, 90)} minutes", f"once {n}")
                    await make(it, "reminder", "every 45 minutes", "again and again")
                for _ in range(luck.randrange(1, 6)):
                    clock.move(luck.choice((5, 60, 700, 2_000)))
                    await _settle(it, phone)
                    for push, key in luck.sample(phone.keys(), min(2, len(phone.keys()))):
                        with suppress(Declined):
                            said = await it.house.press(key.token)
                            if said is not None and not said.startswith("It is"):
                                assert (push, said) not in answers.items(), "pressed twice, done twice"
                                answers[push] = said
        phone._luck = random.Random("fair")
        async with open_house(database_url, api, clock=clock, phone=_Fair(phone), limits=LIMITS) as it:
            for _ in range(8):
                clock.move(3_000)
                await _settle(it, phone)
            await _all_known(it)
            await _judge(it, phone)


class _Fair(Fickle):
    """The same phone on a good day."""

    def __init__(self, phone: Fickle) -> None:
        self.came, self.hangs = phone.came, 0

    async def show(self, it: Notification, now: datetime) -> Outcome:
        self.came.append((it, now, "shown"))
        return Shown()


async def _settle(it: Inside, phone: Fickle) -> None:
    """Wait until nothing is due, or the phone hangs."""
    with trio.fail_after(20):
        while not phone.hangs:
            things = await it.ask(ListThings(kind="reminder", limit=1_000))  # first: what comes up leaves a push
            pushes = await it.ask(ListPushes(before=FOREVER, before_id="", limit=1_000))
            now = it.clock.now()
            if all(push.next_at is None or push.next_at > now for push in pushes) and all(
                thing.next_at is None or thing.next_at > now for thing in things
            ):
                return


async def _all_known(it: Inside) -> None:
    """Wait until what became of the last tries is written: while one is under way, its push is due again later."""
    with trio.fail_after(20):
        while any(
            push.state == "waiting" for push in await it.ask(ListPushes(before=FOREVER, before_id="", limit=1_000))
        ):
            pass


async def _judge(it: Inside, phone: Fickle) -> None:
    pushes = {push.id: push for push in await it.ask(ListPushes(before=FOREVER, before_id="", limit=1_000))}
    came_up = {
        f"slot:{thing.id}:{fate.slot}"
        for thing in await it.ask(ListThings(kind="reminder", limit=1_000, over=True))
        for fate in await ledger(it, thing.id)
        if fate.fate == "ran"
    }
    assert set(pushes) == came_up and came_up, "every slot that came up has its one push, and nothing else has"
    for push in pushes.values():
        _judge_push(push, [(now, fate) for notification, now, fate in phone.came if notification.id == push.id])
    snoozed = [t for t in await it.ask(ListThings(kind="reminder", limit=1_000, over=True)) if "snooze:" in t.made_by]
    assert len({thing.made_by for thing in snoozed}) == len(snoozed)


def _judge_push(push: Push, tries: list[tuple[datetime, str]]) -> None:
    assert push.state in ("sent", "failed") and push.next_at is None, push
    assert len(tries) == push.tries <= 5 or push.answer is not None, (push, tries)
    fates = [fate for _, fate in tries]
    assert "shown" not in fates[:-1] and "refused" not in fates[:-1], "nothing is tried after its fate is known"
    if push.answer is None:
        assert (push.state == "sent") == (fates[-1] == "shown"), (push, fates)
    pauses = [(later - earlier).total_seconds() for (earlier, _), (later, _) in pairwise(tries)]
    assert all(pause >= least for pause, least in zip(pauses, (10, 40, 160, 640), strict=False)), pauses
