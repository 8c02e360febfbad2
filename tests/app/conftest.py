"""One browser for all of these tests. They need Chromium and the packages of `requirements-browser.txt`."""

from collections.abc import Iterator

import pytest

pytest.importorskip("playwright", reason="`make .venv/browser` installs what drives the browser")

from tests.app.browser import DESKTOP, PHONE, Chromium, Size


@pytest.fixture(scope="session")
def chromium() -> Iterator[Chromium]:
    """A running browser."""
    made = Chromium()
    yield made
    made.close()


@pytest.fixture(params=[PHONE, DESKTOP], ids=lambda size: size.name)
def size(request: pytest.FixtureRequest) -> Size:
    """A window of each size."""
    chosen: Size = request.param
    return chosen
