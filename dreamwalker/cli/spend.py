"""`spend`: what it costs, and how much it may.

One rule: the numbers are the server's; what is set aside for requests under way counts as used.
"""

from datetime import datetime

import click

from .command import Chosen
from .options import DefaultGroup, json_option
from .reach import find
from .terminal import Json, dollars, say, show_json, table


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

The limits of every day and month are settings: dreamwalker settings day_limit_dollars 3""",
)
def spend() -> None:
    """What it costs, and the limits."""


@spend.command()
@click.option("--month", metavar="YYYY-MM", help="Another month than this one.")
@click.option(
    "--by",
    type=click.Choice(["day", "agent", "model", "month"]),
    default="day",
    show_default=True,
    help="Sums of what.",
)
@json_option
@click.pass_obj
def show(chosen: Chosen, month: str | None, by: str, as_json: bool) -> None:
    """Show what was spent."""
    month = _month(month)
    answer = find(chosen).get("/spend", month=month, by=by)
    if as_json:
        show_json(answer)
        return
    say(totals(answer))
    if answer["sums"]:
        say()
        say(table(map(_sum, answer["sums"])))


@spend.command("raise")
@click.argument("amount", metavar="DOLLARS", type=click.FloatRange(0, 1_000_000))
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
        say(totals(answer))


def totals(answer: Json) -> str:
    """What today and this month have used of what they may."""
    return "\n".join(
        f"{answer[period]['period']}: {dollars(answer[period]['used_dollars'])} "
        f"of {dollars(answer[period]['limit_dollars'])}"
        for period in ("day", "month")
    )


def _month(text: str | None) -> str | None:
    if text is None:
        return None
    try:
        return datetime.strptime(text, "%Y-%m").strftime("%Y-%m")
    except ValueError:
        raise click.BadParameter(f"a month looks like 2026-11; this is {text!r}", param_hint="--month") from None


def _sum(each: Json) -> tuple[str, ...]:
    return each["name"], each["kind"], f"requests: {each['requests']}", dollars(each["cost_dollars"])
