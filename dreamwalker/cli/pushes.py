"""`pushes`: what was sent to the phone, and what became of it.

One rule: each is shown with its state, and with why it was not sent if it wasn't.
"""

import time

import click

from .client import quoted
from .command import Chosen
from .options import DefaultGroup, json_option
from .problems import Problem
from .reach import find
from .terminal import Json, one_line, remark, say, show_json, table
from .times import Times

PATIENCE_SECONDS = 30.0
"""How long a test waits to hear what became of it; a try may take half of that."""


@click.group(
    cls=DefaultGroup,
    default="list",
    epilog="""\b
Examples:
  dreamwalker pushes            the newest, and what became of them
  dreamwalker pushes test       push something now
  dreamwalker settings pushes false

`dreamwalker doctor` says how to set a phone up.""",
)
def pushes() -> None:
    """What was sent to your phone."""


@pushes.command("list")
@json_option
@click.pass_obj
def list_pushes(chosen: Chosen, as_json: bool) -> None:
    """List what was pushed, the newest first."""
    api = find(chosen)
    answer = api.get("/pushes")
    if as_json:
        show_json(answer)
        return
    rows = [_row(push, api.times) for push in answer["pushes"]]
    say(table(rows) if rows else "Nothing was pushed yet.")
    if (why := _WHY_NOT.get(api.get("/status")["pushes"])) is not None:
        remark(why)


@pushes.command()
@json_option
@click.pass_obj
def test(chosen: Chosen, as_json: bool) -> None:
    """Push something now, and say what becomes of it."""
    api = find(chosen)
    push = api.post("/pushes/test")
    deadline = time.monotonic() + PATIENCE_SECONDS
    while push["state"] == "waiting" and time.monotonic() < deadline:
        time.sleep(0.1)
        push = api.get(f"/pushes/{quoted(push['id'])}")
    if as_json:
        show_json(push)
    if push["state"] != "sent":
        raise Problem(f"The test was not sent: {push['told']}.".replace("..", "."))
    if not as_json:
        say("Sent. If your phone does not show it, look at what it is subscribed to.")


_WHY_NOT = {
    "no phone": "No phone is set up, so nothing is pushed: `dreamwalker doctor` says how to set one up.",
    "off": "Pushes are turned off: `dreamwalker settings pushes true` turns them on.",
}


def _row(push: Json, times: Times) -> tuple[str, ...]:
    when = times.when
    answered = f", {push['answer']} {when(push['answered_at'])}" if push["answer"] else ""
    shown = " — ".join(filter(None, (one_line(push["title"], 40), one_line(push["text"], 60))))
    told = "not sent" if push["state"] == "off" else push["told"]
    return when(push["made_at"]), push["kind"], shown, told + answered
