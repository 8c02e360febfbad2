"""The Claude client against the scripted Messages API, through the real SDK and real sockets."""

from collections.abc import AsyncIterator

import pytest
import trio

from dreamwalker.claude import Claude, Credentials, NewestCredentials
from tests.messages_api import (
    Gate,
    MessagesApi,
    Search,
    Thinking,
    answer,
    paused,
    say,
    serve_messages_api,
    text,
    use,
)
from tests.shell.asking import KEY, asked, failed, question
from tools.model import Source, ToolUse, Usage


@pytest.fixture
async def api() -> AsyncIterator[MessagesApi]:
    async with serve_messages_api(gateway=True) as api:
        yield api


@pytest.fixture
async def claude(api: MessagesApi) -> AsyncIterator[Claude]:
    async with Claude(NewestCredentials(Credentials(api_key=KEY, base_url=api.url))) as claude:
        yield claude


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
