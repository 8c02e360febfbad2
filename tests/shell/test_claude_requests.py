"""What the Claude client sends, and with whose credentials."""

import copy
import json
import subprocess
import sys
from collections.abc import AsyncIterator
from typing import Any

import pytest
import trio

from dreamwalker.claude import Claude, Credentials, NewestCredentials
from tests.messages_api import Gate, MessagesApi, answer, say, serve_messages_api, use
from tests.shell.asking import KEY, asked, failed


@pytest.fixture
async def api() -> AsyncIterator[MessagesApi]:
    async with serve_messages_api(gateway=True) as api:
        yield api


@pytest.fixture
async def claude(api: MessagesApi) -> AsyncIterator[Claude]:
    async with Claude(NewestCredentials(Credentials(api_key=KEY, base_url=api.url))) as claude:
        yield claude


def marked(body: dict[str, Any]) -> list[tuple[str, int, int]]:
    """Where the cache markers stand: (part, message, block)."""
    parts = [("system", 0, j) for j, block in enumerate(body.get("system", [])) if "cache_control" in block]
    for i, message in enumerate(body["messages"]):
        parts += [("messages", i, j) for j, block in enumerate(message["content"]) if "cache_control" in block]
    return parts


def user(*texts: str) -> dict[str, Any]:
    return {"role": "user", "content": [{"type": "text", "text": text} for text in texts]}


async def test_markers_stand_at_the_system_the_previous_end_and_the_new_end(api: MessagesApi, claude: Claude) -> None:
    messages = (user("a", "b"), {"role": "assistant", "content": "c"}, user("d", "e"))
    before = copy.deepcopy(messages)
    api.script(say("one"), say("two"))
    await asked(claude, messages=messages, previous_end=0)
    await asked(claude, messages=messages, previous_end=1)
    assert marked(api.asked[0]) == [("system", 0, 0), ("messages", 2, 1)]
    assert marked(api.asked[1]) == [("system", 0, 0), ("messages", 0, 1), ("messages", 2, 1)]
    assert messages == before


@pytest.mark.parametrize("previous_end", [1, 9])
async def test_a_previous_end_that_is_the_new_one_or_beyond_it_is_marked_once(
    api: MessagesApi, claude: Claude, previous_end: int
) -> None:
    api.script(say("one"))
    await asked(claude, messages=(user("a"),), previous_end=previous_end)
    assert marked(api.asked[0]) == [("system", 0, 0), ("messages", 0, 0)]


async def test_a_request_within_five_minutes_reads_all_of_the_last_from_the_cache(
    api: MessagesApi, claude: Claude
) -> None:
    long = "All work and no play makes a dull boy. " * 200
    result = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a", "content": long}]}
    used = {"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": "write_note", "input": {}}]}
    api.script(answer(use("write_note", {}, id="a")), say("Done."), say("Late."))
    first = (await asked(claude, messages=(user(long),))).usage
    api.clock.advance(299)
    second = (await asked(claude, messages=(user(long), used, result), previous_end=1)).usage
    api.clock.advance(300)
    third = (await asked(claude, messages=(user(long), used, result), previous_end=1)).usage
    assert first.cache_read_tokens == 0 and first.input_tokens == 0
    assert second.cache_read_tokens == first.cache_write_tokens > 1900
    assert second.input_tokens == 0
    assert third.cache_read_tokens == 0


async def test_no_marker_is_put_on_an_empty_text(api: MessagesApi, claude: Claude) -> None:
    error = await failed(claude, system="  ", messages=(user("a", ""),))
    assert error.kind == "refused"
    body = json.loads(api.requests[0].raw)
    assert "system" not in body
    assert marked(body) == [("messages", 0, 0)]


@pytest.mark.parametrize(
    ("model", "thinking"),
    [
        ("claude-haiku-5-5", {"type": "disabled"}),
        ("claude-sonnet-5-5", {"type": "between_tools"}),
        ("claude-opus-5-5", None),
        ("claude-haiku-4-5", None),
        ("llama-local", None),
    ],
)
async def test_thinking_is_set_to_the_least_that_the_model_takes(
    api: MessagesApi, claude: Claude, model: str, thinking: Any
) -> None:
    api.script(say("one"))
    await asked(claude, model=model)
    assert api.asked[0].get("thinking") == thinking


async def test_no_header_is_sent_that_we_did_not_choose(
    api: MessagesApi, claude: Claude, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_CUSTOM_HEADERS", "anthropic-beta: something\nx-mine: 1")
    monkeypatch.setenv("ANTHROPIC_BASE_URL", "http://127.0.0.1:1")
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    api.script(say("one"))
    await asked(claude)
    headers = api.requests[0].headers
    assert api.requests[0].key == KEY
    assert not {"anthropic-beta", "x-mine", "cookie"} & set(headers)


# -- credentials -----------------------------------------------------------------------------------


async def test_without_credentials_nothing_is_asked() -> None:
    async with Claude(NewestCredentials()) as claude:
        assert (await failed(claude)).kind == "unauthorized"


async def test_new_credentials_are_used_at_once_and_old_streams_go_on(api: MessagesApi) -> None:
    credentials = NewestCredentials(Credentials(api_key="old", base_url=api.url))
    gate = Gate()
    api.script(say("Slow ", gate, "answer"), say("Quick"))
    async with Claude(credentials) as claude, trio.open_nursery() as nursery:

        @nursery.start_soon
        async def ask() -> None:
            assert (await asked(claude)).blocks == ("Slow answer",)

        await gate.reached.wait()
        assert credentials.seen(Credentials(api_key="new", base_url=api.url))
        assert not credentials.seen(Credentials(api_key="new", base_url=api.url))
        assert (await asked(claude)).blocks == ("Quick",)
        gate.open()
    assert [request.key for request in api.requests] == ["old", "new"]


@pytest.mark.parametrize("key", ["with space\n", "ключ"])
async def test_a_key_that_cannot_be_sent_is_not_shown(api: MessagesApi, key: str) -> None:
    async with Claude(NewestCredentials(Credentials(api_key=key, base_url=api.url))) as claude:
        error = await failed(claude)
    assert key.strip() not in str(error)
    assert key not in repr(Credentials(api_key=key))


async def test_a_file_of_extra_certificates_that_cannot_be_read_is_named(api: MessagesApi, tmp_path: Any) -> None:
    missing = tmp_path / "missing.pem"
    credentials = NewestCredentials(Credentials(api_key=KEY, base_url=api.url))
    async with Claude(credentials, extra_ca_file=missing) as claude:
        error = await failed(claude)
    assert error.kind == "unreachable"
    assert "missing.pem" in str(error)


def test_the_sdk_is_not_imported_before_it_is_needed() -> None:
    code = "import sys, dreamwalker.claude as c; assert not {'anthropic', 'httpx2', 'pydantic'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)
