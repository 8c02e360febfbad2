"""`search`: what was said or noted, however long ago.

One rule: a hit is shown by the words around what was looked for.
"""

import click

from .client import quoted
from .command import Chosen
from .options import Whole, json_option
from .problems import NotFound
from .reach import find
from .terminal import Json, one_line, say, show_json, table

_BEFORE_CHARACTERS, _CHARACTERS = 30, 90


@click.command(
    epilog="""\b
Examples:
  dreamwalker search tulips anna          what holds both, each by its beginning, the newest first
  dreamwalker search tulips --json | jq '.entries[].text'"""
)
@click.argument("words", nargs=-1, required=True)
@click.option("--agent", metavar="NAME", help="Only what this agent and you said, and its notes.")
@click.option("--limit", type=Whole(1, 1_000), help="How many at most.")
@json_option
@click.pass_obj
def search(chosen: Chosen, words: tuple[str, ...], agent: str | None, limit: int | None, as_json: bool) -> None:
    """Find what was said in any conversation, and notes, that hold all WORDS."""
    api = find(chosen)
    found = api.get("/search", query=" ".join(words), agent=agent, limit=limit)
    if as_json:
        show_json(found)
    if not found["entries"] and not found["notes"]:
        if agent is not None:
            api.get(f"/agents/{quoted(agent)}")  # or there is no such agent
        raise NotFound(f"Nothing that was said or noted holds all of: {' '.join(words)}")
    if as_json:
        return
    when = api.times.when
    rows = [
        (when(hit["note"]["at"]), "note", f"{hit['note']['title']}: {hit['note']['text']}") for hit in found["notes"]
    ]
    rows += [(when(hit["at"]), _who(hit), hit["text"]) for hit in found["entries"]]
    say(table((at, who, _around(text, words)) for at, who, text in rows))


def _who(hit: Json) -> str:
    who = {"owner": "you", "model": hit["agent"], "house": "the house"}.get(hit["source"], "from outside")
    return who if hit["kind"] == "home" else f"{who} ({hit['kind']})"


def _around(text: str, words: tuple[str, ...]) -> str:
    """The part of a text where the first of the words stands."""
    line = " ".join(text.split())
    at = min((place for word in words if (place := line.casefold().find(word.casefold())) >= 0), default=0)
    start = max(at - _BEFORE_CHARACTERS, 0)
    return ("…" if start else "") + one_line(line[start:], _CHARACTERS)
