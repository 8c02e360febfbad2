"""The body of a request to Claude: cache markers placed, thinking set.

One rule: nothing that was asked is changed, and without its markers the same history always makes the same bytes.
"""

from collections.abc import Iterable
from typing import Any

from tools.model import Block, ModelRequest

MARKER = {"type": "ephemeral"}
THINKING: dict[str, dict[str, str]] = {
    "claude-haiku-5-5": {"type": "disabled"},
    "claude-sonnet-5": {"type": "disabled"},
    "claude-opus-5": {"type": "disabled"},
    "claude-sonnet-5-5": {"type": "between_tools"},
}
"""The least thinking that each model takes, where leaving it out means to think (the provider's guides, 2026-10).

Thinking blocks have to go back as they came, and are bound to the account, the model and every byte before them.
Here the account can change with any request, histories are compacted, and agents change models, so they are not
kept. A model that cannot do without (Opus 5.5, Fable) thinks anew after each tool result.
"""


def body_of(request: ModelRequest) -> dict[str, Any]:
    """What is sent, but for `stream`."""
    body: dict[str, Any] = {"model": request.model, "max_tokens": request.max_tokens}
    if request.tools:
        body["tools"] = list(request.tools)
    if request.system.strip():
        body["system"] = [{"type": "text", "text": request.system, "cache_control": MARKER}]
    ends = {request.previous_end - 1, len(request.messages) - 1}
    body["messages"] = [_message(message, marked=i in ends) for i, message in enumerate(request.messages)]
    if request.model in THINKING:
        body["thinking"] = THINKING[request.model]
    return body


def _message(message: Block, *, marked: bool) -> Block:
    """A copy whose content is blocks, the last one marked if it can be: an empty text cannot."""
    content = message["content"]
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) else list(content)
    if marked:
        for i in _from_the_end(blocks):
            if blocks[i].get("type") != "text" or blocks[i].get("text"):
                blocks[i] = blocks[i] | {"cache_control": MARKER}
                break
    return message | {"content": blocks}


def _from_the_end(blocks: list[Block]) -> Iterable[int]:
    return reversed(range(len(blocks)))
