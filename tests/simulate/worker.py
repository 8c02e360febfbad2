"""One worker: plays the schedules that it is told on a database of its own, and prints a line of JSON for each.

One rule: whatever befalls the worker itself is its end, and whoever counts its lines will miss some.
"""

import argparse
import gc
import json
import sys
from collections.abc import Iterable, Iterator
from contextlib import AsyncExitStack
from functools import partial

import trio

from tests.simulate.draw import draw
from tests.simulate.drive import LIMITS, Verdict, open_theatre
from tests.simulate.life import Life
from tests.simulate.nest import open_nest
from tests.simulate.plan import Blow
from tests.simulate.process import REAL_LIMITS, Process


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


def spans() -> Iterator[int]:
    """The seeds that we are told: lines of a first one and an end, each when we are done with the one before."""
    for line in sys.stdin:
        first, end = line.split()
        yield from range(int(first), int(end))


async def work(database_url: str, seeds: Iterable[int], *, real: bool, strike: Blow | None, until_found: bool) -> None:
    """Play these schedules, or up to the first that shows something wrong."""
    async with AsyncExitStack() as stack:
        new_life = partial(Process, await stack.enter_async_context(open_nest())) if real else Life
        theatre = await stack.enter_async_context(open_theatre(database_url, new_life))
        for seed in seeds:
            schedule = draw(seed, real=real, strike=strike)
            verdict = await theatre.play(schedule, REAL_LIMITS if real else LIMITS)
            print(line_of(verdict, real=real), flush=True)
            if until_found and verdict.violations:
                return


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--database", required=True)
    parser.add_argument("--real", action="store_true")
    parser.add_argument("--strike", help="an injection by name, which alone befalls every schedule")
    parser.add_argument("--at", help="the operation that it strikes")
    parser.add_argument("--until-found", action="store_true")
    given = parser.parse_args()
    gc.freeze()
    gc.set_threshold(50_000, 20, 50)  # a tenth of the time went into looking for garbage
    strike = None if given.strike is None else Blow(name=given.strike, at=given.at, nth=1)
    trio.run(
        partial(work, given.database, spans(), real=given.real, strike=strike, until_found=given.until_found),
        strict_exception_groups=True,
    )


if __name__ == "__main__":
    sys.exit(main())
