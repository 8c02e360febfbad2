"""Plain English made plainer, for the practice model: courtesies off, typing slips mended, words that carry meaning.

One rule: what the owner said stays his own words; only what stands around it is taken away.
"""

import re
import unicodedata

_BEFORE = re.compile(
    r"(?:hey|hi|hello|ok(?:ay)?|so|well|now|please|pls|plz|kindly|dreamwalker|practice model|also|and|then|oh|ah|um+|"
    r"hm+|by the way|btw|just|quickly|maybe|go ahead and|do me a favou?r(?: and)?|be so kind (?:as )?to|"
    r"i was wondering if you (?:could|can)|is it possible (?:for you )?to|(?:are|would) you (?:be )?able to|"
    r"(?:could|can|would|will) you(?: mind| be so kind as to| be able to)?|(?:can|may|could|might) i (?:ask|get|have) you to|"
    r"i(?:'d| would| really)* (?:like|want|love|need|wish)(?: for)? you to|you (?:should|must|need to|have to|could|can)|"
    r"make sure (?:that )?you|it would be (?:nice|great|good|lovely) if you (?:could|would)?|let's|i have to ask you to)"
    r"(?=[\s,:;.!-]|$)[\s,:;.!-]*",
    re.IGNORECASE,
)
_AFTER = re.compile(
    r"[\s,;.!-]*\b(?:please|pls|plz|thanks(?: a lot| so much)?|thank you(?: very much| so much)?|thx|cheers|for me|"
    r"if you (?:can|could|would|don't mind)|(?:will|would|could|can) you|right now|straight away|ok(?:ay)?)[.!?\s]*$",
    re.IGNORECASE,
)
_KEYWORDS = (
    "remember remind reminder forget note notes memorize record search history every everyday tomorrow message"
    " conversation research browse internet website delegate schedule birthday"
).split(" ")
_SOUND = frozenset(
    "member members november december forgot forgets fever never ever very remainder reminds reminded notice noted not"
    " nodes vote votes messages internets evening notes searches reached records recorded researcher".split(" ")
)
_STOP = frozenset(
    "a about am an and any anything are as ask asked at be been being but by can could day did discuss discussed do does"
    " ever every find for from gave get give had has have he her hers him his how i in into is it its just keep know"
    " last let look me mean mention mentioned mine my name need now of on or our out please recall regarding remember"
    " remind said saved say see she should show so some something talk talked tell than that the their them then there"
    " these they thing things this those to told up us was we were what whats when whens where wheres which who whom"
    " whose whos why will with wrote you your note notes noted stored earlier previously before already again thoughts"
    " information info details concerning speak spoke spoken everything search check conversation history chat".split(
        " "
    )
)


def plain(text: str) -> str:
    """One line, straight quotes, the courtesies before and after taken off."""
    text = unicodedata.normalize("NFKC", text)
    text = re.sub("[’‘`´]", "'", text)
    text = re.sub("[“”„«»]", '"', text)
    text = " ".join(text.split())
    before = None
    while before != text:
        before = text
        text = _BEFORE.sub("", text, count=1) if _BEFORE.match(text) else text
        text = _AFTER.sub("", text)
    return mended(text)


def mended(text: str) -> str:
    """Slips in the words that the rules look for: "rember", "remidn", "serach"."""
    return re.sub(r"[A-Za-z]{5,}", lambda match: _mended_word(match[0]), text)


def _mended_word(word: str) -> str:
    low = word.lower()
    if low in _SOUND or low in _KEYWORDS or low in _STOP:
        return word
    for key in _KEYWORDS:
        allowed = 1 if len(key) < 8 else 2
        if low[0] == key[0] and abs(len(low) - len(key)) <= allowed and slips(low, key) <= allowed:
            return key
    return word


def slips(one: str, other: str) -> int:
    """How many typing slips (a letter wrong, missing, too many, or two swapped) lie between two words."""
    rows = [list(range(len(other) + 1))]
    for i, a in enumerate(one, 1):
        row = [i]
        for j, b in enumerate(other, 1):
            best = min(rows[-1][j] + 1, row[j - 1] + 1, rows[-1][j - 1] + (a != b))
            if i > 1 and j > 1 and a == other[j - 2] and one[i - 2] == b:
                best = min(best, rows[-2][j - 2] + 1)
            row.append(best)
        rows.append(row)
    return rows[-1][-1]


def content_words(text: str) -> list[str]:
    """The words that say what a text is about, without possessives, in the order they came."""
    words = [re.sub(r"'s?$", "", word) for word in re.findall(r"[\w@][\w'@.+/-]*", text)]
    kept = [word.strip(".'-/") for word in words]
    return list(dict.fromkeys(word for word in kept if word and word.lower() not in _STOP))


def sentence(text: str) -> str:
    """A text with a capital at its beginning and a mark at its end."""
    text = text.strip(" ,;:-")
    if not text:
        return text
    text = text[0].upper() + text[1:]
    return text if text[-1] in ".!?…" else f"{text}."


def short(text: str, limit: int) -> str:
    """At most so many characters, cut between words."""
    text = " ".join(text.split())
    if len(text) <= limit:
        return text
    return f"{text[:limit].rsplit(' ', 1)[0]}…"
