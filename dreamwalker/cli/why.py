"""`why`: what led to a run, a call, a question, a push or a note, back to what you did.

One rule: it is told from the nearest run back to the first cause, and what came from outside is told as such.
"""

import re
from contextlib import nullcontext

import click

from .calls import summary, working
from .client import Api, quoted
from .command import Chosen
from .notes import search, titled
from .options import DefaultGroup, agent_option, json_option
from .questions import about, decision, hinting_at_question
from .reach import find
from .spend import set_aside
from .terminal import Json, dollars, one_line, say, show_json
from .times import Times

_MARKS = {("finished", False): "✓", ("finished", True): "✗"}


@click.group(
    cls=DefaultGroup,
    default="run",
    numbered="run",
    epilog="""\b
Examples:
  dreamwalker why 1234                a run: what came in, what was asked, what it did, what it cost
  dreamwalker why call 1234.2.0       the first call of its second reply
  dreamwalker why question 12
  dreamwalker why push slot:7:2026-12-01T09:00+01:00
  dreamwalker why note 31.2           the second version of note 31
  dreamwalker why note Shopping list""",
)
def why() -> None:
    """Why something is as it is, and what led to it."""


def _about(what: str, metavar: str, says: str) -> None:
    @why.command(what, help=says)
    @click.argument("id", metavar=metavar)
    @json_option
    @click.pass_obj
    def show(chosen: Chosen, id: str, as_json: bool) -> None:
        api = find(chosen)
        with hinting_at_question(api, id, "dreamwalker why question {}") if what == "run" else nullcontext():
            _show(api, what, id, as_json)


def _show(api: Api, what: str, id: str, as_json: bool) -> None:
    answer = api.get(f"/why/{what}/{quoted(id)}")
    if as_json:
        show_json(answer)
    else:
        say("\n".join(_told(answer, api.times)))


_about("run", "NUMBER", "Why a run was, and what it did.")
_about("call", "RUN.TURN.POSITION", "Why a tool was used.")
_about("question", "NUMBER", "Why you were asked.")
_about("push", "ID", "Why your phone was told.")


@why.command("note")
@click.argument("id", metavar="NOTE.VERSION|TITLE", nargs=-1, required=True)
@agent_option
@json_option
@click.pass_obj
def note(chosen: Chosen, id: tuple[str, ...], agent: str, as_json: bool) -> None:
    """Why a note says what it says, by its number or its title; without a version, the newest."""
    api = find(chosen)
    if _NOTE.fullmatch(" ".join(id)):
        _show(api, "note", id[0], as_json)
    else:
        _show(api, "note", str(titled(search(api, agent, " ".join(id)), id)["id"]), as_json)


_NOTE = re.compile(r"\d+(\.\d+)?")


def _told(answer: Json, times: Times) -> list[str]:
    """All of it, line by line."""
    lines = [answer["about"][:1].upper() + answer["about"][1:]]
    for account in answer["runs"]:
        lines += ["", *_account(account, times)]
    for thing in answer["things"]:
        name = f" “{one_line(thing['title'], 60)}”" if thing["title"] else ""
        lines += ["", f"{thing['kind']} {thing['id']}{name}: {one_line(thing['text'], 160)}", f"  {thing['said']}"]
    if not answer["runs"] and not answer["things"]:
        lines.append("You did it yourself, or it belongs to no run." if answer["by"] else "Nothing more is known.")
    if answer["act_cost"]:
        lines += ["", f"All that came of it ({answer['act']}) cost:", *map(_cost, answer["act_cost"])]
    return lines


def _account(account: Json, times: Times) -> list[str]:
    run, when = account["run"], times.when
    ended = f", until {when(run['closed_at'])}" if run["closed_at"] else ""
    lines = [f"Run {run['id']} of {run['agent']} ({run['kind']}): {run['state']}, from {when(run['opened_at'])}{ended}"]
    if run["reason"]:
        lines.append(f"  {run['reason']}")
    for message in account["came_in"]:
        lines.append(f"  ← {_from(message)}, {when(message['at'])}: {one_line(message['text'], 160)}")
        lines += [f"      with text from “{one_line(quote['from'], 60)}”" for quote in message["quotes"]]
    for outside in account["outside"]:
        origin = f", from “{one_line(outside['origin'], 60)}”" if outside["origin"] else ""
        lines.append(f"  ⚠ from outside, {when(outside['at'])}: {outside['what']}{origin}")
    lines += [line for call in account["calls"] for line in _call(call, account["workers"])]
    lines += [f"  → {one_line(reply['text'], 160)}" for reply in account["said"][-1:] if reply["text"].strip()]
    for asked in account["asked"]:
        question, by = asked["question"], asked["answered_by"]
        where = f", by {by}" if by else ""
        asked_at, decided = when(question["asked_at"]), f"{decision(question, times)}{where}"
        lines.append(f"  ? question {question['id']}, {asked_at}: {about(question)} {decided}")
    for note in account["wrote"]:
        lines.append(f"  + version {note['version']} of note {note['note']} “{one_line(note['title'], 60)}”")
    for thing in account["made"]:
        lines.append(f"  + {thing['kind']} {thing['id']}: {one_line(thing['said'], 120)}")
    for taken in account["resumptions"]:
        lines.append(
            f"  ↻ taken up again {when(taken['at'])}, after {taken['turn']} replies, by deploy {taken['generation']}"
        )
    return lines + [_cost(cost) for cost in account["cost"]]


def _from(message: Json) -> str:
    who = "you" if message["kind"] == "owner" else f"{message['kind']} {one_line(message['source'], 60)}".strip()
    return f"{who} (from outside)" if message["outside"] else who


def _call(call: Json, workers: list[Json]) -> list[str]:
    mark = _MARKS.get((call["state"], bool(call["failed"])), "…")
    lines = [f"  {mark} {call['turn']}.{call['position']} {summary(call)}"]
    for worker in workers:
        if (worker["turn"], worker["position"]) == (call["turn"], call["position"]):
            number = f"run {worker['worker_run']}, " if worker["worker_run"] else ""
            lines.append(f"      {worker['agent'] or 'worker'}: {number}{working(worker)}")
    return lines


def _cost(cost: Json) -> str:
    tokens = (
        f"{cost['input_tokens']:,} in, {cost['cache_write_tokens']:,} written to and {cost['cache_read_tokens']:,} "
        f"read from the cache, {cost['output_tokens']:,} out"
    )
    searches = f", searches: {cost['searches']}" if cost["searches"] else ""
    spent = f"{dollars(cost['cost_dollars'])} for {cost['kind']}, requests: {cost['requests']}"
    return f"  {spent} ({tokens}{searches}){set_aside(cost)}"
