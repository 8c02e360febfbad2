"""Messages: what the owner sends, and takes back.

One rule: his own words are made here and nowhere else, and are committed before he is told that they were accepted.
What he quotes comes in fields of its own and is text from outside.
"""

import hashlib
from typing import Annotated, Any, Literal

from msgspec import Meta, field

from dreamwalker.house import House
from storage import inbox, records
from storage.errors import Duplicate, NotAsExpected
from storage.text import dumps
from tools.limits import FIXED

from . import views
from .agents import AgentPath, home_of, retired
from .endpoint import BIGINT_MAX, Asked, Endpoint, Given, Nothing, Shown, not_found
from .errors import Refused

QUOTES_MAX = FIXED.quotes
"""Quotes of one message: each becomes an entry of its own."""

RequestId = Annotated[
    str,
    Meta(
        min_length=1,
        max_length=200,
        pattern=r"^[!-~]+$(?!\n)",
        description="The client's own id of this submission: sent again, it is still one message.",
    ),
]


class NewQuote(Given, frozen=True):
    """Text that is not the owner's own, and where it is from."""

    text: Annotated[str, Meta(min_length=1)]
    source: Annotated[str, Meta(max_length=500)] = field(name="from", default="")


class NewMessage(Given, frozen=True):
    """A message of the owner's. `seen`: the newest commit that his client had shown him."""

    request_id: RequestId
    text: str
    quotes: Annotated[tuple[NewQuote, ...], Meta(max_length=QUOTES_MAX)] = ()
    interrupt: Annotated[bool, Meta(description="Stop what the agent is doing, as far as it can be stopped.")] = False
    seen: Annotated[int, Meta(ge=0, le=BIGINT_MAX)] = 0


class Fresh(Given, frozen=True):
    """Begin a fresh context: later requests to the model hold nothing from before."""

    request_id: RequestId


class MessagePath(Given, frozen=True):
    """A path with a message's id."""

    id: Annotated[int, Meta(ge=1, le=BIGINT_MAX)]


class Accepted(Shown, frozen=True):
    """The message as it was accepted; one that came again, as it stands now."""

    message: views.Message


class Withdrawn(Shown, frozen=True):
    """It was taken back."""

    state: Literal["withdrawn"] = "withdrawn"


async def send(asked: Asked[AgentPath, Nothing, NewMessage]) -> Accepted:
    given = asked.body
    if not given.text.strip() and not given.quotes:
        raise Refused(422, "The message is empty.")
    quotes = [{"from": quote.source, "text": quote.text} for quote in given.quotes]
    accepted = await _accept(
        await asked.house(),
        asked.path.name,
        given.request_id,
        "owner",
        {"text": given.text, "quotes": quotes},
        interrupt=given.interrupt,
        seen=given.seen,
    )
    asked.about(message=accepted.message.id, conversation=accepted.message.conversation)
    return accepted


async def begin_fresh(asked: Asked[AgentPath, Nothing, Fresh]) -> Accepted:
    accepted = await _accept(await asked.house(), asked.path.name, asked.body.request_id, "fresh", {"text": ""})
    asked.about(message=accepted.message.id, conversation=accepted.message.conversation)
    return accepted


async def _accept(
    house: House,
    agent: str,
    request_id: str,
    kind: str,
    content: dict[str, Any],
    *,
    interrupt: bool = False,
    seen: int = 0,
) -> Accepted:
    """Commit a message of the owner's, or find the one that was committed under this request id."""
    conversation, now, body = home_of(house, agent), house.clock.now(), dumps(content)
    key = f"{views.REQUEST}{request_id}"
    digest = hashlib.sha256(dumps([agent, kind, body, interrupt]).encode()).hexdigest()
    if (refusal := retired(house, agent)) is not None:
        return Accepted(message=_same(await house.store.ask(inbox.FindMessage(key)), digest, refusal))
    message = house.store.next_id()
    accept = inbox.accept(
        id=message,
        agent=agent,
        conversation=conversation,
        source_key=key,
        digest=digest,
        kind=kind,
        body=body,
        outside=False,
        now=now,
        seen_no=seen,
        interrupt=interrupt,
        unplaced_max=house.limits.unplaced_messages,
    )
    try:
        no = await house.store.ask(accept)
    except (Duplicate, NotAsExpected) as error:
        first = await house.store.ask(inbox.FindMessage(key))
        return Accepted(message=_same(first, digest, error))
    return Accepted(
        message=views.Message.of(
            records.Message(
                id=message,
                conversation=conversation,
                source_key=key,
                digest=digest,
                kind=kind,
                body=body,
                label=0,
                cause=None,
                act=f"message:{message}",
                hops=0,
                interrupt=interrupt,
                accepted_no=no,
                seen_no=min(seen, no),
                accepted_at=now,
                withdrawn_at=None,
                placed_seq=None,
                run=None,
                no=no,
            )
        )
    )


def _same(first: records.Message | None, digest: str, error: Duplicate | NotAsExpected | Refused) -> views.Message:
    """The first submission under a request id, if this one says the same."""
    if first is None:
        if isinstance(error, NotAsExpected):
            raise Refused(429, "Too many messages wait already; withdraw some, or wait.", headers={"Retry-After": "10"})
        raise error
    if first.digest != digest:
        raise Refused(409, "Another message was sent under this request id.", code="conflict")
    return views.Message.of(first)


async def withdraw(asked: Asked[MessagePath, Nothing, Nothing]) -> Withdrawn:
    house = await asked.house()
    match await house.store.ask(inbox.Withdraw(asked.path.id, house.clock.now())):
        case "withdrawn":
            return Withdrawn()
        case "placed":
            raise Refused(409, "The agent has it already; it can't be taken back any more.", code="placed")
    raise not_found("message of that id")


ENDPOINTS = (
    Endpoint(
        method="POST",
        route="/api/agents/{name}/messages",
        says="Send a message to an agent. Once accepted it is kept; what comes of it comes by the live stream.",
        handle=send,
        path=AgentPath,
        body=NewMessage,
        answer=Accepted,
        status=202,
        refusals=(409, 429),
        body_bytes="message_bytes",
    ),
    Endpoint(
        method="POST",
        route="/api/agents/{name}/fresh",
        says="Begin a fresh context in an agent's home conversation. Nothing is deleted.",
        handle=begin_fresh,
        path=AgentPath,
        body=Fresh,
        answer=Accepted,
        status=202,
        refusals=(409, 429),
    ),
    Endpoint(
        method="DELETE",
        route="/api/messages/{id}",
        says="Take back a message that is not placed yet.",
        handle=withdraw,
        path=MessagePath,
        answer=Withdrawn,
        refusals=(409,),
    ),
)
