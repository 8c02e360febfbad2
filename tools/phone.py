"""The Phone port: what can be shown on the owner's phone, and what may come of trying.

One rule: nothing here knows a service. `dreamwalker.ntfy` fills the port; nobody below or beside it can tell which it
is, and nothing is ever read from it.
"""

import hashlib
import re
import secrets
from datetime import datetime
from typing import Protocol

import attrs

_TOKEN = re.compile(r"[A-Za-z0-9_-]{43}")


@attrs.frozen(kw_only=True)
class Key:
    """A button as it is sent: what stands on it, and the token that pressing it brings back.

    `whole`: it decides about the text, and so is left out if that can't be shown whole.
    """

    label: str
    token: str = attrs.field(repr=False)
    whole: bool = False


@attrs.frozen(kw_only=True)
class Notification:
    """What is to be shown. One with the same id takes the place of the one before."""

    id: str
    kind: str
    title: str
    text: str
    keys: tuple[Key, ...] = ()


@attrs.frozen
class Shown:
    """It was handed over."""


@attrs.frozen(kw_only=True)
class NotNow:
    """It was not handed over, or that is not known. `retry_at`: the service asked to be left alone until then."""

    why: str
    retry_at: datetime | None = None


@attrs.frozen(kw_only=True)
class Refused:
    """It was refused, and would be again."""

    why: str


Outcome = Shown | NotNow | Refused


class Phone(Protocol):
    """A way to the owner's phone. `has_buttons`: what is pressed there can reach us."""

    @property
    def has_buttons(self) -> bool: ...

    async def show(self, it: Notification, now: datetime) -> Outcome:
        """Try once to hand a notification over; takes a bounded time. A reason is in the owner's words."""
        ...


def new_token() -> str:
    """A token for one button: 32 random bytes, as 43 characters that an address can hold."""
    return secrets.token_urlsafe(32)


def hash_of(token: str) -> str | None:
    """What is kept of a token; None if it can't be one."""
    return hashlib.sha256(token.encode()).hexdigest() if _TOKEN.fullmatch(token) else None
