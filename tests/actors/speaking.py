"""Tests' help: a scripted model that plays several agents at once, each by its own script."""

from collections import deque
from collections.abc import Callable
from typing import Any

import attrs
import trio

from dreamwalker.cast import Given
from storage.records import Run
from storage.runs import Listed, ListRuns
from tests.actors.house import Inside
from tests.messages_api import MessagesApi, fail
from tests.messages_api.replies import Reply
from tests.messages_api.server import Request

MAIN = "dreamwalker"


@attrs.define
class Stage:
    """Who answers what: each agent its own replies, in order, or by a rule; `asked` has all requests by agent."""

    replies: dict[str, deque[Reply]] = attrs.Factory(dict)
    rules: dict[str, Callable[[dict[str, Any]], Reply | None]] = attrs.Factory(dict)
    asked: dict[str, list[dict[str, Any]]] = attrs.Factory(dict)

    def play(self, api: MessagesApi) -> "Stage":
        """Answer all that this API is asked."""
        api.answer_with(self._answer)
        return self

    def says(self, agent: str, *replies: Reply) -> None:
        """What an agent answers next, in whatever conversation."""
        self.replies.setdefault(agent, deque()).extend(replies)

    def _answer(self, request: Request) -> Reply:
        assert request.json is not None
        name = speaker(request.json)
        self.asked.setdefault(name, []).append(request.json)
        if (rule := self.rules.get(name)) is not None and (reply := rule(request.json)) is not None:
            return reply
        replies = self.replies.get(name)
        return replies.popleft() if replies else fail(400, message=f"{name} has nothing to say")


def speaker(asked: dict[str, Any]) -> str:
    """Which agent a request is of; "worker" for a worker."""
    system = str(asked["system"])
    return "worker" if "You are a worker" in system else system.partition("You are ")[2].partition(":")[0]


async def hire(it: Inside, *names: str) -> None:
    """Make agents."""
    for name in names:
        await it.house.cast.make(name, Given(job=f"knows all about what {name}s do"), it.clock.now())


async def runs_of(it: Inside, agent: str | None = None, kind: str | None = None) -> list[Listed]:
    """The runs of an agent, in a kind of conversation, the oldest first."""
    listed = await it.ask(ListRuns(before=2**60, limit=1000, agent=agent))
    return [item for item in reversed(listed) if kind in (None, item.conversation_kind)]


async def all_over(it: Inside, count: int) -> list[Run]:
    """Wait until there were so many runs, of whichever agents, and all have ended."""
    with trio.fail_after(60):
        while True:
            runs = [item.run for item in await runs_of(it)]
            if len(runs) >= count and all(run.ended for run in runs):
                return runs
            await trio.sleep(0.02)  # nobody rings for all conversations at once
