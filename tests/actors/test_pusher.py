"""What becomes of pushes, through the real pusher, storage and ntfy client; time is moved by hand."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any

import attrs
import pytest
import trio

from actors.pusher import CUT_SHORT, OFF
from dreamwalker.ntfy import Ntfy, Topic
from storage import pushes
from storage.errors import NotAsExpected
from storage.operation import Commit
from storage.pushes import _WAITING, Button, Declined, FindPush, ListPushes
from storage.records import Push
from storage.waking import _LOOK
from tests.actors.house import Inside, open_house
from tests.actors.timed import FOREVER, make, settled, thing
from tests.hand_clock import HandClock
from tests.messages_api import say, serve_messages_api
from tests.ntfy import Drop, Hang, Publish, Status, serve_ntfy
from tests.ntfy import Ntfy as ScriptedNtfy
from tests.storage.harness import outside
from tools.limits import Limits
from tools.phone import Notification, Outcome, Shown, hash_of
from tools.pushing import effects

PUBLIC = "https://dream.example"
MINUTE = 60


@attrs.define
class Room:
    """A house with a phone."""

    it: Inside
    ntfy: ScriptedNtfy
    clock: HandClock

    async def push(self, id: str = "slot:1:x", text: str = "Call mum", **fields: Any) -> None:
        """Put something into the outbox."""
        write = pushes.enqueue(
            **{"id": id, "kind": "reminder", "title": "Reminder", "text": text, "now": self.clock.now()} | fields
        )
        await self.it.house.store.ask(Commit((write,), (pushes.WAITS,)))

    async def row(self, id: str = "slot:1:x") -> Push:
        """A push as it stands."""
        found = await self.it.ask(FindPush(id))
        assert found is not None
        return found

    async def until(self, as_expected: Callable[[Push], bool], id: str = "slot:1:x") -> Push:
        """Look at a push until it is as expected."""
        with trio.fail_after(30):
            while not as_expected(row := await self.row(id)):
                await trio.lowlevel.checkpoint()
            return row

    async def tried(self, tries: int, id: str = "slot:1:x") -> Push:
        """Wait until so many tries have failed, and the pusher sleeps until the next."""
        row = await self.until(lambda row: row.tries == tries and row.why is not None, id)
        await self.clock.sleepers(1)
        return row

    def token(self, label: str, came: int = -1) -> str:
        """The token of a button that came with a request."""
        value = self.ntfy.came[came].value
        assert value is not None
        url: str = next(action["url"] for action in value["actions"] if action["label"] == label)
        assert url.startswith(f"{PUBLIC}/api/buttons/")
        return url.rpartition("/")[2]

    async def press(self, label: str, came: int = -1) -> str | None:
        """Press a button of a notification that came."""
        return await self.it.house.press(self.token(label, came))


@asynccontextmanager
async def room(
    database_url: str, *, clock: HandClock | None = None, public_url: str | None = PUBLIC, **limits: Any
) -> AsyncIterator[Room]:
    clock = clock or HandClock()
    async with serve_messages_api() as api, serve_ntfy() as ntfy:
        api.script(lambda request: say("Noted."))
        topic = Topic(url=ntfy.url, name=ntfy.topic, token=ntfy.token, public_url=public_url)
        async with (
            Ntfy(topic, seconds=limits.pop("seconds", 10.0)) as phone,
            open_house(database_url, api, clock=clock, phone=phone, limits=Limits(**limits)) as it,
        ):
            yield Room(it, ntfy, clock)


# -- sending


async def test_what_is_in_the_outbox_is_sent_at_once_and_only_once(database_url: str) -> None:
    async with room(database_url) as r:
        await r.push()
        row = await r.until(lambda row: row.state == "sent")
        assert (row.tries, row.why, row.next_at, row.settled_at) == (1, None, None, r.clock.now())
        r.clock.move(86_400)
        await r.push("slot:2:x")
        await r.until(lambda row: row.state == "sent", "slot:2:x")
        assert len(r.ntfy.came) == 2


async def test_it_is_tried_five_times_with_growing_pauses_and_then_shown_as_failed(database_url: str) -> None:
    async with room(database_url) as r:
        r.ntfy.script(*[Status(500)] * 9)
        await r.push()
        for tries, pause in enumerate((10, 40, 160, 640), start=1):
            row = await r.tried(tries)
            assert row.state == "waiting" and row.why == "The ntfy server failed (500)."
            assert row.next_at == r.clock.now() + timedelta(seconds=pause)
            r.clock.move(pause - 1)
            await r.it.house.pusher.look()
            assert len(r.ntfy.came) == tries
            r.clock.move(1)
        row = await r.until(lambda row: row.state == "failed")
        assert row.tries == 5 and row.why == "The ntfy server failed (500)." and row.next_at is None
        r.clock.move(86_400)
        await r.it.house.pusher.look()
        assert len(r.ntfy.came) == 5


async def test_a_second_try_takes_the_place_of_the_first_on_the_phone(database_url: str) -> None:
    async with room(database_url, seconds=3.0) as r:
        r.ntfy.script(Drop(), Hang(), Publish())
        await r.push()
        await r.tried(1)
        r.clock.move(10)
        await r.tried(2)
        r.clock.move(40)
        assert (await r.until(lambda row: row.state == "sent")).tries == 3
        assert len(r.ntfy.came) == 3 and len(r.ntfy.screen) == 1


async def test_it_is_not_tried_again_before_the_server_asks(database_url: str) -> None:
    async with room(database_url) as r:
        r.ntfy.script(Status(429, (("retry-after", "1800"),)))
        await r.push()
        row = await r.tried(1)
        assert row.next_at == r.clock.now() + timedelta(minutes=30)
        r.clock.move(1799)
        await r.it.house.pusher.look()
        assert len(r.ntfy.came) == 1
        r.clock.move(1)
        await r.until(lambda row: row.state == "sent")


async def test_a_server_that_asks_for_more_than_a_day_is_given_up(database_url: str) -> None:
    async with room(database_url) as r:
        r.ntfy.script(Status(429, (("retry-after", "200000"),)))
        await r.push()
        row = await r.until(lambda row: row.state == "failed")
        assert row.why is not None and "(429)" in row.why and "too late" in row.why


async def test_a_permanent_refusal_is_shown_and_not_tried_again(database_url: str) -> None:
    async with room(database_url) as r:
        r.ntfy.script(Status(400))
        await r.push()
        row = await r.until(lambda row: row.state == "failed")
        assert (row.tries, row.why) == (1, "The ntfy server does not take it as it is (400).")


async def test_one_that_hangs_holds_up_the_others_only_so_long(database_url: str) -> None:
    async with room(database_url, seconds=3.0, pushes_at_once=2) as r:
        r.ntfy.script(Hang(), Publish(), Publish())
        for id in ("slot:1:x", "slot:2:x", "slot:3:x"):
            await r.push(id)
        await r.ntfy.came_in(3)
        await r.clock.sleepers(1)
        rows = [await r.row(id) for id in ("slot:1:x", "slot:2:x", "slot:3:x")]
        assert sorted((row.state, row.tries) for row in rows) == [("sent", 1), ("sent", 1), ("waiting", 1)]


async def test_without_a_phone_it_is_quiet_and_says_so(database_url: str) -> None:
    clock = HandClock()
    async with serve_messages_api() as api, open_house(database_url, api, clock=clock) as it:
        r = Room(it, ScriptedNtfy(), clock)
        await r.push()
        row = await r.until(lambda row: row.settled_at is not None)
        assert (row.state, row.why, row.tries) == ("off", OFF, 0)


async def test_when_the_owner_turns_pushes_off_nothing_is_sent_until_he_turns_them_on(database_url: str) -> None:
    async with room(database_url) as r:
        await r.it.house.choose("pushes", False)
        await r.push()
        assert (await r.until(lambda row: row.settled_at is not None)).state == "off"
        await r.it.house.choose("pushes", True)
        await r.push("slot:2:x")
        await r.until(lambda row: row.state == "sent", "slot:2:x")
        assert len(r.ntfy.came) == 1


async def test_a_secret_never_reaches_the_phone(database_url: str) -> None:
    secret = "sk-very-secret-91xZ"
    async with room(database_url) as r:
        from tools.redact import Redactor

        object.__setattr__(r.it.house._furnishing, "redactor", lambda: Redactor({"MODEL KEY": secret}))
        await r.push(text=f"The key is {secret}.", title=secret)
        await r.until(lambda row: row.state == "sent")
        assert secret.encode() not in r.ntfy.came[0].raw and b"[redacted MODEL KEY]" in r.ntfy.came[0].raw


async def test_what_is_put_in_again_under_its_id_is_sent_anew_in_its_place(database_url: str) -> None:
    async with room(database_url) as r:
        await r.push("question:1", "Shall I?")
        await r.until(lambda row: row.state == "sent", "question:1")
        r.clock.move(MINUTE)
        await r.push("question:1", "Shall I? It expires tomorrow.")
        row = await r.until(lambda row: row.state == "sent" and row.text.endswith("tomorrow."), "question:1")
        assert (row.tries, row.settled_at, len(r.ntfy.screen)) == (1, r.clock.now(), 1)


# -- dying in the middle


class Dying:
    """A phone that is never heard of again."""

    has_buttons = True

    def __init__(self) -> None:
        self.tries = 0

    async def show(self, it: Notification, now: object) -> Outcome:
        self.tries += 1
        await trio.sleep_forever()
        return Shown()


async def test_a_process_that_dies_in_every_try_makes_five_and_no_more(database_url: str) -> None:
    clock, phone = HandClock(), Dying()
    async with serve_messages_api() as api:
        for tries in range(1, 8):
            async with open_house(database_url, api, clock=clock, phone=phone) as it:
                r = Room(it, ScriptedNtfy(), clock)
                if tries == 1:
                    await r.push()
                if tries <= 5:
                    await r.until(lambda row: row.tries == tries)  # noqa: B023
                else:
                    row = await r.until(lambda row: row.state == "failed")
                    assert (row.tries, row.why) == (5, CUT_SHORT)
            clock.move(86_400)
        assert phone.tries == 5


async def test_a_restart_in_the_middle_of_a_try_tries_again_after_its_pause(database_url: str) -> None:
    clock = HandClock()
    async with serve_messages_api() as api, open_house(database_url, api, clock=clock, phone=Dying()) as it:
        r = Room(it, ScriptedNtfy(), clock)
        await r.push()
        await r.until(lambda row: row.tries == 1)
    async with room(database_url, clock=clock) as r:
        await r.it.house.pusher.look()
        assert r.ntfy.came == []
        clock.move(10)
        assert (await r.until(lambda row: row.state == "sent")).tries == 2


async def test_a_phone_that_fails_in_an_unforeseen_way_does_not_bring_the_house_down(database_url: str) -> None:
    class Broken(Dying):
        async def show(self, it: Notification, now: object) -> Outcome:
            raise ZeroDivisionError

    clock = HandClock()
    async with serve_messages_api() as api, open_house(database_url, api, clock=clock, phone=Broken()) as it:
        r = Room(it, ScriptedNtfy(), clock)
        await r.push()
        assert (await r.tried(1)).why == "Sending it failed unexpectedly (ZeroDivisionError)."


# -- reminders on the phone, and their buttons


async def test_a_due_reminder_is_pushed_with_done_snooze_and_open(database_url: str) -> None:
    async with room(database_url) as r:
        id = await make(r.it, "reminder", "in 20m", "Call Anna 🌷")
        r.clock.move(20 * MINUTE)
        shown = await r.ntfy.shown(1)
        assert shown.value is not None and shown.buttons == ["Done", "Snooze 10 min", "Open"]
        assert (shown.value["title"], shown.value["message"]) == ("Reminder, Sun 2026-11-29 13:20", "Call Anna 🌷")
        (row,) = await r.it.ask(ListPushes(before=FOREVER, before_id="", limit=10))
        assert (row.id, row.thing) == (f"slot:{id}:2026-11-29T13:20+01:00", id)


async def test_snooze_brings_a_reminder_up_once_more_and_pressed_again_says_so(database_url: str) -> None:
    async with room(database_url) as r:
        id = await make(r.it, "reminder", "in 20m", "Tea")
        r.clock.move(20 * MINUTE)
        await r.ntfy.shown(1)
        said = await r.press("Snooze 10 min")
        assert said == "It comes up again Sunday 2026-11-29 13:30 Europe/Vienna (2026-11-29T12:30:00Z)."
        for _ in range(3):
            again = await r.press("Snooze 10 min")
            assert again is not None and again.startswith("It is snoozed already. Sunday 2026-11-29 13:30")
        r.clock.move(10 * MINUTE)
        await r.ntfy.came_in(2)
        (first,) = await settled(r.it, id)
        row = await r.row(f"slot:{id}:{first.slot}")
        assert (row.answer, row.answered_at) == ("snooze", r.clock.now() - timedelta(minutes=10))
        r.clock.move(86_400)
        await r.it.house.scheduler.look()
        assert len(r.ntfy.came) == 2


async def test_what_was_snoozed_can_be_snoozed_again_and_then_be_done(database_url: str) -> None:
    async with room(database_url) as r:
        await r.it.house.choose("snooze_minutes", 90)
        await make(r.it, "reminder", "in 20m", "Tea")
        r.clock.move(20 * MINUTE)
        for came in range(1, 4):
            await r.ntfy.came_in(came)
            await r.press("Snooze 90 min")
            r.clock.move(90 * MINUTE)
        await r.ntfy.came_in(4)
        assert await r.press("Done") == "Done."
        assert await r.press("Done") == "It is done already."
        r.clock.move(86_400)
        await r.it.house.scheduler.look()
        assert len(r.ntfy.came) == 4


async def test_done_after_snooze_takes_the_snooze_back(database_url: str) -> None:
    async with room(database_url) as r:
        await make(r.it, "reminder", "in 20m", "Tea")
        r.clock.move(20 * MINUTE)
        await r.ntfy.shown(1)
        await r.press("Snooze 10 min")
        await r.press("Done")
        r.clock.move(86_400)
        await r.it.house.scheduler.look()
        assert len(r.ntfy.came) == 1
        with pytest.raises(Declined, match="done already"):
            await r.press("Snooze 10 min")


async def test_done_closes_one_slot_of_what_repeats_and_not_the_rest(database_url: str) -> None:
    async with room(database_url) as r:
        id = await make(r.it, "reminder", "every day 9:00", "Pills")
        r.clock.move(20 * 3600)
        await r.ntfy.shown(1)
        await r.press("Done")
        assert (await thing(r.it, id)).state == "active"
        r.clock.move(86_400)
        await r.ntfy.came_in(2)


async def test_the_buttons_of_every_try_work_and_only_one_of_them_counts(database_url: str) -> None:
    async with room(database_url) as r:
        r.ntfy.script(Drop(), Drop())
        id = await make(r.it, "reminder", "in 20m", "Tea")
        r.clock.move(20 * MINUTE)
        await r.ntfy.came_in(1)
        key = f"slot:{id}:2026-11-29T13:20+01:00"
        await r.tried(1, key)
        r.clock.move(10)
        await r.tried(2, key)
        assert r.token("Snooze 10 min", 0) != r.token("Snooze 10 min", 1)
        assert await r.press("Snooze 10 min", 0) != await r.press("Snooze 10 min", 1)
        row = await r.row(key)
        assert (row.state, row.next_at, row.why) == ("sent", None, None), "what was answered need not be sent again"
        r.clock.move(10 * MINUTE)
        await r.ntfy.came_in(3)
        r.clock.move(86_400)
        await r.it.house.scheduler.look()
        assert len(r.ntfy.came) == 3


async def test_a_button_expires(database_url: str) -> None:
    async with room(database_url) as r:
        await make(r.it, "reminder", "in 20m", "Tea")
        r.clock.move(20 * MINUTE)
        await r.ntfy.shown(1)
        r.clock.move(7 * 86_400)
        assert await r.press("Done") is None


@pytest.mark.parametrize("token", ["", "x", "x" * 43, "x" * 44, "ä" * 43, "../../status", "\x00" * 43])
async def test_a_token_that_nobody_gave_out_does_nothing(database_url: str, token: str) -> None:
    async with room(database_url) as r:
        assert await r.it.house.press(token) is None


async def test_what_is_kept_of_a_token_is_its_hash(database_url: str) -> None:
    async with room(database_url) as r:
        await make(r.it, "reminder", "in 20m", "Tea")
        r.clock.move(20 * MINUTE)
        await r.ntfy.shown(1)
        token = r.token("Done")
        everything = repr(await r.it.ask(ListPushes(before=FOREVER, before_id="", limit=10)))
        assert token not in everything and token not in (hash_of(token) or "")


async def test_without_an_address_of_our_own_no_buttons_are_made(database_url: str) -> None:
    async with room(database_url, public_url=None) as r:
        await make(r.it, "reminder", "in 20m", "Tea")
        r.clock.move(20 * MINUTE)
        assert (await r.ntfy.shown(1)).buttons == []


async def test_a_button_of_another_purpose_is_declined_in_words(database_url: str) -> None:
    async with room(database_url) as r:
        buttons = (Button(purpose="maybe", label="Maybe", whole=True), Button(purpose="no", label="No", whole=True))
        until = r.clock.now() + timedelta(days=7)
        await r.push("question:1", "Shall I?", kind="question", buttons=buttons, buttons_until=until)
        assert (await r.ntfy.shown(1)).buttons == ["Maybe", "No", "Open"]
        with pytest.raises(Declined, match="another version"):
            await r.press("Maybe")
        with pytest.raises(Declined, match="no such question"):
            await r.press("No")


async def test_an_answer_in_another_room_of_the_house_is_given_by_its_own_effect(database_url: str) -> None:
    async with room(database_url) as r:
        asked: list[tuple[str, str]] = []

        async def yes(tx: object, it: pushes.Pressing) -> str:
            asked.append((it.push.id, it.argument))
            return "It is done as you said."

        buttons = (Button(purpose="yes:7", label="Yes", whole=True),)
        until = r.clock.now() + timedelta(days=7)
        await r.push("question:1", "Shall I?", kind="question", buttons=buttons, buttons_until=until)
        await r.ntfy.shown(1)
        hashed = hash_of(r.token("Yes"))
        assert hashed is not None
        press = pushes.Press(hash=hashed, effects=effects(id=1) | {"yes": yes}, now=r.clock.now())
        assert await r.it.house.store.ask(press) == "It is done as you said."
        assert asked == [("question:1", "7")] and (await r.row("question:1")).answer == "yes"
        with pytest.raises(NotAsExpected):
            await r.push("question:1", "Shall I? It expires tomorrow.")


# -- at a scale


async def test_among_ten_thousand_pushes_what_waits_is_found_by_an_index(database_url: str) -> None:
    await outside(
        database_url,
        """
        INSERT INTO pushes (id, kind, title, text, buttons, buttons_until, state, tries, next_at, made_at, settled_at,
                            no)
        SELECT 'slot:' || n, 'reminder', '', 'text', '[]', now(), CASE n % 100 WHEN 0 THEN 'waiting' ELSE 'sent' END,
            1, CASE n % 100 WHEN 0 THEN now() + n * interval '1 s' END, now() - n * interval '1 s',
            CASE n % 100 WHEN 0 THEN NULL ELSE now() END, n
        FROM generate_series(1, 10000) AS n
        """,
    )
    await outside(database_url, "ANALYZE pushes")
    for statement in (_WAITING.replace("?", "8"), _LOOK.replace("?", "now()")):
        plan = "\n".join(line for (line,) in await outside(database_url, f"EXPLAIN {statement}"))
        assert "pushes_due" in plan and "Seq Scan on pushes" not in plan, plan
