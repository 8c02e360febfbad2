"""What a feature is to the simulation."""

import random
from collections.abc import Callable, Iterator, Mapping

import attrs

from tests.simulate.acts import Act
from tests.simulate.model import Called
from tests.simulate.story import Story


def _no_acts(chance: random.Random, numbers: range) -> list[tuple[Act, ...]]:
    return []


@attrs.frozen(kw_only=True)
class Feature:
    """A workload and its judge.

    `calls` makes the call that a plan has under a key (`m3.0.1`); several makers take turns by chance. `acts` makes
    what the owner does besides talking, given the numbers of his messages; acts are mixed in by chance, those of a
    tuple kept together.
    `judge` says in words what is wrong with a story. `outside`: its calls need the fast variant's tools.
    `operations` names requests to the database that injections are aimed at. `share`: how many of all schedules it
    takes part in, besides those that are aimed at it. `left`: a query for what is still to come by itself, how many
    (`count`) and when the first is due (`at`; None: now); $1 is the present. `limits`: those of the product that are
    others in its schedules.
    """

    name: str
    judge: Callable[[Story], Iterator[str]]
    calls: tuple[Callable[[random.Random, str], Called], ...] = ()
    acts: Callable[[random.Random, range], list[tuple[Act, ...]]] = _no_acts
    outside: bool = False
    operations: tuple[str, ...] = ()
    share: float = 1.0
    left: str = ""
    limits: Mapping[str, int] = attrs.Factory(dict)
