"""How the practice model fills in a tool's arguments, whatever they are called.

One rule: the tool's own schema decides what is filled in; an argument that is not required and not known is left out.
"""

import json
from typing import Any

import attrs

Json = dict[str, Any]

ROLES: tuple[tuple[tuple[str, ...], tuple[str, ...]], ...] = (
    (("id", "number"), ("id",)),
    (("date", "day"), ("date",)),
    (("time", "clock"), ("time",)),
    (("when", "at", "due", "datetime", "start"), ("later", "when", "rule", "words")),
    (("schedule", "cron", "rule", "rrule", "every", "repeat", "repeats", "recurrence"), ("rule",)),
    (("zone", "timezone", "tz"), ("zone",)),
    (("agent", "to", "recipient", "receiver"), ("agent",)),
    (("mode",), ("mode",)),
    (("options", "choices", "answers"), ("options",)),
    (("question",), ("question",)),
    (("query", "q", "search", "words", "terms", "topic"), ("query",)),
    (("title", "name", "subject", "heading"), ("title", "agent", "query")),
    (("task", "prompt", "instructions", "goal"), ("task", "text", "question")),
    (("text", "body", "content", "message", "note", "what", "about"), ("text", "task", "question", "query")),
)
"""Words that an argument's name may hold, and the parts of a wish that fit it, best first."""
PREFERRED_CHOICES = ("cron", "ask", "once", "default")
EMPTY: dict[str, Any] = {"string": "", "integer": 0, "number": 0, "boolean": False, "array": [], "object": {}}


@attrs.frozen(kw_only=True)
class Use:
    """A tool to use, and its arguments."""

    name: str
    arguments: Json


def filled(tool: Json, parts: dict[str, str]) -> Json:
    """Arguments for a tool out of the parts of a wish (text, when, query, …)."""
    schema = tool["input_schema"]
    required = set(schema.get("required") or ())
    known = {name: part for name, part in parts.items() if part}
    if "when" in known:
        known |= {"date": known["when"][:10], "time": known["when"][11:]}
    arguments: Json = {}
    for name, field in (schema.get("properties") or {}).items():
        part = _part(name, {role: part for role, part in known.items() if role != "later" or not _in_iso(field)})
        if part is not None:
            arguments[name] = _shaped(part, field)
        elif name in required:
            arguments[name] = _unknown(field, known)
    return arguments


def _part(name: str, known: dict[str, str]) -> str | None:
    words = set(name.lower().split("_"))
    for names, roles in ROLES:
        if words & set(names):
            return next((known[role] for role in roles if role in known), None)
    return None


def _shaped(part: str, field: Json) -> Any:
    choices = field.get("enum")
    if choices:
        return part if part in choices else _choice(choices)
    if "array" in _types(field):
        return part.split("\n")
    if "integer" in _types(field) and part.isdigit():
        return int(part)
    return part.replace(" ", "T", 1) if _in_iso(field) else part


def _in_iso(field: Json) -> bool:
    """Whether the schema asks for a T between date and time."""
    return "T%H" in json.dumps(field) or "DDT" in json.dumps(field)


def _unknown(field: Json, known: dict[str, str]) -> Any:
    """Something for an argument that must be there and that nobody spoke of."""
    if "default" in field:
        return field["default"]
    if field.get("enum"):
        return _choice(field["enum"])
    types = _types(field)
    if "string" in types:
        return known.get("text") or known.get("task") or next(iter(known.values()), "")
    return next((EMPTY[type] for type in types if type in EMPTY), None)


def _choice(choices: list[Any]) -> Any:
    return next((choice for choice in PREFERRED_CHOICES if choice in choices), choices[0])


def _types(field: Json) -> list[str]:
    declared = field.get("type", [])
    types = [declared] if isinstance(declared, str) else list(declared)
    for option in field.get("anyOf") or field.get("oneOf") or ():
        types += _types(option)
    return types
