"""The prompt cache of the scripted Messages API: what it reads, writes and forgets."""

from typing import Any

import pytest

from tests.messages_api.cache import Clock, Counted, PromptCache

MARKER = {"type": "ephemeral"}


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def cache(clock: Clock) -> PromptCache:
    return PromptCache(clock, min_tokens=100)


def text(text: str, *, marked: bool = False) -> dict[str, Any]:
    return {"type": "text", "text": text} | ({"cache_control": MARKER} if marked else {})


def prompt(*blocks: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"model": "m", "messages": [{"role": "user", "content": list(blocks)}]} | more


LONG, MORE = "a" * 2000, "b" * 2000


def test_what_was_written_is_read_within_five_minutes(cache: PromptCache, clock: Clock) -> None:
    first = cache.count(prompt(text(LONG, marked=True)))
    clock.advance(299)
    second = cache.count(prompt(text(LONG, marked=True), text(MORE, marked=True)))
    assert first.read == 0 and first.fresh == 0 and first.written > 500
    assert second.read == first.written
    assert second.written > 500 and second.fresh == 0


def test_being_read_renews_an_entry_and_five_minutes_end_it(cache: PromptCache, clock: Clock) -> None:
    cache.count(prompt(text(LONG, marked=True)))
    for _ in range(3):
        clock.advance(299)
        assert cache.count(prompt(text(LONG, marked=True))).read > 0
    clock.advance(300)
    assert cache.count(prompt(text(LONG, marked=True))).read == 0


@pytest.mark.parametrize(
    "changed",
    [
        prompt(text(LONG + ".", marked=True)),
        prompt(text("." + LONG, marked=True)),
        prompt({"text": LONG, "type": "text", "cache_control": MARKER}),
        prompt(text(LONG, marked=True), system="New"),
        prompt(text(LONG, marked=True), tools=[{"name": "t"}]),
        prompt(text(LONG, marked=True), model="n"),
        prompt(text(LONG, marked=True), thinking={"type": "disabled"}),
    ],
)
def test_one_changed_byte_before_the_marker_and_nothing_is_read(cache: PromptCache, changed: dict[str, Any]) -> None:
    cache.count(prompt(text(LONG, marked=True)))
    assert cache.count(changed).read == 0


def test_markers_themselves_change_nothing(cache: PromptCache) -> None:
    cache.count(prompt(text(LONG, marked=True)))
    assert cache.count(prompt(text(LONG), text("c", marked=True))).read > 0


def test_without_a_marker_nothing_is_cached(cache: PromptCache) -> None:
    cache.count(prompt(text(LONG, marked=True)))
    counted = cache.count(prompt(text(LONG)))
    assert (counted.read, counted.written) == (0, 0)


def test_a_prefix_below_the_minimum_is_not_cached(cache: PromptCache) -> None:
    short = prompt(text("short", marked=True))
    assert cache.count(short) == cache.count(short) == Counted(read=0, written=0, fresh=cache.count(short).fresh)


@pytest.mark.parametrize(("between", "found"), [(19, True), (20, True), (21, False)])
def test_a_marker_finds_entries_up_to_twenty_blocks_back(cache: PromptCache, between: int, found: bool) -> None:
    cache.count(prompt(text(LONG, marked=True)))
    blocks = [text(str(i)) for i in range(between - 1)]
    assert (cache.count(prompt(text(LONG), *blocks, text("end", marked=True))).read > 0) is found


def test_two_user_messages_in_a_row_read_as_one(cache: PromptCache) -> None:
    one = {"role": "user", "content": [text(LONG), text(MORE, marked=True)]}
    two = [{"role": "user", "content": LONG}, {"role": "user", "content": [text(MORE, marked=True)]}]
    cache.count({"model": "m", "messages": [one]})
    assert cache.count({"model": "m", "messages": two}).read > 0


def test_a_new_question_reads_the_system_prompt_it_shares(cache: PromptCache) -> None:
    system = [text(LONG, marked=True)]
    first = cache.count(prompt(text("one", marked=True), system=system))
    second = cache.count(prompt(text("two", marked=True), system=system))
    assert first.read == 0
    assert 500 < second.read < first.written
