"""An `Answer` as the server-sent events of the Messages API.

One rule: events and gates come out in order and nothing is written here; whoever writes decides where it breaks.
"""

import itertools
import json
from collections.abc import Iterator

from tests.messages_api.cache import Counted, tokens
from tests.messages_api.replies import Answer, Gate, Json, Piece, Search, Text, Thinking, Use

_numbers = itertools.count(1)


def event(name: str, data: Json) -> bytes:
    whole = {"type": name} | data
    try:
        encoded = json.dumps(whole, ensure_ascii=False).encode()
    except UnicodeEncodeError:  # a lone surrogate travels as an escape
        encoded = json.dumps(whole).encode()
    return b"event: " + name.encode() + b"\ndata: " + encoded + b"\n\n"


def error_event(type: str, message: str) -> bytes:
    return event("error", {"error": {"type": type, "message": message}, "request_id": "req_scripted"})


def events(answer: Answer, request: Json, counted: Counted) -> Iterator[bytes | Gate]:
    """Every event of the answer, with the gates between them."""
    usage = usage_json(answer, counted)
    yield event("message_start", {"message": _message(request, usage | {"output_tokens": 1})})
    yield event("ping", {})
    index = 0
    for block in answer.blocks:
        for start, deltas in _parts(block):
            yield event("content_block_start", {"index": index, "content_block": start})
            for delta in deltas:
                if isinstance(delta, Gate):
                    yield delta
                else:
                    yield event("content_block_delta", {"index": index, "delta": delta})
            yield event("content_block_stop", {"index": index})
            index += 1
    stopped = {"stop_reason": answer.stop_reason, "stop_sequence": None, "stop_details": None}
    yield event("message_delta", {"delta": stopped, "usage": usage})
    yield event("message_stop", {})


def usage_json(answer: Answer, counted: Counted) -> Json:
    """What the answer is billed: the prompt as the cache saw it, the output at four bytes a token."""
    searches = sum(isinstance(block, Search) and block.error is None for block in answer.blocks)
    usage: Json = {
        "input_tokens": counted.fresh,
        "cache_creation_input_tokens": counted.written,
        "cache_read_input_tokens": counted.read,
        "output_tokens": max(1, sum(_output_tokens(block) for block in answer.blocks)),
    }
    if searches:
        usage["server_tool_use"] = {"web_search_requests": searches, "web_fetch_requests": 0}
    return usage | answer.usage


def _output_tokens(block: Piece) -> int:
    if isinstance(block, Text | Use):
        return tokens("".join(piece for piece in block.pieces if isinstance(piece, str)).encode(errors="replace"))
    return 20


def _message(request: Json, usage: Json) -> Json:
    return {
        "id": f"msg_{next(_numbers):08d}",
        "type": "message",
        "role": "assistant",
        "model": request["model"],
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": usage,
    }


def _parts(block: Piece) -> Iterator[tuple[Json, list[Json | Gate]]]:
    """The content blocks that one piece of the script makes: their start and their deltas."""
    deltas: list[Json | Gate]
    match block:
        case Text():
            deltas = [p if isinstance(p, Gate) else {"type": "text_delta", "text": p} for p in block.pieces]
            if block.citation is not None:
                deltas.append({"type": "citations_delta", "citation": block.citation})
            yield {"type": "text", "text": ""}, deltas
        case Use():
            deltas = [
                p if isinstance(p, Gate) else {"type": "input_json_delta", "partial_json": p} for p in block.pieces
            ]
            made = block.id if block.id is not None else f"toolu_{next(_numbers):08d}"
            yield {"type": "tool_use", "id": made, "name": block.name, "input": {}}, deltas
        case Thinking():
            signed: list[Json | Gate] = [{"type": "signature_delta", "signature": block.signature}]
            yield {"type": "thinking", "thinking": "", "signature": ""}, signed
        case Search():
            made = f"srvtoolu_{next(_numbers):08d}"
            query = json.dumps({"query": block.query}, ensure_ascii=False)
            deltas = [{"type": "input_json_delta", "partial_json": query}]
            yield {"type": "server_tool_use", "id": made, "name": "web_search", "input": {}}, deltas
            yield {"type": "web_search_tool_result", "tool_use_id": made, "content": _found(block)}, []


def _found(search: Search) -> Json | list[Json]:
    if search.error is not None:
        return {"type": "web_search_tool_result_error", "error_code": search.error}
    return [
        {
            "type": "web_search_result",
            "title": title,
            "url": url,
            "encrypted_content": "ZW5jcnlwdGVk",
            "page_age": age[0] if age else None,
        }
        for title, url, *age in search.results
    ]
