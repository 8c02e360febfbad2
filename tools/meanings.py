"""What a text says to whoever decodes it: escapes, base64, base32, hex, codes of characters, and one in another.

One rule: a decoder looks at the whole text, whatever breaks it into groups and whatever is glued to it, and gives back
every readable stretch it finds; what is none by chance does no harm. Each gives back a few times what it was given at
most, and encodings in one another are undone so many times only, so the work is linear in the text.
"""

import base64
import html
import re
from collections.abc import Callable, Iterator
from urllib.parse import unquote

from .folding import BREAK, hidden, plain

DEEP = 3
"""Encodings within one another that are undone."""

_ESCAPE_ROUNDS = 8
_ENCODED_MIN = 6  # characters of the shortest token, encoded; what is shorter is not decoded further

_READABLE = re.compile(rb"(?:[\t\n\r\x20-\x7e]|[\xc2-\xf4][\x80-\xbf]{1,3}){4,}")
_BYTE_ESCAPE = re.compile(r"(?:\\x|0x|=)([0-9A-Fa-f]{2})(?![0-9A-Za-z])|(?:\\x|=)([0-9A-Fa-f]{2})")
_CODE_ESCAPE = re.compile(r"(?:\\[uU]\{?|[uU]\+|&#x|%u)([0-9A-Fa-f]{4,8}|(?<=\{)[0-9A-Fa-f]{2,6})\}?;?")
_OCTAL_ESCAPE = re.compile(r"\\([0-3]?[0-7]{2})(?![0-9])")
_HEX = re.compile(r"[0-9A-Fa-f]+(?:[^0-9A-Za-z\0]{1,3}(?:0?x)?[0-9A-Fa-f]+)*")
_GAP = r"[^0-9A-Za-z\0]{1,3}"
_NUMBERS = tuple(
    (re.compile(rf"(?<![0-9A-Za-z]){digits}(?:{_GAP}{digits})+(?![0-9A-Za-z])"), base)
    for digits, base in (("[0-9]{2,3}", 10), ("0?[0-7]{2,3}", 8), ("[01]{7,8}", 2))
)
_DIGITS = re.compile(r"[0-9]+")
_NOT_HEX = re.compile(r"0?x|[^0-9A-Fa-f]")
_SPACE = re.compile(r"\s+")
_BETWEEN = re.compile(r"[^A-Za-z0-9+/=\0]+")
_BASE64 = re.compile(r"[A-Za-z0-9+/]{4,}")
_BASE32 = re.compile(r"[A-Za-z2-7]{7,}")
_URL_SAFE = str.maketrans("-_", "+/")
_AT = re.compile(r" ?[(\[{<] ?(?:at|@) ?[)\]}>] ?| at | ?@ ?", re.IGNORECASE)
_DOT = re.compile(r" ?[(\[{<] ?(?:dot|\.) ?[)\]}>] ?| dot ", re.IGNORECASE)


def meanings(text: str) -> list[str]:
    """A text without disguise, and all that it may mean, each a plain text with breaks in it."""
    known = dict.fromkeys([plain(text)])
    if said := hidden(text):
        known[said] = None
    newest = list(known)
    for _ in range(DEEP):
        found: dict[str, None] = {}
        for meaning in newest:
            for reading in _readings(meaning):
                shown = _plain_parts(reading)
                if shown not in known:
                    known[shown] = None
                    found[BREAK.join(part for part in shown.split(BREAK) if len(part) >= _ENCODED_MIN)] = None
        newest = list(found)
    return list(known)


def _plain_parts(text: str) -> str:
    return BREAK.join(map(plain, text.split(BREAK)))


def _readings(text: str) -> Iterator[str]:
    """What a text may mean that is not what it says, each that is not empty."""
    for read in _READERS:
        reading = read(text)
        if reading.strip(BREAK) and reading != text:
            yield reading


def _unescaped(text: str) -> str:
    """Without escapes of URLs, HTML, mails and programs, however deep in one another."""
    for _ in range(_ESCAPE_ROUNDS):
        before = text
        if "&" in text:
            text = html.unescape(text)
        if "\\" in text or "+" in text or "%u" in text:
            text = _CODE_ESCAPE.sub(lambda found: _char(int(found[1], 16)), text)
            text = _OCTAL_ESCAPE.sub(lambda found: _char(int(found[1], 8)), text)
        if "=" in text or "x" in text:
            text = _BYTE_ESCAPE.sub(lambda found: "%" + (found[1] or found[2]), text)
        if "%" in text:
            text = unquote(text.replace("%00", ""))  # or it would pass for a break
        if text == before:
            break
    return text


def _spelled_address(text: str) -> str:
    """With signs for "at" and "dot"."""
    return _DOT.sub(".", _AT.sub("@", _SPACE.sub(" ", text)))


def _of_base64(text: str) -> str:
    dense = _SPACE.sub("", text)
    return _of_stretches(dense.translate(_URL_SAFE), _BASE64, _decoded64)


def _of_broken_base64(text: str) -> str:
    """Where other characters than white space stand between the groups."""
    return _of_stretches(_BETWEEN.sub("", text), _BASE64, _decoded64)


def _of_base32(text: str) -> str:
    return _of_stretches(_BETWEEN.sub("", text), _BASE32, _decoded32)


def _of_hex(text: str) -> str:
    return _of_stretches(text, _HEX, _decoded_hex)


def _of_stretches(text: str, pattern: re.Pattern[str], decode: Callable[[str], Iterator[bytes]]) -> str:
    return BREAK.join(said for found in pattern.findall(text) for raw in decode(found) for said in _readable(raw))


def _decoded64(stretch: str) -> Iterator[bytes]:
    """From each place where a group may begin: what stands before it is glued to it."""
    for start in range(4):
        part = stretch[start:]
        yield base64.b64decode(part + "A" * (-len(part) % 4))


def _decoded32(stretch: str) -> Iterator[bytes]:
    for start in range(8):
        part = stretch[start:]
        yield base64.b32decode(part + "A" * (-len(part) % 8), casefold=True)


def _decoded_hex(stretch: str) -> Iterator[bytes]:
    digits = _NOT_HEX.sub("", stretch) if len(stretch) >= _ENCODED_MIN else ""
    for start in range(2 if digits else 0):
        yield bytes.fromhex(digits[start : len(digits) - (len(digits) - start) % 2])


def _readable(raw: bytes) -> Iterator[str]:
    """The stretches that are text, if only in ASCII's part of UTF-16."""
    for found in _READABLE.findall(raw.replace(b"\0", b"")):
        yield found.decode(errors="ignore")


def _of_numbers(text: str) -> str:
    """Codes of characters, as decimal, octal or binary numbers."""
    said = [
        "".join(_char(int(number, base)) for number in _DIGITS.findall(found))
        for pattern, base in _NUMBERS
        for found in pattern.findall(text)
    ]
    return BREAK.join(part for part in said if len(part.strip()) >= 4)


def _char(code: int) -> str:
    return chr(code) if 0x20 <= code <= 0x10FFFF and not 0xD800 <= code < 0xE000 else " "


_READERS = (_unescaped, _spelled_address, _of_base64, _of_broken_base64, _of_base32, _of_hex, _of_numbers)
