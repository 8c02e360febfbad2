"""What can go wrong for a command, and the code that it then exits with.

One rule: each code has one meaning, and every message is a sentence for the owner that says what to do.
"""

from typing import IO, Any

import click

from .terminal import drawn

OK, FAILED, USAGE, UNREACHABLE, NOT_FOUND, ASKED, STOPPED = 0, 1, 2, 3, 4, 5, 130

EXIT_CODES = """\b
Exit codes:
  0    it worked
  1    what was asked for failed
  2    the command or the configuration is not right
  3    the server can't be reached, or refused to serve
  4    there is nothing of that name or number
  5    it waits for your answer to a question
  130  stopped"""


class Problem(click.ClickException):
    """What was asked for failed. The message is shown as it is."""

    exit_code = FAILED

    def show(self, file: IO[Any] | None = None) -> None:
        """Say it on stderr."""
        click.echo(drawn(self.message), file=file, err=True)


class Misconfigured(Problem):
    """The environment says something that can't be used."""

    exit_code = USAGE


class Misused(Problem):
    """The command, or what was typed into a chat, can't be understood."""

    exit_code = USAGE


class Unreachable(Problem):
    """No server answers, or it can't serve now."""

    exit_code = UNREACHABLE


class Refused(Unreachable):
    """The server answers, but not to us: trying again changes nothing."""


class Unready(Unreachable):
    """The server answers, but can't serve now. It was waited for already."""


class NotFound(Problem):
    """There is no such thing."""

    exit_code = NOT_FOUND


class Conflict(Problem):
    """It can't be done any more. `code` is the server's word for why."""

    def __init__(self, message: str, code: str) -> None:
        super().__init__(message)
        self.code = code
