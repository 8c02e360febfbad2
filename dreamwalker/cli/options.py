"""Options that several nouns have, numbers, and nouns that do something without a verb.

One rule: what means the same is spelled the same, and what is misspelled is told what was meant.
"""

from collections.abc import Iterable
from typing import Any

import click

MAIN_AGENT = "dreamwalker"

_BIGINT_MAX = 2**63 - 1


class _Number(click.ParamType[int]):
    """The number of a run, a question, a reminder or a job."""

    name = "number"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        text = str(value).removeprefix("#")
        if not (text.isascii() and text.isdigit()) or not 1 <= int(text[:20]) <= _BIGINT_MAX:
            self.fail(f"{value!r} is not the number of anything here.", param, ctx)
        return int(text)


class Whole(click.IntRange):
    """A whole number within bounds."""

    name = "whole number"


class _Agent(click.ParamType[str]):
    """The name of an agent, which is never empty."""

    name = "name"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        if not str(value).strip():
            self.fail("that is no name; `dreamwalker agents` lists them.", param, ctx)
        return str(value)


NUMBER, AGENT = _Number(), _Agent()

agent_option = click.option(
    "--agent", default=MAIN_AGENT, show_default=True, type=AGENT, metavar="NAME", help="Which agent it is about."
)
some_agent_option = click.option("--agent", type=AGENT, metavar="NAME", help="Only this agent's.")
json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON, for programs.")

_SAME = (
    ("remove", "cancel", "retire", "rm", "delete", "del", "drop"),
    ("list", "ls", "all"),
    ("add", "new", "create", "make", "set"),
    ("change", "edit", "update", "rename"),
    ("show", "get", "read", "view", "cat", "open"),
    ("pause", "stop", "off"),
    ("resume", "start", "unpause", "on"),
    ("restore", "undo", "unretire"),
    ("slots", "history", "log"),
)
"""Verbs that people take for each other."""


def meant(word: str, words: Iterable[str]) -> str | None:
    """Which of some words was probably meant by another; None if none."""
    import difflib  # help comes without it

    there = list(words)
    alike = difflib.get_close_matches(word.lower(), there, 1, 0.7)
    same = (other for verbs in _SAME if word.lower() in verbs for other in there if other in verbs)
    return next(iter(alike), None) or next(same, None)


class DefaultGroup(click.Group):
    """A noun whose default verb need not be said.

    `words`: it takes words, so `notes milk` is `notes list milk`. Else a number after the noun means `numbered`: `runs
    12` is `runs show 12`; so does a name, where things are `named`; and any other word is a verb that there isn't.
    """

    def __init__(
        self,
        *args: Any,
        default: str,
        words: bool = False,
        numbered: str = "show",
        named: bool = False,
        **settings: Any,
    ) -> None:
        super().__init__(*args, **settings)
        self.default, self.words, self.numbered, self.named = default, words, numbered, named

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Put the default verb where none is said, but not where a shell asks how the line may go on."""
        verb = args[0] if args else ""
        if verb in self.commands or verb in ctx.help_option_names or ctx.resilient_parsing:
            return super().parse_args(ctx, args)
        if not verb or verb.startswith("-") or self.words:
            return super().parse_args(ctx, [self.default, *args])
        if (verb.isdigit() or (self.named and meant(verb, self.commands) is None)) and self.numbered in self.commands:
            return super().parse_args(ctx, [self.numbered, *args])
        raise no_such(ctx, verb, self.commands)


def no_such(ctx: click.Context, word: str, words: Iterable[str]) -> click.UsageError:
    """What is said to a command that there isn't."""
    there = list(words)
    close = meant(word, there)
    hint = f"Did you mean `{ctx.command_path} {close}`?" if close else f"There are {', '.join(there)}."
    return click.UsageError(f"There is no `{ctx.command_path} {word}`. {hint}", ctx)
