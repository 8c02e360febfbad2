"""`make mutants`: breaks a copy of the product in one way after the other, and sees that each is caught.

A mutant is a file `*.patch`: a line that says what it breaks, a line `caught by: …` that names an injection (`simulate
db: dies after @ reply`) or tests (`tests/storage/test_x.py::test_y`), and a unified diff.

One rule: a mutant counts as caught only if the very same schedules and tests find nothing in the product as it is. A patch
that does not apply any more is a failure of its own, told with its name.
"""

import argparse
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import attrs
import msgspec

from tests.simulate.databases import Databases, open_databases

ROOT = Path(__file__).parent.parent.parent.parent
ROOMS = ("dreamwalker", "actors", "tools", "storage", "netlify", "migrations", "tests")
CATCH_SECONDS = 240
SCHEDULES = 16
"""Schedules that the named injection gets to show it."""


class DoesNotApply(Exception):
    """A patch no longer fits the product: it has to be made anew."""


@attrs.frozen(kw_only=True)
class Mutant:
    """One way to break the product."""

    name: str
    breaks: str
    strike: tuple[str, ...]
    tests: tuple[str, ...]
    path: Path

    @classmethod
    def read(cls, path: Path) -> "Mutant":
        """From its file."""
        breaks, caught, *_ = path.read_text().splitlines()
        prefix, _, by = caught.partition(": ")
        assert prefix == "caught by", f"{path.name}: the second line says what catches it"
        if not by.startswith("simulate "):
            return cls(name=path.stem, breaks=breaks, strike=(), tests=tuple(by.split()), path=path)
        name, _, at = by.removeprefix("simulate ").partition(" @ ")
        strike = ("--strike", name, *(("--at", at) if at else ()))
        return cls(name=path.stem, breaks=breaks, strike=strike, tests=(), path=path)


def copy_of_the_product(folder: Path) -> Path:
    """The product and its tests in a folder of their own."""
    for room in ROOMS:
        if (ROOT / room).exists():
            shutil.copytree(ROOT / room, folder / room, ignore=shutil.ignore_patterns("__pycache__", "node_modules"))
    shutil.copy(ROOT / "pyproject.toml", folder)
    return folder


def apply(mutant: Mutant, folder: Path) -> None:
    """Break the copy. Raises DoesNotApply."""
    done = subprocess.run(
        ["git", "apply", "--whitespace=nowarn", str(mutant.path)], cwd=folder, capture_output=True, text=True
    )
    if done.returncode:
        raise DoesNotApply(f"{mutant.path.name} does not apply any more: {done.stderr.strip()}")


def found(mutant: Mutant, folder: Path, databases: Databases, seeds: range) -> tuple[str | None, range]:
    """What its schedules or tests find wrong in a copy, in a few words, and the schedules that it took."""
    if mutant.tests:
        return _found_by_tests(mutant, folder), seeds
    command = ["--database", databases.make(), "--first", str(seeds.start), "--end", str(seeds.stop), "--until-found"]
    try:
        done = _run(["tests.simulate.worker", *command, *mutant.strike], folder)
    except subprocess.TimeoutExpired:
        return "it came to no end", seeds
    if done.returncode:
        return f"it broke the simulation itself: {done.stderr.strip()[-300:]}", seeds
    last = msgspec.json.decode(done.stdout.splitlines()[-1])
    took = range(seeds.start, last["seed"] + 1)
    return (f"schedule {len(took)}: {last['violations'][0]}" if last["violations"] else None), took


def _found_by_tests(mutant: Mutant, folder: Path) -> str | None:
    try:
        done = _run(["pytest", "-x", "-q", "-p", "no:cacheprovider", *mutant.tests], folder)
    except subprocess.TimeoutExpired:
        return "a test came to no end"
    if done.returncode == 0:
        return None
    if done.returncode != 1:
        raise DoesNotApply(f"{mutant.path.name}: its tests do not run: {done.stdout.strip()[-300:]}")
    return next((line for line in done.stdout.splitlines() if line.startswith("FAILED")), "a test failed")


def _run(module: list[str], folder: Path) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-m", *module], cwd=folder, capture_output=True, text=True, timeout=CATCH_SECONDS
    )


def main() -> int:
    """The command."""
    parser = argparse.ArgumentParser(prog="make mutants", description=__doc__)
    parser.add_argument("--more", action="store_true", help="further mutants, of which nobody asked for")
    parser.add_argument("--only", default="", help="a part of the name")
    options = parser.parse_args()
    here = Path(__file__).parent
    paths = sorted((here / "more" if options.more else here).glob("*.patch"))
    mutants = [Mutant.read(path) for path in paths if re.search(options.only, path.stem)]
    caught = 0
    with open_databases() as databases:
        for mutant in mutants:
            caught += judge(mutant, databases)
    print(f"{len(mutants)} mutants, {caught} caught")
    return 0 if mutants and caught == len(mutants) else 1


def judge(mutant: Mutant, databases: Databases) -> bool:
    """Try one mutant, and say what came of it."""
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as whole, tempfile.TemporaryDirectory() as broken:
        try:
            apply(mutant, copy_of_the_product(Path(broken)))
            finding, took = found(mutant, Path(broken), databases, range(SCHEDULES))
            if finding is not None:
                wrong, _ = found(mutant, copy_of_the_product(Path(whole)), databases, took)
                if wrong is not None:
                    print(f"{mutant.name}: found in the product as it is: {wrong}", flush=True)
                    return False
        except DoesNotApply as error:
            print(f"{mutant.name}: {error}", flush=True)
            return False
    said = "NOT CAUGHT" if finding is None else "caught"
    print(f"{mutant.name}: {said} in {time.monotonic() - began:.0f} s ({mutant.breaks})", flush=True)
    if finding is not None:
        print(f"    {finding[:300]}", flush=True)
    return finding is not None


if __name__ == "__main__":
    sys.exit(main())
