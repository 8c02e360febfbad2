"""`settings`: what the owner chose.

One rule: what a setting may hold is for the server to judge.
"""

import math

import click

from .command import Chosen
from .options import json_option, meant
from .problems import NotFound, Problem
from .reach import find
from .terminal import say, sendable, show_json, table


@click.command(
    context_settings={"ignore_unknown_options": True},  # -1 is a value, if none that can be
    epilog="""\b
Examples:
  dreamwalker settings                         all of them, and what each is
  dreamwalker settings zone                    one
  dreamwalker settings zone Europe/Vienna      set it
  dreamwalker settings day_limit_dollars 3
  dreamwalker settings ask strict              be asked whenever text from outside is about
  dreamwalker settings pushes no               push nothing to the phone
  dreamwalker settings snooze_minutes 30
  dreamwalker settings keep_days 90            let go of what is no longer needed: see `retention`""",
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
        close = meant(name, held)
        hint = f"Did you mean {close}?" if close else f"There are {', '.join(held)}."
        raise NotFound(f"There is no setting {name!r}. {hint}")
    if name is not None and value is not None:
        held = api.patch("/settings", {name: _value(name, sendable(value), held[name])})
    if name is not None:
        held = {name: held[name]}
    if as_json:
        show_json(held)
    else:
        say(table((each, _shown(held[each]), _MEANING.get(each, "")) for each in held))


_MEANING = {
    "zone": "your time zone, in which times and days are told",
    "day_limit_dollars": "the most that it may spend in a day",
    "month_limit_dollars": "the most that it may spend in a month",
    "ask": "since-message: you are asked about what outside text may have caused since you wrote; strict: always",
    "pushes": "whether anything is pushed to your phone",
    "snooze_minutes": "how long after Snooze a reminder comes up again",
    "keep_days": "for how many days is kept what nobody needs any more; 0: for ever (see `dreamwalker retention`)",
}
_YES, _NO = ("true", "yes", "on", "1"), ("false", "no", "off", "0")


def _shown(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:g}" if isinstance(value, float) else str(value)


def _value(name: str, text: str, held: object) -> object:
    """What was typed, as the kind of value that stands there now. Raises Problem."""
    word = text.strip().lower()
    match held:
        case bool() if word in (*_YES, *_NO):
            return word in _YES
        case bool():
            raise Problem(f"{name} is yes or no; not {text!r}.")
        case int() | float():
            return _number(name, word.removeprefix("$"), whole=isinstance(held, int))
    return text


def _number(name: str, text: str, *, whole: bool) -> int | float:
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not math.isfinite(number) or (whole and not number.is_integer()):
        raise Problem(
            f"{name} is a {'whole number, such as 30' if whole else 'number, such as 3 or 2.50'}; not {text!r}."
        )
    return int(number) if number.is_integer() else number
