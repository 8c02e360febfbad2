"""One history, lived on a fresh database and judged: what a process of its own does.

One rule: it takes and gives plain values, so that it can be sent to another process.
"""

import asyncio
from pathlib import Path

import asyncpg
import trio

from storage import migrate
from tests.year.check import Verdict, judge
from tests.year.year import Plan, Year

_MIGRATIONS = Path(__file__).parent.parent.parent / "migrations"


def lived(url: str, plan: Plan) -> tuple[Verdict, int, int]:
    """Live one history on a fresh database; the verdict, and how often it died and slept."""
    asyncio.run(_prepare(url))
    year = Year(url, plan)

    async def live() -> Verdict:
        await year.run()
        return await judge(year)

    return trio.run(live), year.deaths, year.sleeps


async def _prepare(url: str) -> None:
    connection = await asyncpg.connect(url)
    await migrate.apply(connection, migrate.read_migrations(_MIGRATIONS))
    await connection.close()
