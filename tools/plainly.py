"""An act in the owner's words, as the heading of the question about it: what would happen, before how exactly.

One rule: it names, and never replaces. The whole act stands below it, byte for byte; what a heading takes of the act is
drawn as there, cut to a line, and put in quotation marks that nothing in it can end.
"""

from collections.abc import Callable
from typing import Any

from .delegate import DELEGATE
from .messages import MESSAGE_AGENT
from .outside import cut
from .show import drawn

NAMED_CHARACTERS = 60
"""How much of a title stands in a heading."""

Act = dict[str, Any]


def _named(text: object) -> str:
    line, more = cut(" ".join(drawn(str(text)).split()), NAMED_CHARACTERS)
    return f"“{line.translate(_MARKS)}{'…' if more else ''}”"


_MARKS = str.maketrans("“”„", '"""')


def _write_note(act: Act, base: int | None) -> str:
    return f"Change the note {_named(act['title'])}" if base else f"Write the note {_named(act['title'])}"


def _message(act: Act, base: int | None) -> str:
    if act.get("mode") == "hand_off":
        return f"Hand this over to your agent {_named(act['agent'])}"
    return f"Ask your agent {_named(act['agent'])} this"


def _changes_of(thing: str) -> Callable[[Act, int | None], str]:
    parts = {"title": "title", "when": "time", "text": "text"}

    def say(act: Act, base: int | None) -> str:
        changed = [word for name, word in parts.items() if act.get(name) is not None]
        what = " and ".join(filter(None, [", ".join(changed[:-1]), *changed[-1:]]))
        return f"Change the {what} of {thing} {act['id']}" if what else f"Change {thing} {act['id']}"

    return say


SAID: dict[str, Callable[[Act, int | None], str]] = {
    "write_note": _write_note,
    DELEGATE: lambda act, base: "Send this to a worker that can reach the internet",
    MESSAGE_AGENT: _message,
    "change_reminder": _changes_of("reminder"),
    "cancel_reminder": lambda act, base: f"Cancel reminder {act['id']}",
    "make_job": lambda act, base: f"Make the job {_named(act['title'])}, which runs by itself",
    "change_job": _changes_of("job"),
    "pause_job": lambda act, base: f"Pause job {act['id']}",
    "resume_job": lambda act, base: f"Let job {act['id']} run again",
    "remove_job": lambda act, base: f"Remove job {act['id']}",
}
"""What using a tool means to the owner, by its name. The second argument is the version that it would change."""


def in_words(tool: str, act: Act, base_version: int | None) -> str:
    """An act in the owner's words, as a question of one line."""
    say = SAID.get(tool)
    try:
        said = f"Use {_named(tool)}" if say is None else say(act, base_version)
    except KeyError:  # a tool had other arguments when it was asked about
        said = f"Use {_named(tool)}"
    return f"{said}?"
