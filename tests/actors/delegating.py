"""Tests' help: a scripted model that plays an agent and its workers at once, each by its own script."""

from collections import deque
from typing import Any

import attrs

from storage.records import Run
from storage.runs import ListRuns
from storage.workers import AtWork, Seen, WorkersOfRun
from tests.actors.house import Inside
from tests.messages_api import MessagesApi, fail
from tests.messages_api.replies import Reply
from tests.messages_api.server import Request

WORKER = "You are a worker"


@attrs.define
class Cast:
    """Who answers what: `agent` in order; a worker by the first word of its task, in order."""

    agent: deque[Reply] = attrs.Factory(deque)
    workers: dict[str, deque[Reply]] = attrs.Factory(dict)
    asked: list[dict[str, Any]] = attrs.Factory(list)
    """The requests of workers, as they came."""

    def play(self, api: MessagesApi) -> "Cast":
        """Answer all that this API is asked."""
        api.answer_with(self._answer)
        return self

    def says(self, *replies: Reply) -> None:
        """What the agent, or a job's run, answers next."""
        self.agent.extend(replies)

    def does(self, word: str, *replies: Reply) -> None:
        """What the worker answers whose task begins with this word."""
        self.workers.setdefault(word, deque()).extend(replies)

    def _answer(self, request: Request) -> Reply:
        assert request.json is not None
        if WORKER not in str(request.json["system"]):
            return self.agent.popleft() if self.agent else fail(400)
        self.asked.append(request.json)
        task = task_of(request.json)
        replies = self.workers.get(task.split()[0])
        return replies.popleft() if replies else fail(400)


def task_of(asked: dict[str, Any]) -> str:
    """The task in a worker's request, without its frame."""
    text: str = asked["messages"][0]["content"][1]["text"]
    return text.split("\n\n")[1]


async def workers_of(it: Inside, run: int) -> tuple[Seen, ...]:
    """The workers that a run set to work."""
    return await it.ask(WorkersOfRun(run))


async def worker_runs(it: Inside) -> list[Run]:
    """The runs of all workers, oldest first."""
    listed = await it.ask(ListRuns(before=2**60, limit=1000))
    return [item.run for item in reversed(listed) if item.conversation_kind == "worker"]


async def nobody_at_work(it: Inside) -> bool:
    """Whether no worker's outcome is still to be handed over."""
    return not await it.ask(AtWork())
