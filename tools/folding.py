"""Text as it is compared: what looks or reads alike is the same.

One rule: both sides of a comparison are folded by the same function, so that folding too much makes two texts equal,
and never makes a text escape.
"""

import re
import unicodedata

from .unseen import UNSEEN

BREAK = "\0"
"""Between texts: no stretch or token reaches across it. It can't be seen, so no folded text holds it of itself."""

_NOT_SAID = re.compile(r"[\W_]+")

_TAGS = {0xE0000 + code: code for code in range(0x20, 0x7F)}  # each stands for an ASCII character, and draws nothing
_HIDDEN = re.compile("[\U000e0020-\U000e007e\U000e0100-\U000e01ef]")

# Each letter, and the Latin one that it looks like or is.
_LOOK_ALIKES = """
аa вb еe кk мm нh оo рp сc тt уy хx іi јj ѕs ԁd ԛq ԝw һh ӏl
αa βb εe ζz ηh ιi κk μm νv οo ρp τt υy χx
ᴀa ʙb ᴄc ᴅd ᴇe ꜰf ɢg ʜh ɪi ᴊj ᴋk ʟl ᴍm ɴn ᴏo ᴘp ꞯq ʀr ꜱs ᴛt ᴜu ᴠv ᴡw ʏy ᴢz ıi łl øo đd
"""  # Cyrillic, Greek, Latin
_ALIKE = {pair[0]: pair[1] for pair in _LOOK_ALIKES.split()}
_BOXED = {
    chr(first + at): letter
    for first in (0x1F130, 0x1F150, 0x1F170, 0x1F1E6)
    for at, letter in enumerate("ABCDEFGHIJKLMNOPQRSTUVWXYZ")
}


class _Same(dict[int, str | None]):
    """What each character is compared as; worked out once for each that comes up."""

    def __missing__(self, code: int) -> str | None:
        char = chr(code)
        self[code] = found = self._of(char)
        return found

    @staticmethod
    def _of(char: str) -> str | None:
        category = unicodedata.category(char)
        if category in ("Mn", "Me"):  # accents and what else is drawn over a letter
            return None
        if category in ("Nd", "No", "So"):
            value = unicodedata.numeric(char, -1.0)
            if value >= 0 and value.is_integer() and value <= 20:
                return str(int(value))
        if char in _BOXED:
            return _BOXED[char]
        low = char.lower()
        alike = _ALIKE.get(low)
        return char if alike is None else alike if low == char else alike.upper()


_SAME = _Same()


def plain(text: str) -> str:
    """The text without disguise, but for its case: one width, no accents, nothing unseen, digits and letters of one
    kind. Linear in the text.
    """
    if text.isascii():
        return UNSEEN.sub("", text)
    seen = UNSEEN.sub("", text.translate(_TAGS))
    apart = unicodedata.normalize("NFD", unicodedata.normalize("NFKC", seen.translate(_SAME)))
    return unicodedata.normalize("NFC", apart.translate(_SAME))


def fold(text: str) -> str:
    """The text as it is compared: plain, of one case, with one space between words."""
    return settled(plain(text))


def settled(plain_text: str) -> str:
    """A plain text, folded to the end; breaks in it stay."""
    return " ".join(plain_text.casefold().split())


def squeeze(text: str) -> str:
    """Only letters and digits of a folded text."""
    return BREAK.join(_NOT_SAID.sub("", part) for part in text.split(BREAK))


def hidden(text: str) -> str:
    """What a text says in characters that draw nothing: tags, which stand for ASCII, and selectors used as bytes."""
    found = _HIDDEN.findall(text)
    tags = "".join(chr(ord(char) - 0xE0000) for char in found if char < "\U000e0100")
    bytes_of = [ord(char) - 0xE0100 for char in found if char >= "\U000e0100"]
    readings = [tags, "".join(map(chr, bytes_of)), "".join(chr(byte + 16) for byte in bytes_of)]
    return BREAK.join(filter(None, map(plain, readings)))
