"""A schedule as a value: what the owner does, what the model does for him, and what befalls them.

One rule: every choice is made here, from one random.Random of one seed. The same seed is the same plan; where real
concurrency makes steps interleave otherwise, an injection strikes the same operation of the same number.
"""

import random
from collections.abc import Mapping

import attrs

from tests.simulate.acts import Act, When
from tests.simulate.injections import INJECTIONS, Site
from tests.simulate.model import Rounds

Operations = Mapping[Site, tuple[str, ...]]

OPERATIONS: Operations = {
    "database": (
        "renew", "begin", "take the lease", "commit: take the lease", "look after a loss", "give the lease up",
        "read entries", "insert agents", "commit: insert agents",
    ),
    "model": ("answer", "answer with calls"),
    "tool": ("post_letter", "dig_hole", "look_up"),
}  # fmt: skip
"""What an injection may be aimed at by name, besides the operations of features: so that what is rare is met too."""


SURELY_REQUESTS = 50
"""So many requests to the database there are in every schedule."""


@attrs.frozen(kw_only=True)
class Blow:
    """An injection strikes at the `nth` step that it can strike at, of one operation or of any."""

    name: str
    at: str | None
    nth: int


@attrs.frozen(kw_only=True)
class Schedule:
    """One schedule. `plans` says what the model does for each message; `watched`: a client watches the stream."""

    seed: int
    acts: tuple[Act, ...]
    plans: Mapping[int, Rounds]
    blows: tuple[Blow, ...]
    watched: bool
    stops_in_the_end: bool
    real: bool = False
    """Whether real processes play it, whose clock nobody can move."""
    limits: Mapping[str, int] = attrs.Factory(dict)
    """Limits of the product that are others than usual."""
    decides_soon: bool
    """Whether the owner decides what he is asked as soon as all else is quiet, or only in the end."""


def aim(name: str, chance: random.Random, operations: Operations) -> Blow:
    """Where an injection strikes."""
    site = INJECTIONS[name].site
    if INJECTIONS[name].at:
        return Blow(name=name, at=None, nth=chance.choice((1, 1, 2, 3)))
    if site == "database" and chance.random() < 0.35:
        return Blow(name=name, at=None, nth=chance.randrange(1, 90))
    if site == "database" or chance.random() < 0.3:
        return Blow(name=name, at=chance.choice(operations[site]), nth=chance.choice((1, 1, 1, 2, 3)))
    return Blow(name=name, at=None, nth=chance.choice((1, 1, 2, 3)))


def blows(seed: int, chance: random.Random, names: tuple[str, ...], operations: Operations) -> tuple[Blow, ...]:
    """One kind by turns, so that neighbouring seeds meet them all, and up to three more by chance.

    What comes by turns is aimed by turns too: through all kinds at what surely comes up, then through all by chance.
    """
    round_, turn = divmod(seed, len(names))
    dealt = aim(names[turn], chance, operations)
    if round_ % 2 == 0:
        many = INJECTIONS[dealt.name].site == "database" and not INJECTIONS[dealt.name].at
        soon = chance.randrange(1, SURELY_REQUESTS) if many else 1
        dealt = Blow(name=dealt.name, at=None, nth=soon)
    more = chance.choices(names, k=chance.choice((0, 0, 1, 1, 2, 3)))
    return (dealt, *(aim(name, chance, operations) for name in more))


def when(chance: random.Random) -> When:
    """When the owner does something."""
    return chance.choice(("now", "now", "settled", "settled", "answering", "working"))


def newer_than(generation: str) -> str:
    """The generation of a later deploy."""
    return f"{int(generation, 16) + 16:08x}"


def older_than(generation: str) -> str:
    """The generation of an earlier deploy."""
    return f"{int(generation, 16) - 1:08x}"


__all__ = ["Blow", "Schedule", "aim", "blows", "newer_than", "older_than", "when"]
