"""Delegating: a task goes to a fresh worker, and its answer comes back as text from outside.

One rule: a worker knows its task and nothing else, and whatever comes of it enters as text from outside, behind one of
a few fixed sentences.
"""

from typing import Annotated, Literal, Protocol

import attrs
from msgspec import Meta

from storage.operation import Bell, Write
from storage.records import Worker
from storage.runs import WORKERS, dismiss
from storage.text import loads
from storage.workers import Work

from .contract import Arguments, Result, Tool, ToolContext, ToolFailed
from .limits import Limits
from .outside import Source, outside

DELEGATE = "delegate"
"""The tool's name."""

Outcome = Literal["answered", "cut", "silent", "failed", "time", "money", "stopped"]

FRAMES: dict[Outcome, str] = {
    "answered": "⟦The worker is done. Its answer follows.⟧",
    "cut": "⟦The worker is done, but its answer broke off at the longest length of a reply. It follows.⟧",
    "silent": "⟦The worker is done and said nothing.⟧",
    "failed": "⟦The worker failed. Why, and what it had written until then, follows.⟧",
    "time": "⟦The worker took too long and was ended. What it had written until then follows.⟧",
    "money": "⟦The spending limit was reached before the worker was done. What it had written until then follows.⟧",
    "stopped": "⟦The worker was stopped before it was done. What it had written until then follows.⟧",
}
"""What a model is told of how a worker ended, in the brackets that nothing from outside can hold."""

DETACHED = (
    "Still open: the owner wrote something meanwhile. The worker goes on, and what comes of it will come as a message."
)


@attrs.frozen(kw_only=True)
class Answer:
    """What came of a worker."""

    outcome: Outcome
    text: str


def answer_of(work: Work) -> Answer:
    """What a worker whose work is over has to say: its last reply if it came to an end, else all it wrote."""
    texts = [_text(entry.shown) for entry in work.replies]
    run, written = work.run, "\n\n".join(text for text in texts if text)
    if work.worker.cut_short == "time":
        return Answer(outcome="time", text=written)
    if work.worker.cut_short == "money":
        return Answer(outcome="money", text=written)
    if run is None or run.state == "stopped":
        return Answer(outcome="stopped", text=written)
    if run.state != "done":
        return Answer(outcome="failed", text=f"{run.reason}\n\n{written}".strip())
    last = texts[-1] if texts else ""
    if not last:
        return Answer(outcome="silent", text=written)
    return Answer(outcome="cut" if work.replies[-1].cut else "answered", text=last)


def _text(shown: str) -> str:
    return "\n".join(block["text"] for block in loads(shown) if block["type"] == "text").strip()


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
            parts=(FRAMES[answer.outcome], shown),
            failed=answer.outcome not in ("answered", "cut", "silent"),
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
