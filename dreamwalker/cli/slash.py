"""What may be typed into a chat instead of a message.

One rule: a slash and a word that stands in the help are a command. What only looks like one, such as "yes 12", is
neither done nor sent before it was asked back about: a message answers no question, and a slip should not become one.
"""

import difflib
import re
from collections.abc import Sequence

import attrs

from . import agents
from .client import Api, quoted
from .command import NOUNS
from .notes import listed, search
from .problems import Misused
from .questions import all_open, answered
from .spend import totals
from .telling import new_request_id
from .terminal import number_in, one_line

_SLASH = re.compile(r"/([a-z]+)(?:\s+(.*))?", re.DOTALL | re.IGNORECASE)
_SLIP = re.compile(r"[\\/|]{1,2} ?(?P<word>[a-z]+) ?(?P<rest>[0-9]*(?:\s[^/]*)?)", re.IGNORECASE)
"""A slash and more that is no path: a slash too many, one that leans the other way, a space left out or added."""
_BARE = re.compile(
    r"(?P<word>yes|no) ?(?P<rest>#?[0-9]+)[.!]?|(?P<answer>answer) ?(?P<text>#?[0-9]+\s.+)|(?P<alone>[a-z]+)[.!]?",
    re.DOTALL | re.IGNORECASE,
)
"""A command without its slash."""
_WORDS = ("help", "new", "stop", "withdraw", "questions", "yes", "no", "answer", "notes", "agents", "spend", "quit")
_ALSO = {"exit": "quit", "bye": "quit", "q": "quit", "question": "questions", "note": "notes", "agent": "agents"}
_ALONE = frozenset({"stop", "withdraw", "questions", "quit", "exit"})
"""Words that alone, and without a slash, are rather a command than something to say."""
_DECISIONS = {"yes": "yes", "y": "yes", "no": "no", "n": "no"}
_ALIKE = 0.6

HELP = """\
  /new           begin afresh: later requests hold nothing from before
  /stop          stop what is under way
  /withdraw      take back the newest message that still waits
  /questions     what you are asked to decide
  /yes N         say yes to a question; /no N says no
  /answer N TEXT answer an agent's own question, in your words or by the number of an option
  /notes WORDS   the notes that hold these words, or all
  /agents        who there is; /agents add NAME JOB makes one, retire NAME and restore NAME let it go and take it back,
                 job NAME JOB and instructions NAME TEXT change it
  /spend         what it costs
  /quit          leave
What you type while an answer is written is sent at once and taken up as soon as possible.
Ctrl-C stops what is under way, and leaves when nothing is. Ctrl-D leaves after the answer. Alt-Enter begins a line."""


@attrs.frozen
class Typed:
    """A command: its word and what follows it."""

    word: str
    rest: str


@attrs.frozen
class Doubt:
    """What looks like a command and is none. `says` asks back; `slip`: it has a slash, so it is hardly a message."""

    says: str
    slip: bool


def read(text: str, asked: Sequence[int] = ()) -> Typed | Doubt | None:
    """What was typed; None for a message. `asked`: the numbers of the questions that are open."""
    text = text.strip()
    if (found := _SLASH.fullmatch(text)) is not None and (word := _known(found[1])) is not None:
        return Typed(word, (found[2] or "").strip())
    if (slip := _SLIP.fullmatch(text)) is not None:
        return _slip(slip["word"], slip["rest"].strip())
    if (bare := _BARE.fullmatch(text)) is None:
        return None
    if (alone := bare["alone"]) is not None:
        return _alone(alone.lower(), asked)
    word, rest = bare["word"] or bare["answer"], bare["rest"] or bare["text"]
    return Doubt(f"Did you mean /{word.lower()} {_brief(rest.lstrip('#'))}?", slip=False)


def _known(word: str) -> str | None:
    word = _ALSO.get(word.lower(), word.lower())
    return word if word in _WORDS else None


def _slip(word: str, rest: str) -> Doubt:
    meant = _known(word) or next(iter(difflib.get_close_matches(word.lower(), _WORDS, 1, _ALIKE)), None)
    if word.lower() in NOUNS and _known(word) is None:
        return Doubt(f"There is no /{word} here; in a shell there is `dreamwalker {word.lower()}`.", slip=True)
    if meant is None:
        return Doubt(f"There is no /{word}. /help says what there is.", slip=True)
    return Doubt(f"Did you mean {f'/{meant} {_brief(rest)}'.rstrip()}?", slip=True)


def _alone(word: str, asked: Sequence[int]) -> Doubt | None:
    if word in _DECISIONS and len(asked) == 1:
        return Doubt(f"Did you mean /{_DECISIONS[word]} {asked[0]}? A question is answered by its number alone.", False)
    if word in _DECISIONS and asked:
        numbers = " and ".join(map(str, asked))
        return Doubt(f"Did you mean /{_DECISIONS[word]} with a number? Questions {numbers} are open.", slip=False)
    return Doubt(f"Did you mean /{_known(word)}?", slip=False) if word in _ALONE else None


def _brief(text: str) -> str:
    return one_line(text, 40)


def carry_out(api: Api, agent: str, word: str, rest: str) -> str:
    """Do what needs nothing but the server, and return what is to be shown. Raises Problem."""
    match word:
        case "help":
            return HELP
        case "new":
            api.post(f"/agents/{quoted(agent)}/fresh", {"request_id": new_request_id()})
            return ""
        case "questions":
            return all_open(api, None, "/")  # another agent may ask while it answers this one
        case "yes" | "no" if (number := number_in(rest)) is not None:
            return answered(api, number, word)
        case "answer" if (parts := rest.split(None, 1)) and (number := number_in(parts[0])) is not None:
            return answered(api, number, parts[1] if len(parts) > 1 else "")
        case "yes" | "no" | "answer":
            raise Misused(f"/{word} needs the number of a question. /questions lists them.")
        case "notes":
            return listed(search(api, agent, rest), rest, api.times)
        case "agents":
            return agents.slash(api, rest)
        case "spend":
            return totals(api.get("/spend"), api)
    raise Misused(f"/{word} can be used on a terminal alone.")
