"""The practice model: a small Messages API on loopback that answers by rules, for trying everything without a key.

One rule: it streams and refuses like the real one, costs nothing, and every answer says that it is not an AI.
"""

import itertools
import json
import re
from collections.abc import AsyncIterator, Iterator
from functools import partial
from typing import Any, Protocol

import trio
from hypercorn.config import Config
from hypercorn.trio import serve
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from dreamwalker.practice_answer import Turn, blocks_of, turn

PRACTICE_MODEL = "practice"
PACE_SECONDS = 0.02
"""From word to word, so that stopping can be tried."""
BODY_BYTES_MAX = 32 * 1024 * 1024
CHARACTERS_PER_TOKEN = 4

_numbers = itertools.count(1)
Json = dict[str, Any]


class Refused(Exception):
    """The request makes no sense. Answered as a 400 with this message."""


class Started(Protocol):
    """Told the address once the model can be asked."""

    def started(self, value: str, /) -> None: ...


async def serve_practice(
    *, pace_seconds: float = PACE_SECONDS, task_status: Started = trio.TASK_STATUS_IGNORED
) -> None:
    """Serve until cancelled, for `nursery.start`: its value is the base URL for a Messages API client."""
    config = Config()
    config.bind = ["127.0.0.1:0"]
    config.errorlog = None
    config.graceful_timeout = 0
    app = Starlette(routes=[Route("/v1/messages", partial(_messages, pace_seconds=pace_seconds), methods=["POST"])])
    await serve(app, config, task_status=_FirstAddress(task_status))  # type: ignore[arg-type]


class _FirstAddress:
    """Passes on the first of the addresses that the server reports."""

    def __init__(self, status: Started) -> None:
        self._status = status

    def started(self, addresses: list[str]) -> None:
        self._status.started(addresses[0])


async def _messages(request: Request, *, pace_seconds: float) -> Response:
    try:
        asked = _asked(await _body(request))
        answer = _within(turn(asked), asked["max_tokens"])
    except Refused as refused:
        error = {"type": "invalid_request_error", "message": str(refused)}
        return JSONResponse({"type": "error", "error": error}, status_code=400)
    if asked.get("stream"):
        return StreamingResponse(_paced(answer, pace_seconds), media_type="text/event-stream")
    return JSONResponse(_message(answer[0]) | {"content": _content(answer[0]), "stop_reason": answer[1]})


async def _body(request: Request) -> bytes:
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > BODY_BYTES_MAX:
            raise Refused("The request is too large.")
    return bytes(body)


def _asked(body: bytes) -> Json:
    """The request, if it is one. The real API looks closer; this is what the rules rely on."""
    try:
        asked = json.loads(body)
    except ValueError:
        raise Refused("The request is not JSON.") from None
    if not isinstance(asked, dict) or not isinstance(asked.get("messages"), list) or not asked["messages"]:
        raise Refused("messages: at least one message is required.")
    if not isinstance(asked.get("max_tokens"), int) or asked["max_tokens"] < 1:
        raise Refused("max_tokens: a whole number above zero is required.")
    if not isinstance(asked.get("tools") or [], list):
        raise Refused("tools: a list is required.")
    try:
        for message in asked["messages"]:
            if message["role"] not in ("user", "assistant"):
                raise Refused("role: user or assistant.")
            for block in blocks_of(message):
                _ = block["type"] + str(block.get("text", "")) + str(block.get("id", ""))
        for tool in asked.get("tools") or []:
            _ = tool["name"] + "", tool.get("input_schema", {}).get("properties")
    except (LookupError, TypeError, AttributeError):
        raise Refused("A message or a tool of the request is not as it should be.") from None
    return asked


def _within(answer: Turn, max_tokens: int) -> tuple[Turn, str]:
    """The answer cut to so many tokens, and the reason why it stops."""
    limit = max_tokens * CHARACTERS_PER_TOKEN
    if len(answer.text) > limit:
        return Turn(text=answer.text[:limit]), "max_tokens"
    return answer, "tool_use" if answer.uses else "end_turn"


async def _paced(answer: tuple[Turn, str], pace_seconds: float) -> AsyncIterator[bytes]:
    for event in _events(*answer):
        yield f"event: {event['type']}\ndata: {json.dumps(event, ensure_ascii=False)}\n\n".encode()
        if event["type"] == "content_block_delta":
            await trio.sleep(pace_seconds)


def _events(answer: Turn, stop_reason: str) -> Iterator[Json]:
    yield {"type": "message_start", "message": _message(answer)}
    for index, block in enumerate(_content(answer)):
        if block["type"] == "text":
            yield {"type": "content_block_start", "index": index, "content_block": {"type": "text", "text": ""}}
            deltas = [{"type": "text_delta", "text": word} for word in re.findall(r"\s*\S+\s*", block["text"])]
        else:
            yield {"type": "content_block_start", "index": index, "content_block": block | {"input": {}}}
            raw = json.dumps(block["input"], ensure_ascii=False)
            deltas = [{"type": "input_json_delta", "partial_json": raw}]
        for delta in deltas:
            yield {"type": "content_block_delta", "index": index, "delta": delta}
        yield {"type": "content_block_stop", "index": index}
    stopped = {"stop_reason": stop_reason, "stop_sequence": None}
    yield {"type": "message_delta", "delta": stopped, "usage": {"input_tokens": 0, "output_tokens": 0}}
    yield {"type": "message_stop"}


def _message(answer: Turn) -> Json:
    return {
        "id": f"msg_practice_{next(_numbers)}",
        "type": "message",
        "role": "assistant",
        "model": PRACTICE_MODEL,
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": {"input_tokens": 0, "output_tokens": 0},
    }


def _content(answer: Turn) -> list[Json]:
    text = [{"type": "text", "text": answer.text}] if answer.text.strip() else []
    uses = [
        {"type": "tool_use", "id": f"toolu_practice_{next(_numbers)}", "name": use.name, "input": use.arguments}
        for use in answer.uses
    ]
    return [*text, *uses]
