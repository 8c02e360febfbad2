"""What the Claude client makes of everything that can go wrong, in the owner's words."""

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
    HangUp,
    MessagesApi,
    Plain,
    Silence,
    Thinking,
    answer,
    empty,
    fail,
    say,
    serve_messages_api,
)
from tests.shell.asking import KEY, asked, failed, question
from tools.model import ModelError


@pytest.fixture
async def api() -> AsyncIterator[MessagesApi]:
    async with serve_messages_api(gateway=True) as api:
        yield api


@pytest.fixture
async def claude(api: MessagesApi) -> AsyncIterator[Claude]:
    async with Claude(NewestCredentials(Credentials(api_key=KEY, base_url=api.url))) as claude:
        yield claude


@pytest.mark.parametrize(
    ("answered", "kind", "retryable"),
    [
        (fail(400, "prompt is too long"), "too_long", True),
        (fail(401, "invalid x-api-key"), "unauthorized", True),
        (fail(403, "no permission"), "unauthorized", True),
        (fail(404, "model: nope"), "refused", False),
        (fail(408, "timeout"), "failed", True),
        (fail(413, "too large"), "too_long", True),
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
    "answered",
    [
        fail(400, "prompt is too long: 210000 tokens > 200000 maximum"),
        fail(400, "input length and `max_tokens` exceed context limit: 197202 + 8192 > 200000"),
        fail(413, "Request exceeds the maximum size"),
    ],
)
async def test_a_request_that_is_too_long_is_told_apart_from_a_bad_one(
    api: MessagesApi, claude: Claude, answered: Any
) -> None:
    api.script(answered)
    error = await failed(claude)
    assert error.kind == "too_long" and str(error).startswith("The request is too long for the model. It said: ")
    assert error.retryable, "a shorter one may do"


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
