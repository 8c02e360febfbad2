"""`spend`: what it costs, and how much it may.

One rule: the numbers are the server's; what is set aside counts as used, and is told apart.
"""

import math
from datetime import datetime
from typing import Any

import click

from .client import Api
from .command import Chosen
from .options import DefaultGroup, json_option
from .reach import find
from .terminal import Json, dollars, say, show_json, table


class _Dollars(click.FloatRange):
    """An amount. `nan` is a float too, and neither below nor above any bound."""

    name = "number of dollars"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if math.isnan(amount := super().convert(value, param, ctx)):
            self.fail(f"{value!r} is no amount.", param, ctx)
        return amount


@click.group(
    cls=DefaultGroup,
    default="show",
    epilog="""\b
Examples:
  dreamwalker spend                       today, this month, and by day
  dreamwalker spend --by agent
  dreamwalker spend --month 2026-11 --by model
  dreamwalker spend raise 8               let it spend $8 today
  dreamwalker spend raise 80 --month      let it spend $80 this month
  dreamwalker spend reset                 take today's raise back

The limits of every day and month are settings: dreamwalker settings day_limit_dollars 3""",
)
def spend() -> None:
    """What it costs, and the limits."""


@spend.command()
@click.option("--month", metavar="YYYY-MM", help="Another month than this one.")
@click.option(
    "--by",
    type=click.Choice(["day", "month", "agent", "model", "kind", "act", "run"]),
    default="day",
    show_default=True,
    help="Sums of what.",
)
@json_option
@click.pass_obj
def show(chosen: Chosen, month: str | None, by: str, as_json: bool) -> None:
    """Show what was spent."""
    month = _month(month)
    api = find(chosen)
    answer = api.get("/spend", month=month, by=by)
    if as_json:
        show_json(answer)
        return
    say(totals(answer, api))
    if answer["sums"]:
        say()
        say(table([_HEAD, *map(_sum, answer["sums"])]))


@spend.command("raise", context_settings={"ignore_unknown_options": True})
@click.argument("amount", metavar="DOLLARS", type=_Dollars(0, 1_000_000))
@click.option("--day", "period", flag_value="day", default="day", help="For today only (as without it).")
@click.option("--month", "period", flag_value="month", help="For this month only.")
@json_option
@click.pass_obj
def raise_limit(chosen: Chosen, amount: float, period: str, as_json: bool) -> None:
    """Let it spend up to DOLLARS today, or this month. What waits for money goes on."""
    api = find(chosen)
    name = api.get("/spend")[period]["period"]
    answer = api.post("/spend/raise", {"period": name, "dollars": amount})
    if as_json:
        show_json(answer)
    else:
        say(totals(answer, api))


@spend.command()
@click.option("--day", "period", flag_value="day", default="day", help="Today's (as without it).")
@click.option("--month", "period", flag_value="month", help="This month's.")
@json_option
@click.pass_obj
def reset(chosen: Chosen, period: str, as_json: bool) -> None:
    """Take a raise back: the limit of every day, or month, holds again."""
    api = find(chosen)
    answer = api.post("/spend/reset", {"period": api.get("/spend")[period]["period"]})
    if as_json:
        show_json(answer)
    else:
        say(totals(answer, api))


def totals(answer: Json, api: Api) -> str:
    """What today and this month have used of what they may."""
    return "\n".join(_total(answer[period], api) for period in ("day", "month"))


def _total(period: Json, api: Api) -> str:
    reached = ""
    if period["reached_at"]:
        reached = f", reached {api.times.when(period['reached_at'])}: what waits goes on when you raise it"
    spent = f"{dollars(period['spent_dollars'])} spent of {dollars(period['limit_dollars'])}"
    return f"{period['period']}: {spent}{set_aside(period)}{reached}"


def set_aside(cost: Json) -> str:
    """What is set aside beside a cost, and why what stays of it stays. A clause that goes on after the cost."""
    lost = cost["lost_dollars"]
    under_way = cost["unsettled_dollars"] - lost
    parts = [
        f", {dollars(under_way)} set aside for what is under way" if round(under_way, 9) else "",
        f", {dollars(lost)} stays set aside for answers that were cut off: what they cost is not known" if lost else "",
    ]
    return "".join(parts)


def _month(text: str | None) -> str | None:
    if text is None:
        return None
    try:
        return datetime.strptime(text, "%Y-%m").strftime("%Y-%m")
    except ValueError:
        raise click.BadParameter(f"a month looks like 2026-11; this is {text!r}", param_hint="--month") from None


_HEAD = ("", "KIND", "REQUESTS", "COST", "SET ASIDE", "INPUT", "CACHE WRITE", "CACHE READ", "OUTPUT", "SEARCHES")


def _sum(each: Json) -> tuple[str, ...]:
    tokens = [f"{each[name]:,}" for name in _COUNTED]
    money = [dollars(each["cost_dollars"]), dollars(each["unsettled_dollars"])]
    return (each["name"], each["kind"], str(each["requests"]), *money, *tokens)


_COUNTED = ("input_tokens", "cache_write_tokens", "cache_read_tokens", "output_tokens", "searches")
