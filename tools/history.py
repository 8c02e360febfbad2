"""The history tool: finds what was said before, also before a new context was begun.

One rule: what entered from outside comes back as outside text.
"""

from typing import Annotated, Any

from msgspec import Meta

from storage.search import Found, SearchEntries, query_of
from storage.text import loads

from .contract import Arguments, Result, Tool, ToolContext, ToolFailed
from .outside import Outside, Source, outside

SEARCH_HISTORY = "search_history"
"""The tool's name."""

_EXCERPT_CHARACTERS = 600


class SearchHistoryArguments(Arguments, frozen=True):
    """Arguments of `search_history`."""

    query: Annotated[str, Meta(description="Words, or beginnings of words, that one message or reply must all hold.")]


async def _search(context: ToolContext, arguments: SearchHistoryArguments) -> Result:
    query = query_of(arguments.query)
    if query is None:
        raise ToolFailed("There is no word in the query.")
    found = await context.ask(SearchEntries(query=query, limit=context.limits.search_results, home=context.agent))
    found = found[: context.limits.search_results]
    if not found:
        return Result(parts=(f"Nothing that was said holds all of: {arguments.query}",))
    return Result(parts=tuple(_shown(context, hit) for hit in found), label=max(hit.label for hit in found))


def _shown(context: ToolContext, hit: Found) -> str | Outside:
    who = {"owner": "the owner", "model": "you", "house": "dreamwalker"}.get(hit.source, "from outside")
    said = " ".join(_texts(loads(hit.shown)))
    if len(said) > _EXCERPT_CHARACTERS:
        said = f"{said[:_EXCERPT_CHARACTERS]} …"
    text = f"{hit.at.astimezone(context.zone):%Y-%m-%d %H:%M}, {who}: {said}"
    if hit.label == 0:
        return text
    return outside(text, Source.HISTORY, redactor=context.redactor, limit_characters=context.limits.result_characters)


def _texts(blocks: list[dict[str, Any]]) -> list[str]:
    return [block["text"] for block in blocks if block["type"] == "text"]


HISTORY_TOOLS = (
    Tool(
        name=SEARCH_HISTORY,
        description=(
            "Find earlier messages and replies of this home conversation that hold all the given words, the newest "
            "first, also those from before a new context was begun."
        ),
        arguments=SearchHistoryArguments,
        run=_search,
        exit=False,
        repeatable=True,
        in_database=True,
    ),
)
