"""Sandboxes for tests, on this machine."""

import shutil
import tempfile
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from dreamwalker.sandboxes.bubblewrap import Bubblewrap
from tools.limits import Limits


@pytest.fixture
def base() -> Iterator[Path]:
    """A folder for the folders of tasks, where whoever runs commands can reach it."""
    made = Path(tempfile.mkdtemp(prefix="dreamwalker-tests-", dir="/var/tmp"))
    made.chmod(0o711)
    yield made / "tasks"
    left = sorted(made.rglob("*"))
    shutil.rmtree(made)
    assert not left, f"left behind: {left[:5]}"


@pytest.fixture
async def sandbox(base: Path) -> AsyncIterator[Bubblewrap]:
    """A sandbox that works here."""
    made = Bubblewrap(base, Limits())
    assert await made.unavailable() is None and made.offline is None
    yield made
    for task in range(1, 10):
        await made.clean(task)
