"""The Claude client against the scripted Messages API, through the real SDK and real sockets."""

import copy
import json
import subprocess
import sys
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from dreamwalker.claude import Claude, Credentials, NewestCredentials
from dreamwalker.claude_errors import retry_after_seconds
from tests.messages_api import (
    Failure,
    Gate,
    HangUp,
    MessagesApi,
    Plain,
    Search,
    Silence,
    Thinking,
    answer,
    empty,
    fail,
    paused,
    say,
    serve_messages_api,
    text,
    use,
)
from tools.model import ModelError, ModelReply, ModelRequest, Source, ToolUse, Usage

KEY = "sk-test-4711"
TOOL = {
    "name": "write_note",
    "description": "Keeps a note.",
    "input_schema": {"type": "object", "properties": {"text": {"type": "string"}}},
}


def question(**changes: Any) -> ModelRequest:
    fields: dict[str, Any] = {
        "model": "claude-haiku-5-5",
        "system": "You are dreamwalker.",
        "tools": (TOOL,),
        "messages": ({"role": "user", "content": "Hello"},),
        "max_tokens": 1000,
    }
    return ModelRequest(**fields | changes)


@pytest.fixture
async def api() -> AsyncIterator[MessagesApi]:
    async with serve_messages_api(gateway=True) as api:
        yield api


@pytest.fixture
async def claude(api: MessagesApi) -> AsyncIterator[Claude]:
    async with Claude(NewestCredentials(Credentials(api_key=KEY, base_url=api.url))) as claude:
        yield claude


async def asked(claude: Claude, **changes: Any) -> ModelReply:
    return await claude.ask(question(**changes), lambda text: None)


async def failed(claude: Claude, **changes: Any) -> ModelError:
    with pytest.raises(ModelError) as raised:
        await asked(claude, **changes)
    assert KEY not in str(raised.value)
    return raised.value


async def test_text_arrives_as_it_is_written(api: MessagesApi, claude: Claude) -> None:
    gate, seen, half = Gate(), list[str](), trio.Event()

    def take(text: str) -> None:
        seen.append(text)
        half.set()

    api.script(say("Good ", gate, "morning"))
    async with trio.open_nursery() as nursery:

        @nursery.start_soon
        async def ask() -> None:
            reply = await claude.ask(question(), take)
            assert reply.blocks == ("Good morning",)
            assert reply.stop_reason == "end_turn"
            assert reply.model == "claude-haiku-5-5"

        await half.wait()
        assert seen == ["Good "]
        gate.open()
    assert seen == ["Good ", "morning"]


async def test_text_and_tool_uses_keep_their_order(api: MessagesApi, claude: Claude) -> None:
    api.script(answer("First ", use("write_note", {"text": "ä"}, id="a", chunk=2), "then", use("later", {}, id="b")))
    reply = await asked(claude)
    assert reply.blocks == (
        "First ",
        ToolUse(id="a", name="write_note", arguments={"text": "ä"}, raw='{"text": "ä"}'),
        "then",
        ToolUse(id="b", name="later", arguments={}, raw="{}"),
    )
    assert reply.stop_reason == "tool_use"


async def test_repeated_ids_and_unknown_tools_come_through_as_they_are(api: MessagesApi, claude: Claude) -> None:
    api.script(answer(use("nobody_knows", {"a": 1}, id="same"), use("nobody_knows", {"a": 1}, id="same")))
    reply = await asked(claude)
    assert [block.id for block in reply.blocks if isinstance(block, ToolUse)] == ["same", "same"]


@pytest.mark.parametrize(
    "raw", ['{"text": "half', "[1, 2]", '"text"', "null", '{"n": NaN}', "{" * 5000, '{"n": ' + "9" * 5000 + "}"]
)
async def test_arguments_that_are_no_json_object_are_none(api: MessagesApi, claude: Claude, raw: str) -> None:
    api.script(answer(use("write_note", raw), stop_reason="max_tokens"))
    reply = await asked(claude)
    (block,) = reply.blocks
    assert isinstance(block, ToolUse)
    assert block.arguments is None
    assert block.raw == raw


async def test_a_tool_use_without_argument_text_has_no_arguments(api: MessagesApi, claude: Claude) -> None:
    api.script(answer(use("list_notes", "")))
    (block,) = (await asked(claude)).blocks
    assert isinstance(block, ToolUse)
    assert block.arguments == {}


