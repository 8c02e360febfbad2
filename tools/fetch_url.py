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

    `address` is where it was found in the end, `title` what it calls itself. `follow_characters` of its text come after
    what is here; `cut`: it was longer than what is read of a page, so there may be more.
    """

    address: str
    title: str
    text: str
    follow_characters: int
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
    if page.follow_characters:
        following = skipped + len(page.text)
        parts.append(f"{page.follow_characters:,} more characters follow; skip_characters {following} reads on there.")
    if page.cut:
        parts.append("It is longer than what is read of a page: what comes after that can't be had.")
    if not page.text.strip():
        parts.append("There is no text on it: it may be drawn by a program in the browser.")
    return Result(parts=(shown, *parts))
