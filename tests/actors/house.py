"""A house for tests: real Postgres, the real Claude client against the scripted Messages API, time moved by hand."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any, TypeVar
from zoneinfo import ZoneInfo

import attrs
import trio

from actors.clock import Clock
from actors.store import StoreSettings
from dreamwalker import prices
from dreamwalker.claude import Claude, Credentials, NewestCredentials
from dreamwalker.furnishing import Furnishing
from dreamwalker.house import MAIN_AGENT, House
from netlify.client import Netlify
from storage import inbox
from storage.connection import Options
from storage.conversations import Page
from storage.operation import Read
from storage.records import Call, Entry, Run
from storage.runs import ListRuns
from storage.text import dumps, loads
from tests.hand_clock import HandClock
from tests.messages_api import MessagesApi, serve_messages_api
from tools.fetch_url import Web
from tools.limits import Limits
from tools.phone import Phone
from tools.redact import Redactor
from tools.sandbox import Sandbox

T = TypeVar("T")


async def _no_check(raw: Any) -> None:
    """The template database is migrated already."""


@attrs.define
class Inside:
    """A house under test, from inside."""

    house: House
    api: MessagesApi
    clock: Clock
    _requests: int = 0

    @property
    def home(self) -> int:
        """The main agent's home conversation."""
        return self.house.homes[MAIN_AGENT]

    async def say(self, text: str, **fields: Any) -> int:
        """Accept an owner message, or with `kind` and `source` another; returns its id."""
        self._requests += 1
        id = self.house.store.next_id()
        given = {"kind": "owner", "source_key": f"request:{id}-{self._requests}", **fields}
        body = {"text": text, "quotes": given.pop("quotes", []), "source": given.pop("source", "")}
        await self.house.store.ask(
            inbox.accept(
                id=id,
                agent=given.pop("agent", MAIN_AGENT),
                conversation=given.pop("conversation", self.home),
                digest="-",
                body=dumps(body),
                outside=given["kind"] != "owner",
                now=self.clock.now(),
                **given,
            )
        )
        return id

    async def until(self, settled: Callable[[tuple[Run, ...]], bool]) -> tuple[Run, ...]:
        """Wait until the runs of the home conversation, oldest first, are as expected."""
        with trio.fail_after(60), self.house.live.watch(self.home) as watch:
            while True:
                runs = await self.runs()
                if settled(runs):
                    return runs
                await watch.wait()

    async def settled(self, count: int = 1) -> tuple[Run, ...]:
        """Wait until `count` runs have ended."""
        return await self.until(lambda runs: sum(run.ended for run in runs) >= count)

    async def runs(self) -> tuple[Run, ...]:
        """The runs of the home conversation, oldest first."""
        listed = await self.ask(ListRuns(before=2**60, limit=1000, conversation=self.home))
        return tuple(item.run for item in reversed(listed))

    async def transcript(self) -> tuple[tuple[Entry, ...], tuple[Call, ...]]:
        """Every entry and call of the home conversation."""
        page = await self.ask(Page(self.home, before=2**60, limit=10_000))
        return page.entries, page.calls

    async def said(self) -> list[str]:
        """The texts of the transcript in order, without time lines."""
        entries, _ = await self.transcript()
        return [
            block["text"]
            for entry in entries
            for block in loads(entry.shown)
            if block["type"] == "text" and not block["text"].startswith("[20")
        ]

    async def ask(self, read: Read[T]) -> T:
        """Read from storage."""
        return await self.house.store.ask(read)


@asynccontextmanager
async def open_house(
    database_url: str,
    api: MessagesApi,
    *,
    clock: Clock | None = None,
    limits: Limits | None = None,
    zone: str = "Europe/Vienna",
    house_type: type[House] = House,
    phone: Phone | None = None,
    sandbox: Sandbox | None = None,
    web: Web | None = None,
    netlify: Netlify | None = None,
    secrets: dict[str, str] | None = None,
    **options: Any,
) -> AsyncIterator[Inside]:
    """Open a house on a database; it is closed at the end, as a process that stops closes it."""
    clock, limits = clock or HandClock(), limits or Limits()
    credentials = NewestCredentials(Credentials(api_key="a key that the tests made up", base_url=api.url))
    redactor = Redactor(secrets or {})
    async with Claude(credentials, silence_seconds=limits.silence_seconds) as claude:
        furnishing = Furnishing(
            store=StoreSettings(
                options=Options(dsn=lambda: database_url, **options), check=_no_check, renew_seconds=20, ask_seconds=30
            ),
            model=claude,
            prices=prices,
            clock=clock,
            limits=limits,
            redactor=lambda: redactor,
            zone=ZoneInfo(zone),
            default_model="claude-haiku-5-5",
            phone=phone,
            sandbox=sandbox,
            web=web,
            netlify=netlify,
            visited=lambda: True,
        )
        house = house_type(furnishing)
        async with trio.open_nursery() as nursery:
            await nursery.start(house.run)
            yield Inside(house, api, clock)
            nursery.cancel_scope.cancel()


@asynccontextmanager
async def inside(database_url: str, **fields: Any) -> AsyncIterator[Inside]:
    """A house with a scripted Messages API of its own."""
    async with serve_messages_api() as api, open_house(database_url, api, **fields) as it:
        yield it
