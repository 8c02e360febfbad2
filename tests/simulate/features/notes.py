"""Notes: a call whose whole work is in the database is done exactly once, together with its result."""

import random
from collections import Counter
from collections.abc import Iterator

from tests.simulate.features.feature import Feature
from tests.simulate.model import Called
from tests.simulate.story import Story, text_of


def _write(chance: random.Random, key: str) -> Called:
    title = chance.choice((f"note {key}", "the shared note"))
    return Called(key=key, tool="write_note", arguments={"title": title, "text": f"text of {key}"})


def _read(chance: random.Random, key: str) -> Called:
    return Called(key=key, tool="read_note", arguments={"title": f"note that is not there {key}"})


def _search(chance: random.Random, key: str) -> Called:
    return Called(key=key, tool="search_notes", arguments={"query": key})


def _judge(story: Story) -> Iterator[str]:
    versions = story.tables["note_versions"]
    for text, count in Counter(version["text"] for version in versions).items():
        if count > 1:
            yield f"{text!r} was written {count} times"
    made_by = {version["made_by"]: version for version in versions}
    for key, call in story.calls.items():
        if call["tool"] != "write_note" or call["result"] is None:
            continue
        said = text_of(call["result"]["content"])
        wrote = call["state"] == "finished" and not call["failed"]
        if wrote and key not in made_by:
            yield f"{key} says {said!r}, and nothing is written"
        if not wrote and key in made_by:
            yield f"{key} is {call['state']} with {said!r}, and wrote its note"
    if orphans := made_by.keys() - story.calls.keys():
        yield f"notes were written by no call: {orphans}"
    heads = {note["id"]: note["version"] for note in story.tables["notes"]}
    newest = Counter[int]()
    for version in versions:
        newest[version["note"]] = max(newest[version["note"]], version["version"])
    if heads != dict(newest):
        yield f"heads of notes are not their newest versions: {heads}, {dict(newest)}"


NOTES = Feature(
    name="notes",
    judge=_judge,
    calls=(_write, _write, _read, _search),
    operations=("reply with calls", "whole turn", "result", "read notes"),
)
