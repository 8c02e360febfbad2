"""Labels and the gate: whether a text derives from outside, since when, and whether an act must be asked about.

One rule: taint is computed from stored labels, never kept as a flag. A label is 0 for what is the owner's own, else
the number of the commit with which the newest outside text that it derives from came in. Nothing makes one smaller:
not an answer, not a summary, not a restart. Only a message that the owner types moves what he has seen.
"""

import enum
from collections.abc import Callable, Iterable

import attrs

Label = int


def join(labels: Iterable[Label]) -> Label:
    """The label of what derives from all of these: the highest, 0 if there are none."""
    return max(labels, default=0)


def tainted(label: Label) -> bool:
    """Whether anything from outside went into it."""
    return label > 0


def seen(seen_no: int, accepted_no: int) -> int:
    """What counts as seen by an owner whose client had shown him commit `seen_no` when his message was accepted.

    What came in with the message itself (quotes) or later cannot have been shown to him before, whatever a client says.
    """
    return max(min(seen_no, accepted_no - 1), 0)


def freshly_tainted(label: Label, seen_no: int) -> bool:
    """Whether something from outside came in that the owner had not seen when he last wrote.

    `seen_no` is `seen` of the newest owner message in the request, 0 if there is none.
    """
    return label > seen_no


class Mode(enum.Enum):
    """How much is asked about; the owner's choice."""

    SINCE_MESSAGE = "since-message"
    """What happens after outside text came in since his newest message; later, what carries private text."""
    STRICT = "strict"
    """Every exit of a request that holds anything from outside."""


class Rule(enum.Enum):
    """Why an act is asked about."""

    FRESH = "fresh"
    """Outside text came in that he had not seen when he last wrote."""
    PRIVATE = "private"
    """Outside text is about, and the act carries private text, or text that nobody can read."""
    STRICT = "strict"
    """Outside text is about, and he wants to be asked whenever it is."""
    CHOICE = "choice"
    """The agent has a question of its own."""


@attrs.frozen(kw_only=True)
class Held:
    """The gate holds an act back. `found` is the private text that it carries, if that is why."""

    rule: Rule
    found: str = ""


def gate(*, label: Label, seen_no: int, mode: Mode, private: Callable[[], str | None]) -> Held | None:
    """Whether an exit must be asked about: None lets it pass.

    `label` is the label of the request that asked for the act. `private` finds private text in the act, and is called
    only when nothing else decides.
    """
    if not tainted(label):
        return None
    if freshly_tainted(label, seen_no):
        return Held(rule=Rule.FRESH)
    if mode is Mode.STRICT:
        return Held(rule=Rule.STRICT)
    found = private()
    return None if found is None else Held(rule=Rule.PRIVATE, found=found)
