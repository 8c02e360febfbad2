"""Every scenario, as a test of its own."""

import pytest

from tests.gate.scenarios import SCENARIOS
from tests.gate.world import staged

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("name", SCENARIOS)
async def test_no_act_slips_through(name: str, database_url: str) -> None:
    async with staged(database_url) as stage:
        await SCENARIOS[name](stage)
