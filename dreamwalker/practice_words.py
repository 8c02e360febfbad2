"""Plain English made plainer, for the practice model: courtesies off, typing slips mended, words that carry meaning.

One rule: what the owner said stays his own words; only what stands around it is taken away.
"""

import re
import unicodedata

_GAP = r"[\s,:;]+"


def phrases(*lines: str) -> str:
    """A pattern for any of these phrases. A word or choice that ends in "?" may be missing, `(a|b c)` is a choice of
    words or phrases, and `*` stands for up to two words of any kind. Between words there may be commas and colons.
    """
    return rf"\b(?:{'|'.join(_phrase(line) for line in lines)})(?!\w)"


def _phrase(line: str) -> str:
    made, begun = "", False
    for word in _parts(line, " "):
        optional = word == "*" or word.endswith("?")
        body = r"\S+(?:\s+\S+)?" if word == "*" else _word(word.removesuffix("?"))
        if begun:
            made += f"(?:{_GAP}{body})?" if optional else f"{_GAP}{body}"
        else:
            made += f"(?:{body}{_GAP})?" if optional else body
            begun = not optional
    return made


def _word(word: str) -> str:
    if not (word.startswith("(") and word.endswith(")")):
        return word
    return f"(?:{'|'.join(_phrase(choice) for choice in _parts(word[1:-1], '|'))})"


def _parts(text: str, separator: str) -> list[str]:
    """Split outside of brackets."""
    parts, depth = [""], 0
    for letter in text:
        depth += (letter == "(") - (letter == ")")
        if letter == separator and depth == 0:
            parts.append("")
        else:
            parts[-1] += letter
    return [part for part in parts if part]


_COURTESIES = phrases(
    "(hey|hi|hello|oh|ah|um+|hm+|ok|okay|well|now|please|pls|plz|kindly|also|and|then|btw|quickly|maybe|dreamwalker)",
    "(practice model|by the way|go ahead and|let's)",
    "do me a favou?r and?",
    "i was wondering (if|whether) you (could|can|would)",
    "is (it possible|there any chance|there a way) (for you)? (to|that you)? (could|can)?",
    "(are|would|will) you be? able to",
    "(could|can|would|will) you (mind|be so kind as? to|do me a favou?r and|be able to)?",
    "(can|may|could|might) i (ask|get|have|trouble) you to",
    "(i|i'd) (would|really)? really? (like|want|love|need|wish) for? you to",
    "you (should|must|need to|have to|could|can|may)",
    "make sure that? you",
    "(it would|it'd|would) be (nice|great|good|lovely|helpful) if you (could|would)?",
    "i (have|need) to ask you to",
)
_FILLERS = r"\b(?:so|just)\b(?! (?:that )?you know\b)"
_BEFORE = re.compile(rf"(?:{_COURTESIES}|{_FILLERS})[\s,:;.!-]*", re.IGNORECASE)
_THANKS = phrases(
    "(please|pls|plz|thx|cheers|ta|ok|okay|thanks|thank you)",
    "(thanks|thank you) (a lot|so much|very much|in advance)",
    "for me",
    "if you (can|could|would|don't mind|please)",
    "(will|would|could|can) you",
    "(right now|straight away|as soon as possible|asap)",
)
_AFTER = re.compile(rf"[\s,;.!-]*{_THANKS}[.!?\s]*$", re.IGNORECASE)

KEYWORDS = frozenset(
    {"remember", "remind", "reminder", "forget", "note", "notes", "memorize", "record", "search", "history", "every"}
    | {"tomorrow", "message", "conversation", "research", "browse", "internet", "website", "delegate", "schedule"}
)
_SOUND = frozenset(
    {"delete", "deleted", "deletes"}
    | {"member", "members", "november", "december", "forgot", "fever", "never", "ever", "very", "remainder", "reminds"}
    | {"reminded", "notice", "noted", "votes", "messages", "evening", "searches", "reached", "records", "recorded"}
    | {"researcher", "forgets", "schedules", "websites", "historic", "nodes", "events", "conversations", "reminders"}
)
_STOP_LISTS = (
    "a about again already am an and any anything are as ask asked at be been before being but by can chat check",
    "concerning conversation could day details did discuss discussed do does earlier ever every everything find for",
    "from gave get give had has have he her hers him his history how i i'm i've idea in info information into is it",
    "its just keep know last let look me mean mention mentioned mine my name need note noted notes now of on or our",
    "out please previous previously recall regarding remember remind said saved say search see she should show so",
    "some something speak spoke spoken stored talk talked talking tell than that the their them then there these",
    "they thing things this those thoughts to told up us was we were what when where which who whom whose why will",
    "with wrote you your",
)
_STOP = frozenset(word for line in _STOP_LISTS for word in line.split())


def tidy(text: str) -> str:
    """One line, plain quotes."""
    text = unicodedata.normalize("NFKC", text)
    text = re.sub("[“”„«»]", '"', re.sub("[’‘`´]", "'", text))
    return " ".join(text.split())


def plain(text: str) -> str:
    """The text without the courtesies before and after it, and with slips mended."""
    before = None
    while before != text:
        before = text
        if courtesy := _BEFORE.match(text):
            text = text[courtesy.end() :]
        text = _AFTER.sub("", text)
    return re.sub(r"[A-Za-z]{5,}", lambda match: _mended(match[0]), text)


def _mended(word: str) -> str:
    """A slip in a word that the rules look for ("rember", "remidn", "serach") made good."""
    low = word.lower()
    if low in _SOUND or low in KEYWORDS or low in _STOP:
        return word
    for key in sorted(KEYWORDS):
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
    words = [re.sub(r"'[a-z]{0,2}$", "", word) for word in re.findall(r"[\w@][\w'@.+/-]*", text)]
    kept = [word.strip(".'-/") for word in words]
    return list(dict.fromkeys(word for word in kept if word and word.lower() not in _STOP))


def find(pattern: str, text: str) -> re.Match[str] | None:
    """Search without regard to case."""
    return re.search(pattern, text, re.IGNORECASE)


def without(pattern: str, text: str) -> str:
    """The text without the first match, tidied."""
    return " ".join(re.sub(pattern, " ", text, count=1, flags=re.IGNORECASE).split()).strip(" ,;:-")


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
    return text if len(text) <= limit else f"{text[:limit].rsplit(' ', 1)[0]}…"
