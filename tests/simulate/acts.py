"""What the owner does: values, each performed against the stage over the HTTP API.

One rule: he is patient. What gets no answer, or 503, he asks again with the same request id, until he is answered.
"""

import random
from typing import TYPE_CHECKING, Literal

import attrs

if TYPE_CHECKING:
    from tests.simulate.stage import Stage

When = Literal["now", "soon", "settled", "answering", "working"]
"""At once; after a few steps; when all is quiet; while the model writes; while a tool works: it is held meanwhile."""

AGENT = "/api/agents/dreamwalker"


@attrs.frozen(kw_only=True)
class Act:
    """Something the owner does, and when."""

    when: When = "now"

    async def perform(self, stage: "Stage") -> None:
        raise NotImplementedError


@attrs.frozen(kw_only=True)
class Say(Act):
    """A message. Its mark (`#m3#`) is what the model's plan and the judges know it by."""

    number: int
    rest: str = ""
    quotes: tuple[str, ...] = ()
    interrupt: bool = False

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
    """Stop the newest run, if one is open."""

    async def perform(self, stage: "Stage") -> None:
        runs = (await stage.request("GET", "/api/runs?limit=1")).json()["runs"]
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
class Decide(Act):
    """Answer every question that is open. Whether yes or no is drawn from the seed and the act in question."""

    async def perform(self, stage: "Stage") -> None:
        answer = await stage.request("GET", "/api/questions?state=open")
        for question in answer.json()["questions"]:
            yes = random.Random(f"{stage.schedule.seed} {question['act']}").random() < 0.7
            words = {"answer": "yes" if yes else "no"}
            decided = await stage.request("POST", f"/api/questions/{question['id']}/answer", words)
            if decided.status_code not in (200, 409):
                stage.violations.append(f"a decision was answered {decided.status_code}: {decided.text}")
