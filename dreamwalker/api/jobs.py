"""Jobs: prompts that an agent runs on a schedule.

One rule: a job is changed, paused and removed here, and run by nobody but the scheduler.
"""

from datetime import datetime
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from dreamwalker.cast import MAIN_AGENT
from dreamwalker.house import House
from storage import records
from tools.things import pause, remove, resume, told

from . import views
from .endpoint import Asked, Endpoint, Given, Nothing, Shown
from .messages import RequestId
from .things import (
    Label,
    Rule,
    Said,
    Slots,
    SlotsQuery,
    ThingPath,
    ThingsQuery,
    Upcoming,
    UpcomingQuery,
    When,
    Zone,
    altering,
    changed,
    checked,
    found,
    given,
    ledger,
    listed,
    make,
    unless,
    upcoming,
)

Prompt = Annotated[str, Meta(description="All that a run needs: it knows this text and its own earlier reports alone.")]


class NewJob(Given, frozen=True):
    """A job to be made."""

    request_id: RequestId
    title: str
    when: When
    text: Prompt
    zone: Zone | None = None
    agent: str = MAIN_AGENT


class JobChange(Given, frozen=True):
    """What to change of it; what is left out stays."""

    title: str | msgspec.UnsetType = msgspec.UNSET
    when: When | msgspec.UnsetType = msgspec.UNSET
    text: Prompt | msgspec.UnsetType = msgspec.UNSET
    zone: Zone | msgspec.UnsetType = msgspec.UNSET


class Job(Shown, frozen=True):
    """A job. `running`: the slot that is being run now."""

    id: int
    agent: str
    title: str
    text: str
    label: Label
    rule: Rule
    zone: str
    state: Literal["active", "paused", "done", "removed"]
    running: str | None
    next_at: datetime | None
    said: Said
    made_at: datetime
    no: views.No

    @classmethod
    def of(cls, row: records.Thing, said: str) -> "Job":
        """From its row."""
        names = [name for name in cls.__struct_fields__ if name != "said"]
        return cls(said=said, **{name: getattr(row, name) for name in names})


class Jobs(Shown, frozen=True):
    """Jobs, the newest first. `more`: there are older ones."""

    jobs: tuple[Job, ...]
    more: bool


def _shown(house: House, row: records.Thing) -> Job:
    return Job.of(row, told(row, house.clock.now()))


def _title(house: House, title: str) -> str:
    return " ".join(checked(house, title, house.limits.job_title_characters, "A job's title").split())


def _text(house: House, text: str) -> str:
    return checked(house, text, house.limits.job_characters, "A job's prompt")


async def list_jobs(asked: Asked[Nothing, ThingsQuery, Nothing]) -> Jobs:
    house = await asked.house()
    rows, more = await listed(house, "job", asked.query)
    return Jobs(jobs=tuple(_shown(house, row) for row in rows), more=more)


async def make_job(asked: Asked[Nothing, Nothing, NewJob]) -> Job:
    house, body = await asked.house(), asked.body
    thing, said = await make(
        house,
        "job",
        request_id=body.request_id,
        agent=body.agent,
        when=body.when,
        zone=body.zone,
        text=_text(house, body.text),
        title=_title(house, body.title),
    )
    return Job.of(thing, said)


async def read_job(asked: Asked[ThingPath, Nothing, Nothing]) -> Job:
    house = await asked.house()
    return _shown(house, await found(house, "job", asked.path.id))


async def change_job(asked: Asked[ThingPath, Nothing, JobChange]) -> Job:
    house, body = await asked.house(), asked.body
    title, text = given(body.title), given(body.text)
    alter = altering(
        given(body.when),
        given(body.zone),
        None if text is None else _text(house, text),
        None if title is None else _title(house, title),
    )
    return _shown(house, await changed(house, "job", asked.path.id, alter))


async def pause_job(asked: Asked[ThingPath, Nothing, Nothing]) -> Job:
    house = await asked.house()
    return _shown(house, await changed(house, "job", asked.path.id, unless("paused", pause)))


async def resume_job(asked: Asked[ThingPath, Nothing, Nothing]) -> Job:
    house = await asked.house()
    return _shown(house, await changed(house, "job", asked.path.id, unless("active", resume)))


async def remove_job(asked: Asked[ThingPath, Nothing, Nothing]) -> Job:
    house = await asked.house()
    return _shown(house, await changed(house, "job", asked.path.id, unless("removed", remove)))


async def list_upcoming(asked: Asked[ThingPath, UpcomingQuery, Nothing]) -> Upcoming:
    return await upcoming(await asked.house(), "job", asked.path.id, asked.query.count)


async def list_slots(asked: Asked[ThingPath, SlotsQuery, Nothing]) -> Slots:
    return await ledger(await asked.house(), "job", asked.path.id, asked.query)


ENDPOINTS = (
    Endpoint(
        method="GET",
        route="/api/jobs",
        says="The jobs that there are, the newest first.",
        handle=list_jobs,
        query=ThingsQuery,
        answer=Jobs,
        refusals=(404,),
    ),
    Endpoint(
        method="POST",
        route="/api/jobs",
        says="Make a job. The answer says when it runs.",
        handle=make_job,
        body=NewJob,
        answer=Job,
        status=201,
        refusals=(404, 409, 429),
    ),
    Endpoint(method="GET", route="/api/jobs/{id}", says="One job.", handle=read_job, path=ThingPath, answer=Job),
    Endpoint(
        method="PATCH",
        route="/api/jobs/{id}",
        says="Change a job's title, prompt, schedule or zone.",
        handle=change_job,
        path=ThingPath,
        body=JobChange,
        answer=Job,
        refusals=(409,),
    ),
    Endpoint(
        method="DELETE",
        route="/api/jobs/{id}",
        says="Remove a job for good. What it did stays to be seen.",
        handle=remove_job,
        path=ThingPath,
        answer=Job,
        refusals=(409,),
    ),
    Endpoint(
        method="POST",
        route="/api/jobs/{id}/pause",
        says="Let it run no more until it is resumed.",
        handle=pause_job,
        path=ThingPath,
        answer=Job,
        refusals=(409,),
    ),
    Endpoint(
        method="POST",
        route="/api/jobs/{id}/resume",
        says="Let it go on with its next time.",
        handle=resume_job,
        path=ThingPath,
        answer=Job,
        refusals=(409,),
    ),
    Endpoint(
        method="GET",
        route="/api/jobs/{id}/upcoming",
        says="The next times at which it runs.",
        handle=list_upcoming,
        path=ThingPath,
        query=UpcomingQuery,
        answer=Upcoming,
    ),
    Endpoint(
        method="GET",
        route="/api/jobs/{id}/slots",
        says="What became of each time at which it should have run.",
        handle=list_slots,
        path=ThingPath,
        query=SlotsQuery,
        answer=Slots,
    ),
)
