"""`runs`: what was done, why it ended, and what it cost.

One rule: a run is shown as its rows say; nothing is guessed.
"""

import click

from .calls import summary, working
from .command import Chosen
from .options import NUMBER, DefaultGroup, Whole, json_option, some_agent_option
from .questions import about, decision, hinting_at_question
from .reach import find
from .spend import set_aside
from .terminal import Json, dollars, one_line, say, show_json, table
from .times import Times


@click.group(
    cls=DefaultGroup,
    default="list",
    epilog="""\b
Examples:
  dreamwalker runs                  the newest runs
  dreamwalker runs --agent cook     of one agent
  dreamwalker runs show 1234        one run: its calls and what it cost
  dreamwalker runs transcript 1234  all that was said where it ran, also a worker's and a job's""",
)
def runs() -> None:
    """What was done, and what it cost."""


@runs.command("list")
@some_agent_option
@click.option("--limit", type=Whole(1, 200), default=20, show_default=True, help="How many.")
@json_option
@click.pass_obj
def list_runs(chosen: Chosen, agent: str | None, limit: int, as_json: bool) -> None:
    """List the newest runs."""
    api = find(chosen)
    answer = api.get("/runs", agent=agent, limit=limit)
    if as_json:
        show_json(answer)
    elif not answer["runs"]:
        say("Nothing was done yet.")
    else:
        rows = [_row(run, api.times) for run in answer["runs"]]
        say(table([("RUN", "WHEN", "AGENT", "STATE", "SPENT", "ASKED"), *rows]))


@runs.command()
@click.argument("number", type=NUMBER)
@json_option
@click.pass_obj
def show(chosen: Chosen, number: int, as_json: bool) -> None:
    """Show one run: its state, its calls, and what it cost by kind."""
    api = find(chosen)
    with hinting_at_question(api, str(number), "dreamwalker questions {}"):
        answer = api.get(f"/runs/{number}")
    if as_json:
        show_json(answer)
        return
    run, times = answer["run"], api.times
    say(f"Run {run['id']} of {run['agent']}: {run['state']}")
    if asked := asked_of(run):
        say(f"  ← {asked}")
    say(f"  from {times.when(run['opened_at'])} to {times.when(run['closed_at']) or 'now'}, replies: {run['turn']}")
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
        asked_at, decided = times.when(question["asked_at"]), decision(question, times)
        say(f"  ? question {question['id']}, {asked_at}: {about(question)} {decided}")
    for cost in answer["cost"]:
        say(f"  {dollars(cost['cost_dollars'])} for {cost['kind']}, requests: {cost['requests']}{set_aside(cost)}")


@runs.command()
@click.argument("number", type=NUMBER)
@click.option("--before", type=Whole(1), metavar="ENTRY", help="Only what stands before this entry.")
@click.option("--limit", type=Whole(1, 1_000), default=50, show_default=True, help="How many entries.")
@json_option
@click.pass_obj
def transcript(chosen: Chosen, number: int, before: int | None, limit: int, as_json: bool) -> None:
    """Show what was said in the conversation of a run: a job's, a worker's, an answer's to another agent."""
    api = find(chosen)
    with hinting_at_question(api, str(number), "dreamwalker questions {}"):
        run = api.get(f"/runs/{number}")["run"]
    answer = api.get(f"/conversations/{run['conversation']}", before=before, limit=limit)
    if as_json:
        show_json(answer)
        return
    if answer["more"]:
        say(f"… there is more before: --before {answer['entries'][0]['seq']}\n")
    for entry in answer["entries"]:
        say(f"{entry['seq']}  {api.times.when(entry['at'])}  {_speaker(entry)}\n{indented(entry['text'])}")
        for call in answer["calls"]:
            if entry["turn"] is not None and (call["run"], call["turn"]) == (entry["run"], entry["turn"]):
                say(f"    {_MARKS.get((call['state'], bool(call['failed'])), '…')} {summary(call)}")
        say()


def _speaker(entry: Json) -> str:
    match entry["source"]:
        case "outside":
            origin = f", from “{one_line(entry['origin'], 60)}”" if entry["origin"] else ""
            return f"{entry['what']}{origin}"
        case source:
            return {"owner": "you", "model": "the agent", "house": "dreamwalker"}[source]


def indented(text: str) -> str:
    """A text as a block of its own: no line of it can pass for a heading."""
    return "\n".join(f"    {line}" for line in text.splitlines())


_MARKS = {("finished", False): "✓", ("finished", True): "✗"}


def _worker(worker: Json) -> str:
    """Who did a delegated task, in a line."""
    number = f"run {worker['worker_run']}, " if worker["worker_run"] else ""
    return f"{worker['agent'] or 'worker'}: {number}{working(worker)}, {dollars(worker['cost_dollars'])}"


def _row(run: Json, times: Times) -> tuple[str, ...]:
    return (
        str(run["id"]),
        times.when(run["opened_at"]),
        f"{run['agent']}, for run {run['works_for']}" if run["works_for"] else run["agent"],
        run["state"],
        dollars(run["cost_dollars"]) + (f" +{dollars(run['unsettled_dollars'])}" if run["unsettled_dollars"] else ""),
        asked_of(run) + (f" — {one_line(run['reason'], 60)}" if run["reason"] else ""),
    )


def asked_of(run: Json) -> str:
    """What opened a run, in a line; what others may have written says so."""
    opening = run["opening"]
    if opening is None:
        return ""
    kind = "" if opening["kind"] == "owner" else f"{_KINDS[opening['kind']]}: "
    outside = "(from outside) " if opening["outside"] else ""
    return f"{kind}{outside}{one_line(opening['text'], 80)}"


_KINDS = {
    "task": "a task",
    "agent": "another agent",
    "job": "a job",
    "reminder": "a reminder",
    "outcome": "the outcome of a question",
}
