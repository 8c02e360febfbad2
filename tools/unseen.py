"""Characters that cannot be seen: what they are, and text without them.

One rule: this is the only list of such characters, so that what is searched, what is cleaned and what is drawn for
the owner agree about them.
"""

import re

# Written out rather than asked of `unicodedata`, so that every Python agrees: controls, format characters that draw
# nothing, fillers, variation selectors, surrogates, private use, noncharacters, and planes 14 to 16 (tags).
_RANGES = (
    r"\x00-\x08\x0b-\x1f\x7f-\x9f"
    r"\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164"
    r"\ud800-\uf8ff\ufdd0-\ufdef\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\ufffe\uffff"
    r"\U00013430-\U0001343f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U0010ffff"
) + "".join(f"\\U{plane:04x}fffe\\U{plane:04x}ffff" for plane in range(1, 14))

UNSEEN = re.compile(f"[{_RANGES}]")
"""One character that cannot be seen. Tab and line feed are not among them; the carriage return is."""

# A picture may be followed by one variation selector or skin tone, and joined to the next one; a key cap has one too.
_PICTURE = (
    r"[\u00a9\u00ae\u203c\u2049\u2122\u2139\u2190-\u21ff\u2300-\u27bf\u2900-\u297f\u2b00-\u2bff\u3030\u303d\u3297\u3299"
    r"\U0001f000-\U0001faff][\ufe0e\ufe0f\U0001f3fb-\U0001f3ff]?"
)
_KEPT = rf"{_PICTURE}(?:\u200d{_PICTURE})*|[0-9#*]\ufe0f\u20e3"
_KEPT_OR_UNSEEN = re.compile(rf"{_KEPT}|([{_RANGES}])")
_LINE_END = re.compile("\r\n?|[\u2028\u2029]")


def is_gap(char: str) -> bool:
    """Whether a character separates without being read: white space, or one that cannot be seen."""
    return char.isspace() or UNSEEN.match(char) is not None


def cleaned(text: str) -> tuple[str, int]:
    """The text without its unseen characters, and how many were removed.

    What holds an emoji together stays. Line ends of other kinds become "\\n"; these are not counted.
    """
    text = _LINE_END.sub("\n", text)
    if UNSEEN.search(text) is None:
        return text, 0
    clean = _KEPT_OR_UNSEEN.sub(lambda found: "" if found[1] else found[0], text)
    return clean, len(text) - len(clean)
