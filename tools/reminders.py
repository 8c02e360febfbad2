"""The reminder tools: set, list, change, cancel.

One rule: the model writes local time as the owner said it, and reads back the exact instant; it never reckons itself.
"""

from typing import Annotated

from msgspec import Meta

from storage import things

from .contract import Arguments, Result, Tool, ToolContext, ToolFailed
from .managing import When, Zone, checked, done, found, listed, room_for, settle_changed, target
from .outside import Source
from .things import change, made, remove, retimed, told
from .timing import read_timing
from .zones import BadTime, zone_named

Text = Annotated[
    str, Meta(description="What to remind of, as it should be read then: all that is needed, in the owner's words.")
]
Otherwise = Annotated[str, Meta(description="Another time, said as for set_reminder.")]
Id = Annotated[int, Meta(description="The reminder's number, as list_reminders says it.")]


class SetReminder(Arguments, frozen=True):
    """Arguments of `set_reminder`."""

    when: When
    text: Text
    zone: Zone | None = None


class ListReminders(Arguments, frozen=True):
    """Arguments of `list_reminders`: none."""


class ChangeReminder(Arguments, frozen=True):
    """Arguments of `change_reminder`."""

    id: Id
    when: Otherwise | None = None
    text: Text | None = None
    zone: Zone | None = None


class CancelReminder(Arguments, frozen=True):
    """Arguments of `cancel_reminder`."""

    id: Id


async def _set(context: ToolContext, arguments: SetReminder) -> Result:
    await room_for(context, "reminder")
    text = checked(context, arguments.text, context.limits.reminder_characters, "A reminder's text")
    try:
        zone = context.zone if arguments.zone is None else zone_named(arguments.zone)
        timing = read_timing(arguments.when, zone, context.now)
    except BadTime as error:
        raise ToolFailed(f"{error} Nothing was set.") from None
    thing = made(
        id=context.next_id(),
        agent=context.agent,
        kind="reminder",
        title="",
        text=text,
        timing=timing,
        made_by=context.call.key,
        label=context.label,
        act=context.act,
        hops=context.hops,
        now=context.now,
    )
    said = f"Set: reminder {thing.id}. {told(thing, context.now, timing.note)}"
    return Result(parts=(said,), writes=(things.make(thing),), bells=(things.CHANGED,))


async def _list(context: ToolContext, arguments: ListReminders) -> Result:
    return await listed(context, "reminder", Source.REMINDERS)


async def _change(context: ToolContext, arguments: ChangeReminder) -> Result:
    seen = await found(context, "reminder", arguments.id)
    text = arguments.text
    if text is not None:
        text = checked(context, text, context.limits.reminder_characters, "A reminder's text")
    try:
        timing = retimed(seen, arguments.when, arguments.zone, context.now)
        if text is None and timing is None:
            raise ToolFailed("Say what to change: when, text or zone.")
        changed = change(seen, context.now, text=text, timing=timing, label=context.label)
        return done(context, changed, "Changed", timing.note if timing else "")
    except BadTime as error:
        raise ToolFailed(f"{error} Nothing was changed.") from None


async def _cancel(context: ToolContext, arguments: CancelReminder) -> Result:
    return done(context, remove(await found(context, "reminder", arguments.id), context.now), "Cancelled")


REMINDER_TOOLS = (
    Tool(
        name="set_reminder",
        description=(
            "Bring a text up at a time, once or again and again: it goes to the owner's phone and into this "
            "conversation, where you can add what helps. Say back to him what the result says."
        ),
        arguments=SetReminder,
        run=_set,
        exit=False,
        private=False,
        outside=False,
        repeatable=True,
        in_database=True,
    ),
    Tool(
        name="list_reminders",
        description="List the reminders that are set, with their numbers, texts and next times.",
        arguments=ListReminders,
        run=_list,
        exit=False,
        repeatable=True,
        in_database=True,
    ),
    Tool(
        name="change_reminder",
        description="Change a reminder's time, text or zone. What is left out stays.",
        arguments=ChangeReminder,
        run=_change,
        settle=settle_changed,
        target=target,
        exit=True,
        private=False,
        outside=False,
        repeatable=True,
        in_database=True,
    ),
    Tool(
        name="cancel_reminder",
        description="Cancel a reminder for good.",
        arguments=CancelReminder,
        run=_cancel,
        target=target,
        exit=True,
        private=False,
        outside=False,
        repeatable=True,
        in_database=True,
    ),
)