async def test_a_tool_use_cut_before_its_first_argument_has_none(api: MessagesApi, claude: Claude) -> None:
    api.script(answer(use("list_notes", ""), stop_reason="max_tokens"))
    (block,) = (await asked(claude)).blocks
    assert isinstance(block, ToolUse)
    assert block.arguments is None


@pytest.mark.parametrize(
    "stop_reason", ["end_turn", "max_tokens", "stop_sequence", "refusal", "model_context_window_exceeded", "new_one"]
)
async def test_every_stop_reason_comes_through(api: MessagesApi, claude: Claude, stop_reason: str) -> None:
    api.script(say("So far").stopping(stop_reason))
    assert (await asked(claude)).stop_reason == stop_reason


async def test_searches_bring_sources_and_are_counted(api: MessagesApi, claude: Claude) -> None:
    found = Search(query="rain", results=(("Weather", "https://w.example/"), ("More", "https://m.example/")))
    cited = text("Rain.", citation={"type": "web_search_result_location", "url": "https://w.example/"})
    api.script(paused(Thinking(), found, Search(query="sun", error="max_uses_exceeded"), cited))
    reply = await asked(claude)
    assert reply.blocks == ("Rain.",)
    assert reply.stop_reason == "pause_turn"
    assert reply.usage.searches == 1
    assert reply.sources == (
        Source(title="Weather", url="https://w.example/"),
        Source(title="More", url="https://m.example/"),
    )


async def test_empty_text_is_dropped_from_the_reply(api: MessagesApi, claude: Claude) -> None:
    api.script(answer(" \n", use("list_notes", {}, id="a"), ""))
    assert [type(block) for block in (await asked(claude)).blocks] == [ToolUse]


async def test_what_cannot_be_stored_is_replaced_visibly(api: MessagesApi, claude: Claude) -> None:
    streamed: list[str] = []
    api.script(answer(text("a\0b", "\ud83d"), use("write_note", '{"te\\ud800xt": ["\\u0000"]}')))
    reply = await claude.ask(question(), streamed.append)
    assert reply.blocks[0] == "".join(streamed) == "a\ufffdb\ufffd"
    assert isinstance(reply.blocks[1], ToolUse)
    assert reply.blocks[1].arguments == {"te\ufffdxt": ["\ufffd"]}


async def test_an_answer_in_slices_of_one_byte_reads_the_same(api: MessagesApi, claude: Claude) -> None:
    api.script(answer("Grüße 🙂 aus Wien", use("write_note", {"text": "日本"}, id="a")).sliced(1))
    reply = await asked(claude)
    assert reply.blocks[0] == "Grüße 🙂 aus Wien"
    assert isinstance(reply.blocks[1], ToolUse) and reply.blocks[1].arguments == {"text": "日本"}


async def test_usage_is_what_was_reported_last(api: MessagesApi, claude: Claude) -> None:
    api.script(say("Hi").billed(input_tokens=7, cache_creation_input_tokens=5, output_tokens=42))
    usage = (await asked(claude)).usage
    assert usage == Usage(input_tokens=7, cache_write_tokens=5, cache_read_tokens=0, output_tokens=42)


@pytest.mark.parametrize(
    ("answered", "kind", "retryable"),
    [
        (fail(400, "prompt is too long"), "refused", False),
        (fail(401, "invalid x-api-key"), "unauthorized", True),
        (fail(403, "no permission"), "unauthorized", True),
        (fail(404, "model: nope"), "refused", False),
        (fail(408, "timeout"), "failed", True),
        (fail(413, "too large"), "refused", False),
        (fail(429, "rate limit"), "busy", True),
        (fail(500, "internal"), "failed", True),
        (fail(529, "Overloaded"), "busy", True),
    ],
)
async def test_an_http_error_has_a_kind_and_the_servers_words(
    api: MessagesApi, claude: Claude, answered: Failure, kind: str, retryable: bool
) -> None:
    api.script(answered)
    error = await failed(claude)
    assert (error.kind, error.status, error.retryable) == (kind, answered.status, retryable)
    assert answered.message in str(error)
    assert (error.usage is None) == (answered.status != 408)
    assert len(api.requests) == 1  # the SDK itself retries nothing


