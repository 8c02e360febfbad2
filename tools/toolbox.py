"""The toolbox: finds a tool, checks the arguments, calls it, redacts and cuts what comes back.

One rule: whatever a model can do wrong becomes a result that it can read. Only storage's own errors pass through:
they are about the house, not about the call.
"""

import logging
from collections.abc import Iterable

import attrs
import msgspec

from storage.calls import result_block
from storage.errors import StorageError
from storage.operation import Bell, Write

from .contract import Result, Tool, ToolContext, ToolFailed
from .model import Block
from .outside import Outside
from .redact import Redactor

log = logging.getLogger("dreamwalker.tools")


@attrs.frozen(kw_only=True)
class Outcome:
    """A finished call: the tool_result block as JSON text, and what is committed together with it."""

    shown: str
    failed: bool
    outside: bool
    writes: tuple[Write, ...] = ()
    bells: tuple[Bell, ...] = ()


class Toolbox:
    """The tools of one kind of conversation."""

    def __init__(self, tools: Iterable[Tool], redactor: Redactor) -> None:
        self._tools = {tool.name: tool for tool in tools}
        self._redactor = redactor
        self.specs: tuple[Block, ...] = tuple(tool.spec() for tool in self._tools.values())

    def find(self, name: str) -> Tool | None:
        """The tool of this name, or None."""
        return self._tools.get(name)

    async def perform(self, context: ToolContext) -> Outcome:
        """Carry out a call and shape its result."""
        call = context.call
        try:
            result = await self._result(context)
        except StorageError:
            raise
        except ToolFailed as failure:
            result = Result(parts=(str(failure),), failed=True)
        except Exception as error:
            log.exception("tool %s failed in %s", call.tool, call.key)
            result = Result(parts=(f"The tool failed unexpectedly ({type(error).__name__}).",), failed=True)
        content = self._content(result, context.limits.result_characters)
        return Outcome(
            shown=result_block(call, content, failed=result.failed),
            failed=result.failed,
            outside=result.outside,
            writes=result.writes,
            bells=result.bells,
        )

    async def _result(self, context: ToolContext) -> Result:
        call = context.call
        tool = self._tools.get(call.tool)
        if tool is None:
            there = ", ".join(self._tools) or "none"
            raise ToolFailed(f"There is no tool {call.tool!r}. The tools are: {there}.")
        if len(call.arguments) > context.limits.argument_bytes:
            raise ToolFailed(f"The arguments are longer than {context.limits.argument_bytes} bytes.")
        try:
            arguments = msgspec.json.decode(call.arguments.encode(), type=tool.arguments)
        except (msgspec.DecodeError, UnicodeEncodeError) as error:
            raise ToolFailed(f"The arguments of {call.tool} don't fit: {error}. Nothing was done.") from error
        return await tool.run(context, arguments)

    def _content(self, result: Result, limit: int) -> list[Block]:
        blocks: list[Block] = []
        for part in result.parts:
            if isinstance(part, Outside):
                blocks.extend(part.blocks)
            elif part.strip():
                text = self._redactor.text(part)
                if len(text) > limit:
                    text = f"{text[:limit]}\n… cut here: {len(text) - limit} more characters"
                blocks.append({"type": "text", "text": text})
        return blocks or [{"type": "text", "text": "(nothing)"}]
