"""`retention`: for how long things are kept that nobody needs any more, and what would go.

One rule: it shows before it does anything.
"""

import click

from .command import Chosen
from .options import Whole, json_option
from .reach import find
from .terminal import say, show_json

_STAYS = (
    "What you said, what you were told, what you decided, notes, reminders, jobs and every account of money stay "
    "in any case."
)


@click.command(
    epilog="""\b
Examples:
  dreamwalker retention                 what holds now, and what it lets go of
  dreamwalker retention 90              what would go if things were kept for 90 days
  dreamwalker settings keep_days 90     do it: now, and then once a day
  dreamwalker settings keep_days 0      keep everything for ever, which is so until you choose"""
)
@click.argument("days", required=False, type=Whole(7, 36_500))
@json_option
@click.pass_obj
def retention(chosen: Chosen, days: int | None, as_json: bool) -> None:
    """Show what would be let go of if things were kept for so many DAYS."""
    found = find(chosen).get("/retention", days=days)
    if as_json:
        show_json(found)
        return
    kept = f"for {found['keep_days']} days" if found["keep_days"] else "for ever"
    say(f"Everything is kept {kept}." if not found["keep_days"] else f"What may go is kept {kept}.")
    if found["days"]:
        say(
            f"With {found['days']} days this much of now would go: {found['workers']:,} rows of finished workers, "
            f"{found['pushes']:,} pushes, {found['slots']:,} times of reminders and jobs."
        )
        if found["days"] != found["keep_days"]:
            say(f"To do that: dreamwalker settings keep_days {found['days']}")
    say(_STAYS)
