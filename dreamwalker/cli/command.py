"""The command itself: its nouns, its help, and the one place that turns errors into words.

One rule: a noun's module is imported when its noun is asked for.
"""

import errno
import os
import sys
from importlib import import_module
from keyword import iskeyword
from typing import Any

import attrs
import click
from click.shell_completion import CompletionItem

from .. import __version__
from ..garbage import importing
from .options import no_such
from .problems import EXIT_CODES, STOPPED, Misconfigured, Problem

NOUNS = {
    "chat": ("chat", "Talk with an agent."),
    "ask": ("messages", "Send one message and print the reply."),
    "new": ("messages", "Begin afresh: later requests hold nothing from before."),
    "stop": ("messages", "Stop what an agent is doing."),
    "questions": ("questions", "What you are asked to decide."),
    "yes": ("questions", "Say yes to a question."),
    "no": ("questions", "Say no to a question."),
    "answer": ("questions", "Answer an agent's own question."),
    "remind": ("reminders", "Be reminded of something."),
    "reminders": ("reminders", "What you are to be reminded of."),
    "jobs": ("jobs", "What is done for you on a schedule."),
    "runs": ("runs", "What was done, and what it cost."),
    "why": ("why", "Why something is as it is, and what led to it."),
    "notes": ("notes", "What is remembered for you."),
    "agents": ("agents", "Who works for you beside the main agent."),
    "search": ("search", "Find what was said or noted, however long ago."),
    "spend": ("spend", "What it costs, and the limits."),
    "pushes": ("pushes", "What was sent to your phone."),
    "settings": ("settings", "Your zone, limits and pushes."),
    "retention": ("retention", "For how long is kept what nobody needs any more."),
    "export": ("archive", "Everything that is remembered, as one file."),
    "import": ("archive", "Bring such a file into an empty database."),
    "backup": ("archive", "Write such a file now and let go of the oldest."),
    "serve": ("serve", "Run the server in this terminal."),
    "migrate": ("migrate", "Bring a database's schema up to date."),
    "doctor": ("doctor", "Check that everything is as it should be."),
    "completion": ("completion", "Let a shell complete all this."),
}
"""Each noun's module and what it is for, in the order of the help."""


@attrs.frozen
class Chosen:
    """What was said before the noun. `url` None: the server of this machine."""

    url: str | None


class _Root(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(NOUNS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in NOUNS:
            if ctx.resilient_parsing:
                return None
            raise no_such(ctx, cmd_name, NOUNS)
        attribute = f"{cmd_name}_" if iskeyword(cmd_name) else cmd_name
        with importing():
            command: click.Command = getattr(import_module(f".{NOUNS[cmd_name][0]}", __package__), attribute)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, purpose) for name, (_, purpose) in NOUNS.items()])

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """The nouns that begin so; none is imported, since a shell asks at each key."""
        nouns = [CompletionItem(name, help=it) for name, (_, it) in NOUNS.items() if name.startswith(incomplete)]
        return nouns + click.Command.shell_complete(self, ctx, incomplete)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the noun; what nobody foresaw becomes one sentence."""
        from ..config import BadConfiguration

        try:
            return super().invoke(ctx)
        except (click.ClickException, click.Abort, click.exceptions.Exit, BrokenPipeError):
            raise
        except KeyboardInterrupt:
            ctx.exit(STOPPED)
        except BadConfiguration as error:
            raise Misconfigured(str(error)) from error
        except Exception as error:
            if ctx.params["debug"]:
                raise
            if isinstance(error, OSError) and error.errno == errno.ENOSPC:
                os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # no second try at exit
                says = "No space is left where this is written to. What was asked for may be done all the same."
                raise Problem(says) from error
            raise Problem(
                f"Something went wrong that should not have ({type(error).__name__}: {error}). "
                "DREAMWALKER_DEBUG=1 shows where."
            ) from error


@click.command(
    cls=_Root,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog=f"""\b
Examples:
  dreamwalker chat                       talk; starts a server if none runs
  dreamwalker ask "what did I plan for Friday?"
  dreamwalker remind "in 20m" take the tea out
  dreamwalker notes shopping             search the notes
  dreamwalker spend raise 8 --day        let it spend $8 today

{EXIT_CODES}""",
)
@click.option(
    "--url",
    envvar="DREAMWALKER_URL",
    show_envvar=True,
    metavar="URL",
    help="Talk to the server there, with the token in DREAMWALKER_TOKEN, instead of the one on this machine.",
)
@click.option("--debug", envvar="DREAMWALKER_DEBUG", is_flag=True, hidden=True)
@click.version_option(__version__, message="%(version)s")
@click.pass_context
def root(ctx: click.Context, url: str | None, debug: bool) -> None:
    """A personal agent for one owner: it remembers for you, and every dollar it spends is accounted for."""
    ctx.obj = Chosen(url)
