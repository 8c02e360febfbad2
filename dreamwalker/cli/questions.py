"""`questions`, `yes`, `no`, `answer`: what only the owner may decide.

One rule: a question is shown whole, as the server made it, before it can be answered; the first answer counts.
"""

from collections.abc import Iterator
from contextlib import contextmanager

import click

from .client import Api, quoted
from .command import Chosen
from .options import NUMBER, DefaultGroup, Whole, json_option, some_agent_option
from .problems import Misused, NotFound, Problem
from .reach import find
from .telling import asked
from .terminal import Json, number_in, one_line, say, sendable, show_json, table
from .times import Times


@click.group(
    cls=DefaultGroup,
    default="list",
    epilog="""\b
Examples:
  dreamwalker questions            what is open, each question whole
  dreamwalker questions --all      what was ever asked, and what was decided
  dreamwalker questions show 12    one
  dreamwalker yes 12               say yes to it; `no 12` says no
  dreamwalker answer 13 2          choose the second option of an agent's own question
  dreamwalker answer 13 neither    or answer it in your own words""",
)
def questions() -> None:
    """What you are asked to decide."""


@questions.command("list")
@some_agent_option
@click.option("--all", "past_too", is_flag=True, help="Also those that are decided, each in a line.")
@click.option("--limit", type=Whole(1, 200), default=50, show_default=True, help="How many.")
@json_option
@click.pass_obj
def list_questions(chosen: Chosen, agent: str | None, past_too: bool, limit: int, as_json: bool) -> None:
    """List questions."""
    api = find(chosen)
    answer = api.get("/questions", agent=agent, limit=limit, state="all" if past_too else "open")
    if as_json:
        show_json(answer)
    elif past_too:
        times = api.times
        rows = [
            (str(q["id"]), times.when(q["asked_at"]), q["agent"], about(q), decision(q, times))
            for q in answer["questions"]
        ]
        say(table([("QUESTION", "ASKED", "AGENT", "ABOUT", "DECIDED"), *rows]) if rows else "Nothing was ever asked.")
    else:
        say(all_open(api, agent, "dreamwalker "))


@questions.command()
@click.argument("number", type=NUMBER)
@json_option
@click.pass_obj
def show(chosen: Chosen, number: int, as_json: bool) -> None:
    """Show one question, whole."""
    api = find(chosen)
    question = api.get(f"/questions/{number}")["question"]
    if as_json:
        show_json(question)
    elif question["state"] == "open":
        say(asked(question, api.times, "dreamwalker "))
    else:
        say(f"{question['text']}\n\n— {decision(question, api.times)}")


@click.command(
    epilog="""\b
Examples:
  dreamwalker questions 12    read it first
  dreamwalker yes 12"""
)
@click.argument("number", type=NUMBER)
@json_option
@click.pass_obj
def yes(chosen: Chosen, number: int, as_json: bool) -> None:
    """Say yes to a question: what it shows is done."""
    _answer(chosen, number, "yes", as_json)


@click.command(
    epilog="""\b
Examples:
  dreamwalker no 12"""
)
@click.argument("number", type=NUMBER)
@json_option
@click.pass_obj
def no(chosen: Chosen, number: int, as_json: bool) -> None:
    """Say no to a question: nothing is done."""
    _answer(chosen, number, "no", as_json)


@click.command(
    epilog="""\b
Examples:
  dreamwalker answer 13 2             the second option
  dreamwalker answer 13 neither, please"""
)
@click.argument("number", type=NUMBER)
@click.argument("text", nargs=-1)
@json_option
@click.pass_obj
def answer(chosen: Chosen, number: int, text: tuple[str, ...], as_json: bool) -> None:
    """Answer an agent's own question, by the number of an option or in your words. Nothing means no answer."""
    _answer(chosen, number, " ".join(text), as_json)


def _answer(chosen: Chosen, number: int, text: str, as_json: bool) -> None:
    api = find(chosen)
    if as_json:
        show_json(send(api, number, text))
    else:
        say(answered(api, number, text))


def answered(api: Api, number: int, text: str) -> str:
    """Answer a question; what became of that, in words. Raises Problem: Conflict if it is decided otherwise."""
    said: str = send(api, number, text)["said"]
    return said


def send(api: Api, number: int, text: str) -> Json:
    """Answer a question. The number of an option stands for it; Misused for a number that stands for none."""
    options = api.get(f"/questions/{number}")["question"]["options"]
    chosen = number_in(text.strip().removeprefix("#"))
    if chosen is not None and 1 <= chosen <= len(options):
        text = options[chosen - 1]
    elif chosen is not None and text.strip() not in options:
        raise Misused(_no_option(number, chosen, options))
    return api.post(f"/questions/{number}/answer", {"answer": sendable(text)})


def _no_option(number: int, chosen: int, options: list[str]) -> str:
    if not options:
        return f"Question {number} is answered with yes or no, not with {chosen}."
    listed = ", ".join(f"{place} {one_line(option, 40)}" for place, option in enumerate(options, 1))
    return (
        f"Question {number} has no option {chosen}: {listed}. Nothing was answered. "
        "An answer in your own words needs a word beside the number."
    )


def all_open(api: Api, agent: str | None, typed: str) -> str:
    """Every open question, whole, and how to answer it: `typed` stands before the word that does."""
    found = api.get("/questions", agent=agent)["questions"]
    if not found:
        return "Nothing waits for your decision."
    return "\n\n".join(asked(question, api.times, typed) for question in reversed(found))


@contextmanager
def hinting_at_question(api: Api, number: str, command: str) -> Iterator[None]:
    """Where a run of this number is looked for: if there is none but a question, say so, and the command for that."""
    try:
        yield
    except NotFound as missing:
        try:
            api.get(f"/questions/{quoted(number)}")
        except Problem:
            raise missing from None
        raise NotFound(f"{missing.message} {number} is a question: `{command.format(number)}`.") from None


def about(question: Json) -> str:
    """What a question is about, in the owner's words and a line."""
    words = question["head"] if question["kind"] == "act" else question["act"].split("\n")[0].removeprefix("│ ")
    return one_line(words, 72)


def decision(question: Json, times: Times) -> str:
    """What became of a question, and when."""
    if question["state"] == "open":
        return f"open until {times.clock(question['expires_at'])}"
    at = times.when(question["closed_at"] or question["expires_at"])
    if question["state"] != "answered":
        return f"{question['state']} {at}"
    return f"you said {question['answer'] or 'nothing'}, {at}"
