"""Delegating: a task goes to a fresh worker, and its answer comes back as text from outside.

One rule: a worker knows its task and nothing else, and whatever comes of it enters as text from outside, behind one of
a few fixed sentences.
"""

from typing import Annotated, Protocol

from msgspec import Meta

from storage.operation import Bell, Write
from storage.records import Worker
from storage.runs import WORKERS, dismiss

from .answers import FRAMES, Answer
from .contract import Arguments, Result, Tool, ToolContext, ToolFailed
from .limits import Limits
from .outside import Source, outside

DELEGATE = "delegate"
"""The tool's name."""


class Delegating(Protocol):
    """Has workers work."""

    async def answer(self, context: ToolContext, task: str) -> tuple[Worker, Answer]:
        """Have the worker of this call do a task, and wait until it has. Raises ToolFailed if it may have none."""
        ...


class DelegateArguments(Arguments, frozen=True):
    """Arguments of `delegate`."""

    task: Annotated[
        str,
        Meta(
            description=(
                "The whole task, as for somebody who knows nothing of the owner, of you or of what was said: what is "
                "wanted, all that is needed for it, and in which form the answer should come. Nothing private that it "
                "doesn't need: the worker is on the open internet."
            )
        ),
    ]


def _check(arguments: DelegateArguments, limits: Limits) -> None:
    if not arguments.task.strip() or len(arguments.task) > limits.task_characters:
        raise ToolFailed(f"A task has 1 to {limits.task_characters} characters. Nothing was delegated.")


def delegate(workers: Delegating) -> Tool:
    """The tool, with those who do the work."""

    async def run(context: ToolContext, arguments: DelegateArguments) -> Result:
        worker, answer = await workers.answer(context, arguments.task)
        ended: tuple[Write, ...] = (dismiss(worker.conversation, context.clock()),)
        shown = outside(
            answer.text,
            Source.WORKER,
            redactor=context.redactor,
            limit_characters=context.limits.answer_characters,
        )
        return Result(
            parts=(FRAMES[Source.WORKER][answer.outcome], shown),
            failed=answer.failed,
            writes=ended,
            bells=(Bell(WORKERS, worker.conversation),),
        )

    return Tool(
        name=DELEGATE,
        description=(
            "Give a task to a worker: a fresh helper that can use the internet and run commands, knows nothing but the "
            "task, and is gone when it has answered. Put in everything it needs, and nothing private that it doesn't. "
            "Several tasks that don't hang on each other go side by side, in one turn. Its answer is text from outside."
        ),
        arguments=DelegateArguments,
        run=run,
        check=_check,
        exit=True,
        private=False,
        outside=True,
        repeatable=True,
        detachable=True,
    )
