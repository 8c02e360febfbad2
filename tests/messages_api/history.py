"""Whether a list of messages is a history that the real Messages API takes.

One rule: user messages in a row are one turn, as the real one merges them; every tool use is answered once, at
the start of the turn that follows it.
"""

import re
from typing import Any

from tests.messages_api.cache import as_blocks
from tests.messages_api.replies import Json

ID = re.compile(r"[a-zA-Z0-9_-]+")
MESSAGES_MAX = 100_000
USER_BLOCKS = {
    "text": {"citations"},
    "tool_result": {"tool_use_id", "content", "is_error", "toolset_name"},
    "image": {"source"},
    "document": {"source", "title", "context", "citations"},
}
ASSISTANT_BLOCKS = {
    "text": {"citations"},
    "tool_use": {"id", "name", "input", "caller", "toolset_name"},
    "server_tool_use": {"id", "name", "input", "caller"},
    "web_search_tool_result": {"tool_use_id", "content", "caller"},
    "thinking": {"thinking", "signature"},
    "redacted_thinking": {"data"},
}
RESULT_BLOCKS = {"text": {"citations"}, "image": {"source"}, "document": USER_BLOCKS["document"]}


class Refused(Exception):
    """What is wrong with a request, in the API's words. The server answers 400 with it."""


def refuse_history(messages: Any, *, prefill: bool) -> None:
    """Raises Refused. `prefill`: whether the model continues a final assistant message."""
    if not isinstance(messages, list):
        raise Refused("messages: Input should be a valid list")
    if not messages:
        raise Refused("messages: at least one message is required")
    if len(messages) > MESSAGES_MAX:
        raise Refused(f"messages: List should have at most {MESSAGES_MAX} items")
    for i, message in enumerate(messages):
        _refuse_message(i, message, last=i == len(messages) - 1)
    if messages[0]["role"] != "user":
        raise Refused('messages: first message must use the "user" role')
    _refuse_turns(_merged(messages))
    if messages[-1]["role"] == "assistant":
        _refuse_prefill(messages[-1], prefill=prefill)


def _refuse_message(i: int, message: Any, *, last: bool) -> None:
    if not isinstance(message, dict):
        raise Refused(f"messages.{i}: Input should be a valid dictionary")
    for field in message:
        if field not in ("role", "content"):
            raise Refused(f"messages.{i}.{field}: Extra inputs are not permitted")
    if message.get("role") not in ("user", "assistant"):
        raise Refused(f"messages.{i}.role: Input should be 'user' or 'assistant'")
    content = message.get("content")
    if not isinstance(content, str | list):
        raise Refused(f"messages.{i}.content: Field required")
    if not content:
        if last and message["role"] == "assistant":
            return
        raise Refused(
            f"messages.{i}: all messages must have non-empty content except for the optional final assistant message"
        )
    for j, block in enumerate(as_blocks(content)):
        _refuse_block(f"messages.{i}.content.{j}", block, message["role"])


def _refuse_block(where: str, block: Any, role: str) -> None:
    known = USER_BLOCKS if role == "user" else ASSISTANT_BLOCKS
    other = ASSISTANT_BLOCKS if role == "user" else USER_BLOCKS
    type = check_fields(where, block, known)
    if type is None:
        if isinstance(block, dict) and block.get("type") in other:
            only = "assistant" if role == "user" else "user"
            raise Refused(f"{where.split('.content')[0]}: `{block['type']}` blocks can only be in `{only}` messages")
        raise Refused(f"{where}: Input tag does not match any of the expected tags: {', '.join(known)}")
    match type:
        case "text":
            check_text(where, "messages", block)
        case "tool_use" | "server_tool_use":
            check_id(f"{where}.{type}.id", block.get("id"))
            if not isinstance(block.get("name"), str) or not block["name"] or len(block["name"]) > 200:
                raise Refused(f"{where}.{type}.name: String should have at least 1 character")
            if not isinstance(block.get("input"), dict):
                raise Refused(f"{where}.{type}.input: Input should be a valid dictionary")
        case "tool_result":
            _refuse_result(where, block)
        case "thinking":
            if not block.get("signature"):
                raise Refused(f"{where}.thinking.signature: Field required")


def _refuse_result(where: str, block: Json) -> None:
    check_id(f"{where}.tool_result.tool_use_id", block.get("tool_use_id"))
    if not isinstance(block.get("is_error", False), bool):
        raise Refused(f"{where}.tool_result.is_error: Input should be a valid boolean")
    content = block.get("content", "")
    if isinstance(content, str):
        return
    if not isinstance(content, list):
        raise Refused(f"{where}.tool_result.content: Input should be a valid list")
    for k, part in enumerate(content):
        place = f"{where}.tool_result.content.{k}"
        if check_fields(place, part, RESULT_BLOCKS) is None:
            raise Refused(f"{place}: Input tag does not match any of the expected tags: {', '.join(RESULT_BLOCKS)}")
        if part["type"] == "text":
            check_text(place, "messages", part)


