"""Run every scenario; then run them with the gate taken out, to see that they would notice.

One rule: the last line is `N scenarios, 0 slips`. With a slip, or if fewer than half slip without the gate, the exit
code is 1.
"""

import argparse
import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path

import trio

from actors.supervisor import unwrap
from storage.embedded import Embedded
from tests.databases import fresh_database, make_migrated
from tests.gate.patching import patched_copy
from tests.gate.scenarios import SCENARIOS, Scenario
from tests.gate.world import Slip, staged

WITHOUT_THE_GATE = Path(__file__).parent / "without_the_gate.patch"
SCENARIO_SECONDS = 60.0


async def _play(scenario: Scenario, url: str) -> None:
    with trio.fail_after(SCENARIO_SECONDS):
        async with staged(url) as stage:
            await scenario(stage)


def _run() -> dict[str, BaseException]:
    """What went wrong, by scenario."""
    wrong: dict[str, BaseException] = {}
    with tempfile.TemporaryDirectory() as folder:
        cluster = Embedded.start(Path(folder), fast=True)
        try:
            template = make_migrated(cluster)
            for name, scenario in SCENARIOS.items():
                with fresh_database(cluster, template) as url:
                    try:
                        trio.run(partial(_play, scenario, url))
                    except Exception as raised:
                        wrong[name] = unwrap(raised)
        finally:
            cluster.close()
    return wrong


def _slipped_without() -> list[str]:
    """The scenarios that slip when the gate is taken out."""
    with tempfile.TemporaryDirectory() as folder:
        copy = patched_copy(WITHOUT_THE_GATE, Path(folder))
        played = subprocess.run(
            [sys.executable, "-m", "tests.gate", "--slipped"], cwd=copy, check=True, capture_output=True, text=True
        )
    return played.stdout.split()


def main() -> int:
    parser = argparse.ArgumentParser(prog="make gate", description=__doc__)
    parser.add_argument("--slipped", action="store_true", help="print only the names of scenarios that slip")
    if parser.parse_args().slipped:
        print(*(name for name, error in _run().items() if isinstance(error, Slip)), sep="\n")
        return 0
    slipped = _slipped_without()
    print(f"With the gate taken out {len(slipped)} of {len(SCENARIOS)} scenarios slip:")
    for name in slipped:
        print(f"  {name.replace('_', ' ')}")
    wrong = _run()
    for name, error in wrong.items():
        print(f"SLIP in {name.replace('_', ' ')}: {type(error).__name__}: {error}")
    noticed = len(slipped) * 2 >= len(SCENARIOS)
    if not noticed:
        print("Fewer than half notice that the gate is gone.")
    print(f"{len(SCENARIOS)} scenarios, {len(wrong)} slips")
    return 0 if noticed and not wrong else 1


if __name__ == "__main__":
    sys.exit(main())
