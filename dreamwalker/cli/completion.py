"""`completion`: what a shell needs to complete the command.

One rule: it only prints; where that goes is the owner's business.
"""

import click
from click.shell_completion import get_completion_class

from .problems import Problem
from .terminal import say

VARIABLE = "_DREAMWALKER_COMPLETE"
"""By which the shell asks the command how a line goes on; click reads it."""


@click.command(
    epilog="""\b
Examples:
  eval "$(dreamwalker completion bash)"                            this shell alone
  dreamwalker completion bash >> ~/.bashrc                         each new one
  dreamwalker completion zsh >> ~/.zshrc
  dreamwalker completion fish > ~/.config/fish/completions/dreamwalker.fish"""
)
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def completion(ctx: click.Context, shell: str) -> None:
    """Print what a shell needs to complete the command."""
    complete = get_completion_class(shell)
    if complete is None:
        raise Problem(f"There is no completion for {shell}.")
    say(complete(ctx.find_root().command, {}, "dreamwalker", VARIABLE).source().strip())
