"""What was pushed to the phone, and a test. One rule: what became of each is shown, and nothing is sent from here."""

from datetime import datetime
from typing import Annotated, Literal
from uuid import uuid4

from msgspec import Meta

from actors.pusher import OFF
from storage import pushes, records
from storage.operation import Commit

from . import views
from .endpoint import BIGINT_MAX, Asked, Endpoint, Given, Nothing, Shown, not_found
from .errors import Refused

_END = "9000-01-01T00:00:00Z"


class PushesQuery(Given, frozen=True):
    """Which ones: those made before an instant (and, of those made at it, with a lower id); of one reminder or job,
    or all.
    """

    before: Annotated[datetime, Meta(tz=True)] = datetime.fromisoformat(_END)
    before_id: Annotated[str, Meta(max_length=500)] = ""
    thing: Annotated[int, Meta(ge=1, le=BIGINT_MAX)] | None = None


class PushPath(Given, frozen=True):
    """A path with a push's id."""

    id: Annotated[str, Meta(max_length=500)]


class Push(Shown, frozen=True):
    """One push. `told`: its state in words, such as `retrying 2/5`; `why`: why a try failed, or why none is made;
    `answer`: what was pressed on the phone.
    """

    id: str
    kind: Literal["reminder", "report", "question", "notice", "test"]
    thing: int | None
    title: str
    text: str
    state: Literal["waiting", "retrying", "sent", "failed", "off"]
    told: str
    tries: int
    next_at: datetime | None
    why: str | None
    answer: str | None
    answered_at: datetime | None
    made_at: datetime
    settled_at: datetime | None
    no: views.No

    @classmethod
    def of(cls, row: records.Push, tries_max: int) -> "Push":
        """From its row."""
        state = "retrying" if row.state == "waiting" and row.why is not None else row.state
        told = {
            "retrying": f"retrying {row.tries}/{tries_max}: {row.why}",
            "failed": f"failed: {row.why}",
            "off": f"not sent: {row.why}",
        }.get(state, state)
        shared = {name: getattr(row, name) for name in cls.__struct_fields__ if name not in ("state", "told")}
        return cls(state=state, told=told, **shared)  # type: ignore[arg-type]


class Pushes(Shown, frozen=True):
    """Pushes, the newest first. `more`: there are older ones."""

    pushes: tuple[Push, ...]
    more: bool


async def list_pushes(asked: Asked[Nothing, PushesQuery, Nothing]) -> Pushes:
    house = await asked.house()
    limit, query = house.limits.page_entries, asked.query
    found = await house.store.ask(
        pushes.ListPushes(before=query.before, before_id=query.before_id, limit=limit + 1, thing=query.thing)
    )
    shown = tuple(Push.of(row, house.limits.push_tries) for row in found[:limit])
    return Pushes(pushes=shown, more=len(found) > limit)


async def read_push(asked: Asked[PushPath, Nothing, Nothing]) -> Push:
    house = await asked.house()
    found = await house.store.ask(pushes.FindPush(asked.path.id))
    if found is None:
        raise not_found("push of that id")
    return Push.of(found, house.limits.push_tries)


async def test_push(asked: Asked[Nothing, Nothing, Nothing]) -> Push:
    house = await asked.house()
    if house.phone is None:
        raise Refused(409, f"{OFF} `dreamwalker doctor` says how to set one up.", code="no_phone")
    id = f"test:{uuid4().hex}"
    await house.store.ask(Commit((house.pushes.test(id, house.clock.now()),), (pushes.WAITS,)))
    made = await house.store.ask(pushes.FindPush(id))
    assert made is not None
    return Push.of(made, house.limits.push_tries)


ENDPOINTS = (
    Endpoint(
        method="GET",
        route="/api/pushes",
        says="What was pushed to the phone, the newest first.",
        handle=list_pushes,
        query=PushesQuery,
        answer=Pushes,
    ),
    Endpoint(
        method="POST",
        route="/api/pushes/test",
        says="Push a test to the phone; what became of it is to be read.",
        handle=test_push,
        answer=Push,
        status=202,
        refusals=(409,),
    ),
    Endpoint(
        method="GET",
        route="/api/pushes/{id}",
        says="One push, and what became of it.",
        handle=read_push,
        path=PushPath,
        answer=Push,
    ),
)
