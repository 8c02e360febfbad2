"""Asking the Claude client in tests."""

from typing import Any

import pytest

from dreamwalker.claude import Claude
from tools.model import ModelError, ModelReply, ModelRequest

KEY = "sk-test-4711"
TOOL = {
    "name": "write_note",
    "description": "Keeps a note.",
    "input_schema": {"type": "object", "properties": {"text": {"type": "string"}}},
}


def question(**changes: Any) -> ModelRequest:
    fields: dict[str, Any] = {
        "model": "claude-haiku-5-5",
        "system": "You are dreamwalker.",
        "tools": (TOOL,),
        "messages": ({"role": "user", "content": "Hello"},),
        "max_tokens": 1000,
    }
    return ModelRequest(**fields | changes)


async def asked(claude: Claude, **changes: Any) -> ModelReply:
    return await claude.ask(question(**changes), lambda text: None)


async def failed(claude: Claude, **changes: Any) -> ModelError:
    with pytest.raises(ModelError) as raised:
        await asked(claude, **changes)
    assert KEY not in str(raised.value)
    return raised.value
