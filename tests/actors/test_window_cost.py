"""What a long conversation costs: each turn reads all of the last one from the cache, summaries included."""

import attrs
import pytest

from actors.window import SUM_UP
from tests.actors.house import Inside, inside
from tests.messages_api import say
from tests.messages_api.cache import prompt_blocks, tokens
from tests.messages_api.replies import Json, Reply
from tools.limits import Limits

pytestmark = pytest.mark.slow

TURNS = 200
WORDS = "tulip rose lily daisy aster iris poppy violet " * 20
"""With the answer as long, about 500 tokens a turn by the provider's count."""
READ, WRITE = 0.1, 1.25
"""What a token read from the cache, or written to it, costs, in those of a fresh one."""


def billed(it: Inside) -> float:
    """All input of the bill, in fresh tokens."""
    usage = [bill.usage for bill in it.api.billed]
    return sum(
        used["input_tokens"] + WRITE * used["cache_creation_input_tokens"] + READ * used["cache_read_input_tokens"]
        for used in usage
    )


def size(request: Json) -> int:
    """A request's tokens, by the provider's count."""
    return tokens(b"".join(data for data, _ in prompt_blocks(request)))


def perfect(sizes: list[int]) -> float:
    """What input costs if each request reads all of the one before it, and only what is new is written."""
    costs, before = 0.0, 0
    for there in sizes:
        costs += READ * before + WRITE * (there - before)
        before = there
    return costs


async def _talk(it: Inside, turns: int) -> None:
    for number in range(turns):
        await it.say(f"{number}: {WORDS}")
        await it.settled(number + 1)
        it.api.clock.advance(60)


async def test_two_hundred_turns_cost_what_perfect_caching_would(database_url: str) -> None:
    async with inside(database_url) as it:
        it.api.script(lambda _: say(WORDS))
        await _talk(it, TURNS)
        assert len(it.api.asked) == TURNS, "nothing needed to be summed up"
        assert billed(it) <= 1.05 * perfect([size(request) for request in it.api.asked])


async def test_with_summaries_they_cost_no_more_than_without(database_url: str) -> None:
    def reply(request: Json) -> Reply:
        return say("He told me of flowers. " * 40) if SUM_UP in str(request["messages"][-1]) else say(WORDS)

    limits = attrs.evolve(Limits(), compact_at_tokens=30_000, recent_tokens=4_000, words_tokens=2_000)
    async with inside(database_url, limits=limits) as it:
        it.api.script(reply)
        await _talk(it, TURNS)
        summed_up = [SUM_UP in str(request["messages"][-1]) for request in it.api.asked]
        assert sum(summed_up) >= 3
        first = size(it.api.asked[0])
        each = size(it.api.asked[1]) - first
        assert billed(it) <= 1.05 * perfect([first + each * number for number in range(TURNS)])
