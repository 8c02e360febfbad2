"""Questions to the owner: the tool that puts one, what the owner is shown, and what a model is told of the outcome.

One rule: silence, a blank and whatever isn't plainly yes mean no. Words in a message never answer; there is no
"always".
"""

from datetime import datetime
from typing import Annotated
from zoneinfo import ZoneInfo

from msgspec import Meta

from storage.records import Question
from storage.text import loads

from .contract import Arguments, Result, Tool, ToolContext, ToolFailed
from .limits import Limits
from .show import drawn

DETACHED = "Still open: the owner has not decided this yet. Its outcome will come as a message; go on without it."

CLOSED = (
    "Nothing was done. The owner refused twice during this run, so nothing more can be written, changed or handed on "
    "in it. Tell him what you would have done."
)
TOO_MANY = "Nothing was done: too many questions are open with the owner. Ask again when he has decided some."


class AskOwner(Arguments, frozen=True):
    """Arguments of `ask_owner`."""

    question: Annotated[str, Meta(description="What the owner should decide, whole: he may read it days later.")]
    options: Annotated[
        tuple[str, ...],
        Meta(min_length=2, max_length=4, description="Answers to choose from. He may also answer in his own words."),
    ]


def _check(arguments: AskOwner, limits: Limits) -> None:
    if not arguments.question.strip() or len(arguments.question) > limits.question_characters:
        raise ToolFailed(f"A question has 1 to {limits.question_characters} characters.")
    options = [option.strip().casefold() for option in arguments.options]
    if not all(options) or len(set(options)) < len(options):
        raise ToolFailed("Each option says something, and no two say the same.")
    if max(len(option) for option in arguments.options) > limits.option_characters:
        raise ToolFailed(f"An option has at most {limits.option_characters} characters.")


async def _never(context: ToolContext, arguments: AskOwner) -> Result:
    raise AssertionError("a question is answered by the owner, never carried out")


ASK_OWNER = Tool(
    name="ask_owner",
    description=(
        "Put a question of your own to the owner, with two to four options, when something only he can decide holds "
        "you up and he may be away. It waits for up to a week. In a conversation just ask him in words."
    ),
    arguments=AskOwner,
    run=_never,
    exit=False,
    private=True,
    outside=False,
    asks=True,
    check=_check,
)


def judge(question: Question, words: str) -> str:
    """What an answer comes to: "yes" or "no" to an act; to a choice one of its options, or the owner's own words."""
    said = words.strip()
    if question.kind == "act":
        return "yes" if said.casefold() == "yes" else "no"
    options: list[str] = loads(question.act)["options"]
    same = (option for option in options if said.casefold() in (option.strip().casefold(), drawn(option).casefold()))
    return next(same, said)


def verdict(question: Question, words: str, *, first: bool, zone: ZoneInfo, now: datetime) -> tuple[bool, str]:
    """What the owner is told who answered in these words: whether that stands, and what was decided when."""
    assert question.closed_at is not None
    at = f"{question.closed_at.astimezone(zone):%H:%M}"
    if question.closed_at.astimezone(zone).date() != now.astimezone(zone).date():
        at = f"{question.closed_at.astimezone(zone):%Y-%m-%d} {at}"
    said = f"“{question.answer}”" if question.kind == "choice" else question.answer
    match question.state:
        case "answered" if first:
            return True, f"Answered {said}."
        case "answered" if judge(question, words) == question.answer:
            return True, f"Already answered {said}, {at}."
        case "answered":
            return False, f"It was answered {said} before, {at}; that stands."
        case "expired":
            return False, f"It expired, {at}, which means no."
        case "stopped":
            return False, f"The run that asked was stopped, {at}; nothing is done."
        case "changed":
            return False, f"What it would change had changed since it was asked, {at}; nothing was done."
    return False, f"A newer question about the same thing has taken its place, {at}; nothing was done."


CHANGED = (
    "Nothing was done: the owner said yes, but what it would change had changed since he was asked. Look at it again, "
    "and ask anew if it is still right."
)


def tell(question: Question, whole: bool) -> str:
    """What a model is told of a question that is closed. `whole`: with the act, which it may no longer have seen."""
    number, act = question.id, f"\nIt was about: {question.tool} {question.act}" if whole else ""
    match question.state, question.kind, question.answer:
        case "answered", "act", "yes":
            return f"The owner said yes to question {number}, and it is carried out. What it came to follows.{act}"
        case "answered", "act", _:
            return f"The owner said no to question {number}. Nothing was done. Don't ask again.{act}"
        case "answered", _, answer:
            said = f"The owner answered question {number}: {answer}" if answer else "The owner gave no answer."
            return f"{said}{act}"
        case "expired", _, _:
            return f"The owner did not answer question {number} in time, which means no. Nothing was done.{act}"
        case "changed", _, _:
            return f"{CHANGED}{act}"
        case "superseded", _, _:
            return "Nothing was done: a newer question about the same thing has taken the place of this one."
    raise ValueError(question.state)


def same(question: int) -> str:
    """What a model is told that asks for an act which is asked about already."""
    return (
        f"Nothing was done: the owner is being asked about this very act already (question {question}), and only his "
        "answer there counts. Go on without it."
    )


def waits(questions: tuple[int, ...]) -> str:
    """Why a run waits, in the owner's words."""
    numbers = " and ".join(str(number) for number in questions)
    return f"Your answer to question {numbers} is needed."
