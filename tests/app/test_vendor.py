"""What was bundled of others is what the locked packages make. It needs Node and `make .venv/browser`."""

import subprocess
from pathlib import Path

import pytest

APP = Path(__file__).parent.parent.parent / "netlify/app"

pytestmark = pytest.mark.extra


def test_the_bundled_libraries_are_what_their_locked_packages_make(tmp_path: Path) -> None:
    subprocess.run(["node", "vendor.mjs", str(tmp_path)], cwd=APP, check=True)
    made = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    assert made == {path.name: path.read_bytes() for path in (APP / "site/vendor").iterdir()}


def test_the_lock_of_the_bundled_libraries_names_no_host() -> None:
    assert "resolved" not in (APP / "package-lock.json").read_text()
