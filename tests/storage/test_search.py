"""Searching: every word, by its beginning, in any case and script, the newest first, in whatever there is."""

import asyncio
from typing import Any

import asyncpg
import pytest

from storage.search import NEWEST, Query, SearchEntries, SearchNotes, query_of
from storage.text import dumps
from storage.words import ENTER_ALL

TIME = "[2026-11-29 Sunday 13:00 Europe/Vienna]"


class Raw:
    """A Reader over a driver's connection."""

    def __init__(self, connection: Any) -> None:
        self.connection = connection

    async def all(self, sql: str, *params: Any) -> list[dict[str, Any]]:
        from storage.sql import translate

        return [dict(row) for row in await self.connection.fetch(translate(sql).text, *params)]

    async def get(self, sql: str, *params: Any) -> dict[str, Any] | None:
        rows = await self.all(sql, *params)
        return rows[0] if rows else None


_CONVERSATION = """
INSERT INTO agents (name, job, instructions, made_at, no)
VALUES ('dreamwalker', '', '', now(), 1), ('gardener', '', '', now(), 1);
INSERT INTO conversations (id, agent, kind, made_by, made_at, no) VALUES
    (1, 'dreamwalker', 'home', 'home:dreamwalker', now(), 1), (2, 'gardener', 'home', 'home:gardener', now(), 1),
    (3, 'dreamwalker', 'worker', 'call:1.1.0', now(), 1);
"""
_ENTRY = """
INSERT INTO entries (conversation, seq, kind, source, shown, label, at, no)
VALUES ($1, $2, $3, $4, $5, 0, now(), $2)
"""


def found(
    url: str, said: list[tuple[int, str]], query: str, more: int = 0, *, entered: bool = True, **fields: Any
) -> list[str]:
    """What a query finds among texts, each of a conversation; `more` others that hold nothing of it come after.

    `entered`: their words are in the index.
    """

    async def work() -> list[str]:
        raw = await asyncpg.connect(url)
        await raw.execute(_CONVERSATION)
        texts = said + [(1, f"nothing {number}") for number in range(more)]
        rows = [
            (
                conversation,
                seq,
                "message",
                "owner",
                dumps([{"type": "text", "text": TIME}, {"type": "text", "text": text}]),
            )
            for seq, (conversation, text) in enumerate(texts, 1)
        ]
        await raw.executemany(_ENTRY, rows)
        if entered:
            await raw.execute(ENTER_ALL)
        asked = query_of(query)
        assert asked is not None
        hits = await SearchEntries(query=asked, limit=fields.pop("limit", 20), **fields).read(Raw(raw))
        await raw.close()
        return [texts[hit.seq - 1][1] for hit in hits]

    return asyncio.run(work())


@pytest.mark.parametrize(
    ("said", "query"),
    [
        ("Anna likes tulips", "tulip ANNA"),
        ("Müller wohnt in Österreich", "österr müll"),
        ("Привет, как дела?", "прив дела"),
        ("Γειά σου Κόσμε", "κόσμε"),
        ("私は東京に住んでいます", "東京"),
        ("今天我想吃苹果", "苹"),
        ("ฉันรักภาษาไทย", "ภาษา"),
        ("서울에서 만나요", "서울"),
        ("مرحبا بالعالم", "مرحبا"),
        ("Mail anna@example.org about it", "anna@example.org"),
        ("See https://example.org/a/b?c=d", "example.org/a"),
        ("The code is A-4711/x", "4711"),
        ("path/to/file_name.txt", "file_name"),
        ('He said "hi" \\ twice', '"hi"'),
        ("TV or not", "tv"),
        ("party 🎉 today", "🎉"),
        ("naïve café", "café"),
        ("'; DROP TABLE entries; --", "drop table"),
        ("a & b | !c <-> d:*", "a b c d"),
    ],
)
def test_what_holds_every_word_is_found_among_the_newest_and_by_the_index(
    database_url: str, said: str, query: str
) -> None:
    assert found(database_url, [(1, said), (1, "else")], query, limit=1) == [said]
    asyncio.run(_forget(database_url))
    assert found(database_url, [(1, said), (1, "else")], query, more=NEWEST + 5) == [said]


async def _forget(url: str) -> None:
    raw = await asyncpg.connect(url)
    await raw.execute("TRUNCATE agents, conversations, entries, entry_words, notes, things")
    await raw.close()


def test_what_is_not_in_the_index_yet_is_found_however_much_that_is(database_url: str) -> None:
    said = [(1, "Anna likes tulips"), (1, "else")]
    assert found(database_url, said, "tulips", more=NEWEST + 5, entered=False) == ["Anna likes tulips"]


@pytest.mark.parametrize(
    ("said", "query"),
    [
        ("Anna likes tulips", "tulips Bert"), ("Sunday", "monday"), ("京都と東", "東京"), ("hello", "text"),
        ("hello", "type"),
     ("hello", "Vienna"), ("hello", "2026")],
)  # fmt: skip
def test_what_lacks_a_word_is_not_found_nor_what_only_the_house_says(database_url: str, said: str, query: str) -> None:
    assert found(database_url, [(1, said)], query) == []


