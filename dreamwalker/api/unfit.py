"""Why a body, a query or a path does not fit, in words for whoever wrote it.

One rule: it is told by the names that the request uses, never in the words of the library that found it.
"""

import re
from typing import Any, get_args, get_type_hints

import msgspec

_PLACE = re.compile(r" - at `\$(?P<path>[^`]*)`$")
_KINDS = {
    "str": "a text",
    "bool": "true or false",
    "int": "a whole number",
    "float": "a number",
    "array": "a list",
    "object": "an object",
    "datetime": "a time with its zone, such as 2026-11-30T12:00:00Z",
    "null": "null",
}
_BOUND = re.compile(r"Expected `(?P<kind>\w+)`(?P<of> of length)? (?P<sign>>=|<=|>|<|==) (?P<bound>[\w.-]+)")
_SIGNS = {">=": "at least", "<=": "at most", ">": "more than", "<": "less than", "==": "exactly"}


def words(error: msgspec.ValidationError, struct: type[msgspec.Struct]) -> str:
    """One sentence that says which part is wrong, and what it should be."""
    text = str(error)
    place = _PLACE.search(text)
    path = place["path"].lstrip(".") if place else ""
    what, name = text[: place.start()] if place else text, f"`{path}`" if path else "What was sent"
    if missing := re.fullmatch(r"Object missing required field `(.+)`", what):
        return f"{_within(path)}`{missing[1]}` is missing."
    if unknown := re.fullmatch(r"Object contains unknown field `(.+)`", what):
        return f"{_within(path)}There is no `{unknown[1]}` here."
    if "matching regex" in what:
        return f"{name} can't be that. {_described(struct, path)}".rstrip()
    if bound := _BOUND.match(what):
        unit = {"str": " characters", "array": " entries"}.get(bound["kind"], "") if bound["of"] else ""
        return f"{name} has to {'have' if bound['of'] else 'be'} {_SIGNS[bound['sign']]} {bound['bound']}{unit}."
    if kinds := re.fullmatch(r"Expected `(.+?)`, got `(.+?)`", what):
        return f"{name} has to be {_kinds(kinds[1])}; this is {_kinds(kinds[2])}."
    if value := re.fullmatch(r"Invalid enum value (.+)", what):
        return f"{name} can't be {value[1]}."
    return f"{name} can't be read: {what[:1].lower()}{what[1:]}."


def _within(path: str) -> str:
    return f"In `{path}`: " if path else ""


def _kinds(names: str) -> str:
    return " or ".join(_KINDS.get(name, name) for name in names.split(" | "))


def _described(struct: type[msgspec.Struct], path: str) -> str:
    """What the field's own description says that it may be."""
    hint = get_type_hints(struct, include_extras=True).get(path)
    return next((meta.description for meta in _metas(hint) if meta.description), "")


def _metas(hint: Any) -> list[msgspec.Meta]:
    found = [meta for meta in getattr(hint, "__metadata__", ()) if isinstance(meta, msgspec.Meta)]
    return found + [meta for part in get_args(hint) for meta in _metas(part)]
