"""A month of the year, lived twice."""

import asyncpg
import trio_asyncio

from tests.year.check import judge
from tests.year.life import PUSHES
from tests.year.year import Plan, Year


async def test_of_a_month_with_deaths_sleeps_and_changes_every_slot_has_one_fate(database_url: str) -> None:
    async def prepare() -> None:
        connection = await asyncpg.connect(database_url)
        await connection.execute(PUSHES)
        await connection.close()

    async with trio_asyncio.open_loop():
        await trio_asyncio.aio_as_trio(prepare)()
    year = Year(database_url, Plan(seed=4, days=31, things=40, changes=40, outages=60))
    await year.run()
    verdict = await judge(year)
    assert verdict.violations == () and verdict.slots > 200
    assert year.deaths > 20 and year.sleeps > 5
