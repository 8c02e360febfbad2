"""The toolbox: finds a tool, checks the arguments, calls it, redacts and cuts what comes back.

One rule: whatever a model can do wrong becomes a result that it can read. Only storage's own errors pass through:
they are about the house, not about the call.
"""

import logging
import time
from collections.abc import Iterable
from typing import Any

import attrs
import msgspec

from storage.calls import result_block
from storage.errors import StorageError
from storage.operation import Bell, Write
from storage.records import Call
from storage.text import dumps

from .contract import Result, Tool, ToolContext, ToolFailed
from .limits import Limits
from .model import Block
from .outside import Outside
from .redact import Redactor

log = logging.getLogger("dreamwalker.tools")


@attrs.frozen(kw_only=True)
class Outcome:
    """A finished call: the tool_result block as JSON text, and what is committed together with it.

    `outside`: text from outside enters with it; `parts` says which parts of its content that is, by their place.
    """

    shown: str
    failed: bool
    outside: bool
    parts: tuple[int, ...] = ()
    writes: tuple[Write, ...] = ()
    bells: tuple[Bell, ...] = ()


class Toolbox:
    """The tools of one kind of conversation."""

    def __init__(self, tools: Iterable[Tool], redactor: Redactor) -> None:
        self._tools = {tool.name: tool for tool in tools}
        self.redactor = redactor
        self.specs: tuple[Block, ...] = tuple(tool.spec() for tool in self._tools.values())
        self.specs_bytes = len(dumps(self.specs).encode())

    def find(self, name: str) -> Tool | None:
        """The tool of this name, or None."""
        return self._tools.get(name)

    async def perform(self, context: ToolContext) -> Outcome:
        """Carry out a call and shape its result."""
        call, began = context.call, time.monotonic()
        facts = {"run": call.run, "call": call.key, "tool": call.tool if call.tool in self._tools else "none"}
        try:
            result = await self._result(context)
        except StorageError:
            raise
        except ToolFailed as failure:
            result = Result(parts=(str(failure),), failed=True)
        except Exception as error:
            log.exception("call.broke", facts)
            result = Result(parts=(f"The tool failed unexpectedly ({type(error).__name__}).",), failed=True)
        told = {"failed": result.failed, "outside": result.outside, "ms": round(1_000 * (time.monotonic() - began))}
        log.info("call.ended", {**facts, **told})
        content, parts = self._content(result, context.limits.result_characters)
        return Outcome(
            shown=result_block(call, content, failed=result.failed),
            failed=result.failed,
            outside=result.outside,
            parts=parts,
            writes=result.writes,
            bells=result.bells,
        )

    def read(self, call: Call, limits: Limits) -> tuple[Tool, Any]:
        """The tool of a call, and its arguments as the tool takes them. Raises ToolFailed."""
        tool = self._tools.get(call.tool)
        if tool is None:
            there = ", ".join(self._tools) or "none"
            raise ToolFailed(f"There is no tool {call.tool!r}. The tools are: {there}.")
        return tool, self.arguments(tool, call.arguments, limits)

    def arguments(self, tool: Tool, text: str, limits: Limits) -> Any:
        """JSON text as the arguments that a tool takes. Raises ToolFailed."""
        if len(text) > limits.argument_bytes:
            raise ToolFailed(f"The arguments are longer than {limits.argument_bytes} bytes.")
        try:
            arguments = msgspec.json.decode(text.encode(), type=tool.arguments)
        except (msgspec.DecodeError, UnicodeEncodeError) as error:
            raise ToolFailed(f"The arguments of {tool.name} don't fit: {error}. Nothing was done.") from error
        if tool.check is not None:
            tool.check(arguments, limits)
        return arguments

    async def _result(self, context: ToolContext) -> Result:
        tool, arguments = self.read(context.call, context.limits)
        result = await tool.run(context, arguments)
        if result.outside and not tool.outside:
            raise AssertionError(f"{tool.name} says that it brings in nothing from outside, and did")
        return result

    def _content(self, result: Result, limit: int) -> tuple[list[Block], tuple[int, ...]]:
        """The content blocks of a result, none of them empty, and which of them are text from outside."""
        blocks: list[Block] = []
        outside: list[int] = []
        for part in result.parts:
            if isinstance(part, Outside):
                if not part.clean:
                    outside.extend(range(len(blocks), len(blocks) + len(part.blocks)))
                blocks.extend(part.blocks)
            elif part.strip():
                text = self.redactor.text(part)
                if len(text) > limit:
                    text = f"{text[:limit]}\n… cut here: {len(text) - limit} more characters"
                blocks.append({"type": "text", "text": text})
        return blocks or [{"type": "text", "text": "(nothing)"}], tuple(outside)


def canonical(arguments: Any) -> str:
    """Arguments as the one JSON text that stands for them: what is shown of an act, and what runs."""
    return dumps(msgspec.to_builtins(arguments))
