"""The scripted Messages API refuses the histories that the real one refuses, over real HTTP."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from tests.messages_api import MessagesApi, say, serve_messages_api
from tests.messages_api.posting import MARKER, USER, assistant, refused, result, taken, tool, used, user, words


@pytest.fixture
async def api() -> AsyncIterator[MessagesApi]:
    async with serve_messages_api() as api:
        api.script(lambda request: say("Fine."))
        yield api


# -- what is taken ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "messages",
    [
        [USER],
        [USER, USER, user(words("and a third"))],
        [USER, assistant(used()), user(result(), words("and this"))],
        [USER, assistant(used()), user(result()), user(words("in a message of its own"))],
        [USER, assistant(used("a"), used("b")), user(result("b")), user(result("a"), words("late"))],
        [USER, assistant(words("hm"), used()), user(result(content=[words("x")], is_error=True))],
        [USER, assistant(used()), user(result(content=""))],
        [USER, assistant(words("An answer")), USER],
        [USER, assistant({"type": "thinking", "thinking": "", "signature": "s"}, words("x")), USER],
        [USER, assistant({"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}})],
    ],
)
async def test_a_good_history_is_taken(api: MessagesApi, messages: Any) -> None:
    await taken(api, messages=messages)


async def test_a_request_with_everything_we_send_is_taken(api: MessagesApi) -> None:
    search = {"type": "web_search_20250305", "name": "web_search", "max_uses": 5}
    await taken(
        api,
        system=[words("Be kind.", cache_control=MARKER)],
        tools=[tool(), search],
        thinking={"type": "disabled"},
        messages=[user(words("a", cache_control=MARKER)), assistant(used()), user(result(cache_control=MARKER))],
    )


# -- the order of the conversation -----------------------------------------------------------------


async def test_a_tool_result_without_its_tool_use_is_refused(api: MessagesApi) -> None:
    await refused(api, "unexpected `tool_use_id` found in `tool_result` blocks: a", messages=[user(result())])


async def test_a_tool_result_for_an_older_tool_use_is_refused(api: MessagesApi) -> None:
    messages = [USER, assistant(used()), user(result()), assistant(words("x")), user(result())]
    await refused(api, "unexpected `tool_use_id`", messages=messages)


async def test_a_tool_use_without_a_result_is_refused(api: MessagesApi) -> None:
    await refused(
        api, "`tool_use` ids were found without `tool_result` blocks", messages=[USER, assistant(used()), USER]
    )


async def test_one_missing_result_of_two_is_refused_by_name(api: MessagesApi) -> None:
    messages = [USER, assistant(used("a"), used("b")), user(result("a"))]
    await refused(api, "immediately after: b.", messages=messages)


async def test_a_tool_use_at_the_very_end_is_refused(api: MessagesApi) -> None:
    await refused(api, "without `tool_result` blocks", messages=[USER, assistant(used())])


async def test_text_before_the_tool_results_is_refused(api: MessagesApi) -> None:
    messages = [USER, assistant(used()), user(words("first"), result())]
    await refused(api, "without `tool_result` blocks immediately after: a", messages=messages)


async def test_a_text_message_before_the_message_with_results_is_refused(api: MessagesApi) -> None:
    messages = [USER, assistant(used()), USER, user(result())]
    await refused(api, "without `tool_result` blocks immediately after: a", messages=messages)


async def test_two_results_for_one_tool_use_are_refused(api: MessagesApi) -> None:
    messages = [USER, assistant(used()), user(result(), result())]
    await refused(api, "each tool_use must have a single result", messages=messages)


async def test_the_same_tool_use_id_twice_in_a_turn_is_refused(api: MessagesApi) -> None:
    messages = [USER, assistant(used(), used()), user(result(), result())]
    await refused(api, "`tool_use` ids must be unique: a", messages=messages)


async def test_the_same_tool_use_id_in_two_turns_is_refused(api: MessagesApi) -> None:
    messages = [USER, assistant(used()), user(result()), assistant(used()), user(result())]
    await refused(api, "`tool_use` ids must be unique: a", messages=messages)


async def test_a_conversation_that_opens_with_the_assistant_is_refused(api: MessagesApi) -> None:
    await refused(api, 'first message must use the "user" role', messages=[assistant(words("x")), USER])


async def test_no_messages_at_all_are_refused(api: MessagesApi) -> None:
    await refused(api, "at least one message is required", messages=[])


async def test_more_messages_than_the_api_takes_are_refused(api: MessagesApi) -> None:
    await refused(api, "at most 100000 items", messages=[USER] * 100_001)


@pytest.mark.parametrize("model", ["claude-haiku-5-5", "claude-opus-4-8"])
async def test_a_final_assistant_message_is_refused_by_newer_models(api: MessagesApi, model: str) -> None:
    await refused(
        api, "does not support assistant message prefill", model=model, messages=[USER, assistant(words("I"))]
    )


async def test_white_space_at_the_end_of_a_final_assistant_message_is_refused(api: MessagesApi) -> None:
    await refused(
        api,
        "final assistant content cannot end with trailing whitespace",
        model="claude-haiku-4-5",
        messages=[USER, assistant(words("I "))],
    )


async def test_a_final_assistant_message_is_taken_by_older_models_even_empty(api: MessagesApi) -> None:
    await taken(api, model="claude-haiku-4-5", messages=[USER, assistant(words("I"))])
    await taken(api, model="claude-haiku-4-5", messages=[USER, {"role": "assistant", "content": []}])


# -- blocks ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("id", ["", "a b", "ä", "a.b", "toolu_\n", None, 7])
async def test_a_tool_use_id_of_the_wrong_form_is_refused(api: MessagesApi, id: Any) -> None:
    await refused(
        api, "tool_use.id: String should match pattern", messages=[USER, assistant(used(id)), user(result(id))]
    )


async def test_a_tool_result_id_of_the_wrong_form_is_refused(api: MessagesApi) -> None:
    messages = [USER, assistant(used("a")), user(result("a b"))]
    await refused(api, "tool_use_id: String should match pattern", messages=messages)


@pytest.mark.parametrize("message", [user(words("")), user(words("a"), words(""))])
async def test_an_empty_text_block_is_refused(api: MessagesApi, message: Any) -> None:
    await refused(api, "text content blocks must be non-empty", messages=[message])


async def test_a_text_block_of_white_space_is_refused(api: MessagesApi) -> None:
    await refused(api, "text content blocks must contain non-whitespace text", messages=[user(words(" \n"))])


async def test_an_empty_text_block_of_the_assistant_is_refused(api: MessagesApi) -> None:
    await refused(api, "must be non-empty", messages=[USER, assistant(words(""), used()), user(result())])


async def test_an_empty_text_block_inside_a_tool_result_is_refused(api: MessagesApi) -> None:
    messages = [USER, assistant(used()), user(result(content=[words("")]))]
    await refused(api, "must be non-empty", messages=messages)


async def test_an_empty_text_block_in_the_system_prompt_is_refused(api: MessagesApi) -> None:
    await refused(api, "system: text content blocks must be non-empty", system=[words("")])


@pytest.mark.parametrize(
    "messages", [[{"role": "user", "content": ""}], [user()], [USER, assistant(), USER], [USER, user()]]
)
async def test_a_message_without_content_is_refused(api: MessagesApi, messages: Any) -> None:
    await refused(api, "all messages must have non-empty content", messages=messages)


@pytest.mark.parametrize("message", [{"role": "user"}, {"role": "user", "content": None}])
async def test_a_message_without_a_content_field_is_refused(api: MessagesApi, message: Any) -> None:
    await refused(api, "messages.0.content: Field required", messages=[message])


@pytest.mark.parametrize("role", ["system", "tool", "User", None])
async def test_an_unknown_role_is_refused(api: MessagesApi, role: Any) -> None:
    await refused(api, "messages.0.role: Input should be 'user'", messages=[{"role": role, "content": "x"}])


@pytest.mark.parametrize("block", [{"type": "video"}, {}, "text", {"type": None}])
async def test_an_unknown_block_is_refused(api: MessagesApi, block: Any) -> None:
    await refused(api, "does not match any of the expected tags", messages=[user(block)])


async def test_a_tool_use_of_the_user_is_refused(api: MessagesApi) -> None:
    await refused(api, "`tool_use` blocks can only be in `assistant` messages", messages=[user(used())])


async def test_a_tool_result_of_the_assistant_is_refused(api: MessagesApi) -> None:
    await refused(
        api, "`tool_result` blocks can only be in `user` messages", messages=[USER, assistant(result()), USER]
    )


@pytest.mark.parametrize(
    ("message", "where"),
    [
        ({"role": "user", "content": "x", "id": 1}, "messages.0.id"),
        (user(words("x", label=3)), "messages.0.content.0.text.label"),
    ],
)
async def test_a_field_nobody_knows_is_refused_by_name(api: MessagesApi, message: Any, where: str) -> None:
    await refused(api, f"{where}: Extra inputs are not permitted", messages=[message])


async def test_a_field_nobody_knows_at_the_top_is_refused(api: MessagesApi) -> None:
    await refused(api, "previous_end: Extra inputs are not permitted", previous_end=3)


@pytest.mark.parametrize("value", ["text", [], None])
async def test_tool_input_that_is_no_object_is_refused(api: MessagesApi, value: Any) -> None:
    messages = [USER, assistant(used(input=value)), user(result())]
    await refused(api, "tool_use.input: Input should be a valid dictionary", messages=messages)


async def test_a_tool_result_content_of_the_wrong_kind_is_refused(api: MessagesApi) -> None:
    messages = [USER, assistant(used()), user(result(content={"a": 1}))]
    await refused(api, "tool_result.content: Input should be a valid list", messages=messages)


async def test_a_thinking_block_without_its_signature_is_refused(api: MessagesApi) -> None:
    messages = [USER, assistant({"type": "thinking", "thinking": "hm"}, words("x")), USER]
    await refused(api, "thinking.signature: Field required", messages=messages)
