"""An internet for each test."""

from collections.abc import AsyncIterator

import pytest

from tests.web.internet import Internet, internet


@pytest.fixture
async def net() -> AsyncIterator[Internet]:
    async with internet() as made:
        yield made
