"""Reminders: each slot has one fate; what comes up comes up once, with one message, one run and one push."""

import json
import random
from collections.abc import Iterator

from tests.simulate.acts import Act, Say
from tests.simulate.features.feature import Feature
from tests.simulate.features.moves import Wake, some_time
from tests.simulate.features.things import (
    LATE_SECONDS,
    OFTEN,
    ONCE,
    Make,
    alteration,
    came_up,
    judge_messages,
    judge_slots,
)
from tests.simulate.model import NEWEST, Called
from tests.simulate.story import Story


def _set(chance: random.Random, key: str) -> Called:
    return Called(key=key, tool="set_reminder", arguments={"when": _at(chance), "text": f"Tea of {key}"})


def _change(chance: random.Random, key: str) -> Called:
    arguments = {"id": NEWEST, "when": _at(chance), "text": f"Changed by {key}"}
    return Called(key=key, tool="change_reminder", arguments=arguments)


def _cancel(chance: random.Random, key: str) -> Called:
    return Called(key=key, tool="cancel_reminder", arguments={"id": NEWEST})


def _at(chance: random.Random) -> str:
    return chance.choice((*ONCE, *OFTEN))


def _acts(chance: random.Random, numbers: range) -> list[tuple[Act, ...]]:
    """He makes one or two, by himself or through the agent; time passes in many ways; he changes his mind."""
    made: list[tuple[Act, ...]] = []
    for number in range(chance.choice((1, 1, 2))):
        name = f"reminder-{number}"
        if chance.random() < 0.4:
            plan = (
                (_set(chance, f"m{300 + number}.0.0"),),
                *(((_change(chance, f"m{300 + number}.1.0"),),) * (chance.random() < 0.3)),
            )
            first: Act = Say(number=300 + number, when="settled", plan=plan)
            name = ""
        else:
            first = Make(kind="reminder", name=name, at=_at(chance), text="Take the cake out.")
        then: list[Act] = [some_time(chance)]
        if chance.random() < 0.5:
            then.append(alteration(chance, "reminder", name))
            then.append(some_time(chance))
        if chance.random() < 0.3:
            then.append(some_time(chance))
        if chance.random() < 0.3:
            then.append(Wake(times=chance.choice((1, 2, 5))))
        made.append((first, *then))
    return made


def _judge(story: Story) -> Iterator[str]:
    yield from judge_slots(story, "reminder")
    yield from judge_messages(story, "reminder")
    pushed = {row["id"] for row in story.tables["pushes"] if row["kind"] == "reminder"}
    keys = came_up(story, "reminder")
    for key in pushed ^ keys.keys():
        yield f"{key} {'came up and was not pushed' if key in keys else 'was pushed and did not come up'}"
    for message in story.tables["messages"]:
        if (slot := keys.get(message["source_key"])) is None:
            continue
        told, late_seconds = json.loads(message["body"])["text"], slot["late_seconds"]
        if (" late, since " in told) != (late_seconds > LATE_SECONDS):
            yield f"{message['source_key']} came {late_seconds} s late, and says {told!r}"
    for key, call in story.calls.items():
        made = sum(thing["made_by"] == key for thing in story.tables["things"])
        done = call["state"] == "finished" and not call["failed"]
        if call["tool"] in ("set_reminder", "make_job") and made != done:
            yield f"{key} ({call['tool']}) is {call['state']} {call['result']}, and made {made}"


REMINDERS = Feature(
    name="reminders",
    judge=_judge,
    acts=_acts,
    calls=(_set, _change, _cancel),
    operations=("come up", "make it", "it is as it was seen", "read things"),
    share=0.3,
    left="SELECT count(*), min(next_at) AS at FROM things WHERE next_at <= $1::timestamptz + interval '5 seconds'",
)
