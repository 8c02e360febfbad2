"""A question as the owner reads it, wherever he does: in his words what would happen, the whole act, why he is asked,
what the agent says.

One rule: the server makes it, of stored bytes alone. The agent's own words stand apart and last: it may have been
misled.
"""

from collections import Counter
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

import attrs

from storage.records import Question
from storage.text import loads

from .outside import told
from .plainly import Changing, in_words
from .show import drawn, shown_act
from .taint import Rule

_FOUND_CHARACTERS = 60
_REASON_CHARACTERS = 2_000


@attrs.frozen(kw_only=True)
class Card:
    """The parts of a shown question, each plain text. `head` is the act in his words, in a line; `asks`, who asks;
    `act`, the whole of it. `options` are of an agent's own question.

    `bound` says for which version of what it changes a yes holds.
    """

    head: str
    asks: str
    act: str
    bound: str
    options: tuple[str, ...]
    why: str
    reason: str

    @property
    def text(self) -> str:
        """All of it as one text."""
        parts = [f"{self.head}\n{self.asks}".strip(), self.act, self.bound, self.why]
        if self.reason:
            parts.append(
                f"The agent's own words, which outside text may have put into its mouth:\n{_behind(self.reason)}"
            )
        return "\n\n".join(part for part in parts if part)


def card(question: Question, zone: ZoneInfo) -> Card:
    """What is shown of a question; times are in the owner's zone."""
    options: tuple[str, ...] = ()
    asked: dict[str, Any] = loads(question.act)
    why: dict[str, Any] = loads(question.why)
    if question.kind == "choice":
        options = tuple(asked["options"])
        head, asks = f"{question.agent} asks you:", ""
        numbered = [f"{number} {_behind(drawn(option))}" for number, option in enumerate(options, 1)]
        act = "\n".join([_behind(drawn(asked["question"])), *numbered])
    else:
        changing = Changing(version=question.base_version, name=why.get("named", ""))
        head, asks = in_words(question.tool, asked, changing), f"{question.agent} would do exactly this:"
        act = shown_act(question.tool, question.act)
    return Card(
        head=head,
        asks=asks,
        act=act,
        bound=_bound(question),
        options=tuple(drawn(option) for option in options),
        why=_why(why, zone),
        reason=_cut(drawn(question.reason), _REASON_CHARACTERS),
    )


def _bound(question: Question) -> str:
    match question.base_version:
        case None:
            return ""
        case 0:
            return "It would be new; a yes holds as long as there is none."
    return f"A yes holds for what stands there now, version {question.base_version}."


def _why(why: dict[str, Any], zone: ZoneInfo) -> str:
    """Why he is asked, and which text from outside is about."""
    named = Counter(_source(source, zone) for source in why["outside"])
    about = [f"{line}, {count} times" if count > 1 else line for line, count in named.items()]
    if why["more"]:
        about.append(f"- and {why['more']} more before")
    match Rule(why["rule"]):
        case Rule.FRESH:
            said = "You are asked because text from outside came in that you had not seen when you last wrote:"
        case Rule.PRIVATE:
            found = _cut(drawn(why["found"]).replace("\n", " "), _FOUND_CHARACTERS)
            said = f"You are asked because it carries “{found}”, and text from outside is about:"
        case Rule.STRICT:
            said = "You are asked because text from outside is about, and you want to be asked whenever it is:"
        case Rule.CHOICE:
            said = "Text from outside is about:" if about else ""
    return "\n".join([said, *about])


def _source(source: dict[str, Any], zone: ZoneInfo) -> str:
    origin = f", from “{drawn(source['origin'])}”" if source["origin"] else ""
    at = datetime.fromisoformat(source["at"]).astimezone(zone)
    return f"- {drawn(told(source['what']))}{origin}, {at:%A %Y-%m-%d %H:%M}"


def _behind(text: str) -> str:
    return "\n".join(f"│ {line}" for line in text.split("\n"))


def _cut(text: str, characters: int) -> str:
    return text if len(text) <= characters else f"{text[:characters]} … ({len(text) - characters} more characters)"
