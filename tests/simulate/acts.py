"""What the owner does: values, each performed against the stage over the HTTP API.

One rule: he is patient. What gets no answer, or 503, he asks again with the same request id, until he is answered.
"""

import random
from datetime import datetime
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import attrs
import trio

from tests.simulate.model import Rounds

if TYPE_CHECKING:
    from tests.simulate.stage import Stage

When = Literal["now", "soon", "settled", "answering", "working", "delegated"]
"""At once; after a few steps; when all is quiet; while the model writes; while a tool works; while a worker's model
writes: it is held meanwhile."""

AGENT = "/api/agents/dreamwalker"


@attrs.frozen(kw_only=True)
class Act:
    """Something the owner does, and when."""

    when: When = "now"
    with_real_processes: ClassVar[bool] = True
    """Whether it is possible where time can't be moved."""

    async def perform(self, stage: "Stage") -> None:
        raise NotImplementedError


@attrs.frozen(kw_only=True)
class Say(Act):
    """A message. Its mark (`#m3#`) is what the model's plan and the judges know it by."""

    number: int
    rest: str = ""
    quotes: tuple[str, ...] = ()
    interrupt: bool = False
    plan: Rounds = ()
    """What the model does for it, besides the plans of the schedule."""

    @property
    def request_id(self) -> str:
        return f"request-{self.number}"

    @property
    def text(self) -> str:
        return f"Message #m{self.number}#. {self.rest}".strip()

    async def perform(self, stage: "Stage") -> None:
        stage.said[self.number] = self
        body = {
            "request_id": self.request_id,
            "text": self.text,
            "quotes": [{"from": "a letter", "text": quote} for quote in self.quotes],
            "interrupt": self.interrupt,
        }
        answer = await stage.request("POST", f"{AGENT}/messages", body)
        if answer.status_code != 202:
            stage.violations.append(f"message {self.number} was answered {answer.status_code}: {answer.text}")
            return
        stage.accepted.setdefault(self.number, answer.json()["message"]["id"])
        if stage.accepted[self.number] != answer.json()["message"]["id"]:
            stage.violations.append(f"message {self.number} was accepted twice, as two")


@attrs.frozen(kw_only=True)
class SayAgain(Act):
    """The very same message once more, as a client does that got no answer."""

    number: int

    async def perform(self, stage: "Stage") -> None:
        if (said := stage.said.get(self.number)) is not None:
            await said.perform(stage)


@attrs.frozen(kw_only=True)
class SayOtherwise(Act):
    """Another text under a request id that was used: it must be refused."""

    number: int

    async def perform(self, stage: "Stage") -> None:
        if self.number not in stage.said:
            return
        body = {"request_id": f"request-{self.number}", "text": "Something else altogether."}
        answer = await stage.request("POST", f"{AGENT}/messages", body)
        if answer.status_code != 409:
            stage.violations.append(f"other content under the id of {self.number} got {answer.status_code}, not 409")


@attrs.frozen(kw_only=True)
class Fresh(Act):
    """A fresh context."""

    number: int

    async def perform(self, stage: "Stage") -> None:
        answer = await stage.request("POST", f"{AGENT}/fresh", {"request_id": f"request-{self.number}"})
        if answer.status_code != 202:
            stage.violations.append(f"a fresh context was answered {answer.status_code}: {answer.text}")


@attrs.frozen(kw_only=True)
class Withdraw(Act):
    """Take a message back, if it can be."""

    number: int

    async def perform(self, stage: "Stage") -> None:
        if (id := stage.accepted.get(self.number)) is not None:
            answer = await stage.request("DELETE", f"/api/messages/{id}")
            if answer.status_code == 200:
                stage.withdrawn.add(self.number)
            elif answer.status_code != 409:
                stage.violations.append(f"withdrawing {self.number} was answered {answer.status_code}")


