"""(a), (b), (c): what a durable run costs against the floor, and what it asks of the wire and of the disk."""

import json
import statistics
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from itertools import chain
from urllib.parse import parse_qs, urlsplit

import trio.testing

from tests.proxy import Proxy, Request, commits, open_proxy

from .child import Child, module
from .database import Postgres, ask
from .figures import Figure
from .house import Crowd, Runs, open_runs

DELAY_MILLISECONDS = 2
HISTORIES = (0, 100, 1000)
_WARMING_RUNS = 20  # statements prepared, pages in memory
_ENTRIES_PER_RUN = 3

Batch = Callable[[int], Awaitable[list[float]]]


async def against_the_floor(postgres: Postgres, *, rounds: int, batch: int) -> list[Figure]:
    """(a) and (b). In each round the floor and the house take turns, without the delay and with it."""
    near, far = await postgres.database(), await postgres.database()
    async with _delayed(far) as delayed:
        async with open_runs(near) as runs, open_runs(delayed) as far_runs:
            async with module("bench.floor", near) as floor, module("bench.floor", delayed) as far_floor:
                batches = [_floor(floor), runs.several, _floor(far_floor), far_runs.several]
                took = await _in_turns(batches, rounds=rounds, batch=batch)
    floors, ours, far_floors, far_ours = took
    figures = []
    for suffix, low, high, bar in (("", floors, ours, 4.0), (f"_{DELAY_MILLISECONDS}ms", far_floors, far_ours, 2.0)):
        ratios = [statistics.median(run) / statistics.median(floor) for floor, run in zip(low, high)]
        figures += [
            Figure(name=f"floor_ms{suffix}", values=[*chain(*low)], unit="ms", digits=2),
            Figure(name=f"run_ms{suffix}", values=[*chain(*high)], unit="ms", digits=2),
            Figure(name=f"run_x_floor{suffix}", values=ratios, bar=bar, digits=2),
        ]
    return figures


async def at_once(postgres: Postgres, *, rounds: int, count: int = 100) -> list[Figure]:
    """What each of many runs in flight together takes, against one that is alone. In each round the two take turns."""
    async with open_runs(await postgres.database()) as runs:
        crowd = await Crowd.hire(runs.house, count - 1)  # the main agent is one of the hundred that there may be
        took = []
        for _ in range(rounds):
            alone = await crowd.one_by_one()
            await crowd.rest()
            took.append((alone, await crowd.at_once()))
            await crowd.rest()
    alone, together = zip(*took)
    return [
        Figure(name="run_ms_alone", values=alone, unit="ms", digits=2),
        Figure(name="run_ms_at_once", values=together, unit="ms", digits=2),
        Figure(name="at_once_x_alone", values=[b / a for a, b in took], bar=0.25, digits=2),
    ]


async def _in_turns(batches: list[Batch], *, rounds: int, batch: int) -> list[list[list[float]]]:
    """For each kind of batch, the milliseconds of its runs by round."""
    for one in batches:
        await one(_WARMING_RUNS)
    by_round = [[await one(batch) for one in batches] for _ in range(rounds)]
    return [list(kind) for kind in zip(*by_round)]


def _floor(child: Child) -> Batch:
    async def several(count: int) -> list[float]:
        took: list[float] = json.loads(await child.ask(str(count)))
        return took

    return several


@asynccontextmanager
async def _delayed(database_url: str) -> AsyncIterator[str]:
    """The URL of the same database behind the delay."""
    parts = urlsplit(database_url)
    socket = f"{parse_qs(parts.query)['host'][0]}/.s.PGSQL.{parse_qs(parts.query)['port'][0]}"
    async with module("bench.delay", socket, str(DELAY_MILLISECONDS)) as child:
        yield f"postgresql://postgres@127.0.0.1:{await child.line()}{parts.path}?sslmode=disable"


async def on_the_wire(postgres: Postgres, *, samples: int) -> list[Figure]:
    """(c) but for the log: round trips and commits, counted by a proxy between the driver and Postgres."""
    async with open_proxy(await postgres.database()) as proxy, open_runs(proxy.url) as runs:
        made = proxy.note(commits)
        await runs.several(_WARMING_RUNS)
        counted = [await _counted(proxy, made, runs) for _ in range(samples)]
        fresh = []
        for _ in range(samples):
            proxy.cut_all()
            await trio.testing.wait_all_tasks_blocked()  # the driver has seen it
            fresh.append((await _counted(proxy, made, runs))[0])
    return [
        Figure(name="round_trips_per_run", values=[trips for trips, _ in counted], bar=6),
        Figure(name="commits_per_run", values=[count for _, count in counted], bar=5),
        Figure(name="round_trips_fresh_connection", values=fresh),
    ]


async def _counted(proxy: Proxy, made: list[Request], runs: Runs) -> tuple[int, int]:
    trips, before = proxy.round_trips, len(made)
    await runs.once()
    return proxy.round_trips - trips, len(made) - before


async def in_the_log(postgres: Postgres, *, samples: int) -> list[Figure]:
    """The rest of (c): how much a run adds to the write-ahead log as its conversation grows."""
    database_url, figures, entries = await postgres.database(), [], 0
    async with open_runs(database_url) as runs:
        for history in HISTORIES:
            missing = max(0, history - entries) // _ENTRIES_PER_RUN
            await runs.several(missing)
            added = [await _logged(database_url, runs) for _ in range(samples)]
            entries += (missing + samples) * _ENTRIES_PER_RUN
            figures.append(Figure(name=f"wal_bytes_per_run[{history}]", values=added, unit="bytes"))
    return figures


async def _logged(database_url: str, runs: Runs) -> int:
    before = await _log_position(database_url)
    await runs.once()
    return await _log_position(database_url) - before


async def _log_position(database_url: str) -> int:
    """Bytes written to the log so far."""
    sql = "SELECT (pg_current_wal_insert_lsn() - '0/0')::bigint"
    position: int = await ask(database_url, sql)
    return position
