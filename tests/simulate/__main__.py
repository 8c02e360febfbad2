"""`make simulate`: plays seeded schedules against whole systems, judges them, and says what struck where.

One rule: it succeeds only if every schedule that was asked for ran, every kind of injection struck somewhere, every
operation that they are aimed at came up, and nothing was found. A failing seed is named with the command that plays
it alone; of fewer schedules than there are kinds nobody can ask that they meet them all.
"""

import argparse
import os
import random
import subprocess
import sys
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

import attrs
import msgspec

from tests.simulate.databases import open_databases
from tests.simulate.draw import AIMED_AT
from tests.simulate.injections import INJECTIONS

ROOT = Path(__file__).parent.parent.parent
SHOWN_VIOLATIONS = 12


@attrs.define(kw_only=True)
class Tally:
    """What has come of the schedules so far."""

    ran: int = 0
    failed: dict[str, list[str]] = attrs.Factory(dict)
    struck: defaultdict[str, Counter[str]] = attrs.Factory(lambda: defaultdict(Counter))
    met: Counter[str] = attrs.Factory(Counter)
    lives: int = 0

    def take(self, line: bytes) -> None:
        """Count one verdict, and show what it found."""
        verdict: dict[str, Any] = msgspec.json.decode(line)
        self.ran += 1
        self.lives += verdict["lives"]
        self.met.update(verdict["met"])
        for name, operation, count in verdict["struck"]:
            self.struck[name][operation] += count
        if verdict["violations"]:
            kind = "SCHEDULES=0 PROCESSES=1" if verdict["real"] else "SCHEDULES=1 PROCESSES=0"
            which = f"{verdict['seed']} (make simulate {kind} SEED={verdict['seed']})"
            self.failed[which] = verdict["violations"]
            print(f"seed {which}:", flush=True)
            for violation in verdict["violations"][:SHOWN_VIOLATIONS]:
                print(f"    {violation[:500]}", flush=True)

    def show(self) -> None:
        """How often each injection met each operation."""
        for name in INJECTIONS:
            met = self.struck[name]
            where = ", ".join(f"{operation} {count}" for operation, count in met.most_common())
            print(f"{name:45} {met.total():5}  {where}")


class Worker:
    """A process that plays schedules, and the thread that tells it which, one by one, and reads what it says."""

    def __init__(self, tally: Tally, lock: threading.Lock, orders: Iterator[str], database_url: str) -> None:
        self._tally, self._lock, self._orders = tally, lock, orders
        self._order: str | None = None
        command = [sys.executable, "-m", "tests.simulate.worker", "--database", database_url]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=ROOT)
        self._thread = threading.Thread(target=self._attend)
        self._thread.start()

    def _attend(self) -> None:
        assert self._process.stdin is not None and self._process.stdout is not None
        with suppress(BrokenPipeError), self._process.stdin as told:
            self._tell_next(told)
            for line in self._process.stdout:
                with self._lock:
                    self._tally.take(line)
                self._tell_next(told)
        if self._order is not None:
            print(f"a worker ended in the middle of: {self._order}", flush=True)

    def _tell_next(self, told: IO[bytes]) -> None:
        with self._lock:
            self._order = next(self._orders, None)
        if self._order is None:
            told.close()
        else:
            told.write(f"{self._order}\n".encode())
            told.flush()

    def join(self) -> None:
        """Wait for its end."""
        self._thread.join()
        self._process.wait()


def simulate(schedules: int, processes: int, seed: int, jobs: int) -> Tally:
    """Play them all: first those that take longer."""
    tally, lock = Tally(), threading.Lock()
    orders = (f"{kind} {seed + n}" for kind, count in (("real", processes), ("fast", schedules)) for n in range(count))
    with open_databases() as databases:
        urls = [databases.make() for _ in range(min(jobs, schedules + processes))]
        for worker in [Worker(tally, lock, orders, url) for url in urls]:
            worker.join()
    return tally


def main() -> int:
    """The command."""
    parser = argparse.ArgumentParser(prog="make simulate", description=__doc__)
    parser.add_argument("--schedules", type=int, default=300)
    parser.add_argument("--processes", type=int, default=20)
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--jobs", type=int, default=4 * (os.cpu_count() or 1), help="most of their time they wait")
    options = parser.parse_args()
    seed = options.seed if options.seed is not None else random.SystemRandom().randrange(10**6)
    asked = options.schedules + options.processes
    print(f"seed {seed}", flush=True)
    began = time.monotonic()
    tally = simulate(options.schedules, options.processes, seed, options.jobs)
    tally.show()
    seconds = time.monotonic() - began
    print(f"{tally.lives} lives, {seconds:.0f} s, {tally.ran / seconds:.1f} schedules a second")
    never = [name for name in INJECTIONS if not tally.struck[name]]
    never += [operation for operation in AIMED_AT if not tally.met[operation]]
    if asked < len(INJECTIONS):
        never = []
    if never:
        print(f"these never came up: {', '.join(never)}")
    if tally.ran < asked:
        print(f"only {tally.ran} of {asked} schedules ran")
    for which in tally.failed:
        print(f"failing seed: {which}")
    print(f"{tally.ran} schedules, {sum(map(len, tally.failed.values()))} violations")
    return 1 if never or tally.failed or tally.ran < asked else 0


if __name__ == "__main__":
    sys.exit(main())
