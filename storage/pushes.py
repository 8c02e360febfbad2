"""Pushes: what is to be shown on the owner's phone, what became of it, and the buttons that come with it.

One rule: a try is counted in the commit before it is made, and what came of it is written only if nobody decided
otherwise meanwhile. So a push is tried a bounded number of times, whoever dies when.
"""

from collections.abc import Awaitable, Callable, Mapping
from datetime import datetime

import attrs

from .operation import Bell, Operation, Read, Reader, Transaction, Write
from .records import Push
from .text import dumps

OUTBOX = "pushes"
"""Topic of the bell that says: there is something to send."""

WAITS = Bell(OUTBOX)


@attrs.frozen(kw_only=True)
class Button:
    """A button of a push: what it does, and what stands on it.

    `whole`: it decides about the text, and so is offered only where the phone shows all of it.
    """

    purpose: str
    label: str
    whole: bool = False


# One that was answered is not shown again.
_ENQUEUE = """
INSERT INTO pushes AS p (id, kind, thing, title, text, buttons, buttons_until, state, tries, next_at, made_at, no)
VALUES (?, ?, ?, ?, ?, ?, ?, 'waiting', 0, ?, ?, :no)
ON CONFLICT (id) DO UPDATE SET title = excluded.title, text = excluded.text, buttons = excluded.buttons,
    buttons_until = excluded.buttons_until, state = 'waiting', tries = 0, next_at = excluded.next_at, why = NULL,
    made_at = excluded.made_at, settled_at = NULL, no = excluded.no
WHERE p.answer IS NULL
"""


def enqueue(
    *,
    id: str,
    kind: str,
    title: str,
    text: str,
    now: datetime,
    thing: int | None = None,
    buttons: tuple[Button, ...] = (),
    buttons_until: datetime | None = None,
) -> Write:
    """Put a push into the outbox, in the commit of what it tells; ring `WAITS` with it.

    One with this id is replaced, on the phone too, and sent anew. Raises NotAsExpected if it was answered.
    """
    shown = dumps([attrs.asdict(button) for button in buttons])
    params = (id, kind, thing, title, text, shown, buttons_until or now, now, now)
    return Write(_ENQUEUE, params, what="the push is not answered")


_ENQUEUE_ONCE = """
INSERT INTO pushes (id, kind, title, text, buttons, buttons_until, state, tries, next_at, made_at, no)
VALUES (?, 'notice', ?, ?, '[]', ?, 'waiting', 0, ?, ?, :no) ON CONFLICT (id) DO NOTHING
"""


def tell_once(*, id: str, title: str, text: str, now: datetime) -> Write:
    """Put a notice into the outbox if none of this id was; ring `WAITS` with it."""
    return Write(_ENQUEUE_ONCE, (id, title, text, now, now, now), expect=None)


_BEGIN = """
UPDATE pushes SET tries = tries + 1, next_at = ?, no = :no
WHERE id = ? AND tries = ? AND made_at = ? AND state = 'waiting'
"""


def begin(seen: Push, *, next_at: datetime) -> Write:
    """Count a try that is about to be made. `next_at`: when the next is due if nothing is heard of this one.

    Raises NotAsExpected if it was replaced, answered or tried meanwhile.
    """
    return Write(_BEGIN, (next_at, seen.id, seen.tries, seen.made_at), what="the push waits")


_BUTTON = "INSERT INTO buttons (hash, push, purpose, expires_at, no) VALUES (?, ?, ?, ?, :no)"


def button(hash: str, push: Push, purpose: str) -> Write:
    """Let a token, known by its hash, be a button of a push."""
    return Write(_BUTTON, (hash, push.id, purpose, push.buttons_until), what="make the button")


_FORGET = "DELETE FROM buttons WHERE expires_at < ? AND no < :no"


def forget_expired(before: datetime) -> Write:
    """Delete the buttons that expired before an instant."""
    return Write(_FORGET, (before,), expect=None)


_SETTLE = """
UPDATE pushes SET state = ?, why = ?, next_at = ?, settled_at = ?, no = :no
WHERE id = ? AND made_at = ? AND state = 'waiting'
"""


def sent(seen: Push, now: datetime) -> Write:
    """It was sent. Nothing is written if it was replaced or answered meanwhile; so with the other two."""
    return Write(_SETTLE, ("sent", None, None, now, seen.id, seen.made_at), expect=None)


def retry(seen: Push, *, why: str, next_at: datetime) -> Write:
    """A try failed, and there will be another."""
    return Write(_SETTLE, ("waiting", why, next_at, None, seen.id, seen.made_at), expect=None)


