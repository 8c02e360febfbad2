"""What the owner is shown of an act: all of it, as plain text, made by the server from the bytes that will run.

One rule: what is shown determines the bytes. Nothing is cut; what cannot be seen, and what only looks like a space, is
drawn as ⟨U+202E⟩; a host name with letters that only look like others is drawn as ⟨xn--…⟩. Every ⟨ that is shown is
ours: one in the text is drawn as well.

Each text of the act stands line by line behind "│ ", so that no text can pretend to be a field or an act of its own.
"""

import re
from typing import Any

from storage.text import loads

from .unseen import UNSEEN

# Besides what cannot be seen: our own bracket, spaces and line ends of other kinds, and the blank of the braille.
_DRAWN = re.compile(rf"{UNSEEN.pattern}|[⟨\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u2800\u3000]")

# After a scheme or an @ whatever stands there is a host name; elsewhere only what ends like one.
_HOST = re.compile(
    r"(?P<before>[A-Za-z][A-Za-z0-9+.-]{0,20}://(?:[^\s/?#@]{0,256}@)?|@)(?P<host>[^\s/?#@:,;<>()\[\]\"'⟨⟩]{1,253})"
    r"|(?<![\w.-])(?P<bare>(?:[\w-]{1,63}\.){1,8}[^\W\d_]{2,63})(?![\w-])"
)
_PUNYCODE = re.compile(r"[A-Za-z0-9.-]+")


def shown_act(tool: str, act: str) -> str:
    """An act as the owner sees it: the tool, then each argument. `act` is its JSON text, an object."""
    arguments: dict[str, Any] = loads(act)
    return "\n".join([tool, *_fields(arguments, "")])


def _fields(fields: dict[str, Any], indent: str) -> list[str]:
    lines: list[str] = []
    for name, value in fields.items():
        lines.extend(_field(indent + drawn(name).replace("\n", _point("\n")), value, indent))
    return lines


def _field(name: str, value: Any, indent: str) -> list[str]:
    match value:
        case str():
            return [f"{name}:", *(f"{indent}│ {line}" for line in drawn(value).split("\n"))]
        case dict() if value:
            return [f"{name} has:", *_fields(value, indent + "  ")]
        case list() if value:
            items = (_field(f"{indent}  {number}", item, indent + "  ") for number, item in enumerate(value, 1))
            return [f"{name}, {len(value)} of them:", *(line for item in items for line in item)]
        case True | False:
            return [f"{name} = {'yes' if value else 'no'}"]
        case None:
            return [f"{name} = nothing"]
        case dict() | list():
            return [f"{name} = {'{}' if isinstance(value, dict) else '[]'}"]
    return [f"{name} = {value}"]


def drawn(text: str) -> str:
    """Text with all that cannot be seen drawn, and host names that are not plain letters in punycode."""
    parts: list[str] = []
    end = 0
    for found in _HOST.finditer(text):
        host = "host" if found["host"] else "bare"
        if found[host].isascii():
            continue
        parts += [_drawn(text[end : found.start(host)]), _host(found[host])]
        end = found.end(host)
    return "".join([*parts, _drawn(text[end:])])


def _drawn(text: str) -> str:
    return _DRAWN.sub(lambda found: _point(found[0]), text)


def _point(char: str) -> str:
    return f"⟨U+{ord(char):04X}⟩"


def _host(host: str) -> str:
    """A host name in punycode, if that stands for exactly this spelling; else with its odd letters drawn."""
    try:
        punycode = host.encode("idna").decode()
        if _PUNYCODE.fullmatch(punycode) and punycode.encode().decode("idna") == host:
            return f"⟨{punycode}⟩"
    except UnicodeError:
        pass
    return "".join(_drawn(char) if char.isascii() else _point(char) for char in host)
