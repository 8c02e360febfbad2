"""`settings`: what the owner chose.

One rule: what a setting may hold is for the server to judge.
"""

import json
import math

import click

from .command import Chosen
from .options import json_option
from .problems import NotFound
from .reach import find
from .terminal import say, show_json, table


@click.command(
    epilog="""\b
Examples:
  dreamwalker settings                         all of them
  dreamwalker settings zone                    one
  dreamwalker settings zone Europe/Vienna      set it
  dreamwalker settings day_limit_dollars 3
  dreamwalker settings ask strict              be asked whenever text from outside is about
  dreamwalker settings pushes false            push nothing to the phone
  dreamwalker settings snooze_minutes 30
  dreamwalker settings keep_days 90            let go of what is no longer needed: see `retention`"""
)
@click.argument("name", required=False)
@click.argument("value", required=False)
@json_option
@click.pass_obj
def settings(chosen: Chosen, name: str | None, value: str | None, as_json: bool) -> None:
    """Show the settings, or set one."""
    api = find(chosen)
    held = api.get("/settings")
    if name is not None and name not in held:
        raise NotFound(f"There is no setting {name!r}. There are {', '.join(held)}.")
    if name is not None and value is not None:
        held = api.patch("/settings", {name: _value(value)})
    if name is not None:
        held = {name: held[name]}
    if as_json:
        show_json(held)
    else:
        say(table((each, str(held[each])) for each in held))


def _value(text: str) -> object:
    """A number where it is one, else the text."""
    try:
        value = json.loads(text)
    except ValueError:
        return text
    return value if isinstance(value, int | float | bool) and math.isfinite(value) else text
