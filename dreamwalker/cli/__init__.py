"""The `dreamwalker` command.

One rule: nothing is imported before it is needed, so that help comes at once, and no traceback reaches the owner.
"""

import sys

from .command import root


def main() -> None:
    """Run the command that the arguments name, and exit with its code."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")  # a terminal that isn't UTF-8 gets "?"
    root(prog_name="dreamwalker")
