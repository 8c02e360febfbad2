"""Which characters a page is written in: its mark, its header, its own word, or else how its bytes look.

One rule: a name from outside chooses from a list of what pages are written in, never a codec by itself.
"""

import codecs
import re

from .child import Unreadable

_META = re.compile(rb"<meta[^>]{0,300}?charset\s*=\s*[\"']?\s*([\w.:-]{1,40})", re.IGNORECASE)
_XML = re.compile(rb"<\?xml[^>]{0,100}?encoding\s*=\s*[\"']([\w.:-]{1,40})", re.IGNORECASE)
_LOOKED_AT_BYTES = 4_096
_GUESSED_FROM_BYTES = 32_768
_BAD_SHARE_MAX = 0.002
"""A page with more characters than this that its charset does not know is written in another."""
_UTF8_GOOD_PER_BAD = 4
"""So many characters beyond ASCII, all well-formed, make what is not well-formed a fault in UTF-8: in other charsets
few pairs of bytes happen to be any."""
_CONTROL_SHARE_MAX = 0.02
_WIDE_PART = 50
"""One byte of so many is zero at least in UTF-16: spaces, digits, tags."""

_LATIN = "cp1252"
_READ_AS = {
    "ascii": "cp1252",
    "us-ascii": "cp1252",
    "latin1": "cp1252",
    "latin-1": "cp1252",
    "iso-8859-1": "cp1252",
    "iso8859-1": "cp1252",
    "iso-8859-9": "cp1254",
    "iso-8859-11": "cp874",
    "tis-620": "cp874",
    "gb2312": "gb18030",
    "gb_2312-80": "gb18030",
    "gbk": "gb18030",
    "x-gbk": "gb18030",
    "big5": "big5hkscs",
    "big5-hkscs": "big5hkscs",
    "shift_jis": "cp932",
    "shift-jis": "cp932",
    "x-sjis": "cp932",
    "sjis": "cp932",
    "ks_c_5601-1987": "cp949",
    "euc-kr": "cp949",
    "windows-31j": "cp932",
    "x-euc-jp": "euc_jp",
    "utf8": "utf-8",
    "macintosh": "mac_roman",
    "x-mac-cyrillic": "mac_cyrillic",
}
"""What pages call a charset, and what they are read as: as browsers do it (WHATWG's table of encodings)."""
_TAKEN = frozenset(
    codecs.lookup(name).name
    for name in (
        *_READ_AS.values(),
        *("utf-8", "utf-16", "utf-16-le", "utf-16-be", "gb18030", "euc_jp", "iso2022_jp", "koi8_r", "koi8_u", "cp866"),
        *(f"cp125{n}" for n in range(9)),
        *(f"iso8859_{n}" for n in (2, 3, 4, 5, 6, 7, 8, 10, 13, 14, 15, 16)),
    )
)
_GUESSES = ["cp1251", "cp1250", "cp1252", "cp1253", "cp1254", "cp1255", "cp1256", "gb18030", "cp932", "euc_jp", "cp949"]
_GUESSES += ["big5", "koi8_r"]
_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)


def decode(body: bytes, header: str, *, html: bool) -> str:
    """The text of a page whose header names a charset, or "". Raises Unreadable for what is no text."""
    for mark, name in _MARKS:
        if body.startswith(mark):
            return _text(body.decode(name, "replace"))
    if (wide := _wide(body)) is not None:
        return _text(body.decode(wide, "replace"))
    said = [_codec(header), _codec(_own_word(body, html=html))]
    if said[0] == _LATIN:  # many servers say so of whatever they serve, and then the page knows better
        said = [said[1] or ("utf-8" if _is_utf8(body) else None), _LATIN]
    for codec in filter(None, said):
        text = body.decode(codec, "replace")
        if codec == "utf-8" and _is_utf8(body):
            return _text(text)
        if text.count("\ufffd") <= len(text) * _BAD_SHARE_MAX and not (codec == _LATIN and _is_no_latin(body)):
            return _text(text)
    return _text(_guessed(body))


def _is_no_latin(body: bytes) -> bool:
    """Whether most letters would be ones that are rare in every language that is written in Latin letters."""
    letters = [char for char in _telling(body).decode(_LATIN, "replace") if char.isalpha()]
    return sum(char > "\x7f" for char in letters) * 2 > len(letters)


def _own_word(body: bytes, *, html: bool) -> str:
    """What the page itself says. One that can be read to say utf-16 is not written in it."""
    found = (_META.search(body, 0, _LOOKED_AT_BYTES) if html else None) or _XML.match(body, 0, _LOOKED_AT_BYTES)
    label = found[1].decode("ascii", "replace").lower() if found else ""
    return "utf-8" if label.startswith("utf-16") else label


def _codec(label: str) -> str | None:
    """The codec of a label, None if pages are not written in it."""
    label = label.lower()
    try:
        name = codecs.lookup(_READ_AS.get(label, label.replace("windows-", "cp"))).name
    except (LookupError, ValueError):
        return None
    return name if name in _TAKEN else None


def _guessed(body: bytes) -> str:
    """The text of a page that says nothing, or nothing true, of its charset."""
    if _is_utf8(body):
        return body.decode("utf-8", "replace")
    from charset_normalizer import from_bytes

    best = from_bytes(_telling(body), cp_isolation=_GUESSES).best()
    return body.decode(best.encoding if best is not None else "cp1252", "replace")


def _is_utf8(body: bytes) -> bool:
    """Whether it is UTF-8: well-formed, or a little broken, or cut in the middle of a character."""
    text = codecs.getincrementaldecoder("utf-8")("replace").decode(body)  # what is cut at its end is left out
    bad = text.count("\ufffd") - body.count("\ufffd".encode())
    good = len(text) - len(text.encode("ascii", "ignore")) - bad
    return good >= bad * _UTF8_GOOD_PER_BAD if good else body.isascii()


def _telling(body: bytes) -> bytes:
    """The part of a page that tells most of its letters: without tags, and not too long."""
    return re.sub(rb"<[^<>]{0,2000}>", b" ", body[: 8 * _GUESSED_FROM_BYTES])[:_GUESSED_FROM_BYTES]


def _wide(body: bytes) -> str | None:
    """Which UTF-16 it is, if it is: every other byte of its plain letters is zero, and in no other text any is."""
    sample = body[:_LOOKED_AT_BYTES]
    even, odd = sample[0::2].count(0), sample[1::2].count(0)
    if max(even, odd) * _WIDE_PART < len(sample) or min(even, odd) * 10 >= max(even, odd):
        return None
    return "utf-16-le" if odd > even else "utf-16-be"


def _text(text: str) -> str:
    """The text, if it is one. Raises Unreadable."""
    sample = text[:_GUESSED_FROM_BYTES]
    controls = sum(char < " " and char not in "\t\n\r\f\x1b" for char in sample)
    if controls > len(sample) * _CONTROL_SHARE_MAX:
        raise Unreadable("binary")
    return text
