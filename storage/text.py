"""Text that Postgres can hold, and JSON made of it.

One rule: what can't be stored (NUL, lone surrogates) is replaced visibly by U+FFFD, never an error and never silent:
the connection counts what was replaced in what it commits.
"""

import json
import re
from collections.abc import Iterable
from typing import Any

_COMPACT = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"))
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


class Mended(str):
    """Text in which `replaced` characters were replaced before it came here."""

    replaced: int


def _holds(text: str) -> bool:
    """Whether Postgres can hold it as it is."""
    return "\0" not in text if text.isascii() else _UNSTORABLE.search(text) is None


def clean(text: str) -> str:
    """The same text with every character that can't be stored replaced by U+FFFD."""
    return _UNSTORABLE.sub("\ufffd", text)


def clean_json(value: Any) -> tuple[Any, int]:
    """A JSON value with every text in it, keys too, cleaned; and how many characters were replaced."""
    match value:
        case str():
            return _UNSTORABLE.subn("\ufffd", value)
        case list() | tuple():
            items = [clean_json(item) for item in value]
            return [item for item, _ in items], sum(count for _, count in items)
        case dict():
            pairs = [(clean_json(key), clean_json(item)) for key, item in value.items()]
            return {key: item for (key, _), (item, _) in pairs}, sum(a + b for (_, a), (_, b) in pairs)
    return value, 0


def dumps(value: Any) -> str:
    """JSON text of one value: compact, keys in the order they came, everything storable."""
    made = _COMPACT.encode(value)
    if not _holds(made) or "\\u0000" in made:
        cleaned, replaced = clean_json(value)
        made = Mended(_COMPACT.encode(cleaned))
        made.replaced = replaced
    return made


def loads(text: str) -> Any:
    """The value of JSON text that `dumps` made."""
    return json.loads(text)


def storable(values: Iterable[Any]) -> tuple[list[Any], int]:
    """The parameters of a statement as Postgres can hold them, and how many characters of them were replaced."""
    held, replaced = list(values), 0
    for at, value in enumerate(held):
        kind = type(value)
        if kind is str:
            if not _holds(value):
                held[at], count = _UNSTORABLE.subn("\ufffd", value)
                replaced += count
        elif kind is Mended:
            replaced += value.replaced
        elif kind is list or kind is tuple:
            held[at], count = clean_json(value)
            replaced += count
    return held, replaced
