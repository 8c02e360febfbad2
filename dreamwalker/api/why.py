"""Why something is as it is: a run, a call, a question, a push or a version of a note, led back to what the owner did.

One rule: what is told is what the rows say; what a text from outside says is told as such.
"""

import re
from datetime import datetime
from typing import Annotated, Literal

from msgspec import Meta

from dreamwalker.house import House
from storage import why
from storage.pushes import FindPush
from storage.questions import ReadQuestion
from storage.records import Thing
from storage.text import loads
from tools.outside import described
from tools.things import told

from . import accounts, views
from .endpoint import Asked, Endpoint, Given, Nothing, Shown, not_found

What = Literal["run", "call", "question", "push", "note"]

_CALL = re.compile(r"(\d{1,18})\.(\d{1,18})\.(\d{1,18})")
_NOTE = re.compile(r"(\d{1,18})(?:\.(\d{1,18}))?")
_NUMBER = re.compile(r"\d{1,18}")


class WhyPath(Given, frozen=True):
    """A path with what is asked about."""

    what: What
    id: Annotated[
        str,
        Meta(
            max_length=500,
            description=(
                "A run's or question's number; a call as RUN.TURN.POSITION; a push's id; a note as NOTE.VERSION, or "
                "its number for the newest version."
            ),
        ),
    ]


class CameIn(Shown, frozen=True):
    """A message that was placed in the run. `source`: who it is from in words; `outside`: it has a label."""

    kind: str
    source: str
    text: str
    quotes: tuple[views.Quote, ...]
    outside: bool
    at: datetime
    cause: Annotated[str | None, Meta(description="What made it: `call:…`, `thing:…` or `question:…`.")]


class OutsideText(Shown, frozen=True):
    """A text from outside that came in during the run: what it is, the origin it names, and when."""

    what: str
    origin: str
    at: datetime


class Decision(Shown, frozen=True):
    """A question of the run, and what became of it. `answered_by`: where the owner answered."""

    question: views.Question
    answered_by: Literal["a client", "the phone"] | None


class Written(Shown, frozen=True):
    """A version of a note that the run wrote."""

    note: int
    title: str
    version: int
    at: datetime


class Made(Shown, frozen=True):
    """A reminder or job that the run made. `said`: when it comes up."""

    id: int
    kind: Literal["reminder", "job"]
    title: str
    text: str
    said: str


class Resumption(Shown, frozen=True):
    """The run was taken up again, after a restart or a failure: by which deploy, and after how many replies.

    `attempt`: in vain for the which time since it last got on.
    """

    at: datetime
    generation: str
    turn: int
    attempt: int


class Account(Shown, frozen=True):
    """All that is known of one run: what came in, what was asked, what it did, what it lived through, what it cost.

    `said`: its replies.
    """

    run: accounts.ListedRun
    came_in: tuple[CameIn, ...]
    said: tuple[views.Entry, ...]
    outside: tuple[OutsideText, ...]
    asked: tuple[Decision, ...]
    calls: tuple[views.Call, ...]
    wrote: tuple[Written, ...]
    made: tuple[Made, ...]
    workers: tuple[views.Worker, ...]
    resumptions: tuple[Resumption, ...]
    cost: tuple[accounts.Cost, ...]


class Why(Shown, frozen=True):
    """What led to something. `runs`: the nearest first, then what caused it, back to what the owner did.

    `about`: what was asked about, in a line; `by`: the key of what made it, null if there is none. `things`: the
    reminders and jobs on the way. `act`: what all of it is charged to; `act_cost`: what all of that cost, by kind.
    """

    about: str
    by: str | None
    runs: tuple[Account, ...]
    things: tuple[Made, ...]
    act: str | None
    act_cost: tuple[accounts.Cost, ...]


async def read_why(asked: Asked[WhyPath, Nothing, Nothing]) -> Why:
    house = await asked.house()
    about, key = await _subject(house, asked.path.what, asked.path.id)
    chain = await house.store.ask(why.ReadChain(key))
    if asked.path.what in ("run", "call") and not chain.accounts:
        raise not_found(f"{asked.path.what} of that number")
    if asked.path.what == "call":
        calls = [call for call in chain.accounts[0].calls if call.key == key]
        if not calls:
            raise not_found("call of that number")
        about = f"{about}: {calls[0].tool}"
    return Why(
        about=about,
        by=key,
        runs=tuple(_account(house, account) for account in chain.accounts),
        things=tuple(_made(house, thing) for thing in chain.things),
        act=chain.act,
        act_cost=tuple(accounts.Cost.of(row) for row in chain.cost),
    )


