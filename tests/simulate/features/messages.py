"""Messages between agents: asked or handed off, each is worked once in a conversation of its own, three hops at most.

The owner makes the agents, retires one and takes it back, writes, interrupts, stops runs; and the process dies, or is
followed by another, while agents answer each other.
"""

import random
from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING

import attrs

from tests.simulate.acts import Act, Say, Stop, When
from tests.simulate.features.delegates import brought_by, call_of, ended, made_once, outcome_of_call, pays
from tests.simulate.features.feature import Feature
from tests.simulate.features.moves import HOUR, Pass, TakeOver
from tests.simulate.features.questions import Die
from tests.simulate.model import PASS_ON, RING, Called, messaged
from tests.simulate.outsider import Row
from tests.simulate.story import Story, text_of
from tools.limits import Limits

if TYPE_CHECKING:
    from tests.simulate.stage import Stage

NUMBER = 800
_MOST = Limits()


@attrs.frozen(kw_only=True)
class Hire(Act):
    """Make the agents; those that there are stay."""

    async def perform(self, stage: "Stage") -> None:
        for name in RING:
            answer = await stage.request("POST", "/api/agents", {"name": name, "job": f"knows about {name}"})
            if answer.status_code not in (201, 409):
                stage.violations.append(f"making an agent was answered {answer.status_code}: {answer.text}")


@attrs.frozen(kw_only=True)
class Retire(Act):
    """Retire an agent, or take it back."""

    name: str
    verb: str = "retire"

    async def perform(self, stage: "Stage") -> None:
        answer = await stage.request("POST", f"/api/agents/{self.name}/{self.verb}")
        if answer.status_code not in (200, 404):
            stage.violations.append(f"{self.verb} was answered {answer.status_code}: {answer.text}")


# -- what happens


def _message(chance: random.Random, key: str) -> Called:
    agent = chance.choice((*RING, *RING, "nobody"))
    return messaged(key, agent, chance.choice(("", PASS_ON, PASS_ON)), chance.choice(("ask", "ask", "hand_off")))


def _acts(chance: random.Random, numbers: range) -> list[tuple[Act, ...]]:
    """The agents are made, and a message has the model write to one or several; and what happens meanwhile."""
    plan = tuple(
        tuple(_message(chance, f"m{NUMBER}.{round_}.{at}") for at in range(chance.choice((1, 1, 2, 3))))
        for round_ in range(chance.choice((1, 1, 2)))
    )
    first = Say(number=NUMBER, when=chance.choice(("now", "settled")), plan=plan)
    meanwhile = (
        _meanwhile(chance, chance.choice(("delegated", "delegated", "soon"))) for _ in range(chance.choice((0, 1, 2)))
    )
    return [(Hire(), first, *meanwhile)]


def _meanwhile(chance: random.Random, when: When) -> Act:
    match chance.randrange(9):
        case 0 | 1:
            return Say(number=NUMBER + chance.randrange(1, 100), when=when, interrupt=chance.random() < 0.3)
        case 2:
            return Stop(kind="home", when=when)
        case 3:
            return Stop(kind="ask", when=when)
        case 4:
            return Pass(seconds=HOUR + 1, house=chance.choice(("awake", "dead", "paused")), when=when)
        case 5:
            return TakeOver(newer=chance.random() < 0.5, when=when)
        case 6:
            return Retire(name=chance.choice(tuple(RING)), when=when)
        case 7:
            return Retire(name=chance.choice(tuple(RING)), verb="restore", when=when)
    return Die(steps=chance.randrange(16), when=when)


# -- what must be true


def _judge(story: Story) -> Iterator[str]:
    by_call = {call_of(worker): worker for worker in story.workers.values() if worker["receiver"] is not None}
    for key, call in story.calls.items():
        if call["tool"] == "message_agent":
            worker = by_call.get(key)
            told = _handed_off(story, key, call, worker) if worker and worker["handed_off"] else None
            for said in outcome_of_call(story, key, call, worker) if told is None else told:
                yield f"{key} ({call['state']}): {said}"
    for key, worker in by_call.items():
        if key not in story.calls:
            yield f"a message was sent by no call: {key}"
        for said in (*made_once(story, worker), *ended(story, worker), *pays(story, worker), *_hops(story, worker)):
            yield f"the message of {key}: {said}"
    acts = Counter(worker["act"] for worker in story.workers.values())
    yield from (
        f"{act} came to {count} tasks and messages" for act, count in acts.items() if count > _MOST.delegated_per_act
    )
    if len(by_call) != sum(row["kind"] == "ask" for row in story.tables["conversations"]):
        yield "there are more conversations of messages than messages"
    yield from _homes(story)


def _handed_off(story: Story, key: str, call: Row, worker: Row) -> Iterator[str]:
    """Its call has a result at once; what came of it is told to the home that it came from, and opens no run."""
    said = "" if call["result"] is None else text_of(call["result"]["content"])
    done = said.startswith(("Handed off", "Stopped by the owner", "The run ended", "Still open"))
    if not done:
        yield f"it was handed off, and says {said!r}"
    brought = [row for row in story.tables["messages"] if row["cause"] == key and row["kind"] == "notice"]
    home = any(row["id"] == worker["parent"] and row["kind"] == "home" for row in story.tables["conversations"])
    if len(brought) != int(home):
        yield f"what came of it was told {len(brought)} times"
    for message in brought:
        yield from brought_by(story, worker, message)


def _hops(story: Story, worker: Row) -> Iterator[str]:
    """It is one hop further than the run that sent it, and none is further than three."""
    parent = story.runs[worker["run"]]
    if (
        not 1 <= worker["hops"] <= _MOST.hops or worker["hops"] > parent["hops"] + 1
    ):  # a message that joined later may have taken it further
        yield f"it is hop {worker['hops']}, of a run of hop {parent['hops']}"
    for run in story.runs.values():
        if run["conversation"] == worker["conversation"] and run["hops"] != worker["hops"]:
            yield f"it is hop {worker['hops']}, and is worked on as {run['hops']}"


def _homes(story: Story) -> Iterator[str]:
    """No home holds what agents told each other, but for what was handed off; nor does it go on for ever."""
    homes = {row["id"] for row in story.tables["conversations"] if row["kind"] == "home"}
    for message in story.tables["messages"]:
        if message["conversation"] in homes and message["kind"] == "agent":
            yield f"a message between agents came into a home: {message}"
    sent = {call_of(worker) for worker in story.workers.values() if worker["receiver"] is not None}
    for key in sent & story.calls.keys():
        if story.runs[story.calls[key]["run"]]["hops"] > _MOST.hops:
            yield f"{key} was sent by a run of hop {story.runs[story.calls[key]['run']]['hops']}"


MESSAGES = Feature(
    name="messages",
    judge=_judge,
    acts=_acts,
    calls=(_message,),
    operations=(
        "insert workers",
        "commit: insert conversations",
        "update workers",
        "commit: update agents",
        "read workers",
    ),
    share=0.35,
)
