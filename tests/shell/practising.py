"""Talking to the practice model in tests."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import trio

from dreamwalker.claude import Claude
from dreamwalker.practice import serve_practice
from dreamwalker.practice_answer import SIGNATURE
from tools.history import HISTORY_TOOLS
from tools.jobs import JOB_TOOLS
from tools.model import ModelReply, ModelRequest, ToolUse
from tools.notes import NOTE_TOOLS
from tools.outside import Source, outside
from tools.redact import Redactor
from tools.reminders import REMINDER_TOOLS

TIME = {"type": "text", "text": "[2026-11-29 Sunday 14:40 Europe/Vienna]"}
Block = dict[str, Any]


def tool(name: str, *required: str, **properties: Any) -> Block:
    fields = {field: {"type": "string"} for field in required} | properties
    schema = {"type": "object", "properties": fields, "required": list(required)}
    return {"name": name, "description": "Does it.", "input_schema": schema}


TOOLS: tuple[Block, ...] = (
    *(made.spec() for made in (*NOTE_TOOLS, *HISTORY_TOOLS, *REMINDER_TOOLS, *JOB_TOOLS)),
    tool("delegate", "task"),
    tool("message_agent", "agent", "text"),
    tool("ask_owner", "question", options={"type": "array"}),
)


def _wordings() -> dict[str, list[tuple[str, str]]]:
    """What is asked for, to sentences that ask for it, each with what must come through."""
    read: dict[str, list[tuple[str, str]]] = {}
    kind = ""
    for line in Path(__file__).with_name("practice_wordings.txt").read_text().splitlines():
        if line.startswith("["):
            kind = line.strip("[]")
        elif line and not line.startswith("#"):
            text, _, expected = line.partition(" => ")
            read.setdefault(kind, []).append((text, expected))
    return read


WORDINGS = _wordings()


@asynccontextmanager
async def practice_model(*, pace_seconds: float = 0) -> AsyncIterator[str]:
    """The practice model for the time of a block; its base URL. Without a pause between words unless asked for."""
    async with trio.open_nursery() as nursery:
        yield await nursery.start(partial(serve_practice, pace_seconds=pace_seconds))
        nursery.cancel_scope.cancel()


def owner(text: str) -> Block:
    return {"role": "user", "content": [TIME, {"type": "text", "text": text}]}


def used(name: str, arguments: Block, id: str = "a") -> Block:
    return {"role": "assistant", "content": [{"type": "tool_use", "id": id, "name": name, "input": arguments}]}


def result(*texts: str, id: str = "a", failed: bool = False) -> Block:
    parts = [{"type": "text", "text": text} for text in texts]
    return {
        "role": "user",
        "content": [{"type": "tool_result", "tool_use_id": id, "content": parts, "is_error": failed}],
    }


def from_outside(text: str, source: Source) -> Block:
    made = outside(text, source, redactor=Redactor({}), limit_characters=1000)
    return {"role": "user", "content": [TIME, *made.blocks]}


async def ask(claude: Claude, *messages: Block, tools: tuple[Block, ...] = TOOLS, max_tokens: int = 4000) -> ModelReply:
    request = ModelRequest(
        model="claude-haiku-5-5", system="You are x.", tools=tools, messages=messages, max_tokens=max_tokens
    )
    return await claude.ask(request, lambda text: None)


async def answer(claude: Claude, *messages: Block, **more: Any) -> str:
    (text,) = (await ask(claude, *messages, **more)).blocks
    assert isinstance(text, str)
    assert text.endswith(SIGNATURE)
    return text


async def call(claude: Claude, *messages: Block, **more: Any) -> ToolUse:
    (use,) = (await ask(claude, *messages, **more)).blocks
    assert isinstance(use, ToolUse)
    return use
