"""`make mutants`: breaks a copy of the product in one way after the other, and sees that each is caught.

A mutant is a file `*.patch`: a line that says what it breaks, a line `caught by: …` that names the injection whose
schedules show it (`simulate db: dies after @ reply`), and a unified diff with little context, so that it outlives
ordinary edits.

One rule: a mutant counts as caught only if the very same schedules find nothing in the product as it is. A patch that
does not apply any more is a failure of its own, told with its name.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import attrs
import msgspec

from tests.simulate.databases import open_databases

ROOT = Path(__file__).parent.parent.parent.parent
ROOMS = ("dreamwalker", "actors", "tools", "storage", "netlify", "migrations", "tests")
CATCH_SECONDS = 240
SCHEDULES = 24
"""Schedules that the named injection gets to show it."""


class Failed(Exception):
    """A mutant can't be tried. The message says why."""


@attrs.frozen(kw_only=True)
class Mutant:
    """One way to break the product, and the injection that shows it."""

    name: str
    breaks: str
    strike: tuple[str, ...]
    path: Path

    @classmethod
    def read(cls, path: Path) -> "Mutant":
        """From its file."""
        breaks, caught, *_ = path.read_text().splitlines()
        prefix, _, by = caught.partition(": simulate ")
        assert prefix == "caught by", f"{path.name}: the second line says what catches it"
        name, _, at = by.partition(" @ ")
        return cls(name=path.stem, breaks=breaks, strike=("--strike", name, *(("--at", at) if at else ())), path=path)

    def apply(self, folder: Path) -> None:
        """Break the copy in a folder. Raises Failed."""
        command = ["git", "apply", "--whitespace=nowarn", str(self.path)]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
        if done.returncode:
            raise Failed(f"the patch does not apply any more: {done.stderr.strip()}")


@contextmanager
def copy_of_the_product() -> Iterator[Path]:
    """The product and its tests in a folder of their own."""
    with tempfile.TemporaryDirectory() as folder:
        for room in ROOMS:
            shutil.copytree(ROOT / room, Path(folder) / room, ignore=shutil.ignore_patterns("node_modules"))
        shutil.copy(ROOT / "pyproject.toml", folder)
        yield Path(folder)


def found(mutant: Mutant, folder: Path, database_url: str, schedules: int) -> tuple[str | None, int]:
    """What up to so many of its schedules find wrong in a copy, in a few words; and how many were played."""
    command = ["--database", database_url, "--until-found", *mutant.strike]
    try:
        done = subprocess.run(
            [sys.executable, "-m", "tests.simulate.worker", *command],
            cwd=folder,
            input="".join(f"fast {seed}\n" for seed in range(schedules)),
            capture_output=True,
            text=True,
            timeout=CATCH_SECONDS,
        )
    except subprocess.TimeoutExpired:
        return "it came to no end", schedules
    if done.returncode:
        return f"it broke the simulation itself: {done.stderr.strip()[-300:]}", schedules
    played = done.stdout.splitlines()
    violations = msgspec.json.decode(played[-1])["violations"]
    return (violations[0] if violations else None), len(played)


def judge(mutant: Mutant, database_urls: tuple[str, str]) -> bool:
    """Try one mutant, and say what came of it."""
    began, url_of_broken, url_of_whole = time.monotonic(), *database_urls
    try:
        with copy_of_the_product() as folder:
            mutant.apply(folder)
            finding, played = found(mutant, folder, url_of_broken, SCHEDULES)
        if finding is not None and (wrong := found(mutant, ROOT, url_of_whole, played)[0]) is not None:
            raise Failed(f"found in the product as it is: {wrong}")
    except Failed as failed:
        print(f"{mutant.name}: {failed}", flush=True)
        return False
    seconds = time.monotonic() - began
    said = "NOT CAUGHT" if finding is None else f"caught by schedule {played}: {finding[:300]}"
    print(f"{mutant.name} ({mutant.breaks})\n    {seconds:.0f} s, {said}", flush=True)
    return finding is not None


def main() -> int:
    """The command."""
    parser = argparse.ArgumentParser(prog="make mutants", description=__doc__)
    parser.add_argument("--folder", type=Path, default=Path(__file__).parent, help="where the patches are")
    parser.add_argument("--only", default="", help="a part of the name")
    options = parser.parse_args()
    paths = sorted(options.folder.glob("*.patch"))
    mutants = [Mutant.read(path.absolute()) for path in paths if re.search(options.only, path.stem)]
    with open_databases() as databases, ThreadPoolExecutor(os.cpu_count()) as pool:
        urls = [(databases.make(), databases.make()) for _ in mutants]
        caught = sum(pool.map(judge, mutants, urls))
    print(f"{len(mutants)} mutants, {caught} caught")
    return 0 if mutants and caught == len(mutants) else 1


if __name__ == "__main__":
    sys.exit(main())