def test_the_newest_come_first_and_a_page_goes_on_where_one_ended(database_url: str) -> None:
    said = [(1, f"tulip {number}") for number in range(1, 8)]
    assert found(database_url, said, "tulip", limit=3) == ["tulip 7", "tulip 6", "tulip 5"]
    asyncio.run(_forget(database_url))
    assert found(database_url, said, "tulip", limit=3, before=5) == ["tulip 4", "tulip 3", "tulip 2"]


def test_a_home_is_searched_by_itself_and_all_there_is_together(database_url: str) -> None:
    said = [(1, "tulip home"), (2, "tulip gardener"), (3, "tulip worker")]
    assert found(database_url, said, "tulip", home="dreamwalker") == ["tulip home"]
    asyncio.run(_forget(database_url))
    assert len(found(database_url, said, "tulip")) == 3
    asyncio.run(_forget(database_url))
    assert found(database_url, said, "tulip", home="nobody") == []


def test_a_text_too_long_for_any_index_is_kept_and_found_by_its_beginning(database_url: str) -> None:
    long = " ".join(f"w{number}" for number in range(300_000))
    assert found(database_url, [(1, long)], "w77") == [long]


@pytest.mark.parametrize("query", ["", "  ", "?!", "— …"])
def test_a_query_without_a_word_is_none(query: str) -> None:
    assert query_of(query) is None


def test_a_query_is_bounded() -> None:
    asked = query_of("word " * 1_000)
    assert asked is not None and len(asked.patterns) == 12


def test_notes_are_found_by_title_and_text_together_as_they_stand_now(database_url: str) -> None:
    async def work() -> list[list[str]]:
        raw = await asyncpg.connect(database_url)
        await raw.execute(_CONVERSATION)
        await raw.execute(
            "INSERT INTO notes (id, agent, title, version, removed, no) VALUES"
            " (1, 'dreamwalker', 'Flowers', 2, FALSE, 2), (2, 'gardener', 'Flowers too', 1, FALSE, 3),"
            " (3, 'dreamwalker', 'Old flowers', 1, TRUE, 4)"
        )
        await raw.execute(
            "INSERT INTO note_versions (note, version, made_by, text, label, at, no) VALUES"
            " (1, 1, 'a', 'roses', 0, now(), 1), (1, 2, 'b', 'tulips 東京', 0, now(), 2),"
            " (2, 1, 'c', 'tulips', 0, now(), 3), (3, 1, 'd', 'tulips', 0, now(), 4)"
        )

        async def titles(text: str, agent: str | None = None) -> list[str]:
            asked = query_of(text)
            assert isinstance(asked, Query)
            return [note.title for note in await SearchNotes(query=asked, limit=9, agent=agent).read(Raw(raw))]

        asked = ["flow tulip", "東京", "roses", "tulips"]
        answers = [await titles(text, "dreamwalker") for text in asked] + [sorted(await titles("tulips"))]
        await raw.close()
        return answers

    assert asyncio.run(work()) == [["Flowers"], ["Flowers"], [], ["Flowers"], ["Flowers", "Flowers too"]]


def test_a_run_of_a_script_without_spaces_is_found_however_often_its_characters_stand_and_however_late(
    database_url: str,
) -> None:
    often = "我的狗" + "的话说得好。" * 300 + "那是我的蓝色小猫咪"
    late = "好。" * 9_000 + "唯一独特词"
    asyncio.run(_forget(database_url))
    for entered in (False, True):
        assert found(database_url, [(1, often), (1, "蓝的色")], "我的蓝色", entered=entered) == [often]
        asyncio.run(_forget(database_url))
        assert found(database_url, [(1, late), (1, "独")], "唯一独特词", entered=entered, more=NEWEST) == [late]
        asyncio.run(_forget(database_url))


def test_all_hits_of_one_commit_come_on_one_page(database_url: str) -> None:
    async def work() -> list[int]:
        raw = await asyncpg.connect(database_url)
        await raw.execute(_CONVERSATION)
        shown = dumps([{"type": "text", "text": "a pelican"}])
        await raw.executemany(
            "INSERT INTO entries (conversation, seq, kind, source, shown, label, at, no)"
            " VALUES (1, $1, 'message', 'owner', $2, 0, now(), $3)",
            [(seq, shown, 100 if 10 < seq < 90 else seq) for seq in range(1, 100)],
        )
        query, before, pages = query_of("pelican"), 2**62, []
        assert query is not None
        while hits := await SearchEntries(query=query, limit=20, before=before).read(Raw(raw)):
            before = hits[-1].no
            pages.append(len(hits))
        await raw.close()
        return pages

    assert asyncio.run(work()) == [79, 20]
