"""A month of the year, lived twice."""

from tests.year.check import judge
from tests.year.year import Plan, Year


async def test_of_a_month_with_deaths_sleeps_and_changes_every_slot_has_one_fate(database_url: str) -> None:
    year = Year(database_url, Plan(seed=4, days=31, things=60, changes=50, outages=60))
    await year.run()
    verdict = await judge(year)
    assert verdict.violations == () and verdict.slots > 200
    assert year.deaths > 20 and year.sleeps > 5
