"""A whole dreamwalker with a phone, for tests: a scripted ntfy shows things on it, and a thumb presses its buttons.

Time is moved by hand; it starts on Sunday, 2026-11-29, 13:00 in Vienna.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import attrs
import trio

from tests.hand_clock import HandClock
from tests.messages_api import say
from tests.ntfy import Ntfy, serve_ntfy
from tests.world import PATIENCE_SECONDS, Json, World, world

PUBLIC = "https://dream.example"
WAKE_TOKEN = "a-token-that-may-wake-it-and-nothing-more"


@attrs.define
class Phone:
    """A world with a phone."""

    w: World
    ntfy: Ntfy
    clock: HandClock

    async def remind(self, when: str = "in 20m", text: str = "Tea") -> Json:
        return await self.w.post(
            "/api/reminders", {"request_id": text.replace(" ", "_"), "when": when, "text": text}, status=201
        )

    async def pushes(self) -> list[Json]:
        listed: list[Json] = (await self.w.get("/api/pushes"))["pushes"]
        return listed

    async def until(self, state: str) -> Json:
        """Look at the newest push until it is in this state."""
        with trio.fail_after(PATIENCE_SECONDS):
            while not (pushes := await self.pushes()) or pushes[0]["state"] != state:
                pass
        return pushes[0]


@asynccontextmanager
async def phone(database_url: str, *, changes: Json | None = None, **limits: Any) -> AsyncIterator[Phone]:
    clock = HandClock()
    async with serve_ntfy() as ntfy:
        fields = {
            "ntfy_url": ntfy.url,
            "ntfy_topic": ntfy.topic,
            "ntfy_token": ntfy.token,
            "public_url": PUBLIC,
            "hosts": ("dream.example",),
            "wake_token": WAKE_TOKEN,
        } | (changes or {})
        async with world(database_url, lambda request: say("Noted."), clock=clock, changes=fields, **limits) as w:
            ntfy.names[PUBLIC] = w.url
            yield Phone(w, ntfy, clock)
