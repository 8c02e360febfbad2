"""`runs`: what was done, why it ended, and what it cost.

One rule: a run is shown as its rows say; nothing is guessed.
"""

import click

from .calls import summary, working
from .command import Chosen
from .options import DefaultGroup, json_option
from .questions import decision
from .reach import find
from .terminal import Json, dollars, one_line, say, show_json, table, when


@click.group(
    cls=DefaultGroup,
    default="list",
    epilog="""\b
Examples:
  dreamwalker runs                  the newest runs
  dreamwalker runs --agent cook     of one agent
  dreamwalker runs show 1234        one run: its calls and what it cost""",
)
def runs() -> None:
    """What was done, and what it cost."""


@runs.command("list")
@click.option("--agent", metavar="NAME", help="Only this agent's.")
@click.option("--limit", type=click.IntRange(1, 200), default=20, show_default=True, help="How many.")
@json_option
@click.pass_obj
def list_runs(chosen: Chosen, agent: str | None, limit: int, as_json: bool) -> None:
    """List the newest runs."""
    answer = find(chosen).get("/runs", agent=agent, limit=limit)
    if as_json:
        show_json(answer)
    elif not answer["runs"]:
        say("Nothing was done yet.")
    else:
        say(table([("RUN", "WHEN", "AGENT", "STATE", "COST", "WHY"), *map(_row, answer["runs"])]))


@runs.command()
@click.argument("number", type=int)
@json_option
@click.pass_obj
def show(chosen: Chosen, number: int, as_json: bool) -> None:
    """Show one run: its state, its calls, and what it cost by kind."""
    answer = find(chosen).get(f"/runs/{number}")
    if as_json:
        show_json(answer)
        return
    run = answer["run"]
    say(f"Run {run['id']} of {run['agent']}: {run['state']}")
    say(f"  from {when(run['opened_at'])} to {when(run['closed_at']) or 'now'}, replies: {run['turn']}")
    if run["reason"]:
        say(f"  {run['reason']}")
    if run["works_for"]:
        who = "a worker" if run["kind"] == "worker" else f"an answer to another agent, hop {run['hops']}"
        say(f"  {who}, set to work by run {run['works_for']}")
    workers = {(worker["turn"], worker["position"]): worker for worker in answer["workers"]}
    for call in answer["calls"]:
        say(f"  {_MARKS.get((call['state'], bool(call['failed'])), '…')} {summary(call)}")
        if call["result"]:
            say(f"      {one_line(call['result'], 160)}")
        if worker := workers.get((call["turn"], call["position"])):
            say(f"      {_worker(worker)}")
    for question in answer["questions"]:
        say(f"  ? question {question['id']}, {when(question['asked_at'])}: {question['tool']}, {decision(question)}")
    for cost in answer["cost"]:
        say(f"  {dollars(cost['cost_dollars'])} for {cost['kind']}, requests: {cost['requests']}{_unsettled(cost)}")


_MARKS = {("finished", False): "✓", ("finished", True): "✗"}


def _worker(worker: Json) -> str:
    """Who did a delegated task, in a line."""
    number = f"run {worker['worker_run']}, " if worker["worker_run"] else ""
    return f"{worker['agent'] or 'worker'}: {number}{working(worker)}, {dollars(worker['cost_dollars'])}"


def _row(run: Json) -> tuple[str, ...]:
    return (
        str(run["id"]),
        when(run["opened_at"]),
        f"{run['agent']}, for run {run['works_for']}" if run["works_for"] else run["agent"],
        run["state"],
        dollars(run["cost_dollars"]) + (f" (+{dollars(run['unsettled_dollars'])})" if run["unsettled_dollars"] else ""),
        one_line(run["reason"] or "", 80),
    )


def _unsettled(cost: Json) -> str:
    open_dollars = cost["unsettled_dollars"]
    return f", and {dollars(open_dollars)} set aside for what was cut short" if open_dollars else ""
