"""Options that several nouns have, and nouns that do something without a verb.

One rule: what means the same is spelled the same.
"""

from typing import Any

import click

MAIN_AGENT = "dreamwalker"

agent_option = click.option(
    "--agent", default=MAIN_AGENT, show_default=True, metavar="NAME", help="Which agent it is about."
)
json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON, for programs.")


class DefaultGroup(click.Group):
    """A noun whose default verb need not be said: `notes milk` is `notes list milk`."""

    def __init__(self, *args: Any, default: str, **settings: Any) -> None:
        super().__init__(*args, **settings)
        self.default = default

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Put the default verb where none is said, but not where a shell asks how the line may go on."""
        verb = args[0] if args else None
        if verb not in self.commands and verb not in ctx.help_option_names and not ctx.resilient_parsing:
            args = [self.default, *args]
        return super().parse_args(ctx, args)