async def test_a_long_error_is_shortened_and_the_key_is_taken_out_of_it(api: MessagesApi, claude: Claude) -> None:
    api.script(fail(400, f"bad key {KEY} " + "x" * 5000))
    error = await failed(claude)
    assert "[key]" in str(error)
    assert len(str(error)) < 400


async def test_an_error_page_of_a_proxy_is_an_error_like_any(api: MessagesApi, claude: Claude) -> None:
    api.script(Failure(status=502, type="", message="", body=b"<html>Bad gateway</html>"))
    error = await failed(claude)
    assert (error.kind, str(error)) == ("failed", "The model failed. (HTTP 502)")
    assert error.usage is not None  # the model behind it may have answered


async def test_retry_after_is_heeded_in_seconds_and_as_a_date(api: MessagesApi, claude: Claude) -> None:
    api.script(fail(429, retry_after=7), fail(529, retry_after=format_datetime(datetime.now(UTC) + timedelta(hours=1))))
    assert (await failed(claude)).retry_after_seconds == 7
    assert 3500 < ((await failed(claude)).retry_after_seconds or 0) <= 3600


@pytest.mark.parametrize(
    ("value", "date", "seconds"),
    [
        ("1.5", None, 1.5),
        ("Sun, 29 Nov 2026 10:00:30 GMT", "Sun, 29 Nov 2026 10:00:00 GMT", 30),
        ("Sun, 29 Nov 2026 09:00:00 GMT", "Sun, 29 Nov 2026 10:00:00 GMT", 0),
        ("-3", None, 0),
        ("1e12", None, 86_400),
        ("nan", None, None),
        ("soon", None, None),
        ("", None, None),
        ("Sun, 29 Nov 2026 09:00:00 GMT", "nonsense", None),
    ],
)
def test_retry_after_is_read_by_the_servers_clock(value: str, date: str | None, seconds: float | None) -> None:
    assert retry_after_seconds(value, date) == seconds


@pytest.mark.parametrize("events", range(8))
async def test_a_stream_cut_anywhere_is_cut(api: MessagesApi, claude: Claude, events: int) -> None:
    api.script(say("abcdef", chunk=1).cut(after=events))
    error = await failed(claude)
    assert error.kind == "cut"
    assert error.usage is not None
    assert (error.usage.input_tokens > 0) == (events > 0)


async def test_a_stream_that_ends_early_but_properly_is_cut_too(api: MessagesApi, claude: Claude) -> None:
    body = b'event: message_start\ndata: {"type": "message_start", "message": {"model": "m"}}\n\n'
    api.script(Plain(body=body, content_type="text/event-stream"))
    assert (await failed(claude)).kind == "cut"


async def test_a_cut_after_the_reason_to_stop_loses_nothing(api: MessagesApi, claude: Claude) -> None:
    api.script(say("All of it").cut(after=6))
    reply = await asked(claude)
    assert (reply.blocks, reply.stop_reason) == (("All of it",), "end_turn")


@pytest.mark.parametrize("broken", [say("abc").reset(after=3), HangUp(), HangUp(reset=True)])
async def test_a_broken_connection_is_cut(api: MessagesApi, claude: Claude, broken: Any) -> None:
    api.script(broken)
    assert (await failed(claude)).kind == "cut"


@pytest.mark.parametrize(
    ("type", "kind"),
    [
        ("overloaded_error", "busy"),
        ("rate_limit_error", "busy"),
        ("api_error", "failed"),
        ("timeout_error", "failed"),
        ("authentication_error", "unauthorized"),
        ("invalid_request_error", "refused"),
    ],
)
async def test_an_error_event_in_mid_stream_has_the_kind_of_its_type(
    api: MessagesApi, claude: Claude, type: str, kind: str
) -> None:
    api.script(say("Half").error(after=4, type=type, message=f"Because of {KEY}."))
    error = await failed(claude)
    assert error.kind == kind
    assert "Because of [key]." in str(error)
    assert error.usage is not None and error.usage.input_tokens > 0


