"""Some weeks of the year."""

from datetime import UTC, datetime

import pytest

from tests.year.check import judge
from tests.year.year import Plan, Year

pytestmark = pytest.mark.slow


async def test_of_weeks_with_deaths_sleeps_and_changes_of_mind_every_slot_has_one_fate(database_url: str) -> None:
    spring = datetime(2026, 3, 2, tzinfo=UTC)  # all twelve zones but one change their clocks within these weeks
    year = Year(database_url, Plan(seed=4, begin=spring, days=37, things=70, changes=40, outages=70))
    await year.run()
    verdict = await judge(year)
    assert verdict.violations == ()
    assert verdict.slots > 300 and year.deaths > 20 and year.sleeps > 5
