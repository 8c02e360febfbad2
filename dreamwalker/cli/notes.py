"""`notes`: what an agent keeps for its owner.

One rule: a note is shown whole.
"""

import click

from .client import Api, quoted
from .command import Chosen
from .options import DefaultGroup, agent_option, json_option
from .problems import NotFound
from .reach import find
from .terminal import Json, one_line, say, show_json, table, when


@click.group(
    cls=DefaultGroup,
    default="list",
    epilog="""\b
Examples:
  dreamwalker notes                       all of them, the newest first
  dreamwalker notes shopping milk         those that hold both words
  dreamwalker notes show "Shopping list"  one, whole
  dreamwalker notes show "Shopping list" --versions""",
)
def notes() -> None:
    """What is remembered for you."""


@notes.command("list")
@click.argument("query", nargs=-1)
@agent_option
@json_option
@click.pass_obj
def list_notes(chosen: Chosen, query: tuple[str, ...], agent: str, as_json: bool) -> None:
    """List notes; with words, those that hold them all."""
    found = search(find(chosen), agent, " ".join(query))
    if as_json:
        show_json({"notes": found})
    else:
        say(listed(found, " ".join(query)))


@notes.command()
@click.argument("title", nargs=-1, required=True)
@click.option("--versions", is_flag=True, help="Everything it ever said, the newest first.")
@agent_option
@json_option
@click.pass_obj
def show(chosen: Chosen, title: tuple[str, ...], versions: bool, agent: str, as_json: bool) -> None:
    """Show one note, whole."""
    api, wanted = find(chosen), " ".join(title)
    note = next((each for each in search(api, agent, wanted) if each["title"].casefold() == wanted.casefold()), None)
    if note is None:
        raise NotFound(f"There is no note “{wanted}”. `dreamwalker notes` lists them.")
    if versions:
        answer = api.get(f"/notes/{note['id']}/versions")
        if as_json:
            show_json(answer)
        for version in [] if as_json else answer["versions"]:
            say(f"— version {version['version']}, {when(version['at'])}\n{version['text']}\n")
    elif as_json:
        show_json(note)
    else:
        say(note["text"])


def search(api: Api, agent: str, query: str = "") -> list[Json]:
    """The notes that hold all words of the query; all, if it is empty."""
    found: list[Json] = api.get(f"/agents/{quoted(agent)}/notes", query=query or None)["notes"]
    return found


def listed(found: list[Json], query: str) -> str:
    """Notes as a list."""
    if not found:
        return f"No note holds all of: {query}" if query else "There are no notes yet."
    return table((when(note["at"]), one_line(note["title"], 60), one_line(note["text"], 80)) for note in found)
