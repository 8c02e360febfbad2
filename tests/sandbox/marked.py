"""Processes that tests leave running on purpose, known again by a mark in their command line."""

import os
from pathlib import Path


def running(mark: str) -> list[int]:
    """The processes of this machine whose command line holds a mark."""
    found = []
    for name in os.listdir("/proc"):
        try:
            if name.isdigit() and mark.encode() in Path("/proc", name, "cmdline").read_bytes():
                found.append(int(name))
        except OSError:  # it ended while we looked
            continue
    return found
