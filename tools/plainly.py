"""An act in the owner's words, as the heading of the question about it: what would happen, before how exactly.

One rule: it names, and never replaces. The whole act stands below it, byte for byte; what a heading takes of the act is
drawn as there, cut to a line, and put in quotation marks that nothing in it can end.
"""

from collections.abc import Callable
from typing import Any

import attrs

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


@attrs.frozen(kw_only=True)
class Changing:
    """What an act would change: its version when it was asked about, 0 or None if there is none; and its name then."""

    version: int | None = None
    name: str = ""

    def called(self, kind: str, id: object) -> str:
        """A reminder or job by its name, if it is known."""
        return f"the {kind} {_named(self.name)}" if self.name else f"{kind} {id}"


def _write_note(act: Act, it: Changing) -> str:
    return f"Change the note {_named(act['title'])}" if it.version else f"Write the note {_named(act['title'])}"


def _message(act: Act, it: Changing) -> str:
    if act.get("mode") == "hand_off":
        return f"Hand this over to your agent {_named(act['agent'])}"
    return f"Ask your agent {_named(act['agent'])} this"


def _changes_of(kind: str) -> Callable[[Act, Changing], str]:
    parts = {"title": "title", "when": "time", "zone": "time zone", "text": "text"}

    def say(act: Act, it: Changing) -> str:
        changed = [word for name, word in parts.items() if act.get(name) is not None]
        what = " and ".join(filter(None, [", ".join(changed[:-1]), *changed[-1:]]))
        called = it.called(kind, act["id"])
        return f"Change the {what} of {called}" if what else f"Change {called}"

    return say


SAID: dict[str, Callable[[Act, Changing], str]] = {
    "write_note": _write_note,
    DELEGATE: lambda act, it: "Send this to a worker that can reach the internet",
    MESSAGE_AGENT: _message,
    "change_reminder": _changes_of("reminder"),
    "cancel_reminder": lambda act, it: f"Cancel {it.called('reminder', act['id'])}",
    "make_job": lambda act, it: f"Make the job {_named(act['title'])}, which runs by itself",
    "change_job": _changes_of("job"),
    "pause_job": lambda act, it: f"Pause {it.called('job', act['id'])}",
    "resume_job": lambda act, it: f"Let {it.called('job', act['id'])} run again",
    "remove_job": lambda act, it: f"Remove {it.called('job', act['id'])}",
}
"""What using a tool means to the owner, by its name."""


def in_words(tool: str, act: Act, it: Changing) -> str:
    """An act in the owner's words, as a question of one line."""
    say = SAID.get(tool)
    try:
        said = f"Use {_named(tool)}" if say is None else say(act, it)
    except KeyError:  # a tool had other arguments when it was asked about
        said = f"Use {_named(tool)}"
    return f"{said}?"
