"""The open web, as the house sees it: addresses in, text out.

One rule: one deadline for everything, and nothing that takes long to import is imported before somebody fetches.
"""

import ssl

import trio

from dreamwalker.certificates import authorities
from tools.egress import Egress
from tools.fetch_url import FetchFailed, Page
from tools.limits import Limits
from tools.web_address import WebAddress

_TRIES = 3
"""An address that does not answer leaves time for the next: an IPv6 that leads nowhere is common."""


class OpenWeb:
    """Fetches pages. Satisfies Web. Tests put their own network into `egress`; its judge is always the real one."""

    def __init__(self, limits: Limits, egress: Egress | None = None) -> None:
        self._limits, self._egress = limits, egress or Egress(seconds=limits.fetch_seconds / _TRIES)
        self._places = trio.CapacityLimiter(limits.pages_at_once)

    async def fetch(self, address: WebAddress, *, skip_characters: int, limit_characters: int) -> Page:
        """Fetch a page and make text of it. Raises FetchFailed, EgressRefused, EgressFailed."""
        limits = self._limits
        with trio.move_on_after(limits.fetch_seconds):
            return await self._fetch(address, skip_characters, limit_characters)
        raise FetchFailed(f"It takes longer than {limits.fetch_seconds:g} seconds, and was given up.")

    async def _fetch(self, address: WebAddress, skip_characters: int, limit_characters: int) -> Page:
        from . import fetching, reader

        found = await fetching.fetch(address, self._egress, self._limits, _trusted)
        task = reader.Task(
            kind=found.kind,
            charset=found.charset,
            address=str(found.address),
            body=found.body,
            skip_characters=skip_characters,
            limit_characters=limit_characters,
        )
        async with self._places:
            text = await reader.read(task, self._limits)
        return Page(
            address=str(found.address),
            title=text.title,
            text=text.text[:limit_characters],
            characters=text.characters,
            cut=found.cut or text.cut,
        )


async def _trusted() -> ssl.SSLContext:
    return await trio.to_thread.run_sync(authorities)
