"""What years of use cost: everything with a full database and with an empty one, in turns.

`python -m bench.years` prints a table and a JSON object; ENTRIES=100000 in the environment fills it with fewer.
One rule: full and empty take turns within one run, so that a busy machine is busy for both.
"""

import asyncio
import itertools
import json
import os
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import trio

from dreamwalker.house import MAIN_AGENT
from storage.conversations import Page
from storage.search import SearchEntries, query_of

from . import full
from .database import Postgres, ask, postgres
from .figures import Figure, named, table
from .house import open_runs
from .server import memory_at_rest, served

_SEARCH_BAR_MS, _TIMES_BAR, _RSS_BAR_MB = 100.0, 1.5, 120.0
_SEARCHES = {"common": full.COMMON, "rare": full.RARE, "dense": full.DENSE, "none": "nothinglikethis"}


async def measure(database: Postgres, *, entries: int, samples: int) -> list[Figure]:
    """All figures, with so many entries."""
    empty, there = await database.database(), await database.database()
    began = time.perf_counter()
    await trio.to_thread.run_sync(lambda: _fill(there, entries))
    print(f"filled with {entries:,} entries in {time.perf_counter() - began:.0f} s", file=sys.stderr)
    bytes_there = await ask(there, "SELECT pg_database_size(current_database())")
    bytes_empty = await ask(empty, "SELECT pg_database_size(current_database())")
    return [
        Figure(name="disk_bytes_per_entry", values=[(bytes_there - bytes_empty) / entries]),
        *await _against_empty(empty, there, samples=samples),
        *await _searches(there, samples=samples),
        *await _archived(database, there),
    ]


def _fill(url: str, entries: int) -> None:
    asyncio.run(full.fill(url, entries))


async def _against_empty(empty: str, there: str, *, samples: int) -> list[Figure]:
    """Cold start, opening, wake, the next turn and a page of the transcript."""
    took: dict[str, dict[str, list[float]]] = {"empty": {}, "full": {}}
    held: list[float] = []
    for sample in range(samples):
        for which, url in (("empty", empty), ("full", there)):
            kept = took[which]
            async with served(url) as (pid, ms):
                kept.setdefault("cold_start", []).append(ms)
                if which == "full" and sample == 0:
                    held.append(await memory_at_rest(pid))
            began = time.perf_counter()
            async with open_runs(url) as runs:
                kept.setdefault("open_and_turn", []).append((time.perf_counter() - began) * 1000 + await runs.once())
                kept.setdefault("next_turn", []).extend(await runs.several(5))
                kept.setdefault("wake", []).append(await _timed(runs.house.wake))
                page = Page(runs.house.homes[MAIN_AGENT], before=2**60, limit=200)
                kept.setdefault("page", []).append(await _timed(lambda: runs.house.store.ask(page)))  # noqa: B023
    figures = [Figure(name="full_rss_mb", values=held, unit="MB", bar=_RSS_BAR_MB)]
    for name in took["full"]:
        low, high = took["empty"][name], took["full"][name]
        ratio = sorted(high)[len(high) // 2] / sorted(low)[len(low) // 2]
        bar = _TIMES_BAR if name != "page" else None  # an empty page is no measure for a full one
        figures += [
            Figure(name=f"{name}_empty_ms", values=low, unit="ms", digits=1),
            Figure(name=f"{name}_full_ms", values=high, unit="ms", digits=1),
            Figure(name=f"{name}_full_x_empty", values=[ratio], bar=bar, digits=2),
        ]
    return figures


async def _timed(work: Callable[[], Awaitable[object]]) -> float:
    began = time.perf_counter()
    await work()
    return (time.perf_counter() - began) * 1000


async def _searches(url: str, *, samples: int) -> list[Figure]:
    """Searches of all there is, and of the home, for what is common, rare, of another script, and not there."""
    figures = []
    async with open_runs(url) as runs:
        for (name, words), home in itertools.product(_SEARCHES.items(), (None, MAIN_AGENT)):
            query = query_of(words)
            assert query is not None
            search = SearchEntries(query=query, limit=20, home=home)
            took = [await _timed(lambda: runs.house.store.ask(search)) for _ in range(samples + 1)]  # noqa: B023
            where = "home" if home else "all"
            figures.append(
                Figure(name=f"search_ms[{name}_{where}]", values=took[1:], unit="ms", bar=_SEARCH_BAR_MS, digits=1)
            )
    return figures


async def _archived(database: Postgres, there: str) -> list[Figure]:
    """Export, and import into an empty database: how long, with how much memory, and whether it is the same."""
    with tempfile.TemporaryDirectory(prefix="dreamwalker-bench-") as folder:
        file, again = Path(folder) / "all.jsonl", Path(folder) / "again.jsonl"
        out = await _archiving("export", there, file)
        other = await database.bare()
        brought = await _archiving("import", other, file)
        back = await _archiving("export", other, again)
        same = out["manifest"] == brought["manifest"] == back["manifest"]
        size_mb = file.stat().st_size / 1e6
    return [
        Figure(name="archive_mb", values=[size_mb], unit="MB"),
        Figure(name="export_s", values=[out["seconds"]], unit="s", digits=1),
        Figure(name="import_s", values=[brought["seconds"]], unit="s", digits=1),
        Figure(name="export_most_mb", values=[out["most_mb"]], unit="MB"),
        Figure(name="import_most_mb", values=[brought["most_mb"]], unit="MB"),
        Figure(name="round_trip_differs", values=[0.0 if same else 1.0], bar=0.0),
    ]


async def _archiving(*arguments: object) -> dict[str, Any]:
    command = [sys.executable, "-m", "bench.archiving", *map(str, arguments)]
    said = await trio.run_process(command, capture_stdout=True)
    found: dict[str, Any] = json.loads(said.stdout)
    return found


def main() -> None:
    """Measure, print the table, and the JSON object as the last line."""
    entries = int(os.environ.get("ENTRIES") or 1_000_000)
    with postgres() as database:
        figures = trio.run(lambda: measure(database, entries=entries, samples=int(os.environ.get("SAMPLES") or 7)))
    print(table(figures))
    print(json.dumps(named(figures)))


if __name__ == "__main__":
    main()
