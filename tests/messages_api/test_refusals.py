"""The scripted Messages API refuses what the real one refuses, each in its own words, over real HTTP."""

import json
from collections.abc import AsyncIterator
from typing import Any

import httpx2
import pytest

from tests.messages_api import MessagesApi, say, serve_messages_api

HEADERS = {"x-api-key": "k", "anthropic-version": "2026-10-21", "content-type": "application/json"}
USER = {"role": "user", "content": "Hello"}
SCHEMA = {"type": "object", "properties": {}}
MARKER = {"type": "ephemeral"}


@pytest.fixture
async def api() -> AsyncIterator[MessagesApi]:
    async with serve_messages_api() as api:
        api.script(lambda request: say("Fine."))
        yield api


def body(**changes: Any) -> dict[str, Any]:
    good: dict[str, Any] = {"model": "claude-haiku-5-5", "max_tokens": 100, "messages": [USER], "stream": True}
    return {name: value for name, value in (good | changes).items() if value is not None}


def assistant(*blocks: dict[str, Any]) -> dict[str, Any]:
    return {"role": "assistant", "content": list(blocks)}


def user(*blocks: dict[str, Any]) -> dict[str, Any]:
    return {"role": "user", "content": list(blocks)}


def words(text: str, **more: Any) -> dict[str, Any]:
    return {"type": "text", "text": text} | more


