"""What the tools for reminders and for jobs share.

One rule: an agent manages its own, and what it reads of them that came from outside comes back as text from outside.
"""

from typing import Annotated, Any

import msgspec
from msgspec import Meta

from storage import things
from storage.answers import Target
from storage.records import Thing

from .contract import Result, ToolContext, ToolFailed
from .outside import Outside, Source, outside
from .things import Change, told, written
from .timing import HELP, read_timing
from .zones import BadTime, zone_named

When = Annotated[str, Meta(description=f"Local time as the owner said it, never reckoned by you. {HELP}.")]
Zone = Annotated[
    str, Meta(description="IANA zone that the time is meant in, if it isn't the owner's, such as Asia/Tokyo.")
]


async def room_for(context: ToolContext, kind: str) -> None:
    """Raises ToolFailed when the agent has as many of them as it may."""
    if await context.ask(things.CountThings(context.agent, kind)) >= context.limits.pending_things:
        raise ToolFailed(f"There are {context.limits.pending_things:,} {kind}s already; remove some first.")


def checked(context: ToolContext, text: str, limit: int, what: str) -> str:
    """The text as it is stored. Raises ToolFailed when it is empty or too long."""
    if not text.strip() or len(text) > limit:
        raise ToolFailed(f"{what} has 1 to {limit:,} characters; this one has {len(text):,}. Nothing was done.")
    return context.redactor.text(text.strip())


async def found(context: ToolContext, kind: str, id: int) -> Thing:
    """One of the agent's own reminders or jobs. Raises ToolFailed."""
    thing = await context.ask(things.FindThing(id=id))
    if thing is None or thing.agent != context.agent or thing.kind != kind:
        raise ToolFailed(f"There is no {kind} {id}. list_{kind}s shows those that there are.")
    return thing


def done(context: ToolContext, changed: Change, word: str, note: str = "") -> Result:
    """The result of a change: when it comes up now."""
    thing = changed.thing
    said = f"{word}: {thing.kind} {thing.id}. {told(thing, context.now, note)}"
    return Result(parts=(said,), writes=changed.writes, bells=(things.CHANGED,))


async def listed(context: ToolContext, kind: str, source: Source) -> Result:
    """All that are not over, those with text from outside as text from outside."""
    limit = context.limits.page_entries
    there = await context.ask(things.ListThings(kind=kind, agent=context.agent, limit=limit + 1))
    if not there:
        return Result(parts=(f"There are no {kind}s.",))
    more = f"\n… and more, older than these {limit}" if len(there) > limit else ""
    shown = [(thing, _line(context, thing)) for thing in there[:limit]]
    parts: list[str | Outside] = []
    if own := "\n".join(line for thing, line in shown if thing.label == 0):
        parts.append(own + more)
    if foreign := "\n".join(line for thing, line in shown if thing.label > 0):
        limit_characters = context.limits.result_characters
        parts.append(outside(foreign, source, redactor=context.redactor, limit_characters=limit_characters))
    return Result(parts=tuple(parts), label=max(thing.label for thing, _ in shown))


def _line(context: ToolContext, thing: Thing) -> str:
    name = f" “{thing.title}”" if thing.title else ""
    running = " One run of it is going on now." if thing.running is not None else ""
    return f"- {thing.kind} {thing.id}{name}: {told(thing, context.now, shown=1)}{running}\n  {thing.text}"


def target(agent: str, arguments: Any) -> Target:
    """What a call changes that names a reminder or job by its `id`."""
    return Target(thing=f"thing:{arguments.id}", version=things.VersionNow(arguments.id, agent))


async def settle_made(context: ToolContext, arguments: Any) -> Any:
    """The arguments of a new one with its time as it is understood now. Raises ToolFailed."""
    return _settled(arguments, context.zone.key, context)


async def settle_changed(context: ToolContext, arguments: Any) -> Any:
    """The same of a change, whose time is meant in the zone of what it changes. Raises ToolFailed."""
    if arguments.when is None:
        return arguments
    thing = await context.ask(things.FindThing(id=arguments.id))
    if thing is None or thing.agent != context.agent:
        raise ToolFailed(f"There is nothing of the number {arguments.id}.")
    return _settled(arguments, thing.zone, context)


def _settled(arguments: Any, zone: str, context: ToolContext) -> Any:
    try:
        timing = read_timing(arguments.when, zone_named(arguments.zone or zone), context.now)
    except BadTime as error:
        raise ToolFailed(str(error)) from error
    return msgspec.structs.replace(arguments, when=written(timing.schedule), zone=timing.schedule.zone.key)