async def _subject(house: House, what: What, id: str) -> tuple[str, str]:
    """What is asked about, in a line, and the key of what made it. Raises Refused."""
    match what:
        case "run" if _NUMBER.fullmatch(id):
            return f"run {id}", f"run:{id}"
        case "call" if found := _CALL.fullmatch(id):
            return f"call {'.'.join(str(int(part)) for part in found.groups())}", _key_of_call(found)
        case "question" if _NUMBER.fullmatch(id):
            question = await house.store.ask(ReadQuestion(int(id)))
            if question is not None:
                call = f"call:{question.run}.{question.turn}.{question.position}"
                return f"question {id} of {question.agent}, about {question.tool}", call
        case "push":
            push = await house.store.ask(FindPush(id))
            if push is not None:
                return f"the push “{push.title}”", push.id
        case "note" if found := _NOTE.fullmatch(id):
            note = await house.store.ask(why.MadeBy(note=int(found[1]), version=int(found[2]) if found[2] else None))
            if note is not None:
                return f"version {note.version} of the note “{note.title}” of {note.agent}", note.made_by
    raise not_found(f"{what} {id!r}"[:100])


def _key_of_call(found: re.Match[str]) -> str:
    return f"call:{int(found[1])}.{int(found[2])}.{int(found[3])}"


def _account(house: House, account: why.Account) -> Account:
    now = house.clock.now()
    return Account(
        run=accounts.ListedRun.listed(account.listed),
        came_in=tuple(
            CameIn(
                kind=message.kind,
                source="you" if message.kind == "owner" else message.content.get("from", ""),
                text=message.content.get("text", ""),
                quotes=tuple(
                    views.Quote(source=quote.get("from", ""), text=quote["text"])
                    for quote in message.content.get("quotes", ())
                ),
                outside=message.label > 0,
                at=message.accepted_at,
                cause=message.cause,
            )
            for message in account.messages
        ),
        said=tuple(views.Entry.of(entry) for entry in account.entries if entry.kind == "reply"),
        outside=tuple(_outside(account)),
        asked=tuple(
            Decision(
                question=views.Question.of(asked.question, house.zone, now),
                answered_by=_answered_by(asked),
            )
            for asked in account.questions
        ),
        calls=tuple(views.Call.of(call) for call in account.calls),
        wrote=tuple(Written(note=it.note, title=it.title, version=it.version, at=it.at) for it in account.written),
        made=tuple(_made(house, thing) for thing in account.made),
        workers=tuple(views.Worker.of(seen) for seen in account.workers),
        resumptions=tuple(
            Resumption(at=it.at, generation=it.generation, turn=it.turn, attempt=it.attempt)
            for it in account.resumptions
        ),
        cost=tuple(accounts.Cost.of(row) for row in account.cost),
    )


def _answered_by(asked: why.Asked) -> Literal["a client", "the phone"] | None:
    if asked.question.state != "answered":
        return None
    return "the phone" if asked.pressed is not None else "a client"


def _outside(account: why.Account) -> list[OutsideText]:
    """The texts from outside that came in with messages and results of the run."""
    texts = [
        (block["text"], entry.at)
        for entry in account.entries
        if entry.label > 0 and entry.source == "outside"
        for block in loads(entry.shown)
    ]
    for call in account.calls:
        if call.label > 0 and call.result is not None and call.finished_at is not None:
            texts += [(block.get("text", ""), call.finished_at) for block in loads(call.result)["content"]]
    found = [(described(text), at) for text, at in texts]
    return [OutsideText(what=it[0], origin=it[1], at=at) for it, at in found if it is not None]


def _made(house: House, thing: Thing) -> Made:
    return Made(
        id=thing.id,
        kind=thing.kind,  # type: ignore[arg-type]
        title=thing.title,
        text=thing.text,
        said=told(thing, house.clock.now()),
    )


ENDPOINTS = (
    Endpoint(
        method="GET",
        route="/api/why/{what}/{id}",
        says="Why something is as it is: what led to it, what was asked and answered, what was done, what it cost.",
        handle=read_why,
        path=WhyPath,
        answer=Why,
    ),
)
