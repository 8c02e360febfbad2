"""A tool use in one short line.

One rule: it says what was used and on what, and never runs over.
"""

import json

from .terminal import Json, one_line


def summary(call: Json, characters: int = 72) -> str:
    """The tool and the beginning of its arguments."""
    return f"{call['tool']} {one_line(_arguments(call['arguments']), characters)}".rstrip()


def working(worker: Json, characters: int = 48) -> str:
    """What a worker is at, or how it ended."""
    replies = f"{worker['replies']} {'reply' if worker['replies'] == 1 else 'replies'}"
    if worker["state"] == "open" and worker["at"]:
        tool, _, arguments = worker["at"].partition(" ")
        return f"{replies}, {summary({'tool': tool, 'arguments': arguments}, characters)}"
    if worker["state"] == "waiting" and worker["reason"]:
        return f"{replies}, waiting: {one_line(worker['reason'], characters)}"
    return f"{worker['state']}, {replies}"


def _arguments(text: str) -> str:
    """The values of the arguments, which the model may have written badly."""
    try:
        value = json.loads(text)
    except ValueError:
        return text
    if not isinstance(value, dict):
        return text
    return ", ".join(part if isinstance(part, str) else json.dumps(part, ensure_ascii=False) for part in value.values())
