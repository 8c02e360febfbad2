"""The practice model as a Messages API: it streams, stops and refuses like the real one."""

from collections.abc import AsyncIterator

import httpx2
import pytest
import trio

from dreamwalker.claude import Claude, Credentials, NewestCredentials
from tests.shell.practising import (
    ask,
    owner,
    practice_model,
)
from tools.model import ModelRequest


@pytest.fixture
async def claude() -> AsyncIterator[Claude]:
    async with practice_model() as url:
        async with Claude(NewestCredentials(Credentials(api_key="none", base_url=url))) as claude:
            yield claude


async def test_a_long_answer_comes_word_by_word_and_can_be_stopped() -> None:
    async with practice_model(pace_seconds=60) as url:
        async with Claude(NewestCredentials(Credentials(api_key="none", base_url=url))) as claude:
            words: list[str] = []
            begun = trio.Event()

            def take(text: str) -> None:
                words.append(text)
                begun.set()

            request = ModelRequest(model="m", system="", tools=(), messages=(owner("count to 300"),), max_tokens=4000)
            async with trio.open_nursery() as nursery:
                nursery.start_soon(claude.ask, request, take)
                await begun.wait()
                nursery.cancel_scope.cancel()
    assert words == ["1, "]


async def test_a_long_answer_stops_at_the_limit_of_tokens(claude: Claude) -> None:
    reply = await ask(claude, owner("count to 300"), max_tokens=10)
    assert (reply.stop_reason, reply.blocks) == ("max_tokens", ("1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 1",))


async def test_it_costs_nothing(claude: Claude) -> None:
    usage = (await ask(claude, owner("hello"))).usage
    assert (usage.input_tokens, usage.output_tokens) == (0, 0)


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"[]",
        b"{}",
        b'{"messages": [], "max_tokens": 5}',
        b'{"messages": [{"role": "user"}], "max_tokens": 5}',
        b'{"messages": [{"role": "user", "content": [1]}], "max_tokens": 5}',
        b'{"messages": [{"role": "user", "content": "x"}], "max_tokens": 0}',
        b'{"messages": [{"role": "user", "content": "x"}], "max_tokens": 5, "tools": [1]}',
        b'{"messages": [{"role": "nobody", "content": "x"}], "max_tokens": 5}',
    ],
)
async def test_a_request_that_makes_no_sense_is_refused_like_the_real_one_does(body: bytes) -> None:
    async with practice_model() as url, httpx2.AsyncClient(trust_env=False) as client:
        response = await client.post(f"{url}/v1/messages", content=body)
    assert response.status_code == 400
    assert response.json()["error"]["type"] == "invalid_request_error"


async def test_a_request_without_streaming_is_answered_whole() -> None:
    body = {"model": "m", "max_tokens": 500, "messages": [{"role": "user", "content": "thanks"}]}
    async with practice_model() as url, httpx2.AsyncClient(trust_env=False) as client:
        message = (await client.post(f"{url}/v1/messages", json=body)).json()
    assert message["stop_reason"] == "end_turn"
    assert "welcome" in message["content"][0]["text"]
