"""The scripted Messages API refuses what the real one refuses, each in its own words, over real HTTP."""

import json
from collections.abc import AsyncIterator
from typing import Any

import httpx2
import pytest

from tests.messages_api import MessagesApi, say, serve_messages_api
from tests.messages_api.posting import HEADERS, MARKER, SCHEMA, body, post, refused, taken, tool, user, words


@pytest.fixture
async def api() -> AsyncIterator[MessagesApi]:
    async with serve_messages_api() as api:
        api.script(lambda request: say("Fine."))
        yield api


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


SEARCH = {"type": "web_search_20250305", "name": "web_search", "max_uses": 1}


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"name": "search"}, "name: Input should be 'web_search'"),
        ({"max_uses": 0}, "max_uses: Input should be greater than 0"),
        ({"max_uses": True}, "max_uses: Input should be greater than 0"),
        ({"description": "Searches."}, "description: Extra inputs are not permitted"),
        ({"allowed_domains": ["a.example"], "blocked_domains": ["b.example"]}, "Only one of"),
        ({"type": "web_search_20200101"}, "does not match any of the expected tags"),
    ],
)
async def test_a_search_of_the_servers_own_that_is_asked_for_wrongly_is_refused(
    api: MessagesApi, changes: dict[str, Any], says: str
) -> None:
    await refused(api, says, tools=[SEARCH | changes])


async def test_a_search_of_the_servers_own_is_taken_beside_other_tools(api: MessagesApi) -> None:
    await taken(api, tools=[tool(), SEARCH])


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
