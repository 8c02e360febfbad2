"""Driving one schedule from its first act to the verdict.

One rule: it waits for what must come, never for a time; when nothing moves any more, it lets time pass and the wake
come, and after long enough it calls the schedule stuck.
"""

import importlib
import logging
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from datetime import datetime
from typing import Any

import attrs
import httpx2
import trio

from tests.messages_api import MessagesApi, serve_messages_api
from tests.ntfy import Ntfy, serve_ntfy
from tests.simulate.acts import Act, Decide
from tests.simulate.features import FEATURES
from tests.simulate.features.errands import HELD
from tests.simulate.judges import judge
from tests.simulate.life import LIVING, Life
from tests.simulate.outsider import Outsider, Row, open_outsider
from tests.simulate.plan import Schedule
from tests.simulate.stage import Stage
from tests.simulate.story import read_story
from tests.simulate.watcher import Watcher
from tools.limits import Limits

STUCK_SECONDS = 20.0
QUIET_SECONDS = 0.015
WAKE_SECONDS = 0.3
HELD_SECONDS = 0.3
SOON_STEPS, SOON_SECONDS = 8, 0.1

LIMITS = Limits(
    lease_seconds=60.0,
    renew_seconds=0.8,
    look_seconds=0.05,
    reach_seconds=4.0,
    idle_seconds=0.8,
    statement_seconds=0.7,
    transaction_seconds=0.9,
    silent_seconds=1.2,
    ask_seconds=10.0,
    silence_seconds=0.8,
    stop_seconds=0.1,
    push_seconds=0.3,
    words_behind_entries=5,
)
"""The product's limits, so short that a schedule need not wait long for them, and long enough for a busy machine."""

FIRST_GENERATION = "66a00000"

NewLife = Callable[[Stage, int, str], Life]
"""What makes a life on a stage, of a number and a generation."""

_LEFT = f"""
WITH RECURSIVE {HELD}
SELECT (SELECT count(*) FROM messages m WHERE placed_seq IS NULL AND withdrawn_at IS NULL
        AND NOT (kind = 'notice' AND EXISTS (  -- it has time until the owner has decided
            SELECT FROM held WHERE held.conversation = m.conversation))
    ) AS unplaced,
    (SELECT count(*) FROM questions WHERE state = 'open') AS questions,
    count(*) AS runs, count(*) FILTER (
        WHERE retry_at IS NOT NULL OR (state = 'open' AND conversation NOT IN (SELECT conversation FROM held))
    ) AS moving,
    min(retry_at) AS retry_at FROM runs WHERE state IN ('open', 'waiting')
"""

_COMES = " UNION ALL ".join(feature.left for feature in FEATURES if feature.left)

_HOLDERS = "SELECT DISTINCT app FROM audit.leases WHERE holder <> ''"


@attrs.frozen(kw_only=True)
class Verdict:
    """What came of a schedule."""

    seed: int
    violations: tuple[str, ...]
    struck: Counter[tuple[str, str]]
    met: Counter[str]
    seconds: float
    lives: int


@attrs.frozen(kw_only=True)
class Theatre:
    """What all schedules of one worker share: a database, the scripted Messages API, a client."""

    database_url: str
    outsider: Outsider
    api: MessagesApi
    client: httpx2.AsyncClient
    ntfy: Ntfy

    def stage(self, schedule: Schedule, limits: Limits, new_life: NewLife, nursery: trio.Nursery) -> Stage:
        """A stage for one schedule. The model answers for it from now on."""
        stage = Stage(
            schedule,
            outsider=self.outsider,
            api=self.api,
            client=self.client,
            database_url=self.database_url,
            limits=limits,
            nursery=nursery,
            new_life=new_life,
            ntfy=self.ntfy,
        )
        self.api.answer_with(stage.on_answer)
        self.api.packs = schedule.seed % 4 > 0  # one in four hears each event by itself
        return stage

    async def play(self, schedule: Schedule, limits: Limits, new_life: NewLife) -> Verdict:
        """Run one schedule and judge it."""
        began = time.monotonic()
        await self.outsider.empty()
        self.api.forget()
        self.ntfy.forget()
        async with trio.open_nursery() as nursery:
            stage = self.stage(schedule, attrs.evolve(limits, **schedule.limits), new_life, nursery)
            with Listening(stage):
                await _course(stage)
            nursery.cancel_scope.cancel()
        story = await read_story(stage)
        found = [*dict.fromkeys(stage.violations), *judge(story)]
        for feature in FEATURES:
            found += [f"{feature.name}: {violation}" for violation in feature.judge(story)]
        return Verdict(
            seed=schedule.seed,
            violations=tuple(found),
            struck=stage.struck,
            met=stage.met,
            seconds=time.monotonic() - began,
            lives=len(stage.lives),
        )


async def _course(stage: Stage) -> None:
    """All that happens in a schedule."""
    watcher = Watcher(stage)
    try:
        with trio.fail_after(STUCK_SECONDS * 3):
            stage.current = await stage.begin(FIRST_GENERATION)
            if stage.schedule.watched:
                stage.soon(watcher.watch)
            for act in stage.schedule.acts:
                await _perform(stage, act)
            await settle(stage, wholly=True)
            await stage.deliver_rest()
            await settle(stage, wholly=True)
            with stage.spared():
                await _losers_are_fenced(stage)
            if stage.schedule.watched:
                await watcher.judge(stage.outsider)
    except trio.TooSlowError:
        stage.violations.append(f"the owner got no answer, or all took longer than {STUCK_SECONDS * 3:g} s")
    finally:
        with trio.CancelScope(shield=True):
            await stage.end()


