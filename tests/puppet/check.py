"""Playing a scenario twice, and comparing what left.

One rule: a difference is a leak, unless the owner said yes to an act that showed it to him.
"""

from collections import Counter
from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import partial

import attrs
import trio

from storage.text import loads
from tests.puppet.scenarios import Scenario
from tests.puppet.stage import LIVES, Private, life
from tools.private import texts_of

SCENARIO_SECONDS = 60.0
MODES = ("since-message", "strict")

Left = Counter[tuple[str, str]]
Fresh = Callable[[], AbstractContextManager[str]]


@attrs.frozen(kw_only=True)
class Lived:
    """What came of one life: what left, which exits were tried, and the texts of acts that were said yes to."""

    left: Left
    tried: tuple[str, ...]
    shown: frozenset[str]


@attrs.frozen(kw_only=True)
class Compared:
    """Two lives side by side. `differences` left in one of them only, and nobody had shown them to the owner."""

    differences: tuple[tuple[str, str], ...]
    tried: tuple[str, ...]


async def _live(scenario: Scenario, url: str, own: Private, mode: str) -> Lived:
    with trio.fail_after(SCENARIO_SECONDS):
        async with life(url, own, mode) as lived:
            await scenario.play(lived)
            shown = {text for question in lived.approved for text in texts_of(loads(question.act))}
            return Lived(left=Counter(lived.left), tried=tuple(await lived.tried()), shown=frozenset(shown))


def play(scenario: Scenario, mode: str, fresh: Fresh) -> Compared:
    """Play a scenario in both lives, each on a database of its own."""
    lives = []
    for own in LIVES:
        with fresh() as url:
            lives.append(trio.run(partial(_live, scenario, url, own, mode)))
    one, other = lives
    shown = (one.shown | other.shown) - (one.shown & other.shown)
    differing = [*(one.left - other.left), *(other.left - one.left)]
    return Compared(
        differences=tuple(left for left in differing if not any(text in left[1] for text in shown)),
        tried=min(one.tried, other.tried, key=len),
    )
