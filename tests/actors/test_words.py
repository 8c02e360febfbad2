"""The words of what was said are entered into the index by and by, and nothing is left out."""

import attrs
import trio

from storage.operation import Read, Reader
from storage.search import SearchEntries, query_of
from storage.words import Behind, EnterWords
from tests.actors.house import Inside, inside
from tests.messages_api import say
from tools.limits import Limits


@attrs.frozen
class Entered(Read[list[tuple[int, int]]]):
    """What is entered: number of the entry's commit, and of the one that entered it."""

    async def read(self, reader: Reader) -> list[tuple[int, int]]:
        rows = await reader.all("SELECT entry_no, no FROM entry_words ORDER BY entry_no, seq")
        return [(row["entry_no"], row["no"]) for row in rows]


async def talk(it: Inside, first: int, last: int) -> None:
    for number in range(first, last + 1):
        await it.say(f"Message number {number}.")
        await it.settled(number)


async def hits(it: Inside, text: str) -> int:
    query = query_of(text)
    assert query is not None
    return len(await it.ask(SearchEntries(query=query, limit=100)))


async def test_they_are_entered_when_enough_has_come_and_found_before_and_after(database_url: str) -> None:
    async with inside(database_url, limits=Limits(words_behind_entries=6)) as it:
        it.api.answer_with(lambda _: say("Fine."))
        await talk(it, 1, 2)
        assert await it.ask(Entered()) == []
        assert await hits(it, "message number") == 2
        await talk(it, 3, 8)
        with trio.fail_after(10):
            while not (entered := await it.ask(Entered())):
                pass  # it is asked behind whatever the keeper asks
        assert len(entered) >= 6 and all(no > entry for entry, no in entered)
        assert len(await it.ask(Entered())) + await it.ask(Behind()) == 16
        assert await hits(it, "message number") == 8


async def test_entries_of_one_commit_are_entered_together(database_url: str) -> None:
    async with inside(database_url) as it:
        it.api.answer_with(lambda _: say("Fine."))
        await it.say("Look at this.", quotes=[{"text": text, "from": ""} for text in ("a", "b", "c")])
        await it.settled(1)
        enter = it.house.store.ask
        assert [await enter(EnterWords(1)) for _ in "abc"] == [4, 1, 0]
