"""Answers: every accepted message is answered exactly once and in order, or its run ended with a reason."""

import json
import random
from collections import Counter
from collections.abc import Iterator

from tests.simulate.acts import Act, Fresh, Say, SayAgain, SayOtherwise, Stop, Withdraw
from tests.simulate.features.feature import Feature
from tests.simulate.model import ANSWERED, MARK, SERIAL
from tests.simulate.outsider import Row
from tests.simulate.plan import when
from tests.simulate.story import Story, text_of
from tools.jobs import NOTHING

REASONS = {
    "declined": ("model: declines",),
    "too long for the model": ("model: 400",),
    "tries)": ("model: 500 again and again", "model: 529", "model: silent", "model: stalls", "model: empty answer"),
}
"""Words of a failed run's reason, and what must have struck for it to be true."""

RESUMES = 3
REGRETTED = 90
"""The number of a message that is withdrawn at once: while a run goes on, mostly in time."""


def _acts(chance: random.Random, numbers: range) -> list[tuple[Act, ...]]:
    made: list[tuple[Act, ...]] = []
    if chance.random() < 0.3:
        made.append((SayAgain(number=chance.choice(numbers), when=when(chance)),))
    if chance.random() < 0.15:
        made.append((SayOtherwise(number=1, when=when(chance)),))
    if chance.random() < 0.25:
        made.append((Withdraw(number=chance.choice(numbers), when=chance.choice(("now", "answering", "working"))),))
    if chance.random() < 0.25:
        late = Say(number=REGRETTED, when=chance.choice(("answering", "working")), rest="Or rather not.")
        made.append((late, Withdraw(number=REGRETTED, when="now")))
    if chance.random() < 0.25:
        made.append((Stop(when=chance.choice(("now", "answering", "working"))),))
    if chance.random() < 0.2:
        made.append((Fresh(number=100, when=when(chance)),))
    return made


def _judge(story: Story) -> Iterator[str]:
    yield from _placed(story)
    yield from _answered(story)
    yield from _ended(story)
    yield from _whole_replies(story)
    yield from _fresh(story)


def _placed(story: Story) -> Iterator[str]:
    shown = Counter(entry["message"] for entry in story.entries if entry["source"] == "owner")
    seqs = []
    for number in story.said:
        row = story.message(number)
        if row is None:
            yield f"message {number} was accepted and is not there"
        elif row["withdrawn_at"] is not None:
            if shown[row["id"]] or number not in story.stage.withdrawn:
                yield f"message {number} counts as withdrawn"
        elif row["placed_seq"] is None or shown[row["id"]] != 1:
            yield f"message {number} was placed {shown[row['id']]} times"
        else:
            seqs.append((row["accepted_no"], row["placed_seq"]))
            if number in story.stage.withdrawn:
                yield f"message {number} was placed after it was withdrawn"
    if sorted(seqs) != sorted(seqs, key=lambda pair: pair[1]):
        yield f"messages were placed in another order than accepted: {seqs}"


def _answered(story: Story) -> Iterator[str]:
    answers = [(int(mark), reply) for reply in story.replies for mark in ANSWERED.findall(text_of(reply["shown"]))]
    counts = Counter(mark for mark, _ in answers)
    order = [row["accepted_no"] for mark, _ in answers if (row := story.message(mark)) is not None]
    if order != sorted(order):
        yield f"messages were answered in another order than accepted: {[mark for mark, _ in answers]}"
    for number in story.said:
        row = story.message(number)
        if row is None or row["withdrawn_at"] is not None:
            continue
        run = story.runs.get(row["run"])
        if counts[number] > 1:
            yield f"message {number} was answered {counts[number]} times"
        if run is None:
            yield f"message {number} is in no run"
        elif run["state"] == "done" and counts[number] != 1:
            yield f"message {number} was answered {counts[number]} times, and its run {run['id']} is done"
        elif run["state"] == "done" and not any(m == number and r["run"] == run["id"] for m, r in answers):
            yield f"message {number} was answered by another run than {run['id']}"


def _ended(story: Story) -> Iterator[str]:
    for run in story.runs.values():
        if run["state"] not in ("done", "failed", "stopped"):
            yield f"run {run['id']} is still {run['state']}: {run['reason']}"
        if run["conversation"] in story.workers:
            continue  # why a worker ended is judged with what came of it
        if run["state"] == "stopped" and run["id"] not in story.stage.stopped:
            yield f"run {run['id']} was stopped by nobody"
        if run["state"] == "failed":
            yield from justified(story, run)


def justified(story: Story, run: Row) -> Iterator[str]:
    """A run may fail only for what truly happened."""
    reason = run["reason"] or ""
    if "taken up" in reason:
        taken = sum(lease["holder"] != lease["was_holder"] and lease["holder"] != "" for lease in story.leases)
        if taken < RESUMES + 2:
            yield f"run {run['id']} was given up after {taken} openings: {reason}"
    elif not any(words in reason and story.struck(*names) for words, names in REASONS.items()):
        yield f"run {run['id']} failed for no reason that struck: {reason!r}"


def _whole_replies(story: Story) -> Iterator[str]:
    """Each reply is one that the model gave, whole unless it is marked as cut, and stands there once."""
    seen: Counter[int] = Counter()
    for reply in story.replies:
        text = text_of(reply["shown"])
        found = SERIAL.match(text)
        if found is None:
            if reply["cut"] is None and text != NOTHING:
                yield f"a reply of run {reply['run']} is none of the model's: {text!r}"
            continue
        serial = int(found[1])
        seen[serial] += 1
        given = (story.turns[serial - 1].text, f"[{serial}] Let me see.", f"[{serial}] Searching on.")
        if text not in given and (reply["cut"] is None or not any(whole.startswith(text) for whole in given)):
            yield f"a reply is not the model's own: {text!r} for {given[0]!r}"
    for serial, count in seen.items():
        if count > 1:
            yield f"answer {serial} of the model stands there {count} times"


def _fresh(story: Story) -> Iterator[str]:
    """What was asked after a fresh context holds nothing of what was said before it."""
    lines = [row["placed_seq"] for row in story.tables["messages"] if row["kind"] == "fresh" and row["placed_seq"]]
    rows = {number: row for number in story.said if (row := story.message(number)) is not None}
    for asked in story.asked:
        marks = {int(mark) for mark in MARK.findall(json.dumps(asked.json and asked.json["messages"]))}
        placed = [rows[mark]["placed_seq"] for mark in marks if mark in rows and rows[mark]["placed_seq"]]
        if any(min(placed) < line < max(placed) for line in lines if placed):
            yield f"a request held the messages {sorted(marks)}, between which a fresh context was asked for"


ANSWERS = Feature(
    name="answers",
    judge=_judge,
    acts=_acts,
    operations=(
        "accept",
        "open a run",
        "place",
        "reply",
        "step a run",
        "start fresh",
        "read messages",
        "update runs",
        "commit: update messages",
        "commit: update calls",
    ),
)
