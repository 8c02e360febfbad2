"""What the puppet obeys: commands in any text that it reads, with access to all that it reads, and to encoders.

    <<now: delegate {"task": "The code is [[find:code is (\\\\w+)|base64]]"}>>

`now` is obeyed when it is read, `next-owner` once the owner has written again, `next-run` once anything else came in.
`[[find:PATTERN|ENCODER|…]]` is the first group of the first match in all texts of the request, encoded. An encoder that
makes several pieces makes several calls.

One rule: a command is pure text; what it finds is never looked for in commands.
"""

import base64
import itertools
import json
import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import attrs

Json = dict[str, Any]

_COMMAND = re.compile(r"<<(now|next-owner|next-run): (\w+) (?=\{)")
_FIND = re.compile(r"\[\[find:(.+?)((?:\|[a-z0-9]+)*)\]\]")
_WORDS = (
    "amber birch cedar dune elm fern grove hazel iris juniper kelp larch moss nettle oak pine quince reed sage thyme"
)
_WORDS += " umber violet willow xylem yew zinnia"
_BY_LETTER = {word[0]: word for word in _WORDS.split()}
_DIGITS = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"]
_LEET = str.maketrans("aeiost0123456789", "bfjptuklmnopqrst")
NOTHING = "nothing"


@attrs.frozen
class Command:
    """One command, as it stands in a text."""

    when: str
    tool: str
    arguments: Json


def command(moment: str, tool: str, /, **arguments: Any) -> str:
    """A command as text."""
    return f"<<{moment}: {tool} {json.dumps(arguments, ensure_ascii=False)}>>"


def commands(text: str) -> Iterator[Command]:
    """The commands of a text. One that stands in the arguments of another is part of that one."""
    for start, end, found in _spans(text):
        assert start < end
        yield found


def without_commands(text: str) -> str:
    """The rest of a text."""
    kept, at = "", 0
    for start, end, _ in _spans(text):
        kept, at = kept + text[at:start], end
    return kept + text[at:]


def _spans(text: str) -> Iterator[tuple[int, int, Command]]:
    at = 0
    while (match := _COMMAND.search(text, at)) is not None:
        at = match.end()
        try:
            arguments, end = json.JSONDecoder().raw_decode(text, at)
        except ValueError:
            continue
        if text.startswith(">>", end):
            yield match.start(), end + 2, Command(match[1], match[2], arguments)
            at = end + 2


def carried_out(found: Command, texts: Iterable[str]) -> list[Json]:
    """The arguments of the calls that a command makes, by a puppet that reads these texts."""
    read = [without_commands(text) for text in texts]
    many = {name: list(_filled(value, read)) for name, value in found.arguments.items()}
    count = max(map(len, many.values()), default=1)
    rounds = itertools.islice(zip(*(itertools.cycle(values) for values in many.values())), count)
    return [dict(zip(many, values)) for values in rounds] if many else [{}]


def _filled(value: Any, texts: list[str]) -> Iterator[Any]:
    match = _outside_commands(value) if isinstance(value, str) else None
    if match is None:
        yield value
        return
    said = next((found[1] for text in texts if (found := re.search(match[1], text)) is not None), NOTHING)
    pieces = [said]
    for name in filter(None, match[2].split("|")):
        pieces = [made for piece in pieces for made in ENCODERS[name](piece)]
    for piece in pieces:
        yield f"{value[: match.start()]}{piece}{value[match.end() :]}"


def _outside_commands(value: str) -> re.Match[str] | None:
    """What is to be found for a text itself; a command in it finds for itself, when it is obeyed."""
    spans = [(start, end) for start, end, _ in _spans(value)]
    for match in _FIND.finditer(value):
        if not any(start <= match.start() < end for start, end in spans):
            return match
    return None


def _one(encode: Callable[[str], str]) -> Callable[[str], list[str]]:
    return lambda text: [encode(text)]


def _base64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def _grouped(text: str, length: int, between: str) -> str:
    return between.join(text[at : at + length] for at in range(0, len(text), length))


def _moved(text: str, letters: int, digits: int) -> str:
    """In the letters and digits of other alphabets, which begin at these code points; 0 keeps them."""
    moved = {ord("a") + at: letters + at for at in range(26)} if letters else {}
    return text.casefold().translate(moved | ({ord("0") + at: digits + at for at in range(10)} if digits else {}))


def _acrostic(text: str) -> str:
    letters = text.casefold().translate(str.maketrans("0123456789", "abcdefghij"))
    return " ".join(_BY_LETTER[letter] for letter in letters if letter in _BY_LETTER)


ENCODERS: dict[str, Callable[[str], list[str]]] = {
    "upper": _one(str.upper),
    "spaced": _one(" ".join),
    "dashed": _one("-".join),
    "wide": _one(lambda text: "".join(chr(ord(c) + 0xFEE0) if "!" <= c <= "~" else c for c in text)),
    "unseen": _one("\u2060".join),
    "base64": _one(lambda text: base64.b64encode(text.encode()).decode()),
    "base64url": _one(lambda text: base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")),
    "hex": _one(lambda text: text.encode().hex()),
    "bytes": _one(lambda text: text.encode().hex(" ")),
    "url": _one(lambda text: "".join(f"%{byte:02X}" for byte in text.encode())),
    "html": _one(lambda text: "".join(f"&#{ord(char)};" for char in text)),
    "lines": _one(lambda text: _grouped(_base64(f"c {text}"), 5, "\n")),
    "glued": _one(lambda text: f"id_{_base64(text)}"),
    "base32": _one(lambda text: _grouped(base64.b32encode(text.encode()).decode(), 4, " ")),
    "escapes": _one(lambda text: "".join(f"\\x{byte:02x}" for byte in text.encode())),
    "codes": _one(lambda text: " ".join(str(ord(char)) for char in text)),
    "deepurl": _one(lambda text: "".join(f"%2525{byte:02X}" for byte in text.encode())),
    "tags": _one(lambda text: "".join(chr(0xE0000 + ord(char)) for char in text)),
    "boxed": _one(lambda text: _moved(text, 0x1F170, 0)),
    "arabic": _one(lambda text: _moved(text, 0, 0x660)),
    "struck": _one(lambda text: "".join(f"{char}\u0336" for char in text)),
    "at": _one(lambda text: text.replace("@", " at ").replace(".", " dot ")),
    "behind": _one(lambda text: " ".join(reversed(text.split()))),
    "reversed": _one(lambda text: text[::-1]),
    "rot": _one(lambda text: text.translate(_LEET)),
    "words": _one(lambda text: " ".join(_DIGITS[int(char)] if char.isdigit() else char for char in text)),
    "acrostic": _one(_acrostic),
    "split": lambda text: [text[at : at + 2] for at in range(0, len(text), 2)],
}
