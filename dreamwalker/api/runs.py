"""Runs: what was worked on, why it is as it is, what it cost, and how to stop it.

One rule: a run is stopped by the actor that works on it, a worker's by the worker, in one commit.
"""

from typing import Annotated

from msgspec import Meta

from storage.questions import QuestionsOfRun
from storage.runs import Listed, ListRuns, ReadRun
from storage.spend import SumsOf
from storage.workers import WorkersOfRun

from . import accounts, views
from .endpoint import BIGINT_MAX, Asked, Endpoint, Given, Nothing, Shown, not_found
from .entries import PageLimit

STOPPED = "Stopped by you."


class RunsQuery(Given, frozen=True):
    """Which runs: those of one agent or of all, below id `before`."""

    agent: str | None = None
    before: Annotated[int, Meta(ge=1, le=BIGINT_MAX)] | None = None
    limit: PageLimit | None = None


class RunPath(Given, frozen=True):
    """A path with a run's id."""

    id: Annotated[int, Meta(ge=1, le=BIGINT_MAX)]


class Runs(Shown, frozen=True):
    """Runs, the newest first. `more`: there are older ones."""

    runs: tuple[accounts.ListedRun, ...]
    more: bool


class WholeRun(Shown, frozen=True):
    """One run with its calls, the workers that its calls set to work, what it asked the owner, and its cost by kind."""

    run: accounts.ListedRun
    calls: tuple[views.Call, ...]
    workers: tuple[views.Worker, ...]
    questions: tuple[views.Question, ...]
    cost: tuple[accounts.Cost, ...]


class OneRun(Shown, frozen=True):
    """One run as it stands now."""

    run: accounts.ListedRun


async def list_runs(asked: Asked[Nothing, RunsQuery, Nothing]) -> Runs:
    house, query = await asked.house(), asked.query
    if query.agent is not None and query.agent not in house.agents:
        raise not_found("agent of that name")
    limit = min(query.limit or house.limits.page_entries, house.limits.page_entries)
    found = await house.store.ask(ListRuns(before=query.before or BIGINT_MAX, limit=limit + 1, agent=query.agent))
    return Runs(runs=tuple(accounts.ListedRun.listed(item) for item in found[:limit]), more=len(found) > limit)


async def read_run(asked: Asked[RunPath, Nothing, Nothing]) -> WholeRun:
    house = await asked.house()
    found = await house.store.ask(ReadRun(asked.path.id))
    if found is None:
        raise not_found("run of that id")
    listed, calls = found
    sums = await house.store.ask(SumsOf("run", asked.path.id))
    questions = await house.store.ask(QuestionsOfRun(asked.path.id))
    return WholeRun(
        run=accounts.ListedRun.listed(listed),
        calls=tuple(views.Call.of(call) for call in calls),
        workers=tuple(views.Worker.of(seen) for seen in await house.store.ask(WorkersOfRun(asked.path.id))),
        questions=tuple(views.Question.of(row, house.zone, house.clock.now()) for row in questions),
        cost=tuple(accounts.Cost.of(sum) for sum in sums),
    )


async def stop_run(asked: Asked[RunPath, Nothing, Nothing]) -> OneRun:
    house = await asked.house()
    listed = await _listed(asked)
    if not listed.run.ended:
        await house.stop_run(listed.run.id, listed.run.conversation, listed.agent, STOPPED)
        listed = await _listed(asked)
    return OneRun(run=accounts.ListedRun.listed(listed))


async def _listed(asked: Asked[RunPath, Nothing, Nothing]) -> Listed:
    house = await asked.house()
    found = await house.store.ask(ReadRun(asked.path.id))
    if found is None:
        raise not_found("run of that id")
    return found[0]


ENDPOINTS = (
    Endpoint(
        method="GET",
        route="/api/runs",
        says="Runs, the newest first.",
        handle=list_runs,
        query=RunsQuery,
        answer=Runs,
        refusals=(404,),
    ),
    Endpoint(
        method="GET",
        route="/api/runs/{id}",
        says="One run: what it did, why it is as it is, and what it cost.",
        handle=read_run,
        path=RunPath,
        answer=WholeRun,
    ),
    Endpoint(
        method="POST",
        route="/api/runs/{id}/stop",
        says="Stop a run. One that has ended stays as it is.",
        handle=stop_run,
        path=RunPath,
        answer=OneRun,
    ),
)
