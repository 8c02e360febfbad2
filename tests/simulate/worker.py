"""One worker: plays the schedules that it is told on a database of its own, and prints a line of JSON for each.

One rule: whatever befalls the worker itself is its end, and whoever counts its lines will miss some.
"""

import argparse
import faulthandler
import gc
import json
import sys
from collections.abc import Iterable, Iterator
from functools import partial

import trio

from tests.simulate.draw import draw
from tests.simulate.drive import LIMITS, Verdict, open_theatre
from tests.simulate.life import Life
from tests.simulate.nest import Hatched, hatch, open_nest
from tests.simulate.plan import Blow
from tests.simulate.process import REAL_LIMITS, Process

ENDLESS_SECONDS = 150.0
"""A schedule that takes longer than this hangs somewhere: the worker shows where, and ends."""


def line_of(verdict: Verdict, *, real: bool) -> str:
    """A verdict as a line."""
    struck = [[name, operation, count] for (name, operation), count in verdict.struck.items()]
    return json.dumps(
        {
            "seed": verdict.seed,
            "real": real,
            "violations": verdict.violations,
            "struck": struck,
            "met": verdict.met,
            "seconds": verdict.seconds,
            "lives": verdict.lives,
        }
    )


def orders() -> Iterator[tuple[bool, int]]:
    """What we are told to play: lines of `fast` or `real` and a seed. Whether it is real, and the seed."""
    for line in sys.stdin:
        kind, seed = line.split()
        yield kind == "real", int(seed)


async def work(
    database_url: str,
    asked: Iterable[tuple[bool, int]],
    hatched: Hatched,
    *,
    strike: Blow | None = None,
    until_found: bool = False,
) -> None:
    """Play these schedules, or up to the first that shows something wrong."""
    async with open_nest(hatched) as nest, open_theatre(database_url) as theatre:
        for real, seed in asked:
            faulthandler.dump_traceback_later(ENDLESS_SECONDS, exit=True)
            schedule = draw(seed, real=real, strike=strike)
            if real:
                verdict = await theatre.play(schedule, REAL_LIMITS, partial(Process, nest))
            else:
                verdict = await theatre.play(schedule, LIMITS, Life)
            faulthandler.cancel_dump_traceback_later()
            print(line_of(verdict, real=real), flush=True)
            if until_found and verdict.violations:
                return


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--database", required=True)
    parser.add_argument("--strike", help="an injection by name, which alone befalls every schedule")
    parser.add_argument("--at", help="the operation that it strikes")
    parser.add_argument("--until-found", action="store_true")
    given = parser.parse_args()
    gc.freeze()
    gc.set_threshold(50_000, 20, 50)  # a tenth of the time went into looking for garbage
    hatched = hatch()
    strike = None if given.strike is None else Blow(name=given.strike, at=given.at, nth=1)
    trio.run(
        partial(work, given.database, orders(), hatched, strike=strike, until_found=given.until_found),
        strict_exception_groups=True,
    )


if __name__ == "__main__":
    sys.exit(main())
