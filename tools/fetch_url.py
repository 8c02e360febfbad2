"""Fetching a page: the port of what fetches, and the tool with which a worker reads the web.

One rule: what a page says is text from outside, its title and its address too; why there is none is said in one of a
few fixed sentences, which nobody out there can word.
"""

from typing import Annotated, Protocol

import attrs
from msgspec import Meta

from .contract import Arguments, Result, Tool, ToolContext, ToolFailed
from .egress import EgressFailed, EgressRefused
from .outside import Source, outside
from .web_address import BadAddress, WebAddress, read_address

FETCH_URL = "fetch_url"
"""The tool's name."""


class FetchFailed(Exception):
    """There is no text to be had there. The message says why, in fixed words."""


@attrs.frozen(kw_only=True)
class Page:
    """What an address gave: its text, from the character on that was asked for.

    `address` is where it was found in the end, `title` what it calls itself, `characters` how many its whole text
    has. `cut`: only its beginning was read, since it was too long or broke off on its way, so there may be more.
    """

    address: str
    title: str
    text: str
    characters: int
    cut: bool


class Web(Protocol):
    """Fetches pages from the open internet, and from nowhere else."""

    async def fetch(self, address: WebAddress, *, skip_characters: int, limit_characters: int) -> Page:
        """Fetch a page and make text of it, within one deadline. Raises FetchFailed, EgressRefused, EgressFailed."""
        ...


class FetchUrlArguments(Arguments, frozen=True):
    """Arguments of `fetch_url`."""

    url: Annotated[str, Meta(description="The whole address, from https:// or http:// on.")]
    skip_characters: Annotated[
        int,
        Meta(
            description="To read on where an earlier answer was cut: so many characters of its text are left out.",
            ge=0,
            le=10_000_000,
        ),
    ] = 0


def fetch_url(web: Web) -> Tool:
    """The tool, with what fetches."""

    async def run(context: ToolContext, arguments: FetchUrlArguments) -> Result:
        try:
            address = read_address(arguments.url)
            page = await web.fetch(
                address,
                skip_characters=arguments.skip_characters,
                limit_characters=context.limits.page_characters,
            )
        except (BadAddress, EgressRefused, EgressFailed, FetchFailed) as failed:
            raise ToolFailed(str(failed)) from failed
        return _shown(context, page, arguments.skip_characters)

    return Tool(
        name=FETCH_URL,
        description=(
            "Read a page, a text, JSON or a PDF on the open internet. You get its text with its links; a page that a "
            "program in the browser would draw comes without that."
        ),
        arguments=FetchUrlArguments,
        run=run,
        exit=True,
        private=False,
        outside=True,
        repeatable=True,
        stoppable=True,
    )


def _shown(context: ToolContext, page: Page, skipped: int) -> Result:
    head = f"Address: {page.address}\nTitle: {page.title}" if page.title else f"Address: {page.address}"
    shown = outside(
        f"{head}\n\n{page.text}",
        Source.WEB,
        redactor=context.redactor,
        limit_characters=context.limits.page_characters + len(head) + 2,
    )
    parts: list[str] = []
    following = skipped + len(page.text)
    if left := max(page.characters - following, 0):
        parts.append(f"{left:,} more characters follow; skip_characters {following} reads on there.")
    elif 0 < page.characters <= skipped:
        parts.append(f"Its text has {page.characters:,} characters, so nothing comes after {skipped:,} of them.")
    elif len(page.text) == page.characters and not page.text.strip():
        parts.append("There is no text on it: it may be drawn by a program in the browser.")
    if page.cut:
        parts.append("Only its beginning could be read: it is too long, or broke off. What comes after can't be had.")
    return Result(parts=(shown, *parts))
