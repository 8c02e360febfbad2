"""`ask`, `new` and `stop`: one message, and what becomes of it.

One rule: each ends when what it asked for has happened.
"""

import contextlib
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TextIO

import click

from .. import config
from . import seen
from .client import Api, quoted
from .command import Chosen
from .options import NUMBER, agent_option, json_option
from .problems import ASKED, FAILED, OK, STOPPED, Problem
from .reach import find, found_or_started
from .runs import asked_of
from .telling import ENDED, Telling, new_request_id
from .terminal import Json, remark, say, sendable, show_json

EXIT_CODES = {"done": OK, "failed": FAILED, "stopped": STOPPED, "waiting": ASKED}


@click.command(
    epilog="""\b
Examples:
  dreamwalker ask remember that the keys are in the drawer
  dreamwalker ask "where are the keys?"
  dreamwalker ask "what does he want?" --quote mail.txt
  git diff | dreamwalker ask "what is wrong with this?" --quote -
  echo "water the plants" | dreamwalker ask -
  dreamwalker ask --json "hi" | jq -r .text

What others wrote belongs into --quote: it is shown to the agent as text from outside, which it does not obey.

Exits with 0 when it was answered, 1 when that failed, 5 when it waits for your answer to a question, 130 when it was
stopped (Ctrl-C stops it)."""
)
@click.argument("text", nargs=-1, required=True)
@click.option(
    "--quote", "files", multiple=True, metavar="FILE", type=click.File("r", errors="replace"),
    help="A text that others wrote; - is stdin. Several are possible.",
)  # fmt: skip
@agent_option
@json_option
@click.pass_obj
def ask(chosen: Chosen, text: tuple[str, ...], files: tuple[TextIO, ...], agent: str, as_json: bool) -> None:
    """Send one message, with what it is about, and print the reply."""
    words = sys.stdin.read() if text == ("-",) else " ".join(text)
    quotes = [{"from": Path(file.name).name, "text": sendable(file.read())} for file in files]
    home = config.read().home
    replies: list[str] = []
    with found_or_started(chosen) as server:
        telling = Telling(
            server=server, agent=agent, on_reply=replies.append if as_json else print_reply, on_wait=remark
        )
        which = server.api.base if chosen.url else "here"
        run = tell_or_stop(telling, sendable(words), seen=seen.read(home, which, agent), quotes=quotes)
        seen.write(home, which, agent, telling.no)
    if as_json:
        show_json({"text": "\n\n".join(replies), "message": telling.message, "run": run})
    why_not_done(run)
    raise click.exceptions.Exit(EXIT_CODES[run["state"]])


@click.command(
    epilog="""\b
Example:
  dreamwalker new && dreamwalker ask "let us talk about something else\""""
)
@agent_option
@click.pass_obj
def new(chosen: Chosen, agent: str) -> None:
    """Begin afresh: later requests hold nothing from before. Everything is kept."""
    message = find(chosen).post(f"/agents/{quoted(agent)}/fresh", {"request_id": new_request_id()})["message"]
    say("A fresh start." if message["state"] == "placed" else "A fresh start, as soon as nothing is under way.")


@click.command(
    epilog="""\b
Examples:
  dreamwalker stop                what is under way in the conversation with you
  dreamwalker stop --agent cook   what is under way in that with another agent
  dreamwalker stop 1234           that run, be it a job's or a worker's (`dreamwalker runs` lists them)"""
)
@click.argument("run", type=NUMBER, required=False)
@agent_option
@json_option
@click.pass_obj
def stop(chosen: Chosen, run: int | None, agent: str, as_json: bool) -> None:
    """Stop what an agent does in its conversation with you, or any run by its number. What it wrote so far is kept."""
    api = find(chosen)
    if run is None:
        under_way = api.get(f"/agents/{quoted(agent)}/entries", limit=1)["run"]
        if under_way is None:
            say(f"{agent} is doing nothing in its conversation with you.{_elsewhere(api, agent)}")
            return
        run = under_way["id"]
    stopped = api.post(f"/runs/{run}/stop")["run"]
    if as_json:
        show_json(stopped)
    elif stopped["state"] == "stopped":
        what = asked_of(stopped)
        say(f"Run {run} is stopped{f': {what}' if what else '.'}")
    else:
        say(f"Run {run} had ended already: {stopped['state']}.")


def _elsewhere(api: Api, agent: str) -> str:
    """What it does beside: a job, a task of another's. That is stopped by its number alone."""
    newest = api.get("/runs", agent=agent, limit=20)["runs"]
    others = [run for run in newest if run["state"] not in ENDED]
    return "".join(
        f"\nRun {run['id']} goes on: {asked_of(run)}. `dreamwalker stop {run['id']}` stops it." for run in others
    )


def tell_or_stop(telling: Telling, text: str, *, seen: int = 0, quotes: Sequence[Json] = ()) -> Json:
    """Tell it and wait; Ctrl-C stops the run and exits."""
    try:
        return telling.tell(text, seen=seen, quotes=quotes)
    except KeyboardInterrupt:
        with contextlib.suppress(Problem):
            telling.stop()
        raise


def print_reply(text: str) -> None:
    """Print a reply."""
    say(text)


def why_not_done(run: Json) -> None:
    """Say why a run ended without an answer, or what it waits for, if it did."""
    if run["state"] == "failed":
        remark(f"It failed: {run['reason']}")
    if run["state"] == "stopped":
        remark(f"It was stopped: {run['reason']}")
