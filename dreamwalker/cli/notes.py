"""`notes`: what an agent keeps for its owner.

One rule: a note is shown whole.
"""

import shlex

import click

from .client import Api, quoted
from .command import Chosen
from .options import MAIN_AGENT, DefaultGroup, agent_option, json_option
from .problems import NotFound
from .reach import find
from .terminal import Json, one_line, remark, say, show_json, table
from .times import Times

_NAMED = 5
"""How many notes are named of which one may be meant."""


@click.group(
    cls=DefaultGroup,
    default="list",
    words=True,
    epilog="""\b
Examples:
  dreamwalker notes                       all of them, the newest first
  dreamwalker notes shopping milk         those that hold both words
  dreamwalker notes show "Shopping list"  one, whole
  dreamwalker notes show "Shopping list" --versions
  dreamwalker notes --agent gardener      what another agent keeps
  dreamwalker notes rm "Shopping list"    remove it; every version is kept
  dreamwalker notes restore "Shopping list"
  dreamwalker notes --removed             what was removed

Exits with 4 when no note holds the words.""",
)
def notes() -> None:
    """What is remembered for you."""


@notes.command("list")
@click.argument("query", nargs=-1)
@click.option("--removed", is_flag=True, help="Those that were removed instead.")
@agent_option
@json_option
@click.pass_obj
def list_notes(chosen: Chosen, query: tuple[str, ...], removed: bool, agent: str, as_json: bool) -> None:
    """List notes; with words, those that hold them all."""
    if removed and query:
        raise click.UsageError("Removed notes are listed, not searched: leave the words or --removed out.")
    api, words = find(chosen), " ".join(query)
    found = search(api, agent, words, removed=removed)
    if as_json:
        show_json({"notes": found})
    elif removed and not found:
        say("No note was removed.")
    elif found or not words:
        say(listed(found, words, api.times))
    if not as_json and not removed and (others := elsewhere(api, agent, words)):
        remark(others)
    if words and not found:
        raise NotFound(listed(found, words, api.times))


@notes.command()
@click.argument("title", nargs=-1, required=True)
@click.option("--versions", is_flag=True, help="Everything it ever said, the newest first.")
@agent_option
@json_option
@click.pass_obj
def show(chosen: Chosen, title: tuple[str, ...], versions: bool, agent: str, as_json: bool) -> None:
    """Show one note, whole."""
    api = find(chosen)
    note = titled(search(api, agent, " ".join(title)), title)
    if versions:
        answer = api.get(f"/notes/{note['id']}/versions")
        if as_json:
            show_json(answer)
        for version in [] if as_json else answer["versions"]:
            say(f"— version {version['version']}, {api.times.when(version['at'])}\n{version['text']}\n")
    elif as_json:
        show_json(note)
    else:
        say(note["text"])


@notes.command()
@click.argument("title", nargs=-1, required=True)
@agent_option
@json_option
@click.pass_obj
def rm(chosen: Chosen, title: tuple[str, ...], agent: str, as_json: bool) -> None:
    """Remove a note: no agent finds it any more. What it ever said is kept."""
    api = find(chosen)
    note = titled(search(api, agent, " ".join(title)), title)
    answer = api.delete(f"/notes/{note['id']}")
    if as_json:
        show_json(answer)
    else:
        whose = "" if agent == MAIN_AGENT else f" --agent {shlex.quote(agent)}"
        back = f"dreamwalker notes restore {shlex.quote(answer['title'])}{whose}"
        say(f"Removed: “{answer['title']}”. `{back}` brings it back.")


@notes.command()
@click.argument("title", nargs=-1, required=True)
@agent_option
@json_option
@click.pass_obj
def restore(chosen: Chosen, title: tuple[str, ...], agent: str, as_json: bool) -> None:
    """Bring back a note that was removed, with all its versions."""
    api = find(chosen)
    note = titled(search(api, agent, removed=True), title, "removed note")
    answer = api.post(f"/notes/{note['id']}/restore")
    if as_json:
        show_json(answer)
    else:
        say(f"It is back: “{answer['title']}”.")


def titled(found: list[Json], title: tuple[str, ...], what: str = "note") -> Json:
    """The one of this title, in whatever case; else the only one whose title, or at least text, holds these words.

    Raises NotFound, which names those that hold them.
    """
    wanted = " ".join(title)
    words = wanted.casefold().split()
    exact = [each for each in found if each["title"].casefold() == wanted.casefold()]
    named = [each for each in found if all(word in each["title"].casefold() for word in words)]
    there = found if what == "note" else [each for each in found if all(word in _whole(each) for word in words)]
    for matching in (exact, named, there):
        if len(matching) == 1 or exact:
            return matching[0]
    listing = "dreamwalker notes --removed" if what != "note" else "dreamwalker notes"
    if several := named or there:
        titles = ", ".join(shlex.quote(each["title"]) for each in several[:_NAMED])
        more = f" and {len(several) - _NAMED} more" if len(several) > _NAMED else ""
        raise NotFound(f"There is no {what} “{wanted}”; {len(several)} hold that: {titles}{more}. Say which.")
    raise NotFound(f"There is no {what} “{wanted}”. `{listing}` lists them.")


def _whole(note: Json) -> str:
    return f"{note['title']} {note['text']}".casefold()


def search(api: Api, agent: str, query: str = "", *, removed: bool = False) -> list[Json]:
    """The notes that hold all words of the query; all, if it is empty; or those that were removed."""
    asked = {"removed": "true"} if removed else {"query": query or None}
    found: list[Json] = api.get(f"/agents/{quoted(agent)}/notes", **asked)["notes"]
    return found


def elsewhere(api: Api, agent: str, query: str) -> str:
    """Which other agents keep notes that hold the words; "" if none does."""
    others = [each["name"] for each in api.get("/agents")["agents"] if each["name"] != agent]
    there = [name for name in others if search(api, name, query)]
    if not there:
        return ""
    what = "notes that hold this" if query else "notes of their own" if there[1:] else "notes of its own"
    keep = f"{' and '.join(there)} keep{'' if there[1:] else 's'}"
    return f"{keep} {what}: dreamwalker notes{f' {query}' if query else ''} --agent {there[0]}"


def listed(found: list[Json], query: str, times: Times) -> str:
    """Notes as a list."""
    if not found:
        return f"No note holds all of: {query}" if query else "There are no notes yet."
    return table((times.when(note["at"]), one_line(note["title"], 60), one_line(note["text"], 80)) for note in found)
