"""The practice model's rules for what was noted wrong, or should be forgotten.

One rule: a correction takes the place of a word of its own kind, a month that of a month; what has none is added.
"""

import re

from dreamwalker.practice_memory import Wish
from dreamwalker.practice_time import WEEKDAYS
from dreamwalker.practice_words import content_words, find, phrases, sentence, without

_FORGET = phrases(
    "do? (forget|unremember|unlearn|disregard) (about|that|what|everything|all)?",
    "(delete|remove|erase|drop|discard|scrap|wipe|throw away|get rid of|tear up) (the|my|that|this)? *"
    " (note|notes|memo) (about|on|of|that|with|called)?",
    "(forget|delete|remove|erase|wipe) (what|everything|all|anything) that? (you|i)"
    " (know|noted|have|said|told you|wrote) (noted|saved|stored)? (about|on|of)?",
)
_OUT_OF_NOTES = (
    r"^(?:delete|remove|erase|take|drop|strike|cut)\s+(?P<what>.+?)\s+"
    r"(?:from|out of) (?:my|the|your) (?:notes?|memory)$"
)
_UNDO = phrases("(undo|cancel|delete|remove|revert|scratch) (it|that|this|the last one|what you (just)? did) (again)?")
_NEVER_MIND = phrases(
    "(forget|drop|skip|scratch|leave) (it|that|this|about it|about that) (then|for now)?",
    "(that's|it's|that is)? (never mind|nevermind|doesn't matter|not important|no (worries|problem|matter)) then?",
    "(don't|do not) (worry|bother) (about (it|that|this))?",
    "forget what i (just)? said",
    "it (doesn't|does not) matter",
)
_WRONG = (
    r"^(?:(?:no(?! (?:problem|worries|way|need|one|doubt|thanks|thank)\b)|nope|nah|wrong|sorry|oops|actually|wait|"
    r"correction|rather|not quite|not right|that (?:should|must) be|wrong \w+|"
    r"that(?:'s| is) (?:wrong|not (?:right|true|correct))|"
    r"my mistake|i was wrong|i (?:meant|mean|said)(?: to say)?|make (?:it|that)|it should (?:be|say)|should be|"
    r"(?:change|move|shift|push|put|set) (?:it|that)(?: back)? (?:to|until|till))\b[\s,.:;!-]*)+"
)
_PRONOUN = r"^(?:it|that|this|they|he|she)(?:'s|'re| is| are| was| were| should be| must be)?\s+"
_SORRY = r"[\s,]+(?:sorry|my mistake|i meant|i mean)$"
WORDS_OF_A_CONTRAST = 6
_INSTEAD = (
    r"^(?:not )?(?P<old>[^,]+?),? but (?P<new>.+)$",
    r"^(?P<new>.+?),? (?:and )?not (?P<old>.+)$",
    r"^not (?P<old>[^,]+), (?P<new>.+)$",
    r"^(?P<new>.+?) instead of (?P<old>.+)$",
)
_KINDS = (
    r"\b(?:january|february|march|april|may|june|july|august|september|october|november|december)\b",
    rf"\b(?:{'|'.join(WEEKDAYS)})\b",
    r"\b\d{1,2}[:.]\d{2}\b|\b\d{1,2} ?[ap]m\b",
    r"\b(?:19|20)\d{2}\b",
    r"(?<![\w.:-])\d+(?:st|nd|rd|th)?(?![\w:-])",
)
"""Words of a kind, of which one may take the place of another."""


def never_mind(text: str) -> bool:
    """Whether a text only takes back what was said before."""
    return find(rf"^(?:(?:oh|ah|ok|okay|well|no|nah|nope|sorry)[\s,]+)*{_NEVER_MIND}$", text) is not None


def undoes(text: str) -> Wish | None:
    """Wanting back what was done just before."""
    return Wish(kind="undo") if find(rf"^{_UNDO}$", text) else None


def forgets(text: str) -> Wish | None:
    """Something that was noted and should be no more."""
    if (out := find(_OUT_OF_NOTES, text)) is None and not find(rf"^{_FORGET}", text):
        return None
    words = content_words(out["what"] if out else without(rf"^{_FORGET}", text))
    return Wish(kind="forget", parts={"query": " ".join(words)}) if words else None


def corrects(text: str) -> Wish | None:
    """A correction of what was said just before."""
    if find(_PRONOUN, text) and (find(_SORRY, text) or any(find(pattern, text) for pattern in _INSTEAD[:3])):
        return Wish(kind="correct", parts={"text": re.sub(_SORRY, "", text, flags=re.IGNORECASE)})
    rest = re.sub(_WRONG, "", text, flags=re.IGNORECASE)
    contrast = len(text.split()) <= WORDS_OF_A_CONTRAST and any(find(pattern, text) for pattern in _INSTEAD[:3])
    if not rest.strip(" ,.!") or (rest == text and not contrast):
        return None
    short_of_a_sentence = len(rest.split()) <= 4 or find(r"^(?:in|on|at|the|not|from|to|by|with|for)\b", rest)
    if not (find(_PRONOUN, rest) or short_of_a_sentence):
        return None
    return Wish(kind="correct", parts={"text": rest.strip(" ,.!")})


def amended(old: str, correction: str) -> str:
    """A noted text with a correction in it: in the place of what it corrects, where that can be told."""
    said = re.sub(_PRONOUN, "", correction, flags=re.IGNORECASE)
    for pattern in _INSTEAD:
        if (match := find(pattern, said)) and (gone := match["old"].strip()).lower() in old.lower():
            return sentence(re.sub(re.escape(gone), lambda _: match["new"].strip(), old, count=1, flags=re.IGNORECASE))
    made = old
    for kind in _KINDS:
        new, olds = re.search(kind, said, re.IGNORECASE), re.findall(kind, made, re.IGNORECASE)
        if new is not None and len(olds) == 1 and olds[0].lower() != new[0].lower():
            made = re.sub(kind, lambda _, new=new: new[0], made, count=1, flags=re.IGNORECASE)  # type: ignore[misc]
    if made != old:
        return made
    predicate = re.match(r"(?P<head>.+? (?:is|are|was|were|'s called|called))\s", old)
    if predicate is not None and said != correction:
        return sentence(f"{predicate['head']} {said}")
    return f"{old} Correction: {sentence(correction)}"
