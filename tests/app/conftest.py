"""One browser for all of these tests. They need Chromium and what `make .venv/browser` installs; without it they are
not there, as for whoever runs `make test` alone.
"""

from collections.abc import Iterator
from importlib.util import find_spec
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.app.browser import Chromium, Size

collect_ignore_glob = [] if find_spec("playwright") else ["test_*.py"]


@pytest.fixture(scope="session")
def chromium() -> "Iterator[Chromium]":
    """A running browser."""
    from tests.app.browser import Chromium

    made = Chromium()
    yield made
    made.close()


@pytest.fixture(params=["phone", "desktop"])
def size(request: pytest.FixtureRequest) -> "Size":
    """A window of each size."""
    from tests.app.browser import DESKTOP, PHONE

    return {"phone": PHONE, "desktop": DESKTOP}[request.param]
