"""What may be typed into a chat instead of a message.

One rule: it begins with a slash and one word; everything else, such as a path, is a message.
"""

import re

from . import agents
from .client import Api, quoted
from .notes import listed, search
from .questions import all_open, answered
from .spend import totals
from .telling import new_request_id
from .terminal import number_in

_SLASH = re.compile(r"/([a-z]+)(?:\s+(.*))?", re.DOTALL)

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


def parse(text: str) -> tuple[str, str] | None:
    """The word after the slash and what follows it; None for a message."""
    found = _SLASH.fullmatch(text.strip())
    return None if found is None else (found[1], (found[2] or "").strip())


def carry_out(api: Api, agent: str, word: str, rest: str) -> str:
    """Do what needs nothing but the server, and return what is to be shown. Raises Problem."""
    match word:
        case "help":
            return HELP
        case "new":
            api.post(f"/agents/{quoted(agent)}/fresh", {"request_id": new_request_id()})
            return ""
        case "questions":
            return all_open(api, None)  # another agent may ask while it answers this one
        case "yes" | "no" if (number := number_in(rest)) is not None:
            return answered(api, number, word)
        case "answer" if (parts := rest.split(None, 1)) and (number := number_in(parts[0])) is not None:
            return answered(api, number, parts[1] if len(parts) > 1 else "")
        case "yes" | "no" | "answer":
            return f"/{word} needs the number of a question. /questions lists them."
        case "notes":
            return listed(search(api, agent, rest), rest)
        case "agents":
            return agents.slash(api, rest)
        case "spend":
            return totals(api.get("/spend"))
    return f"There is no /{word}. /help says what there is."
