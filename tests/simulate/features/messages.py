"""Messages between agents: asked or handed off, each is worked once in a conversation of its own, three hops at most.

The owner makes the agents, retires one and takes it back, writes, interrupts, stops runs; and the process dies, or is
followed by another, while agents answer each other.
"""

import random
from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING

import attrs

from tests.simulate.acts import Act, When
from tests.simulate.features.errands import (
    Errands,
    brought_by,
    call_of,
    die,
    follow,
    outcome_of_call,
    run_late,
    stop,
    write,
)
from tests.simulate.features.feature import Feature
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
    return messaged(key, agent, chance.choice(("", PASS_ON, PASS_ON)), chance.choice(("ask", "hand_off")))


def _retire(chance: random.Random, when: When) -> Act:
    return Retire(name=chance.choice(tuple(RING)), when=when)


def _restore(chance: random.Random, when: When) -> Act:
    return Retire(name=chance.choice(tuple(RING)), verb="restore", when=when)


# -- what must be true


def _judge(story: Story) -> Iterator[str]:
    yield from MAIL.judge(story)
    acts = Counter(worker["act"] for worker in story.workers.values())
    yield from (
        f"{act} came to {count} tasks and messages" for act, count in acts.items() if count > _MOST.delegated_per_act
    )
    yield from _homes(story)


def _of_call(story: Story, key: str, call: Row, worker: Row | None) -> Iterator[str]:
    handed_off = worker is not None and worker["handed_off"]
    return _handed_off(story, key, call, worker) if handed_off and worker else outcome_of_call(story, key, call, worker)


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


MAIL = Errands(
    tool="message_agent",
    kind="ask",
    number=NUMBER,
    make=_message,
    rounds=(1, 1, 2),
    whens=("delegated", "delegated", "soon"),
    several=(0, 1, 1, 2),
    meanwhile=(
        write(NUMBER),
        write(NUMBER),
        stop("home"),
        stop("home"),
        stop("home"),
        stop("ask"),
        run_late("awake", "dead", "paused"),
        follow,
        _retire,
        _restore,
        die,
    ),
    first=(Hire(),),
    of_call=_of_call,
    of_worker=_hops,
)

MESSAGES = Feature(
    name="messages",
    judge=_judge,
    acts=MAIL.acts,
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