def used(id: Any = "a", **more: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": id, "name": "write_note", "input": {}} | more


def result(id: Any = "a", **more: Any) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": id, "content": "ok"} | more


def tool(name: Any = "write_note", **more: Any) -> dict[str, Any]:
    return {"name": name, "description": "Keeps a note.", "input_schema": SCHEMA} | more


async def post(api: MessagesApi, content: bytes, headers: dict[str, str] | None = None) -> httpx2.Response:
    async with httpx2.AsyncClient(trust_env=False) as client:
        return await client.post(f"{api.url}/v1/messages", content=content, headers=HEADERS | (headers or {}))


async def refused(api: MessagesApi, expected: str, **changes: Any) -> None:
    """The request is answered 400 in Anthropic's shape, and the words hold `expected`."""
    response = await post(api, json.dumps(body(**changes)).encode())
    error = response.json()
    assert response.status_code == 400, response.text
    assert (error["type"], error["error"]["type"]) == ("error", "invalid_request_error")
    assert expected in error["error"]["message"]
    assert api.requests[-1].refused == error["error"]["message"]
    assert api.asked == []


async def taken(api: MessagesApi, **changes: Any) -> None:
    response = await post(api, json.dumps(body(**changes)).encode())
    assert response.status_code == 200, response.text


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


# -- cache markers ---------------------------------------------------------------------------------


async def test_five_cache_markers_are_refused(api: MessagesApi) -> None:
    marked = words("x", cache_control=MARKER)
    await refused(
        api,
        "A maximum of 4 blocks with cache_control may be provided. Found 5.",
        system=[marked],
        tools=[tool(cache_control=MARKER)],
        messages=[user(marked, marked, marked)],
    )


async def test_four_cache_markers_are_taken(api: MessagesApi) -> None:
    marked = words("x", cache_control=MARKER)
    await taken(api, system=[marked], messages=[user(marked, marked, marked)])


async def test_a_cache_marker_on_an_empty_text_is_refused(api: MessagesApi) -> None:
    await refused(
        api, "cache_control cannot be set for empty text blocks", messages=[user(words("", cache_control=MARKER))]
    )


@pytest.mark.parametrize("marker", [{"type": "permanent"}, {"type": "ephemeral", "ttl": "1d"}, "ephemeral"])
async def test_a_cache_marker_of_another_kind_is_refused(api: MessagesApi, marker: Any) -> None:
    await refused(api, "cache_control", messages=[user(words("x", cache_control=marker))])


# -- tools -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["", "a b", "notes.write", "ä", "x" * 129, None])
async def test_a_tool_name_of_the_wrong_form_is_refused(api: MessagesApi, name: Any) -> None:
    await refused(api, "tools.0.custom.name: String should match pattern", tools=[tool(name)])


async def test_two_tools_of_one_name_are_refused(api: MessagesApi) -> None:
    await refused(api, "Tool names must be unique", tools=[tool(), tool()])


@pytest.mark.parametrize("schema", [{"type": "string"}, {}, "object", {"anyOf": []}])
async def test_an_input_schema_that_is_no_object_schema_is_refused(api: MessagesApi, schema: Any) -> None:
    await refused(api, "input_schema.type: Input should be 'object'", tools=[tool(input_schema=schema)])


async def test_an_input_schema_that_is_a_choice_at_the_top_is_refused(api: MessagesApi) -> None:
    schema = SCHEMA | {"anyOf": [SCHEMA]}
    await refused(api, "does not support oneOf, allOf, or anyOf", tools=[tool(input_schema=schema)])


async def test_a_tool_without_an_input_schema_is_refused(api: MessagesApi) -> None:
    await refused(api, "input_schema: Field required", tools=[{"name": "write_note"}])


async def test_a_field_of_a_tool_that_nobody_knows_is_refused(api: MessagesApi) -> None:
    await refused(api, "tools.0.custom.exit: Extra inputs are not permitted", tools=[tool(exit=True)])


# -- the request as a whole ------------------------------------------------------------------------


@pytest.mark.parametrize("field", ["model", "max_tokens", "messages"])
async def test_a_missing_field_is_refused_by_name(api: MessagesApi, field: str) -> None:
    await refused(api, f"{field}: Field required", **{field: None})


@pytest.mark.parametrize(
    ("max_tokens", "expected"),
    [
        (128_001, "128001 > 128000, which is the maximum allowed number of output tokens for claude-haiku-5-5"),
        (0, "greater than or equal to 1"),
        ("100", "valid integer"),
        (True, "valid integer"),
    ],
)
async def test_a_bad_number_of_output_tokens_is_refused(api: MessagesApi, max_tokens: Any, expected: str) -> None:
    await refused(api, expected, max_tokens=max_tokens)


@pytest.mark.parametrize("field", ["temperature", "top_p", "top_k"])
async def test_sampling_parameters_are_refused_by_newer_models(api: MessagesApi, field: str) -> None:
    await refused(api, f"`{field}` is not supported for this model", **{field: 1})


@pytest.mark.parametrize(
    ("model", "type"),
    [
        ("claude-haiku-5-5", "enabled"),
        ("claude-haiku-5-5", "between_tools"),
        ("claude-sonnet-5-5", "disabled"),
        ("claude-opus-5-5", "disabled"),
        ("claude-opus-5", "between_tools"),
    ],
)
async def test_a_kind_of_thinking_that_the_model_lacks_is_refused(api: MessagesApi, model: str, type: str) -> None:
    await refused(api, f'"thinking.type.{type}" is not supported', model=model, thinking={"type": type})


@pytest.mark.parametrize("lone", ["\ud800", "\udfff", "a\ud83d b"])
async def test_a_lone_surrogate_anywhere_is_refused(api: MessagesApi, lone: str) -> None:
    await refused(api, "not valid JSON: no low surrogate in string", messages=[{"role": "user", "content": lone}])


async def test_an_emoji_written_as_two_escapes_is_taken(api: MessagesApi) -> None:
    await taken(api, messages=[{"role": "user", "content": "🙂"}])


@pytest.mark.parametrize("raw", [b"", b"{", b"\xff", b"[]"])
async def test_a_body_that_is_no_json_object_is_refused(api: MessagesApi, raw: bytes) -> None:
    response = await post(api, raw)
    assert (response.status_code, response.json()["error"]["type"]) == (400, "invalid_request_error")


async def test_a_prompt_longer_than_the_model_takes_is_refused(api: MessagesApi) -> None:
    await refused(api, "prompt is too long: 2", messages=[{"role": "user", "content": "x" * 800_001}])


async def test_a_body_over_32_megabytes_is_refused_with_413(api: MessagesApi) -> None:
    response = await post(api, b" " * (32 * 1024 * 1024 + 1))
    assert (response.status_code, response.json()["error"]["type"]) == (413, "request_too_large")


@pytest.mark.parametrize("headers", [{"x-api-key": ""}, {"x-api-key": "", "authorization": "Basic abc"}])
async def test_a_request_without_a_key_is_refused_with_401(api: MessagesApi, headers: dict[str, str]) -> None:
    response = await post(api, json.dumps(body()).encode(), headers)
    assert (response.status_code, response.json()["error"]["type"]) == (401, "authentication_error")


async def test_a_key_is_taken_as_a_bearer_token_too(api: MessagesApi) -> None:
    response = await post(api, json.dumps(body()).encode(), {"x-api-key": "", "authorization": "Bearer b"})
    assert response.status_code == 200
    assert api.requests[0].key == "b"


async def test_a_request_without_a_version_is_refused(api: MessagesApi) -> None:
    async with httpx2.AsyncClient(trust_env=False) as client:
        response = await client.post(f"{api.url}/v1/messages", json=body(), headers={"x-api-key": "k"})
    assert "anthropic-version: header is required" in response.json()["error"]["message"]


async def test_a_beta_header_is_refused_only_behind_the_gateway(api: MessagesApi) -> None:
    async with serve_messages_api(gateway=True) as gateway:
        headers = {"anthropic-beta": "context-1m"}
        assert (await post(gateway, json.dumps(body()).encode(), headers)).status_code == 400
        assert (await post(api, json.dumps(body()).encode(), headers)).status_code == 200


async def test_another_path_is_not_found(api: MessagesApi) -> None:
    async with httpx2.AsyncClient(trust_env=False) as client:
        response = await client.get(f"{api.url}/v1/models", headers=HEADERS)
    assert (response.status_code, response.json()["error"]["type"]) == (404, "not_found_error")


async def test_a_refused_request_takes_nothing_from_the_script() -> None:
    async with serve_messages_api() as api:
        api.script(say("Kept."))
        assert (await post(api, b"{}")).status_code == 400
        assert "Kept." in (await post(api, json.dumps(body()).encode())).text


async def test_a_script_that_has_run_out_says_so() -> None:
    async with serve_messages_api() as api:
        response = await post(api, json.dumps(body()).encode())
    assert "no more replies" in response.json()["error"]["message"]
