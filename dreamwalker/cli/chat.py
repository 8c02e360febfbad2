"""`chat`: talk with an agent.

One rule: on a terminal it is a live conversation; otherwise each line of stdin is a message, and stdout gets the
answers as plain text.
"""

import sys

import click

from .command import Chosen
from .messages import EXIT_CODES, print_reply, tell_or_stop, why_not_done
from .options import agent_option
from .problems import OK, Misused, Problem, Unreachable
from .reach import Server, found_or_started
from .slash import Doubt, Typed, carry_out, read
from .telling import PRACTICE, Telling
from .terminal import remark, say, sendable


@click.command(
    epilog="""\b
Examples:
  dreamwalker chat
  dreamwalker chat --agent cook
  echo "where are the keys?" | dreamwalker chat
  DREAMWALKER_URL=https://… DREAMWALKER_TOKEN=… dreamwalker chat

If no server runs on this machine, it starts one, which ends with the chat."""
)
@agent_option
@click.pass_obj
def chat(chosen: Chosen, agent: str) -> None:
    """Talk with an agent. /help says what can be done there."""
    with found_or_started(chosen) as server:
        if _on_terminal():
            from .session import Session

            Session(server, agent).run()
            return
        code = _line_by_line(server, agent)
    raise click.exceptions.Exit(code)


def _on_terminal() -> bool:
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        return False
    from prompt_toolkit.utils import is_dumb_terminal

    return not is_dumb_terminal()


def _line_by_line(server: Server, agent: str) -> int:
    """Send each line once the one before it is answered. Returns the exit code of the last."""
    if server.api.get("/status")["practice"]:
        remark(PRACTICE)
    code, seen = OK, 0
    for line in sys.stdin:
        typed = read(line)
        if typed == Typed("quit", ""):
            break
        if isinstance(typed, Typed) or (isinstance(typed, Doubt) and typed.slip):
            code = _slash(server, agent, typed)
        elif line.strip():
            if isinstance(typed, Doubt):
                remark(f"{typed.says} It was sent as a message.")
            telling = Telling(server=server, agent=agent, on_reply=print_reply, on_wait=remark, typed="/")
            run = tell_or_stop(telling, sendable(line.rstrip("\n")), seen=seen)
            why_not_done(run)
            code, seen = EXIT_CODES[run["state"]], telling.no
    return code


def _slash(server: Server, agent: str, typed: Typed | Doubt) -> int:
    """Do it; one that is refused is no reason to leave what comes after it unread. Returns its exit code."""
    try:
        if isinstance(typed, Doubt):
            raise Misused(f"{typed.says} Nothing was sent.")
        if shown := carry_out(server.api, agent, typed.word, typed.rest):
            say(shown)
    except Unreachable:
        raise
    except Problem as problem:
        problem.show()
        return problem.exit_code
    return OK
