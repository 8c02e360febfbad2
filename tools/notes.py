"""The note tools: write, read, search, list.

One rule: a note written while outside text was about comes back as outside text.
"""

from typing import Annotated

from msgspec import Meta

from storage import notes, search
from storage.answers import Target
from storage.records import Note
from storage.search import query_of

from .contract import Arguments, Result, Tool, ToolContext, ToolFailed
from .limits import Limits
from .outside import Outside, Source, outside

Title = Annotated[str, Meta(description="The note's title, short and telling. One note per title.")]


class WriteNote(Arguments, frozen=True):
    """Arguments of `write_note`."""

    title: Title
    text: Annotated[str, Meta(description="The whole text of the note; it takes the place of what stood there.")]


class ReadNote(Arguments, frozen=True):
    """Arguments of `read_note`."""

    title: Title


class SearchNotes(Arguments, frozen=True):
    """Arguments of `search_notes`."""

    query: Annotated[str, Meta(description="Words, or beginnings of words, that title and text must all hold.")]


class ListNotes(Arguments, frozen=True):
    """Arguments of `list_notes`: none."""


def _title(arguments: WriteNote) -> str:
    return " ".join(arguments.title.split())


def _check(arguments: WriteNote, limits: Limits) -> None:
    title = _title(arguments)
    if not title or len(title) > limits.note_title_characters:
        raise ToolFailed(f"A title has 1 to {limits.note_title_characters} characters; this one has {len(title)}.")
    if not arguments.text.strip() or len(arguments.text) > limits.note_characters:
        raise ToolFailed(
            f"A note has 1 to {limits.note_characters} characters; this one has {len(arguments.text)}. "
            "Nothing was written."
        )


def _target(agent: str, arguments: WriteNote) -> Target:
    title = _title(arguments)
    return Target(thing=f"note:{agent}:{title.lower()}", version=notes.VersionNow(agent, title))


async def _write(context: ToolContext, arguments: WriteNote) -> Result:
    title = _title(arguments)
    writes = notes.write(
        id=context.next_id(),
        agent=context.agent,
        title=title,
        text=context.redactor.text(arguments.text),
        label=context.label,
        made_by=context.call.key,
        run=context.call.run,
        now=context.now,
    )
    return Result(parts=(f"Written: the note “{title}”.",), writes=writes)


async def _read(context: ToolContext, arguments: ReadNote) -> Result:
    note = await context.ask(notes.ReadNote(context.agent, " ".join(arguments.title.split())))
    if note is None:
        raise ToolFailed(f"There is no note “{arguments.title}”. search_notes or list_notes may find it.")
    return Result(parts=(_shown(context, note),), label=note.label)


async def _search(context: ToolContext, arguments: SearchNotes) -> Result:
    query = query_of(arguments.query)
    if query is None:
        raise ToolFailed("There is no word in the query.")
    found = await context.ask(search.SearchNotes(query=query, limit=context.limits.search_results, agent=context.agent))
    if not found:
        return Result(parts=(f"No note holds all of: {arguments.query}",))
    return _several(context, found)


async def _list(context: ToolContext, arguments: ListNotes) -> Result:
    limit = context.limits.page_entries
    found = await context.ask(notes.ListNotes(context.agent, limit + 1))
    if not found:
        return Result(parts=("There are no notes yet.",))
    more = "\n… and more: search_notes finds them" if len(found) > limit else ""
    found = found[:limit]
    plain = [note for note in found if note.label == 0]
    tainted = [note for note in found if note.label > 0]
    parts: list[str | Outside] = []
    if plain:
        parts.append("\n".join(f"- {note.title} ({_day(context, note)})" for note in plain) + more)
    if tainted:
        titles = "\n".join(f"- {note.title} ({_day(context, note)})" for note in tainted)
        parts.append(_outside(context, titles))
    return Result(parts=tuple(parts), label=max(note.label for note in found))


def _several(context: ToolContext, found: tuple[Note, ...]) -> Result:
    return Result(parts=tuple(_shown(context, note) for note in found), label=max(note.label for note in found))


def _shown(context: ToolContext, note: Note) -> str | Outside:
    text = f"“{note.title}”, version {note.version}, {_day(context, note)}:\n{note.text}"
    return text if note.label == 0 else _outside(context, text)


def _outside(context: ToolContext, text: str) -> Outside:
    return outside(text, Source.NOTE, redactor=context.redactor, limit_characters=context.limits.result_characters)


def _day(context: ToolContext, note: Note) -> str:
    return f"{note.at.astimezone(context.zone):%Y-%m-%d}"


NOTE_TOOLS = (
    Tool(
        name="write_note",
        description=(
            "Remember something for good: write a note, or write one anew under the title it has. Earlier versions "
            "are kept. Use it whenever the owner tells something worth knowing later."
        ),
        arguments=WriteNote,
        run=_write,
        check=_check,
        target=_target,
        exit=True,
        private=False,
        outside=False,
        repeatable=True,
        in_database=True,
    ),
    Tool(
        name="read_note",
        description="Read one note by its title.",
        arguments=ReadNote,
        run=_read,
        exit=False,
        repeatable=True,
        in_database=True,
    ),
    Tool(
        name="search_notes",
        description="Find the notes that hold all the given words. Look here before you say you don't know.",
        arguments=SearchNotes,
        run=_search,
        exit=False,
        repeatable=True,
        in_database=True,
    ),
    Tool(
        name="list_notes",
        description="List the titles of all notes, the newest first.",
        arguments=ListNotes,
        run=_list,
        exit=False,
        repeatable=True,
        in_database=True,
    ),
)