async def _perform(stage: Stage, act: Act) -> None:
    """Do an act of the owner's when it is due."""
    match act.when:
        case "soon":
            await stage.steps_or_seconds(SOON_STEPS, SOON_SECONDS)
        case "settled":
            await settle(stage)
        case "answering" | "working" | "delegated":
            hold = stage.hold_at(act.when)
            await _reached_or_settled(stage, hold)
            try:
                await act.perform(stage)
            finally:
                hold.taken = True
                hold.gate.open()
            return
    await act.perform(stage)


async def _reached_or_settled(stage: Stage, hold: Any) -> None:
    """Wait until the model or a tool is held; not for longer than it takes to see that none will be."""
    with trio.move_on_after(HELD_SECONDS):
        async with trio.open_nursery() as nursery:

            async def settled() -> None:
                await settle(stage)
                nursery.cancel_scope.cancel()

            nursery.start_soon(settled)
            await hold.gate.reached.wait()
            nursery.cancel_scope.cancel()


async def settle(stage: Stage, *, wholly: bool = False) -> None:
    """Wait until nothing is left to do. Time passes when nothing else does.

    `wholly`: questions are something to do, too; else only if the schedule has an owner who decides soon.
    """
    until = time.monotonic() + STUCK_SECONDS
    quiet = 0
    while True:
        if await stage.news(QUIET_SECONDS) and time.monotonic() < until:
            quiet = 0
            continue
        quiet += 1
        (left,), coming = await stage.outsider.all((_LEFT,), (_COMES, stage.now()))
        to_come, due_at = _due(coming, stage.now())
        if not left["unplaced"] and not left["moving"] and not to_come and not (wholly and due_at):
            if left["questions"] and (wholly or stage.schedule.decides_soon):
                await Decide().perform(stage)
                continue
            if not left["runs"] or not wholly:
                return
        if left["retry_at"] is not None and left["retry_at"] > stage.clock.now():
            stage.clock.set(left["retry_at"])
        elif wholly and due_at is not None and not to_come and due_at > stage.clock.now():
            stage.clock.set(due_at)
        if time.monotonic() > until:
            stage.violations.append(
                f"stuck with {left['unplaced']} messages, {left['runs']} runs, {to_come} other things to come now"
            )
            return
        if quiet > 4:
            stage.clock.move(1.0)
        if quiet > 8:
            await stage.bury()
            with trio.move_on_after(WAKE_SECONDS):
                await stage.request("GET", "/api/status")


def _due(coming: list[Row], now: datetime) -> tuple[int, datetime | None]:
    """How many things must come by themselves now, and when the first is due of what must come later."""
    due, later = 0, []
    for row in coming:
        if row["count"] and row["at"] is not None and row["at"] > now:
            later.append(row["at"])
        else:
            due += row["count"]
    return due, min(later, default=None)


async def _losers_are_fenced(stage: Stage) -> None:
    """Whoever lost the lease to a living holder takes nothing in, and says when to come again."""
    holder = await stage.outsider.holder()
    had_it = {row["app"] for row in await stage.outsider.rows(_HOLDERS)}
    living = {life.app for life in stage.lives if not life.dead}
    if holder not in living:
        return
    for life in stage.lives:
        if life.dead or life.app == holder or life.app not in had_it:
            continue
        with trio.move_on_after(3):
            answer = await stage.probe(life)
            if answer is not None and answer.status_code != 503:
                stage.violations.append(f"{life.app} has lost the lease and answers {answer.status_code}")


@asynccontextmanager
async def open_theatre(database_url: str) -> AsyncIterator[Theatre]:
    """A theatre on a migrated database of its own. It is audited from now on."""
    logging.getLogger("httpx2").setLevel(logging.WARNING)
    importlib.import_module("anthropic.resources.messages")  # it takes seconds, and no schedule shall wait for it
    context = httpx2.create_ssl_context(trust_env=False)
    async with serve_messages_api() as api, serve_ntfy() as ntfy, open_outsider(database_url) as outsider:
        await outsider.set_up()
        async with httpx2.AsyncClient(timeout=8, verify=context, trust_env=False) as client:
            yield Theatre(database_url=database_url, outsider=outsider, api=api, client=client, ntfy=ntfy)


class Listening(logging.Handler):
    """Hears what the product logs while the block lasts. An error is a violation."""

    def __init__(self, stage: Stage) -> None:
        super().__init__(logging.WARNING)
        self._stage = stage

    def emit(self, record: logging.LogRecord) -> None:
        event, facts, life = record.msg, record.args, LIVING.get()
        if life is not None and life.dead and not life.stopped:
            return  # the dead say nothing
        if event == "house.closed" and isinstance(facts, Mapping):
            self._stage.said_of_closing.append(str(facts["why"]))
        elif record.levelno >= logging.ERROR and event != "call.broke":
            error = record.exc_info[1] if record.exc_info else None
            self._stage.violations.append(f"it logged: {event} {facts}" + (f" ({error!r})" if error else ""))

    def __enter__(self) -> None:
        logging.getLogger().addHandler(self)

    def __exit__(self, *_: object) -> None:
        logging.getLogger().removeHandler(self)
