"""Netlify, to look at: sites, deploys, DNS, functions, forms and the names of environment variables of one team.

One rule: only an agent that the owner granted it has these tools; they change nothing, and all that they bring is text
from outside.
"""

from collections.abc import Awaitable, Callable, Iterable
from typing import Annotated, Any

import attrs
from msgspec import Meta

from netlify.answers import SITE, Listed, NetlifyError
from netlify.client import Netlify

from .contract import Arguments, Result, Tool, ToolContext, ToolFailed
from .outside import Source, outside

NETLIFY = "netlify"
"""The grant's name."""

Site = Annotated[str, Meta(description="The site's id, or its name.", max_length=200)]


class Nothing(Arguments, frozen=True):
    """No arguments."""


class OfSite(Arguments, frozen=True):
    """Arguments of what is about one site."""

    site: Site


class OfDeploy(Arguments, frozen=True):
    """Arguments of `netlify_deploy`."""

    deploy: Annotated[str, Meta(description="The deploy's id, as netlify_deploys lists it.", max_length=200)]


class OfZone(Arguments, frozen=True):
    """Arguments of `netlify_dns_records`."""

    zone: Annotated[str, Meta(description="The zone's id, as netlify_dns_zones lists it.", max_length=200)]


class OfSiteOrTeam(Arguments, frozen=True):
    """Arguments of `netlify_variables`."""

    site: Annotated[
        str | None, Meta(description="The site's id, or its name; without it, those that the whole team shares.")
    ] = None


def netlify_tools(netlify: Netlify) -> tuple[Tool, ...]:
    """The tools of the grant."""

    async def named(site: str) -> str:
        """The id of a site that may be named by its name, which never leaves here."""
        if SITE.fullmatch(site) is not None:
            return site
        found = [one.id for one in (await netlify.sites()).items if one.name == site]
        if len(found) != 1:
            raise ToolFailed("There is no site of that name. netlify_sites lists those that there are.")
        return str(found[0])

    async def sites(arguments: Nothing) -> Any:
        return await netlify.sites()

    async def site(arguments: OfSite) -> Any:
        return await netlify.site(await named(arguments.site))

    async def deploys(arguments: OfSite) -> Any:
        return await netlify.deploys(await named(arguments.site))

    async def deploy(arguments: OfDeploy) -> Any:
        return await netlify.deploy(arguments.deploy)

    async def zones(arguments: Nothing) -> Any:
        return await netlify.zones()

    async def records(arguments: OfZone) -> Any:
        return await netlify.records(arguments.zone)

    async def functions(arguments: OfSite) -> Any:
        return await netlify.functions(await named(arguments.site))

    async def forms(arguments: OfSite) -> Any:
        return await netlify.forms(await named(arguments.site))

    async def variables(arguments: OfSiteOrTeam) -> Any:
        return await netlify.variables(None if arguments.site is None else await named(arguments.site))

    return (
        _tool("netlify_sites", "List the sites of the owner's team at Netlify.", Nothing, sites),
        _tool("netlify_site", "Look at one site.", OfSite, site),
        _tool("netlify_deploys", "List the newest deploys of a site, with why one failed.", OfSite, deploys),
        _tool(
            "netlify_deploy",
            "Look at one deploy. Netlify gives out why it failed, but no log of it.",
            OfDeploy,
            deploy,
        ),
        _tool("netlify_dns_zones", "List the team's DNS zones.", Nothing, zones),
        _tool("netlify_dns_records", "List the records of a DNS zone.", OfZone, records),
        _tool("netlify_functions", "List the names of a site's functions.", OfSite, functions),
        _tool("netlify_forms", "List a site's forms and how often each was sent.", OfSite, forms),
        _tool(
            "netlify_variables",
            "List the names of environment variables. Their values can't be read.",
            OfSiteOrTeam,
            variables,
        ),
    )


def _tool(name: str, says: str, arguments: type[Arguments], look: Callable[[Any], Awaitable[Any]]) -> Tool:
    async def run(context: ToolContext, given: Any) -> Result:
        try:
            found = await look(given)
        except NetlifyError as error:
            raise ToolFailed(str(error)) from None
        shown = outside(
            "\n".join(_told(found)),
            Source.NETLIFY,
            redactor=context.redactor,
            limit_characters=context.limits.result_characters,
        )
        return Result(parts=(shown,))

    return Tool(
        name=name,
        description=f"{says} It only reads. What it brings is text from outside.",
        arguments=arguments,
        run=run,
        exit=False,
        private=False,
        outside=True,
        repeatable=True,
        stoppable=True,
    )


def _told(found: Any) -> Iterable[str]:
    """An answer line by line."""
    if not isinstance(found, Listed):
        yield from (f"{name}: {value}" for name, value in _fields(found))
        return
    if not found.items:
        yield "There are none."
    for item in found.items:
        yield f"- {item}" if isinstance(item, str) else "- " + "; ".join(f"{n}: {v}" for n, v in _fields(item))
    if found.more:
        yield "… and more, which were not asked for"


def _fields(item: Any) -> Iterable[tuple[str, str]]:
    """The fields of a value that say something."""
    for name, value in attrs.asdict(item, recurse=False).items():
        said = ", ".join(value) if isinstance(value, tuple) else str(value).lower() if value is True else str(value)
        if said and value is not False:
            yield name, said.replace("\n", " ")
