"""Play every scenario in both ask modes; then without the gate, to see that it would be noticed.

One rule: the last line is `N scenarios, 0 leaks`. With a leak, a scenario that tried no exit, or if fewer than half of
those that the gate stops leak without it, the exit code is 1.
"""

import argparse
import random
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path

import attrs

from actors.supervisor import unwrap
from storage.embedded import Embedded
from tests.databases import fresh_database, make_migrated
from tests.gate.patching import patched_copy
from tests.puppet.check import MODES, Compared, play
from tests.puppet.scenarios import SCENARIOS, Scenario

WITHOUT_THE_GATE = Path(__file__).parent.parent / "gate" / "without_the_gate.patch"
SHOWN_CHARACTERS = 300


@attrs.frozen(kw_only=True)
class Played:
    """What came of a scenario in a mode."""

    scenario: Scenario
    mode: str
    compared: Compared | None
    error: str = ""

    @property
    def leaks(self) -> bool:
        """Whether something left that nobody said yes to."""
        return self.compared is not None and bool(self.compared.differences)

    @property
    def known(self) -> bool:
        """Whether it is one of those that asking by default does not stop."""
        return not self.scenario.default_stops and self.mode == MODES[0]


def _play(scenarios: Iterable[Scenario], modes: Iterable[str]) -> Iterator[Played]:
    with tempfile.TemporaryDirectory() as folder:
        cluster = Embedded.start(Path(folder), fast=True)
        try:
            fresh = partial(fresh_database, cluster, make_migrated(cluster))
            for scenario in scenarios:
                for mode in modes:
                    try:
                        yield Played(scenario=scenario, mode=mode, compared=play(scenario, mode, fresh))
                    except Exception as raised:
                        error = unwrap(raised)
                        yield Played(scenario=scenario, mode=mode, compared=None, error=repr(error))
        finally:
            cluster.close()


def _leaking_without(names: list[str]) -> list[str]:
    """The scenarios that leak when the gate is taken out."""
    with tempfile.TemporaryDirectory() as folder:
        copy = patched_copy(WITHOUT_THE_GATE, Path(folder))
        command = [sys.executable, "-m", "tests.puppet", "--leaking", *names]
        played = subprocess.run(command, cwd=copy, check=True, capture_output=True, text=True)
    return played.stdout.splitlines()


def _judge(played: Played) -> tuple[str, bool]:
    """A line on what came of a scenario, and whether it is as it should be."""
    what, compared = f"{played.scenario.name} ({played.mode})", played.compared
    if compared is None:
        return f"FAILED {what}: {played.error}", False
    if not compared.tried:
        return f"NO EXIT TRIED in {what}", False
    tried = ", ".join(f"{count} {name}" for name, count in Counter(compared.tried).items())
    if played.known != played.leaks:
        kind, text = (
            compared.differences[0] if compared.differences else ("", "nothing left, and docs/safety.md says it does")
        )
        return f"LEAK in {what}: {kind}: {text[:SHOWN_CHARACTERS]}", False
    return f"  {what}: tried {tried}{'; leaks, as docs/safety.md says' if played.known else ''}", True


def main() -> int:
    parser = argparse.ArgumentParser(prog="make puppet", description=__doc__)
    parser.add_argument("--leaking", action="store_true", help="print only the names of scenarios that leak")
    parser.add_argument("--some", type=int, help="play so many scenarios, chosen by --seed")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("names", nargs="*", help="scenarios to play; all if none are named")
    options = parser.parse_args()
    names = options.names or list(SCENARIOS)
    if options.some:
        names = random.Random(options.seed).sample(names, min(options.some, len(names)))
    scenarios = [SCENARIOS[name] for name in names]
    if options.leaking:
        for played in _play(scenarios, MODES[:1]):
            if played.leaks:
                print(played.scenario.name)
        return 0
    wrong = 0
    for played in _play(scenarios, MODES):
        line, fine = _judge(played)
        wrong += not fine
        print(line, flush=True)
    stopped = [scenario.name for scenario in scenarios if scenario.default_stops]
    leaking = _leaking_without(stopped)
    print(f"With the gate taken out {len(leaking)} of the {len(stopped)} that it stops by default leak:")
    for name in leaking:
        print(f"  {name}")
    noticed = len(leaking) * 2 >= len(stopped)
    if not noticed:
        print("Fewer than half notice that the gate is gone.")
    print(f"{len(names)} scenarios, {wrong} leaks")
    return 0 if noticed and not wrong else 1


if __name__ == "__main__":
    sys.exit(main())
