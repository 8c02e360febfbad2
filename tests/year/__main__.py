"""Live a year twice, once on each processor, and see that every slot has its one fate and both years are the same.

One rule: a seed makes one history. The last line is `N slots, 0 violations`; with a violation the exit code is 1.
"""

import argparse
import asyncio
import multiprocessing
import random
import sys
import tempfile
import time
from contextlib import closing
from pathlib import Path

import asyncpg

from storage.embedded import Embedded
from tests.year.lived import lived
from tests.year.patterns import ZONES, changes_of
from tests.year.year import BEGIN, Plan

_SLOTS_MIN, _OUTAGES_MIN = 20_000, 300


async def _create(url: str, *names: str) -> list[str]:
    connection = await asyncpg.connect(url)
    for name in names:
        await connection.execute(f"CREATE DATABASE {name}")
    await connection.close()
    return [url.replace("///postgres?", f"///{name}?") for name in names]


def main() -> int:
    """The command."""
    parser = argparse.ArgumentParser(prog="make year", description=__doc__)
    parser.add_argument("--seed", type=int, default=None)
    seed = parser.parse_args().seed
    plan = Plan(seed=random.SystemRandom().randrange(10**6) if seed is None else seed)
    began = time.monotonic()
    print(f"seed {plan.seed}: {plan.things} reminders and jobs in {len(ZONES)} zones", flush=True)
    with (
        tempfile.TemporaryDirectory() as folder,
        closing(Embedded.start(Path(folder) / "postgres", fast=True)) as server,
    ):
        urls = asyncio.run(_create(server.dsn, "first", "second"))
        with multiprocessing.get_context("spawn").Pool(2) as pool:
            (first, deaths, sleeps), (second, *_) = pool.starmap(lived, [(url, plan) for url in urls])
    found = list(first.violations)
    found.extend(f"{zone}: clocks were not changed twice" for zone in ZONES if len(changes_of(zone, BEGIN.year)) < 2)
    if first.ledger != second.ledger:
        found.append("lived again, the ledger is another")
    if deaths + sleeps < _OUTAGES_MIN:
        found.append(f"only {deaths} deaths and {sleeps} sleeps")
    if first.slots <= _SLOTS_MIN:
        found.append(f"only {first.slots} slots")
    for fate, count in sorted(first.fates.items()):
        print(f"  {count:6,} {fate}")
    for violation in found[:50]:
        print(f"  {violation}")
    print(f"{deaths} deaths, {sleeps} sleeps, {time.monotonic() - began:.0f} s")
    print(f"{first.slots} slots, {len(found)} violations" + (f" (seed {plan.seed})" if found else ""))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
