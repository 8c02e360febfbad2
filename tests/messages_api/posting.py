"""Requests for the tests of the scripted Messages API, and sending them."""

import json
from typing import Any

import httpx2

from tests.messages_api import MessagesApi

HEADERS = {"x-api-key": "k", "anthropic-version": "2026-10-21", "content-type": "application/json"}
USER = {"role": "user", "content": "Hello"}
SCHEMA = {"type": "object", "properties": {}}
MARKER = {"type": "ephemeral"}


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
