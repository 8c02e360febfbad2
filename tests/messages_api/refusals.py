"""What the real Messages API refuses, and in what words. Facts from its error pages, its SDK and public bug reports.

One rule: the first thing wrong is named, as the real one does; None means the request is good.
The order of the conversation itself is judged in `history`.
"""

import json
import re
from typing import Any

import attrs

from tests.messages_api.cache import as_blocks, prompt_blocks, tokens
from tests.messages_api.history import Refused, check_text, is_marked, refuse_history
from tests.messages_api.replies import Failure, Json

BODY_BYTES_MAX = 32 * 1024 * 1024
MARKERS_MAX = 4
OUTPUT_TOKENS_MAX = {"claude-haiku-4-5": 64_000, "claude-sonnet-4-5": 64_000, "claude-opus-4-5": 64_000}
OUTPUT_TOKENS_MAX_ELSE = 128_000
PREFILL = tuple(OUTPUT_TOKENS_MAX)
"""The models that still continue a final assistant message; newer ones answer 400."""
SAMPLING = tuple(OUTPUT_TOKENS_MAX)
"""The models that still take temperature, top_p and top_k."""
THINKING = {
    "claude-haiku-5-5": ("adaptive", "disabled"),
    "claude-sonnet-5-5": ("adaptive", "between_tools"),
    "claude-opus-5-5": ("adaptive",),
    "claude-fable-5": ("adaptive",),
    "claude-mythos-5": ("adaptive",),
}
"""The kinds of thinking that newer models take; the ones before them take any but between_tools."""
FIELDS = {
    "cache_control",
    "container",
    "diagnostics",
    "inference_geo",
    "max_tokens",
    "messages",
    "metadata",
    "model",
    "output_config",
    "service_tier",
    "speed",
    "stop_sequences",
    "stream",
    "system",
    "temperature",
    "thinking",
    "tool_choice",
    "tools",
    "top_k",
    "top_p",
}
TOOL_FIELDS = {
    "allowed_callers",
    "cache_control",
    "defer_loading",
    "description",
    "eager_input_streaming",
    "input_examples",
    "input_schema",
    "name",
    "strict",
    "type",
}
SEARCH_TYPES = ("web_search_20250305", "web_search_20260209", "web_search_20260318")
SEARCH_FIELDS = {
    "allowed_callers",
    "allowed_domains",
    "blocked_domains",
    "cache_control",
    "defer_loading",
    "max_uses",
    "name",
    "strict",
    "type",
    "user_location",
}
TOOL_NAME = re.compile(r"[a-zA-Z0-9_-]{1,128}")
LONE_SURROGATE = re.compile(r"[\ud800-\udfff]")


@attrs.frozen(kw_only=True)
class Limits:
    """What a deployment refuses beyond the API's own rules. `gateway`: no header but the key may be there."""

    gateway: bool = False
    input_tokens_max: int = 200_000


def refuse(headers: dict[str, str], raw: bytes, limits: Limits) -> Failure | Json:
    """The parsed request if the real API would take it, else the error that it would answer."""
    if len(raw) > BODY_BYTES_MAX:
        return Failure(
            status=413, type="request_too_large", message="Request exceeds the maximum allowed number of bytes."
        )
    if not key_of(headers):
        return Failure(status=401, type="authentication_error", message="x-api-key header is required")
    try:
        if "anthropic-version" not in headers:
            raise Refused("anthropic-version: header is required")
        if limits.gateway and "anthropic-beta" in headers:
            raise Refused("anthropic-beta: this header does not pass the gateway")
        request = _parsed(raw)
        _refuse_fields(request)
        _refuse_model_settings(request)
        _refuse_tools(request.get("tools"))
        _refuse_system(request.get("system"))
        refuse_history(request["messages"], prefill=request["model"].startswith(PREFILL))
        _refuse_markers(request)
        _refuse_length(request, limits.input_tokens_max)
    except Refused as refused:
        return Failure(status=400, type="invalid_request_error", message=str(refused))
    return request


def key_of(headers: dict[str, str]) -> str:
    """The API key: the SDK sends it as a bearer token, most others as x-api-key."""
    scheme, _, token = headers.get("authorization", "").partition(" ")
    return headers.get("x-api-key") or (token if scheme.lower() == "bearer" else "")


def _parsed(raw: bytes) -> Json:
    try:
        text = raw.decode()
        request = json.loads(text)
    except ValueError as error:
        raise Refused(f"The request body is not valid JSON: {error}") from None
    if not isinstance(request, dict):
        raise Refused("Input should be a valid dictionary")
    if "\\ud" in text.lower() and _has_lone_surrogate(request):
        raise Refused("The request body is not valid JSON: no low surrogate in string")
    return request


def _has_lone_surrogate(value: Any) -> bool:
    if isinstance(value, str):
        return LONE_SURROGATE.search(value) is not None
    if isinstance(value, dict):
        return any(_has_lone_surrogate(part) for pair in value.items() for part in pair)
    return isinstance(value, list) and any(_has_lone_surrogate(part) for part in value)


def _refuse_fields(request: Json) -> None:
    for field in request:
        if field not in FIELDS:
            raise Refused(f"{field}: Extra inputs are not permitted")
    for field in ("model", "max_tokens", "messages"):
        if field not in request:
            raise Refused(f"{field}: Field required")
    if not isinstance(request["model"], str) or not request["model"]:
        raise Refused("model: Input should be a valid string")
    if request.get("stream") is not True:
        raise Refused("stream: Input should be true (the real one also answers whole, this one does not)")


