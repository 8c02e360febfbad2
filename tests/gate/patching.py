"""Applying a patch to a copy of the tree, so that shipped code needs no switch for it.

One rule: what a patch takes out must be there exactly once, wherever it stands; a stale patch is an error.
"""

import shutil
from pathlib import Path

_ROOT = Path(__file__).parent.parent.parent
_COPIED = ("actors", "dreamwalker", "migrations", "netlify", "storage", "tests", "tools", "pyproject.toml")


class PatchDoesNotFit(Exception):
    """The code is not what the patch was made for."""


def patched_copy(patch: Path, folder: Path) -> Path:
    """A copy of the tree in `folder` with a unified diff applied."""
    for name in _COPIED:
        source = _ROOT / name
        if source.is_dir():
            shutil.copytree(source, folder / name, ignore=shutil.ignore_patterns("__pycache__", "node_modules", "app"))
        else:
            shutil.copy(source, folder / name)
    path: Path | None = None
    hunk: list[str] = []
    for line in [*patch.read_text().splitlines(), "@@"]:
        if line.startswith(("@@", "--- ")):
            if path is not None and hunk:
                _apply(path, hunk)
            hunk = []
        elif line.startswith("+++ b/"):
            path = folder / line.removeprefix("+++ b/")
        else:
            hunk.append(line)
    return folder


def _apply(path: Path, hunk: list[str]) -> None:
    text = path.read_text()
    old, new = ("".join(f"{line[1:]}\n" for line in hunk if line[:1] != sign) for sign in "+-")
    if text.count(old) != 1:
        raise PatchDoesNotFit(f"{path.name} has this {text.count(old)} times:\n{old}")
    path.write_text(text.replace(old, new))