def give_up(seen: Push, *, why: str, now: datetime, state: str = "failed") -> Write:
    """There will be no more tries; `state` "off": there was to be none."""
    return Write(_SETTLE, (state, why, None, now, seen.id, seen.made_at), expect=None)


_CALL_OFF = """
UPDATE pushes SET state = 'off', why = ?, next_at = NULL, settled_at = ?, no = :no WHERE id = ? AND state = 'waiting'
"""


def call_off(id: str, *, why: str, now: datetime) -> Write:
    """Send a push no more that still waits: what it tells is no longer so."""
    return Write(_CALL_OFF, (why, now, id), expect=None)


_WAITING = f"SELECT {Push.columns()} FROM pushes WHERE next_at IS NOT NULL ORDER BY next_at, id LIMIT ?"


@attrs.frozen
class Waiting(Read[tuple[Push, ...]]):
    """The pushes whose next try is due first, in that order, at most `limit`."""

    limit: int

    async def read(self, reader: Reader) -> tuple[Push, ...]:
        return tuple(Push.of(row) for row in await reader.all(_WAITING, self.limit))


_LIST = f"""
SELECT {Push.columns()} FROM pushes
WHERE (made_at, id) < (?::timestamptz, ?::text) ORDER BY made_at DESC, id DESC LIMIT ?
"""
_LIST_OF = f"""
SELECT {Push.columns()} FROM pushes
WHERE thing = ?::bigint AND (made_at, id) < (?::timestamptz, ?::text) ORDER BY made_at DESC, id DESC LIMIT ?
"""


@attrs.frozen(kw_only=True)
class ListPushes(Read[tuple[Push, ...]]):
    """Pushes made before an instant (of those made at it, the ones whose id is lower), the newest first.

    `thing`: only those that tell of this reminder or job.
    """

    before: datetime
    before_id: str
    limit: int
    thing: int | None = None

    async def read(self, reader: Reader) -> tuple[Push, ...]:
        page = (self.before, self.before_id, self.limit)
        if self.thing is None:
            rows = await reader.all(_LIST, *page)
        else:
            rows = await reader.all(_LIST_OF, self.thing, *page)
        return tuple(Push.of(row) for row in rows)


_GET = f"SELECT {Push.columns()} FROM pushes WHERE id = ?"


@attrs.frozen
class FindPush(Read[Push | None]):
    """One push, or None."""

    id: str

    async def read(self, reader: Reader) -> Push | None:
        row = await reader.get(_GET, self.id)
        return None if row is None else Push.of(row)


class Declined(Exception):
    """A button that was pressed can't do its work any more. The message says what was decided, and when."""


@attrs.frozen(kw_only=True)
class Pressing:
    """A press of a button of a push, as it stands. `argument` is what follows the colon in the button's purpose."""

    push: Push
    argument: str
    now: datetime


Effect = Callable[[Transaction, Pressing], Awaitable[str | Declined]]
"""What a press does, in the press's own transaction; returns what the owner is told.

It is called for each press, also of a button that an earlier try brought. So one that finds its answer given already
says so and does nothing, and one that finds another that stands against it raises Declined. One that finds that its
answer can't stand, and writes down why, returns Declined.
"""

_PRESSED = "SELECT push, purpose FROM buttons WHERE hash = ? AND expires_at > ?"
_USE = "UPDATE buttons SET used_at = ?, no = :no WHERE hash = ? AND used_at IS NULL"
_ANSWER = """
UPDATE pushes SET answer = ?, answered_at = ?, state = 'sent', why = NULL, next_at = NULL,
    settled_at = COALESCE(settled_at, ?), no = :no
WHERE id = ? AND answer IS DISTINCT FROM ?
"""


@attrs.frozen(kw_only=True)
class Press(Operation[str | Declined | None]):
    """Press the button whose token has this hash: what the owner is told; None if there is none, or it has expired.

    `effects`: what a press does, by purpose. Raises Declined, and what the effect raises: then nothing happened.
    """

    hash: str
    effects: Mapping[str, Effect]
    now: datetime

    async def perform(self, tx: Transaction) -> str | Declined | None:
        row = await tx.get(_PRESSED, self.hash, self.now)
        push = None if row is None else await FindPush(row["push"]).read(tx)
        if row is None or push is None:
            return None
        answer, _, argument = row["purpose"].partition(":")
        effect = self.effects.get(answer)
        if effect is None:
            raise Declined("This button is of another version of dreamwalker, which this one does not know.")
        said = await effect(tx, Pressing(push=push, argument=argument, now=self.now))
        await tx.run(_USE, self.now, self.hash)
        if not isinstance(said, Declined):
            await tx.run(_ANSWER, answer, self.now, self.now, push.id, answer)
        return said