def _merged(messages: list[Json]) -> list[tuple[int, str, list[Json]]]:
    """Turns: where each begins, whose it is, and its blocks."""
    turns: list[tuple[int, str, list[Json]]] = []
    for i, message in enumerate(messages):
        if turns and turns[-1][1] == message["role"]:
            turns[-1][2].extend(as_blocks(message["content"]))
        else:
            turns.append((i, message["role"], list(as_blocks(message["content"]))))
    return turns


def _refuse_turns(turns: list[tuple[int, str, list[Json]]]) -> None:
    seen: set[str] = set()
    open_ids: list[str] = []
    for i, role, blocks in turns:
        if role == "user":
            _refuse_answers(i, blocks, open_ids)
            open_ids = []
        else:
            open_ids = [block["id"] for block in blocks if block["type"] == "tool_use"]
            for id in open_ids:
                if id in seen:
                    raise Refused(f"messages.{i}: `tool_use` ids must be unique: {id}")
                seen.add(id)
    if open_ids:
        raise Refused(_unanswered(turns[-1][0], open_ids))


def _refuse_answers(i: int, blocks: list[Json], open_ids: list[str]) -> None:
    """The turn must open with one result for each open tool use, and hold no other result."""
    leading = 0
    while leading < len(blocks) and blocks[leading]["type"] == "tool_result":
        leading += 1
    answered = [block["tool_use_id"] for block in blocks if block["type"] == "tool_result"]
    for id in answered:
        if id not in open_ids:
            raise Refused(
                f"messages.{i}: unexpected `tool_use_id` found in `tool_result` blocks: {id}. Each `tool_result`"
                " block must have a corresponding `tool_use` block in the previous message."
            )
        if answered.count(id) > 1:
            raise Refused(
                f"messages.{i}: each tool_use must have a single result. Found multiple `tool_result` blocks with"
                f" id: {id}"
            )
    missing = [id for id in open_ids if id not in answered[:leading]]
    if missing:
        raise Refused(_unanswered(i - 1, missing))


def _unanswered(i: int, ids: list[str]) -> str:
    return (
        f"messages.{i}: `tool_use` ids were found without `tool_result` blocks immediately after: {', '.join(ids)}."
        " Each `tool_use` block must have a corresponding `tool_result` block in the next message."
    )


def _refuse_prefill(message: Json, *, prefill: bool) -> None:
    blocks = as_blocks(message["content"])
    if any(block["type"] == "server_tool_use" for block in blocks):
        return  # a paused turn of server-side searches goes on, on every model
    if not prefill:
        raise Refused(
            "This model does not support assistant message prefill. The conversation must end with a user message."
        )
    if blocks and blocks[-1]["type"] == "text" and blocks[-1]["text"] != blocks[-1]["text"].rstrip():
        raise Refused("messages: final assistant content cannot end with trailing whitespace")


def check_fields(where: str, block: Any, known: dict[str, set[str]]) -> str | None:
    """The block's type if it is among the known ones. Raises Refused over a field it cannot have."""
    type = block.get("type") if isinstance(block, dict) else None
    if not isinstance(type, str) or type not in known:
        return None
    for field in block:
        if field not in known[type] | {"type", "cache_control"} and not (type == "text" and field == "text"):
            raise Refused(f"{where}.{type}.{field}: Extra inputs are not permitted")
    marker = block.get("cache_control")
    if marker is not None:
        if type in ("thinking", "redacted_thinking"):
            raise Refused(f"{where}.{type}.cache_control: Extra inputs are not permitted")
        if not isinstance(marker, dict) or marker.get("type") != "ephemeral":
            raise Refused(f"{where}.{type}.cache_control.type: Input should be 'ephemeral'")
        if marker.get("ttl", "5m") not in ("5m", "1h"):
            raise Refused(f"{where}.{type}.cache_control.ttl: Input should be '5m' or '1h'")
    return type


def check_text(where: str, part: str, block: Json) -> None:
    """Text must be a str with something to read in it. Raises Refused."""
    text = block.get("text")
    if not isinstance(text, str):
        raise Refused(f"{where}.text.text: Field required")
    if not text and is_marked(block):
        raise Refused(f"{where}.text: cache_control cannot be set for empty text blocks")
    if not text:
        raise Refused(f"{part}: text content blocks must be non-empty")
    if not text.strip():
        raise Refused(f"{part}: text content blocks must contain non-whitespace text")


def check_id(where: str, id: Any) -> None:
    if not isinstance(id, str) or not ID.fullmatch(id):
        raise Refused(f"{where}: String should match pattern '^[a-zA-Z0-9_-]+$'")


def is_marked(block: Json) -> bool:
    return block.get("cache_control") is not None
