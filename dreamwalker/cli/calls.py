"""A tool use in one short line.

One rule: it says what was used and on what, and never runs over.
"""

import json

from .terminal import Json, one_line


def summary(call: Json, characters: int = 72) -> str:
    """The tool and the beginning of its arguments."""
    return f"{call['tool']} {one_line(_arguments(call['arguments']), characters)}".rstrip()


def _arguments(text: str) -> str:
    """The values of the arguments, which the model may have written badly."""
    try:
        value = json.loads(text)
    except ValueError:
        return text
    if not isinstance(value, dict):
        return text
    return ", ".join(part if isinstance(part, str) else json.dumps(part, ensure_ascii=False) for part in value.values())
