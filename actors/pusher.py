"""The pusher: hands what is in the outbox over to the owner's phone.

One rule: a try is committed before it is made, with when the next one is due. So a pusher that dies in the middle
tries again, on the phone a second one takes the place of the first, and nothing is tried for ever.
"""

import logging
from datetime import datetime, timedelta
from typing import Protocol, assert_never

import attrs
import trio

from storage import pushes
from storage.errors import NotAsExpected
from storage.operation import Commit, Write
from storage.records import Push
from storage.text import loads
from tools.limits import Limits
from tools.phone import Key, Notification, NotNow, Outcome, Phone, Refused, Shown, hash_of, new_token
from tools.redact import Redactor

from .clock import Clock
from .mailbox import Mailbox
from .store import Store
from .supervisor import unwrap

log = logging.getLogger("dreamwalker.pusher")

OFF = "No phone is set up, or pushes are turned off."
CUT_SHORT = "Its last try was cut short by a restart; it may have arrived."
KEPT_AFTER_EXPIRY = timedelta(days=30)
"""How long an expired button is kept, so that whoever looks into it finds it."""


@attrs.frozen
class Look:
    """Something may wait in the outbox."""


PusherMessage = Look


class Means(Protocol):
    """What the pusher works with. `phone` None: nothing is to be sent."""

    store: Store
    clock: Clock
    limits: Limits

    @property
    def phone(self) -> Phone | None: ...
    @property
    def redactor(self) -> Redactor: ...


class Pusher:
    """The pusher of a house."""

    def __init__(self, means: Means) -> None:
        self._means = means
        self.mailbox: Mailbox[PusherMessage] = Mailbox(
            "the pusher", capacity=means.limits.mailbox_messages, on_ring=lambda key: Look()
        )

    async def run(self, *, task_status: "trio.TaskStatus[None]" = trio.TASK_STATUS_IGNORED) -> None:
        """Serve the mailbox until it is closed. Raises StorageError."""
        with self.mailbox:
            self.mailbox.ring(0)
            task_status.started()
            async with trio.open_nursery() as nursery:
                alarm = trio.CancelScope()
                async for message in self.mailbox:
                    match message:
                        case Look():
                            next_at = await self.look()
                        case _:
                            assert_never(message)
                    alarm.cancel()
                    alarm = trio.CancelScope()
                    if next_at is not None:
                        nursery.start_soon(self._alarm, alarm, next_at)
                nursery.cancel_scope.cancel()

    async def _alarm(self, scope: trio.CancelScope, at: datetime) -> None:
        with scope:
            await self._means.clock.sleep_until(at)
            self.mailbox.ring(0)

    async def look(self) -> datetime | None:
        """Send what is due; returns when the next try is. Raises StorageError."""
        while True:
            waiting = await self._means.store.ask(pushes.Waiting(self._means.limits.pushes_at_once))
            now = self._means.clock.now()
            due = [push for push in waiting if push.next_at is not None and push.next_at <= now]
            if not due:
                return waiting[0].next_at if waiting else None
            try:
                await self._send(due, now)
            except NotAsExpected:
                log.info("push.changed")

    async def _send(self, due: list[Push], now: datetime) -> None:
        """Try all of them once, side by side, so that one that hangs holds up the others only so long."""
        phone, writes = self._means.phone, list[Write]()
        tried: list[tuple[Push, Notification]] = []
        for push in due:
            if phone is None:
                writes.append(pushes.give_up(push, why=OFF, state="off", now=now))
            elif push.tries >= self._means.limits.push_tries:
                writes.append(pushes.give_up(push, why=CUT_SHORT, now=now))
            else:
                notification, made = self._notification(push, now, with_keys=phone.has_buttons)
                tried.append((push, notification))
                writes += (pushes.begin(push, next_at=self._next_at(push, now)), *made)
        await self._means.store.ask(Commit((*writes, pushes.forget_expired(now - KEPT_AFTER_EXPIRY))))
        if phone is None:
            return
        async with trio.open_nursery() as nursery:
            for push, notification in tried:
                nursery.start_soon(self._try, phone, push, notification)

    async def _try(self, phone: Phone, push: Push, notification: Notification) -> None:
        """Make one try, and write at once what came of it: what is known should not be tried again."""
        try:
            outcome = await phone.show(notification, self._means.clock.now())
        except Exception as raised:
            error = unwrap(raised)
            log.error("push.broke", {"push": push.id}, exc_info=error)
            outcome = NotNow(why=f"Sending it failed unexpectedly ({type(error).__name__}).")
        await self._means.store.ask(Commit((self._result(push, outcome, self._means.clock.now()),)))

    def _result(self, push: Push, outcome: Outcome, now: datetime) -> Write:
        """What is written of a try."""
        tries, limits = push.tries + 1, self._means.limits
        match outcome:
            case Shown():
                log.info("push.sent", {"push": push.id, "tries": tries})
                return pushes.sent(push, now)
            case Refused(why=why):
                log.warning("push.refused", {"push": push.id, "tries": tries, "why": why})
                return pushes.give_up(push, why=why, now=now)
            case NotNow(why=why, retry_at=asked):
                log.info("push.failed", {"push": push.id, "tries": tries, "why": why})
                next_at = max(asked or now, self._next_at(push, now))
                if tries >= limits.push_tries:
                    return pushes.give_up(push, why=why, now=now)
                if next_at > now + timedelta(seconds=limits.push_longest_seconds):
                    why = f"{why} It is to be tried again only on {next_at:%Y-%m-%d}, which is too late."
                    return pushes.give_up(push, why=why, now=now)
                return pushes.retry(push, why=why, next_at=next_at)
        assert_never(outcome)

    def _next_at(self, push: Push, now: datetime) -> datetime:
        """When a try that begins now is followed by another, unless it succeeds: four times as long each time."""
        return now + timedelta(seconds=self._means.limits.push_retry_seconds * 4.0**push.tries)

    def _notification(self, push: Push, now: datetime, *, with_keys: bool) -> tuple[Notification, list[Write]]:
        """What is sent of a push, and the writes that make its buttons work."""
        keys, writes, redactor = [], [], self._means.redactor
        for button in loads(push.buttons) if with_keys and push.buttons_until > now else ():
            token = new_token()
            hashed = hash_of(token)
            assert hashed is not None
            keys.append(Key(label=button["label"], token=token, whole=button["whole"]))
            writes.append(pushes.button(hashed, push, button["purpose"]))
        shown = Notification(
            id=push.id,
            kind=push.kind,
            title=redactor.text(push.title),
            text=redactor.text(push.text),
            keys=tuple(keys),
        )
        return shown, writes
