"""How far the owner has seen each conversation from this machine's one-shot commands.

One rule: it is a hint that may be lost: then he is asked once more about text that he has seen already.
"""

import contextlib
import json
import os
from pathlib import Path

from . import tokens


def read(home: Path, server: str, agent: str) -> int:
    """The newest commit that he was shown of an agent's conversation, 0 if nothing is known."""
    try:
        number = json.loads(_path(home).read_text())[server][agent]
    except (OSError, ValueError, KeyError, TypeError):
        return 0
    return number if isinstance(number, int) and number > 0 else 0


def write(home: Path, server: str, agent: str, number: int) -> None:
    """Put down how far he was shown it. Does nothing where that can't be kept."""
    with contextlib.suppress(OSError):
        try:
            kept = json.loads(_path(home).read_text())
        except (OSError, ValueError):
            kept = {}
        if not isinstance(kept, dict) or not isinstance(kept.setdefault(server, {}), dict):
            kept = {server: {}}
        kept[server][agent] = number
        path = _path(home)
        os.replace(tokens.write_private(path.with_name(f"seen.{os.getpid()}"), json.dumps(kept)), path)


def _path(home: Path) -> Path:
    return home / "seen.json"
