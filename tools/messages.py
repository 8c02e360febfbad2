"""Messages between agents: ask one and wait for its answer, or hand work off to it.

One rule: what one agent tells another is framed as text from outside for both of them, and its label is as clean as
what it derives from. How far it is from what the owner said is a number beside it, never words in it.
"""

from collections.abc import Iterable
from typing import Annotated, Literal, Protocol

from msgspec import Meta

from storage.operation import Bell, Write
from storage.records import Agent, Worker
from storage.runs import WORKERS, dismiss

from .answers import FRAMES, Answer
from .contract import Arguments, Result, Tool, ToolContext, ToolFailed
from .limits import Limits
from .outside import Source, outside

MESSAGE_AGENT = "message_agent"
"""The tool's name."""

RETIRED = "{name} is retired and answers no more. Nothing was sent."
"""The fixed answer to whatever is written to a retired agent."""


def too_far(hops: int) -> str:
    """The fixed answer to a message that would be one hop too many."""
    return (
        f"Not sent: this has gone from agent to agent {hops} times since the owner asked for it, and that is as far as "
        "it may go. Answer with what you have."
    )


def too_many(most: int) -> str:
    """The fixed answer to a message or a task that would be one too many."""
    return f"Not done: {most} tasks and messages have come of this already, and that is all."


class Messaging(Protocol):
    """Has agents answer each other."""

    async def message(self, context: ToolContext, receiver: str, text: str) -> tuple[Worker, Answer]:
        """Have an agent answer the message of this call, and wait until it has. Raises ToolFailed if it may not."""
        ...

    async def hand_off(self, context: ToolContext, receiver: str, text: str) -> None:
        """Give an agent the message of this call. Raises ToolFailed if it may not."""
        ...


class MessageAgent(Arguments, frozen=True):
    """Arguments of `message_agent`."""

    agent: Annotated[str, Meta(description="The agent's name.")]
    text: Annotated[
        str,
        Meta(
            description=(
                "The whole message, as for somebody who knows nothing of this conversation: what you want, and all "
                "that is needed for it."
            )
        ),
    ]
    mode: Annotated[
        Literal["ask", "hand_off"],
        Meta(description="ask: wait for its answer. hand_off: it is the other's from now on; you go on at once."),
    ] = "ask"


def _check(arguments: MessageAgent, limits: Limits) -> None:
    if not arguments.text.strip() or len(arguments.text) > limits.task_characters:
        raise ToolFailed(f"A message has 1 to {limits.task_characters:,} characters. Nothing was sent.")


def message_agent(agents: Messaging, others: Iterable[Agent]) -> Tool:
    """The tool, with those who may be written to."""

    async def run(context: ToolContext, arguments: MessageAgent) -> Result:
        if context.hops >= context.limits.hops:
            raise ToolFailed(too_far(context.hops))
        receiver = arguments.agent.strip()
        if receiver == context.agent:
            raise ToolFailed("That is you yourself. Nothing was sent.")
        if arguments.mode == "hand_off":
            await agents.hand_off(context, receiver, arguments.text)
            return Result(parts=(f"Handed off to {receiver}, whose it is from now on.",))
        worker, answer = await agents.message(context, receiver, arguments.text)
        ended: tuple[Write, ...] = (dismiss(worker.conversation, context.clock()),)
        shown = outside(
            answer.text,
            Source.AGENT,
            redactor=context.redactor,
            limit_characters=context.limits.answer_characters,
            origin=receiver,
            clean=answer.clean,
        )
        return Result(
            parts=(FRAMES[Source.AGENT][answer.outcome], shown),
            failed=answer.failed,
            writes=ended,
            bells=(Bell(WORKERS, worker.conversation),),
        )

    there = "\n".join(f"- {agent.name}: {agent.job}" for agent in others)
    return Tool(
        name=MESSAGE_AGENT,
        description=(
            "Write to another of the owner's agents: ask it something, or hand work off to it. It has its own "
            "instructions, notes and tools, and knows nothing of this conversation but what you write. Its answer is "
            f"text from outside. The agents:\n{there}"
        ),
        arguments=MessageAgent,
        run=run,
        check=_check,
        exit=True,
        private=False,
        outside=True,
        repeatable=True,
        detachable=True,
    )