def _refuse_model_settings(request: Json) -> None:
    model, max_tokens = request["model"], request["max_tokens"]
    if not isinstance(max_tokens, int) or isinstance(max_tokens, bool):
        raise Refused("max_tokens: Input should be a valid integer")
    if max_tokens < 1:
        raise Refused("max_tokens: Input should be greater than or equal to 1")
    most = next((n for name, n in OUTPUT_TOKENS_MAX.items() if model.startswith(name)), OUTPUT_TOKENS_MAX_ELSE)
    if max_tokens > most:
        raise Refused(
            f"max_tokens: {max_tokens} > {most}, which is the maximum allowed number of output tokens for {model}"
        )
    for field in ("temperature", "top_p", "top_k"):
        if field in request and not model.startswith(SAMPLING):
            raise Refused(f"`{field}` is not supported for this model.")
    thinking = request.get("thinking")
    if thinking is not None:
        _refuse_thinking(model, thinking.get("type") if isinstance(thinking, dict) else None)


def _refuse_thinking(model: str, type: str | None) -> None:
    older = ("adaptive", "disabled", "enabled")
    taken = next((types for name, types in THINKING.items() if model.startswith(name)), older)
    if type not in taken:
        raise Refused(
            f'"thinking.type.{type}" is not supported for this model. Use "thinking.type.adaptive" and'
            ' "output_config.effort" to control thinking behavior.'
        )


def _refuse_tools(tools: Any) -> None:
    if tools is None:
        return
    if not isinstance(tools, list):
        raise Refused("tools: Input should be a valid list")
    names: set[str] = set()
    for i, tool in enumerate(tools):
        if not isinstance(tool, dict):
            raise Refused(f"tools.{i}: Input should be a valid dictionary")
        name = tool.get("name")
        if not isinstance(name, str) or not TOOL_NAME.fullmatch(name):
            raise Refused(f"tools.{i}.custom.name: String should match pattern '^[a-zA-Z0-9_-]{{1,128}}$'")
        if name in names:
            raise Refused("tools: Tool names must be unique.")
        names.add(name)
        if tool.get("type", "custom") == "custom":
            _refuse_custom_tool(i, tool)
        elif tool["type"] in SEARCH_TYPES:
            _refuse_search(i, tool)
        else:
            raise Refused(
                f"tools.{i}: Input tag '{tool['type']}' found using 'type' does not match any of the expected tags"
            )


def _refuse_custom_tool(i: int, tool: Json) -> None:
    for field in tool:
        if field not in TOOL_FIELDS:
            raise Refused(f"tools.{i}.custom.{field}: Extra inputs are not permitted")
    if not isinstance(tool.get("description", ""), str):
        raise Refused(f"tools.{i}.custom.description: Input should be a valid string")
    schema = tool.get("input_schema")
    if schema is None:
        raise Refused(f"tools.{i}.custom.input_schema: Field required")
    if not isinstance(schema, dict) or schema.get("type") != "object":
        raise Refused(f"tools.{i}.custom.input_schema.type: Input should be 'object'")
    if any(field in schema for field in ("anyOf", "oneOf", "allOf")):
        raise Refused(
            f"tools.{i}.custom.input_schema: input_schema does not support oneOf, allOf, or anyOf at the top level"
        )
    if not isinstance(schema.get("properties", {}), dict):
        raise Refused(f"tools.{i}.custom.input_schema: JSON schema is invalid. It must match JSON Schema 2020-12")


def _refuse_search(i: int, tool: Json) -> None:
    where = f"tools.{i}.{tool['type']}"
    for field in tool:
        if field not in SEARCH_FIELDS:
            raise Refused(f"{where}.{field}: Extra inputs are not permitted")
    if tool["name"] != "web_search":
        raise Refused(f"{where}.name: Input should be 'web_search'")
    most = tool.get("max_uses")
    if most is not None and (not isinstance(most, int) or isinstance(most, bool) or most < 1):
        raise Refused(f"{where}.max_uses: Input should be greater than 0")
    if tool.get("allowed_domains") and tool.get("blocked_domains"):
        raise Refused(f"{where}: Only one of allowed_domains or blocked_domains can be specified")


def _refuse_system(system: Any) -> None:
    if system is None or isinstance(system, str):
        return
    if not isinstance(system, list):
        raise Refused("system: Input should be a valid list")
    for i, block in enumerate(system):
        if not isinstance(block, dict) or block.get("type") != "text":
            raise Refused(f"system.{i}.type: Input should be 'text'")
        check_text(f"system.{i}", "system", block)


def _refuse_markers(request: Json) -> None:
    blocks: list[Any] = [*(request.get("tools") or []), *as_blocks(request.get("system") or [])]
    for message in request["messages"]:
        for block in as_blocks(message["content"]):
            blocks.append(block)
            if block["type"] == "tool_result" and isinstance(block.get("content"), list):
                blocks.extend(block["content"])
    marked = sum(is_marked(block) for block in blocks)
    if marked > MARKERS_MAX:
        raise Refused(f"A maximum of 4 blocks with cache_control may be provided. Found {marked}.")


def _refuse_length(request: Json, most: int) -> None:
    length = tokens(b"".join(data for data, _ in prompt_blocks(request)))
    if length > most:
        raise Refused(f"prompt is too long: {length} tokens > {most} maximum")
