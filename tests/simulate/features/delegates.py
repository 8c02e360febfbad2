"""Delegated tasks: a call has one worker, who knows its task alone, and what comes of him arrives once, framed.

The owner meanwhile writes, interrupts, stops the run or the worker, or lets so much time pass that the worker is ended;
and the process dies, or is followed by another, while workers work.
"""

import json
import random
from collections.abc import Iterator

from tests.simulate.features.errands import (
    HELD,
    Errands,
    call_of,
    die,
    follow,
    outcome_of_call,
    run_late,
    stop,
    write,
)
from tests.simulate.features.feature import Feature
from tests.simulate.model import DECLINES, MARK, TRIES, Called, asker_of, delegated
from tests.simulate.outsider import Row
from tests.simulate.story import Story, text_of
from tools.outside import Source

NUMBER = 500
WORDS = ("", "", TRIES, TRIES, DECLINES)
PRIVATE = ("Vienna", "dreamwalker")
"""What a worker could only know from the owner or from the agent that delegates."""


def _delegate(chance: random.Random, key: str) -> Called:
    return delegated(key, chance.choice(WORDS))


def _knows(story: Story, worker: Row) -> Iterator[str]:
    """Its transcript holds its task, as text from outside, and what it wrote itself."""
    entries = [entry for entry in story.entries if entry["conversation"] == worker["conversation"]]
    task = json.loads(story.calls[call_of(worker)]["arguments"])["task"]
    for entry in entries[:1]:
        said = text_of(entry["shown"])
        if entry["source"] != "outside" or said.count(Source.TASK.remark) != 1 or task not in said:
            yield f"was told {said!r}, not its task {task!r}"
    if others := [entry for entry in entries[1:] if entry["source"] not in ("model", "house")]:
        yield f"was told more than its task: {[text_of(entry['shown']) for entry in others]}"


def _judge(story: Story) -> Iterator[str]:
    yield from TASKS.judge(story)
    yield from _asked(story)


def _asked(story: Story) -> Iterator[str]:
    """Nothing that only the owner or his agent knows stands in a request of a worker."""
    for asked in story.asked:
        if asked.json is None or asker_of(asked.json) != "worker":
            continue
        said = json.dumps(asked.json)
        if known := [*MARK.findall(said), *(word for word in PRIVATE if word in said)]:
            yield f"a worker's request holds {known}"


TASKS = Errands(
    tool="delegate",
    kind="worker",
    number=NUMBER,
    make=_delegate,
    rounds=(1, 1, 1, 2),
    whens=("delegated", "delegated", "delegated", "soon"),
    several=(0, 1, 1, 2),
    meanwhile=(
        write(NUMBER),
        write(NUMBER),
        stop("home"),
        stop("worker"),
        run_late("awake", "awake", "dead", "paused"),
        run_late("awake", "awake", "dead", "paused"),
        follow,
        die,
    ),
    of_call=outcome_of_call,
    of_worker=_knows,
)

DELEGATES = Feature(
    name="delegates",
    judge=_judge,
    acts=TASKS.acts,
    calls=(_delegate,),
    operations=(
        "read workers",
        "insert workers",
        "commit: insert conversations",
        "update workers",
        "commit: update workers",
    ),
    share=0.35,
    left=f"""SELECT count(*), NULL::timestamptz AS at FROM workers WHERE ended_at IS NULL AND conversation NOT IN (
        WITH RECURSIVE {HELD} SELECT conversation FROM held)""",
)