@attrs.frozen(kw_only=True)
class Stop(Act):
    """Stop the newest run, of this kind or of any, if one is open."""

    kind: str = ""

    async def perform(self, stage: "Stage") -> None:
        listed = (await stage.request("GET", "/api/runs?limit=20")).json()["runs"]
        runs = [run for run in listed if run["kind"] == self.kind or not self.kind]
        if runs and runs[0]["closed_at"] is None:
            answer = await stage.request("POST", f"/api/runs/{runs[0]['id']}/stop")
            if answer.status_code != 200 or answer.json()["run"]["closed_at"] is None:
                stage.violations.append(f"stopping a run was answered {answer.status_code}: {answer.text}")
            elif answer.json()["run"]["state"] == "stopped":
                stage.stopped.add(runs[0]["id"])


@attrs.frozen(kw_only=True)
class Limit(Act):
    """Set the limit of a day."""

    dollars: int

    async def perform(self, stage: "Stage") -> None:
        answer = await stage.request("PATCH", "/api/settings", {"day_limit_dollars": self.dollars})
        if answer.status_code != 200:
            stage.violations.append(f"setting a limit was answered {answer.status_code}: {answer.text}")


@attrs.frozen(kw_only=True)
class Told:
    """What the owner was told of something he did to a reminder or a job: in commit `no`, asked for at `asked_at`."""

    thing: int
    how: str
    status: int
    no: int
    asked_at: datetime


@attrs.frozen(kw_only=True)
class Decided:
    """What the owner was told of an answer of his, and what he had been shown when he gave it.

    `status` 200: it stands.
    """

    question: int
    words: str
    status: int
    said: str
    shown: str
    state: str
    at: datetime
    """When he gave it."""


@attrs.frozen(kw_only=True)
class Pressed:
    """A button that was pressed, under the notification of this sequence id, and what the phone was answered."""

    sequence: str
    label: str
    status: int
    said: str


@attrs.define
class Heard:
    """What the owner has heard of what he did. `things`: the reminders and jobs that he made, by what he calls them."""

    things: dict[str, int] = attrs.Factory(dict)
    told: list[Told] = attrs.Factory(list)
    decided: list[Decided] = attrs.Factory(list)
    pressed: list[Pressed] = attrs.Factory(list)


@attrs.frozen(kw_only=True)
class Answer(Act):
    """Answer the newest question, open or not, in these words, one after the other or all `at_once`."""

    words: tuple[str, ...]
    at_once: bool = False

    async def perform(self, stage: "Stage") -> None:
        listed = (await stage.request("GET", "/api/questions?state=all&limit=1")).json()["questions"]
        for question in listed:
            if self.at_once:
                async with trio.open_nursery() as nursery:
                    for words in self.words:
                        nursery.start_soon(answer, stage, question, words)
            else:
                for words in self.words:
                    await answer(stage, question, words)


async def answer(stage: "Stage", question: dict[str, Any], words: str) -> None:
    """Answer one question, which he was shown."""
    id, at = question["id"], stage.now()
    answer = await stage.request("POST", f"/api/questions/{id}/answer", {"answer": words})
    if answer.status_code not in (200, 409):
        stage.violations.append(f"an answer was answered {answer.status_code}: {answer.text}")
        return
    stands, told = answer.status_code == 200, answer.json()
    stage.heard.decided.append(
        Decided(
            question=id,
            words=words,
            status=answer.status_code,
            said=told["said"] if stands else told["error"]["message"],
            state=told["question"]["state"] if stands else told["error"]["code"],
            shown=question["text"],
            at=at,
        )
    )


@attrs.frozen(kw_only=True)
class Decide(Act):
    """Answer every question that is open. Whether yes or no is drawn from the seed and the act in question."""

    async def perform(self, stage: "Stage") -> None:
        listed = await stage.request("GET", "/api/questions?state=open")
        for question in listed.json()["questions"]:
            yes = random.Random(f"{stage.schedule.seed} {question['act']}").random() < 0.7
            await answer(stage, question, "yes" if yes else "no")
