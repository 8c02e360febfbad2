"""How one secret may be spelled: as itself, in base64 or in hex, and each character of that escaped.

One rule: a spelling is of the whole secret, to the last bit. Two layers make all of them. The *sequences* say which
characters stand one after another; the *escapes* say how one character may be written in a URL, in JSON and in HTML.
White space between characters is for the reader of a sequence to skip.
"""

import functools
import html.entities
import re

import attrs

from .unseen import is_gap

Unit = frozenset[str]
"""The characters that one position of a sequence may hold."""

ESCAPE_STARTS = "%\\&"
"""What an escape begins with: in a URL, in JSON, in HTML."""

_SPACE: Unit = frozenset(char for char in map(chr, range(0x3001)) if char.isspace()) | {"+"}
_BASE64 = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
_URL_SAFE = {"+": "-", "/": "_"}
_PADDING: tuple[Unit, ...] = (frozenset("="), frozenset("="))


@attrs.frozen(kw_only=True, repr=False)
class Sequence:
    """One spelling of a secret before escapes. It is complete after `whole` units; what follows is padding."""

    name: str
    units: tuple[Unit, ...]
    whole: int


def sequences(name: str, value: str) -> list[Sequence]:
    """Every sequence that spells the value: itself, base64 at its three alignments, hex.

    Where base64 mixes bits of the secret with those of a neighbour, a unit holds every character that agrees with
    the secret's own bits. base64url and both cases of hex are the same sequences with more characters in a unit.
    """
    data = value.encode("utf-8", "surrogatepass")
    plain = _plain(value)
    digits = tuple(frozenset((digit, digit.upper())) for digit in data.hex())
    found = [Sequence(name=name, units=plain, whole=len(plain)), Sequence(name=name, units=digits, whole=len(digits))]
    for before in range(3):
        coded = _base64(data, before)
        found.append(Sequence(name=name, units=coded + _PADDING, whole=len(coded)))
    return found


def _plain(value: str) -> tuple[Unit, ...]:
    """A unit for each character; a run of white space is one, since lines may be wrapped there."""
    return tuple(_SPACE if part.isspace() else frozenset(part) for part in re.findall(r"\s+|\S", value))


def _base64(data: bytes, before: int) -> tuple[Unit, ...]:
    """The base64 characters that hold bits of `data` when `before` bytes of something else precede it."""
    bits = "." * 8 * before + "".join(f"{byte:08b}" for byte in data)
    bits += "." * (-len(bits) % 6)
    sixes = (bits[at : at + 6] for at in range(8 * before // 6 * 6, len(bits), 6))
    return tuple(_symbols(six) for six in sixes)


@functools.cache
def _symbols(bits: str) -> Unit:
    """The base64 characters of six bits, of which "." may be either."""
    pattern = re.compile(bits)
    fitting = [char for number, char in enumerate(_BASE64) if pattern.fullmatch(f"{number:06b}")]
    return frozenset(fitting) | {_URL_SAFE[char] for char in fitting if char in _URL_SAFE}


_URL_BYTES = re.compile("(?:%[0-9a-fA-F]{2})+")
_URL_OPEN = re.compile("(?:%[0-9a-fA-F]{2})*%[0-9a-fA-F]?")
_JSON_SHORT = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_JSON_LONG = re.compile(r"\\u([0-9a-fA-F]{4})(?:\\u([0-9a-fA-F]{4}))?")
_JSON_OPEN = re.compile(r"\\(?:u[0-9a-fA-F]{0,3}|u[dD][89abAB][0-9a-fA-F]{2}(?:\\(?:u[0-9a-fA-F]{0,3})?)?)?")
_HTML_NUMBER = re.compile(r"&#(?:([0-9]{1,8})|[xX]([0-9a-fA-F]{1,8}));?")
_HTML_OPEN = re.compile(r"&(?:#(?:[0-9]{0,8}|[xX][0-9a-fA-F]{0,8}))?")
_HTML_NAMES = {
    "&" + name: char
    for name, char in html.entities.html5.items()
    if len(char) == 1 and (char < "\u0100" or is_gap(char))
}
_HTML_PREFIXES = frozenset(name[:end] for name in _HTML_NAMES for end in range(2, len(name)))


@functools.lru_cache(maxsize=20_000)
def meaning(token: str) -> tuple[str | None, bool]:
    """What an escape says so far: its character, if it is one already, and whether more of it may follow.

    "&#65" is both: an "A" where the semicolon is missing, and the beginning of "&#65;" or of "&#655;".
    """
    match token[0]:
        case "%":
            return _url(token)
        case "\\":
            return _json(token)
    return _html(token)


def _url(token: str) -> tuple[str | None, bool]:
    """One character of a URL: up to four bytes of UTF-8, each as two hex digits."""
    if _URL_OPEN.fullmatch(token):
        return None, True
    if not _URL_BYTES.fullmatch(token):
        return None, False
    try:
        return bytes.fromhex(token.replace("%", "")).decode(), False
    except UnicodeDecodeError as error:
        return None, error.reason == "unexpected end of data"


def _json(token: str) -> tuple[str | None, bool]:
    """One character of a JSON string. A backslash before punctuation means that, as in Markdown and in shells."""
    if _JSON_OPEN.fullmatch(token):
        return None, True
    if found := _JSON_LONG.fullmatch(token):
        halves = "".join(chr(int(part, 16)) for part in found.groups() if part)
        char = halves.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
        return (char, False) if len(char) == 1 else (None, False)
    if len(token) == 2 and token[1] in _JSON_SHORT:
        return _JSON_SHORT[token[1]], False
    if len(token) == 2 and token.isascii() and not token[1].isalnum():
        return token[1], False
    return None, False


def _html(token: str) -> tuple[str | None, bool]:
    """One character of HTML, by its number or its name; the semicolon may be missing."""
    more = _HTML_OPEN.fullmatch(token) is not None
    if found := _HTML_NUMBER.fullmatch(token):
        number = int(found[1]) if found[1] else int(found[2], 16)
        return (chr(number) if number < 0x110000 else None), more
    return _HTML_NAMES.get(token), more or token in _HTML_PREFIXES
