"""The job tools: make, list, pause, resume, change, remove.

One rule: a job's run knows nothing but the job's own text and its earlier reports, so making one says everything that
a run needs.
"""

from collections.abc import Awaitable, Callable
from typing import Annotated, Any

from msgspec import Meta

from storage import things

from .contract import Arguments, Result, Tool, ToolContext, ToolFailed
from .managing import (
    When,
    Zone,
    checked,
    done,
    found,
    listed,
    room_for,
    settle_changed,
    settle_made,
    target,
)
from .outside import Source
from .things import change, made, pause, remove, resume, retimed, told
from .timing import read_timing
from .zones import BadTime, zone_named

NOTHING = "NOTHING"
"""What a run of a job answers when there is nothing to report; see `says_nothing`."""

Title = Annotated[str, Meta(description="A short name for the job.")]
Text = Annotated[
    str,
    Meta(
        description=(
            "The prompt that each run is given. Put in all that it needs and nothing private that it doesn't: a run "
            "knows no notes and none of this conversation, only this text and its own earlier reports. It is told the "
            "time in UTC: name the place or the zone where that counts."
        )
    ),
]
Otherwise = Annotated[str, Meta(description="Another time, said as for make_job.")]
Id = Annotated[int, Meta(description="The job's number, as list_jobs says it.")]


class MakeJob(Arguments, frozen=True):
    """Arguments of `make_job`."""

    title: Title
    when: When
    text: Text
    zone: Zone | None = None


class ListJobs(Arguments, frozen=True):
    """Arguments of `list_jobs`: none."""


class ChangeJob(Arguments, frozen=True):
    """Arguments of `change_job`."""

    id: Id
    title: Title | None = None
    when: Otherwise | None = None
    text: Text | None = None
    zone: Zone | None = None


class OneJob(Arguments, frozen=True):
    """Arguments of `pause_job`, `resume_job` and `remove_job`."""

    id: Id


def says_nothing(report: str) -> bool:
    """Whether a report is the fixed word, however it is dressed up."""
    return report.strip().strip("*_`\"'“”.! ").upper() == NOTHING


async def _make(context: ToolContext, arguments: MakeJob) -> Result:
    await room_for(context, "job")
    title = _title(context, arguments.title)
    text = checked(context, arguments.text, context.limits.job_characters, "A job's text")
    try:
        zone = context.zone if arguments.zone is None else zone_named(arguments.zone)
        timing = read_timing(arguments.when, zone, context.now)
    except BadTime as error:
        raise ToolFailed(f"{error} Nothing was made.") from None
    job = made(
        id=context.next_id(),
        agent=context.agent,
        kind="job",
        title=title,
        text=text,
        timing=timing,
        made_by=context.call.key,
        label=context.label,
        act=context.act,
        hops=context.hops,
        now=context.now,
    )
    said = f"Made: job {job.id}. {told(job, context.now, timing.note)}"
    return Result(parts=(said,), writes=(things.make(job),), bells=(things.CHANGED,))


async def _list(context: ToolContext, arguments: ListJobs) -> Result:
    return await listed(context, "job", Source.JOBS)


async def _change(context: ToolContext, arguments: ChangeJob) -> Result:
    seen = await found(context, "job", arguments.id)
    title = None if arguments.title is None else _title(context, arguments.title)
    text = arguments.text
    if text is not None:
        text = checked(context, text, context.limits.job_characters, "A job's text")
    try:
        timing = retimed(seen, arguments.when, arguments.zone, context.now)
        if title is None and text is None and timing is None:
            raise ToolFailed("Say what to change: title, when, text or zone.")
        changed = change(seen, context.now, title=title, text=text, timing=timing, label=context.label)
        return done(context, changed, "Changed", timing.note if timing else "")
    except BadTime as error:
        raise ToolFailed(f"{error} Nothing was changed.") from None


async def _pause(context: ToolContext, arguments: OneJob) -> Result:
    return done(context, pause(await found(context, "job", arguments.id), context.now), "Paused")


async def _resume(context: ToolContext, arguments: OneJob) -> Result:
    try:
        return done(context, resume(await found(context, "job", arguments.id), context.now), "Resumed")
    except BadTime as error:
        raise ToolFailed(f"{error} It stays paused.") from None


async def _remove(context: ToolContext, arguments: OneJob) -> Result:
    return done(context, remove(await found(context, "job", arguments.id), context.now), "Removed")


def _title(context: ToolContext, title: str) -> str:
    return " ".join(checked(context, title, context.limits.job_title_characters, "A title").split())


def _exit(
    name: str,
    description: str,
    arguments: type[Arguments],
    run: Callable[[ToolContext, Any], Awaitable[Result]],
    settle: Callable[[ToolContext, Any], Awaitable[Any]] | None = None,
) -> Tool:
    """A tool that changes what will run: its result says only when."""
    return Tool(
        name=name,
        description=description,
        arguments=arguments,
        run=run,
        settle=settle,
        target=None if arguments is MakeJob else target,
        exit=True,
        private=False,
        outside=False,
        repeatable=True,
        in_database=True,
    )


JOB_TOOLS = (
    _exit(
        "make_job",
        "Have a prompt run on a schedule, each time as a fresh run that reports into this conversation and to the "
        "owner's phone if it has something to say. Say back to him what the result says.",
        MakeJob,
        _make,
        settle_made,
    ),
    Tool(
        name="list_jobs",
        description="List the jobs that are there, with their numbers, titles, prompts and next times.",
        arguments=ListJobs,
        run=_list,
        exit=False,
        repeatable=True,
        in_database=True,
    ),
    _exit("pause_job", "Let a job rest: no run of it begins until it is resumed.", OneJob, _pause),
    _exit("resume_job", "Let a paused job go on with its next time.", OneJob, _resume),
    _exit(
        "change_job",
        "Change a job's title, prompt, time or zone. What is left out stays.",
        ChangeJob,
        _change,
        settle_changed,
    ),
    _exit("remove_job", "Remove a job for good; a run that is going on ends by itself.", OneJob, _remove),
)
