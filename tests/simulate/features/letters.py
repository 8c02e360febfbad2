"""Letters: an effect outside happens at most once per key, or is reported as cut short."""

import random
from collections import Counter
from collections.abc import Callable, Iterator

from tests.simulate.features.feature import Feature
from tests.simulate.model import KEY, Called
from tests.simulate.outsider import Row
from tests.simulate.story import Story, text_of

ONCE = ("post_letter", "dig_hole")

_UNSURE: dict[str, Callable[[Story, Row], bool]] = {
    "Cut short by a restart": lambda story, run: _was_taken_up(story, run),
    "because the owner wrote something new": lambda story, run: any(said.interrupt for said in story.said.values()),
    "Stopped by the owner before it was finished": lambda story, run: run["state"] == "stopped",
    "The run ended before this was finished": lambda story, run: run["state"] == "failed",
    "failed unexpectedly": lambda story, run: bool(story.struck("tool: fails before", "tool: fails after")),
}
"""Words of a failed call's result, and whether what they say is true of its run."""


def _was_taken_up(story: Story, run: Row) -> bool:
    facts = (write["fact"] for write in story.writes if write["tab"] == "runs")
    return any(fact["attempt"] for fact in facts if fact["id"] == run["id"])


def _post(chance: random.Random, key: str) -> Called:
    return Called(key=key, tool=chance.choice(ONCE), arguments={"key": key})


def _look_up(chance: random.Random, key: str) -> Called:
    return Called(key=key, tool="look_up", arguments={"key": key})


def _judge(story: Story) -> Iterator[str]:
    by_key = Counter(effect.key for effect in story.effects if effect.tool in ONCE)
    for key, count in by_key.items():
        if count > 1:
            yield f"{key} took effect {count} times"
    by_call = Counter(effect.call for effect in story.effects)
    for key, call in story.calls.items():
        if call["tool"] not in (*ONCE, "look_up") or call["result"] is None:
            continue
        said = text_of(call["result"]["content"])
        if not call["failed"] and not by_call[key]:
            yield f"{key} says {said!r}, and nothing happened"
        if not call["failed"] and not KEY.search(said):
            yield f"{key} says nothing of what it did: {said!r}"
        if call["failed"] and not any(
            words in said and is_true(story, story.runs[call["run"]]) for words, is_true in _UNSURE.items()
        ):
            yield f"{key} failed with {said!r}"
    if orphans := by_call.keys() - story.calls.keys():
        yield f"effects of no call: {orphans}"


LETTERS = Feature(name="letters", judge=_judge, calls=(_post, _post, _look_up), outside=True)