async def test_a_silent_stream_is_given_up_after_the_limit(
    api: MessagesApi, claude: Claude, mock_clock: MockClock
) -> None:
    api.script(say("Half").stall(after=4))
    half = trio.Event()
    async with trio.open_nursery() as nursery:

        @nursery.start_soon
        async def ask() -> None:
            with pytest.raises(ModelError) as raised:
                await claude.ask(question(), lambda text: half.set())
            assert raised.value.kind == "silent"
            assert raised.value.usage is not None

        await half.wait()
        await wait_all_tasks_blocked()
        mock_clock.jump(59)
        await wait_all_tasks_blocked()
        assert not api.requests[0].client_left.is_set()
        mock_clock.jump(2)
        await api.requests[0].client_left.wait()


async def test_a_server_that_never_answers_is_given_up(api: MessagesApi, claude: Claude, mock_clock: MockClock) -> None:
    api.script(Silence())
    async with trio.open_nursery() as nursery:

        @nursery.start_soon
        async def ask() -> None:
            assert (await failed(claude)).kind == "silent"

        await api.arrived(1)
        await wait_all_tasks_blocked()
        mock_clock.jump(61)


async def test_a_refused_connection_is_unreachable() -> None:
    async with serve_messages_api() as gone:
        pass
    async with Claude(NewestCredentials(Credentials(api_key=KEY, base_url=gone.url))) as claude:
        error = await failed(claude)
    assert (error.kind, error.usage) == ("unreachable", None)


@pytest.mark.parametrize("base_url", ["nonsense", "ftp://127.0.0.1/", "http://"])
async def test_an_address_that_is_none_is_an_error_in_words(base_url: str) -> None:
    async with Claude(NewestCredentials(Credentials(api_key=KEY, base_url=base_url))) as claude:
        assert (await failed(claude)).kind in ("unreachable", "failed")


@pytest.mark.parametrize(
    "body", [b"<html>Please log in</html>", b"", b'{"type": "message", "content": []}', b"data: {\xff}\n\n"]
)
async def test_an_answer_that_is_no_stream_is_failed(api: MessagesApi, claude: Claude, body: bytes) -> None:
    api.script(Plain(body=body))
    assert (await failed(claude)).kind == "failed"


@pytest.mark.parametrize(
    "data",
    [
        b"[]",
        b"{",
        b'{"type": "message_start"}',
        b'{"type": "content_block_start", "index": 0, "content_block": {"type": "tool_use"}}',
        b'{"type": "content_block_start", "index": 0, "content_block": []}',
        b'{"type": "message_delta", "delta": null}',
        b'{"type": "error"}',
        b"[" * 100_000,
    ],
)
async def test_events_that_make_no_sense_are_an_error_in_words(api: MessagesApi, claude: Claude, data: bytes) -> None:
    api.script(Plain(body=b"event: x\ndata: " + data + b"\n\n", content_type="text/event-stream"))
    assert (await failed(claude)).kind == "failed"


@pytest.mark.parametrize(
    ("answered", "kind"),
    [
        (empty(), "empty"),
        (empty("max_tokens"), "empty"),
        (empty("refusal"), "refused"),
        (answer("  \n", Thinking()), "empty"),
    ],
)
async def test_an_answer_with_nothing_in_it_is_an_error_that_is_billed(
    api: MessagesApi, claude: Claude, answered: Any, kind: str
) -> None:
    api.script(answered)
    error = await failed(claude)
    assert error.kind == kind
    assert error.usage is not None and error.usage.output_tokens > 0


async def test_giving_up_closes_the_connection_at_once(api: MessagesApi, claude: Claude) -> None:
    gate = Gate()
    api.script(say("Half", gate, "never"))
    async with trio.open_nursery() as nursery:
        nursery.start_soon(claude.ask, question(), lambda text: None)
        await gate.reached.wait()
        nursery.cancel_scope.cancel()
    await api.requests[0].client_left.wait()


async def test_what_the_listener_raises_comes_out_as_it_is(api: MessagesApi, claude: Claude) -> None:
    def bad(text: str) -> None:
        raise ValueError("the listener broke")

    api.script(say("one", "two", Gate()))
    with pytest.raises(ValueError, match="the listener broke"):
        await claude.ask(question(), bad)
    await api.requests[0].client_left.wait()


async def test_text_that_cannot_be_sent_is_refused_before_anything_is_sent(api: MessagesApi, claude: Claude) -> None:
    error = await failed(claude, messages=({"role": "user", "content": "\ud800"},))
    assert error.kind == "refused"
    assert api.requests == []


# -- what is sent ----------------------------------------------------------------------------------


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
