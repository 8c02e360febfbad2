"""What a tool is: its declaration, what it is given, and what it gives back.

One rule: a tool that says nothing of itself is taken for the most dangerous one: an exit that reads private and
outside text and must not be repeated.
"""

import functools
from collections.abc import Awaitable, Callable
from datetime import datetime
from typing import Any, Protocol, TypeVar
from zoneinfo import ZoneInfo

import attrs
import msgspec

from storage.answers import Target
from storage.operation import Bell, Read, Write
from storage.records import Call

from .limits import Limits
from .model import Block
from .outside import Outside
from .redact import Redactor

T = TypeVar("T")


class Arguments(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Base of a tool's arguments. The fields, their types and their descriptions are what the model sees."""


class ToolFailed(Exception):
    """The call can't be carried out, for a reason that the model should read and can act on."""


class Ask(Protocol):
    """Reads from storage."""

    async def __call__(self, read: Read[T], /) -> T: ...


@attrs.frozen(kw_only=True)
class ToolContext:
    """What a call may know and use. `label` is the label of the request that asked for it.

    `now`, aware UTC, is when it began; `clock` tells the time to those that take long.
    """

    agent: str
    call: Call
    act: str
    hops: int
    label: int
    now: datetime
    clock: Callable[[], datetime]
    zone: ZoneInfo
    ask: Ask
    next_id: Callable[[], int]
    redactor: Redactor
    limits: Limits


@attrs.frozen(kw_only=True)
class Result:
    """What a call came to: parts for the model to read, and what is committed together with them.

    A part is our own or the owner's text, or Outside (which brings in nothing if it is clean). `label` above 0 says
    that stored text with a label was read: it enters anew, at this commit.
    """

    parts: tuple[str | Outside, ...]
    failed: bool = False
    label: int = 0
    writes: tuple[Write, ...] = ()
    bells: tuple[Bell, ...] = ()

    @property
    def outside(self) -> bool:
        """Whether text from outside enters with it."""
        return self.label > 0 or any(isinstance(part, Outside) and not part.clean for part in self.parts)


@attrs.frozen(kw_only=True)
class Tool:
    """A tool's declaration. `run` raises ToolFailed for what the model can mend.

    `exit`: it can carry text away from the conversation. `private`, `outside`: its results can hold the owner's
    text, text from outside. `repeatable`: after a restart it may simply be done again. `stoppable`: it may be cut
    short for an owner who interrupts. `detachable`: a run goes on without it when somebody writes, and what comes of it
    enters later as a message. `in_database`: all that it does is what it returns, to be committed with its result.
    `asks`: each call of it is a question to the owner, whose answer is its result.

    `check` raises ToolFailed for arguments that can't be carried out whatever happens, before anybody is asked about
    them. `settle` makes of arguments that depend on when or where they are read (tomorrow, in an hour) ones that don't,
    so that what he is shown is what runs; it raises ToolFailed too. `target` says what a call of some agent would
    change, if that has versions: a yes holds for the one it was asked about.
    """

    name: str
    description: str
    arguments: type[Arguments]
    run: Callable[[ToolContext, Any], Awaitable[Result]]
    exit: bool = True
    private: bool = True
    outside: bool = True
    repeatable: bool = False
    stoppable: bool = False
    detachable: bool = False
    in_database: bool = False
    asks: bool = False
    check: Callable[[Any, Limits], None] | None = None
    settle: Callable[[ToolContext, Any], Awaitable[Any]] | None = None
    target: Callable[[str, Any], Target] | None = None

    def spec(self) -> Block:
        """The tool as a model is shown it. The same bytes every time."""
        return {"name": self.name, "description": self.description, "input_schema": _schema(self.arguments)}


@functools.cache
def _schema(arguments: type[Arguments]) -> dict[str, Any]:
    (made,), parts = msgspec.json.schema_components([arguments])
    schema: dict[str, Any] = parts[made["$ref"].rpartition("/")[2]]
    for noise in ("title", "description"):
        schema.pop(noise, None)
    return schema
