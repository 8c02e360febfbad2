"""What a model was told, as the owner reads it: the same texts, without the lines that are for the model, and addressed
to him.

One rule: only the house's own sentences are said otherwise. What anybody else wrote stays as it is, to the letter.
"""

import re
from collections.abc import Callable
from typing import Any

import attrs

from actors.journal import INTERRUPTED, NOT_ALLOWED, STOPPED
from actors.window import ABOVE
from storage.text import loads
from tools import answers, questions
from tools.history import SEARCH_HISTORY
from tools.outside import Source, described, source_of, unframed

_SENTENCES = {
    STOPPED: "You stopped it before it was finished; it may or may not have taken effect.",
    NOT_ALLOWED: "Nothing was done: the run ended while you were being asked.",
    INTERRUPTED: "Stopped, because you wrote something new; it may or may not have happened.",
    questions.DETACHED: "Still open: you have not decided this yet. Its outcome comes as a message.",
    answers.DETACHED: "Still open: you wrote something meanwhile. The work goes on; its outcome comes as a message.",
    questions.CLOSED: (
        "Nothing was done. You refused twice during this run, so nothing more can be written, changed or handed on in "
        "it."
    ),
    questions.TOO_MANY: "Nothing was done: too many questions are open with you.",
    questions.CHANGED: ("Nothing was done: you said yes, but what it would change had changed since you were asked."),
}
_BEGINNINGS = tuple(
    (re.compile(said), instead)
    for said, instead in (
        (r"The owner said yes to question (\d+), and it is carried out\. What it came to follows\.",
         r"You said yes to question \1, and it is carried out."),
        (r"The owner said no to question (\d+)\. Nothing was done\. Don't ask again\.",
         r"You said no to question \1. Nothing was done."),
        (r"The owner answered question (\d+): ", r"You answered question \1: "),
        (r"The owner gave no answer\.", "You gave no answer."),
        (r"The owner did not answer question (\d+) in time, which means no\.",
         r"You did not answer question \1 in time, which means no."),
        (r"Nothing was done: the owner is being asked about this very act already \(question (\d+)\).*",
         r"Nothing was done: you are being asked about this very act already (question \1)."),
        (r"Not sent: this has gone from agent to agent (\d+) times since the owner asked for it(.*)\. Answer with .*",
         r"Not sent: this has gone from agent to agent \1 times since you asked for it\2."),
        (re.escape(questions.CHANGED), _SENTENCES[questions.CHANGED]),
    )
)  # fmt: skip
_HOW_IT_ENDED = {frame for frames in answers.FRAMES.values() for frame in frames.values()}
_SAID_BY = re.compile(r"^(\d{4}-\d\d-\d\d \d\d:\d\d, )(the owner|you)(?=: )")
_SPEAKERS = {"the owner": "you", "you": "the agent"}
"""Who said what a search of the history found, as the model is told and as the owner is."""
_TIME_LINE = re.compile(r"\[\d{4}-\d\d-\d\d \w+ \d\d:\d\d [\w/+-]+\]")


@attrs.frozen(kw_only=True)
class Said:
    """A text with what it is and the origin it names, if it is from outside."""

    what: str
    origin: str
    text: str


def read_entry(shown: str, kind: str, source: str) -> Said:
    """The texts of an entry's content blocks. What is no text (tool uses) is left out."""
    texts = _texts(loads(shown))
    if kind == "reply":
        return Said(what="", origin="", text="\n\n".join(texts))
    if source == "owner":
        return Said(what="", origin="", text="\n\n".join(texts[1:]))  # the first tells the model the time
    return _read(texts[1:] if source == "outside" and texts and _TIME_LINE.fullmatch(texts[0]) else texts)


def read_result(result: str, tool: str) -> Said:
    """The texts of the result of a tool's call."""
    return _read(_texts(loads(result)["content"]), _hit if tool == SEARCH_HISTORY else _words)


def _texts(blocks: list[dict[str, Any]]) -> list[str]:
    return [block["text"] for block in blocks if block.get("type") == "text"]


def _read(texts: list[str], words: Callable[[str], str] | None = None) -> Said:
    what, origin = next((each for each in map(described, texts) if each is not None), ("", ""))
    if texts and texts[0] in _HOW_IT_ENDED:
        what = texts[0].removeprefix("⟦").partition(".")[0]
    return Said(what=what, origin=origin, text="\n\n".join(text for text in map(words or _words, texts) if text))


def _words(text: str) -> str:
    """What one block says to the owner."""
    match source_of(text):
        case Source.OUTCOME:
            return _to_him(unframed(text))
        case None:
            if text in _HOW_IT_ENDED:
                return ""
            return text.removeprefix(ABOVE).strip() if text.startswith(ABOVE) else _to_him(text)
    return unframed(text)


def _hit(text: str) -> str:
    """What one block of a search of the history says: who said it begins it."""
    return _SAID_BY.sub(lambda found: found[1] + _SPEAKERS[found[2]], _words(text))


def _to_him(text: str) -> str:
    """A text of the house's own as it is said to the owner; any other as it is."""
    if text in _SENTENCES:
        return _SENTENCES[text]
    for said, instead in _BEGINNINGS:
        if said.match(text):
            return said.sub(instead, text, count=1)
    return text
