"""The journal of calls: what is begun, what its effect came to, and what a restart does to it.

One rule: a call has begun in a committed row before its effect starts, unless they are one commit. After a restart a
repeatable one is done again; one that is not gets a result that says so, and nothing is done twice.
"""

from datetime import datetime, timedelta
from typing import Protocol
from zoneinfo import ZoneInfo

import attrs

from storage import calls, questions
from storage.errors import OverBudget
from storage.operation import Commit, Write
from storage.records import Call, Question, Run
from storage.runs import CutOff
from storage.text import dumps
from tools.contract import ToolContext
from tools.limits import Limits
from tools.redact import Redactor
from tools.toolbox import Outcome, Toolbox

from .clock import Clock
from .store import Store

CUT_SHORT = "Cut short by a restart; it may or may not have happened. Look before you do it again."

INTERRUPTED = "Stopped, because the owner wrote something new; it may or may not have happened."

STOPPED = "Stopped by the owner before it was finished; it may or may not have taken effect."
ENDED = "The run ended before this was finished; it may or may not have taken effect."
NOT_ALLOWED = "Nothing was done: the run ended while the owner was being asked."
NOT_BEGUN = "Nothing was done: the run ended before it took effect."


class Means(Protocol):
    """What carrying out a call needs."""

    store: Store
    clock: Clock
    limits: Limits

    @property
    def redactor(self) -> Redactor: ...
    @property
    def zone(self) -> ZoneInfo: ...


def begun(call: Call) -> Write:
    """The row that stands before the effect starts."""
    return calls.begin(call)


async def perform(
    means: Means,
    toolbox: Toolbox,
    call: Call,
    *,
    run: Run,
    agent: str,
    label: int,
    begun_here: bool,
    approved: Question | None = None,
) -> Outcome:
    """Carry out a call whose begun row is committed. `begun_here`: by this very process, so nothing was cut short.

    `approved` is the question that the owner said yes to: then what he was shown is carried out. If it can't be
    repeated, that it starts is committed first, so that a yes is neither lost to a restart nor carried out twice.
    """
    tool = toolbox.find(call.tool)
    if call.position >= means.limits.calls_per_turn:
        return failed(call, f"More than {means.limits.calls_per_turn} calls at once; this one was not carried out.")
    if approved is not None:
        call, label = attrs.evolve(call, arguments=approved.act), approved.label
        begun_here = approved.started_at is None
    if tool is not None and not tool.repeatable:
        if not begun_here:
            return failed(call, CUT_SHORT)
        if approved is not None:
            await means.store.ask(Commit((questions.start(approved.id, means.clock.now()),)))
        await means.store.hold(means.limits.lease_margin_seconds)
    return await toolbox.perform(context(means, call, run=run, agent=agent, label=label))


def context(means: Means, call: Call, *, run: Run, agent: str, label: int) -> ToolContext:
    """What a call may know and use."""
    return ToolContext(
        agent=agent,
        call=call,
        act=run.act,
        hops=run.hops,
        label=label,
        now=means.clock.now(),
        clock=means.clock.now,
        zone=means.zone,
        ask=means.store.ask,
        next_id=means.store.next_id,
        redactor=means.redactor,
        limits=means.limits,
    )


def finish(call: Call, outcome: Outcome, now: datetime) -> Write:
    """The write that gives a call its result."""
    return calls.finish_with(
        call, outcome.shown, failed=outcome.failed, outside=outcome.outside, label=0, now=now, parts=_parts(outcome)
    )


def finished(call: Call, outcome: Outcome, now: datetime) -> Call:
    """The call with its result; the commit gives it its number and label."""
    return attrs.evolve(
        call,
        state="finished",
        result=outcome.shown,
        failed=outcome.failed,
        finished_at=now,
        outside=_parts(outcome),
    )


def _parts(outcome: Outcome) -> str | None:
    return dumps(outcome.parts) if outcome.parts else None


def done(call: Call, outcome: Outcome, now: datetime) -> tuple[Call, Write]:
    """The call with its result, and the write of all of it, where no row stands before."""
    made = finished(call, outcome, now)
    return made, calls.done(made, brings_outside=outcome.outside)


def cut_off(toolbox: Toolbox, unknown: str) -> CutOff:
    """What the calls of a run that ends are told: that nothing was done, wherever the rows show it; else `unknown`.

    What only changes the database would be committed with its result, and what can't be repeated and hung on a yes
    starts with a commit.
    """

    def result(call: Call, marked: bool) -> str:
        tool = toolbox.find(call.tool)
        if call.state == "asked":
            return NOT_ALLOWED
        if tool is not None and (tool.in_database or (not marked and not tool.repeatable)):
            return NOT_BEGUN
        return unknown

    return result


def interrupted(call: Call) -> Outcome:
    """The outcome of a call that was stopped because the owner interrupted."""
    return failed(call, INTERRUPTED)


def failed(call: Call, text: str) -> Outcome:
    """The outcome of a call that was not carried out, or not known to be, for a reason of the house."""
    shown = calls.result_block(call, [{"type": "text", "text": text}], failed=True)
    return Outcome(shown=shown, failed=True, outside=False)


def pause_seconds(run: int, tries: int, asked_seconds: float | None, limits: Limits, longest_seconds: float) -> float:
    """How long to wait before the next try: doubling, spread by a fifth, never less than the server asked for.

    The spread comes from the run and the try, so that a resumed run computes the same.
    """
    doubled = min(limits.retry_first_seconds * 2 ** min(max(tries - 1, 0), 30), longest_seconds)
    spread = 0.8 + 0.4 * ((run * 2654435761 + tries * 40503) % 1000) / 1000
    return float(max(doubled * spread, asked_seconds or 0.0))


def next_day(now: datetime, zone: ZoneInfo) -> datetime:
    """The instant at which the owner's next day begins."""
    local = now.astimezone(zone)
    midnight = (local + timedelta(days=1)).replace(hour=0, minute=0, second=0, microsecond=0)
    return midnight.astimezone(now.tzinfo)


def over_limit(over: OverBudget) -> str:
    """Why a run waits for money, in the owner's words."""
    return f"{str(over).capitalize()} is reached; it goes on when you raise it, or with the next day."
