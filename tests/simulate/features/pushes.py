"""Pushes: one id for each slot or question, at most five tries, a true state, buttons that work once."""

import hashlib
import random
from collections import Counter, defaultdict
from collections.abc import Iterator
from itertools import pairwise
from typing import TYPE_CHECKING

import attrs

from actors.pusher import CUT_SHORT
from tests.ntfy import Drop, Hang, Publish, Status
from tests.ntfy.server import Reply
from tests.simulate.acts import Act, Pressed
from tests.simulate.features.feature import Feature
from tests.simulate.features.moves import MINUTE, Pass
from tests.simulate.features.things import Make
from tests.simulate.outsider import Row
from tests.simulate.story import Story

if TYPE_CHECKING:
    from tests.simulate.stage import Stage

_LATER = Status(429, headers=(("retry-after", "90"),))
_SOON = Status(429, headers=(("retry-after", "1"),))
"""For real processes, whose time passes by itself."""

REPLIES: tuple[Reply, ...] = (
    Publish(),
    Status(500),
    Status(429),
    _LATER,
    Status(400),
    Status(302),
    Drop(),
    Hang(),
)


@attrs.frozen(kw_only=True)
class Outage(Act):
    """What the ntfy server does with the next requests."""

    replies: tuple[Reply, ...]

    async def perform(self, stage: "Stage") -> None:
        real = stage.schedule.real
        stage.ntfy.script(*(_SOON if real and reply is _LATER else reply for reply in self.replies))


@attrs.frozen(kw_only=True)
class Press(Act):
    """Press buttons of the newest notification that has one of these, one after the other."""

    labels: tuple[str, ...]

    async def perform(self, stage: "Stage") -> None:
        for notice in reversed(list(stage.ntfy.screen.values())):
            assert notice.value is not None
            urls = {action["label"].split()[0]: action["url"] for action in notice.value.get("actions", ())}
            if self.labels[0] not in urls:
                continue
            for label in self.labels:
                answer = await stage.request("POST", f"/api/buttons/{urls[label].rpartition('/')[2]}")
                if answer.status_code not in (200, 404, 409):
                    stage.violations.append(f"{label} was answered {answer.status_code}: {answer.text}")
                stage.heard.pressed.append(
                    Pressed(
                        sequence=notice.value["sequence_id"],
                        label=label,
                        status=answer.status_code,
                        said=answer.text,
                    )
                )
            return


def _acts(chance: random.Random, numbers: range) -> list[tuple[Act, ...]]:
    """The server fails in some way while a reminder comes up; then he presses what he likes."""
    outage = Outage(replies=tuple(chance.choices(REPLIES, k=chance.choice((0, 1, 1, 2, 3, 5, 6)))))
    reminder = Make(kind="reminder", name="pushed", at="in 5 minutes", text="Ring the bell.")
    presses = chance.choice(
        ((), ("Done",), ("Done", "Done"), ("Snooze",), ("Snooze", "Snooze"), ("Snooze", "Done"), ("Done", "Snooze"))
    )
    acts: list[Act] = [outage, reminder, Pass(seconds=5 * MINUTE, house=chance.choice(("awake", "awake", "dead")))]
    acts.append(Pass(seconds=chance.choice((1.0, 15.0, 100.0)), when="settled"))
    if presses:
        acts.append(Press(labels=presses, when="settled"))
        acts.append(Pass(seconds=chance.choice((1.0, 11 * MINUTE)), when="settled"))
    return [tuple(acts)]


def sequence_of(push: str) -> str:
    """The id by which the phone knows a push."""
    return hashlib.sha256(push.encode()).hexdigest()[:32]


def _judge(story: Story) -> Iterator[str]:
    came: defaultdict[str, list[Reply]] = defaultdict(list)
    for notice in story.stage.ntfy.came:
        if notice.value is None:
            yield f"the ntfy server was sent what it does not take: {notice.raw[:200]!r}"
        else:
            came[notice.value["sequence_id"]].append(notice.reply)
    for push in story.tables["pushes"]:
        yield from _one(story, push, came.pop(sequence_of(push["id"]), []))
    for sequence in came:
        yield f"{sequence} was pushed, and there is no such push"
    yield from _buttons(story)


def _one(story: Story, push: Row, came: list[Reply]) -> Iterator[str]:
    facts = [w["fact"] for w in story.writes if w["tab"] == "pushes" and w["fact"]["id"] == push["id"]]
    tries_max = story.stage.limits.push_tries
    begun = sum(after["tries"] > before["tries"] for before, after in pairwise(facts))
    said = f"the push {push['id']} ({push['state']}, {push['why']})"
    if max(fact["tries"] for fact in facts) > tries_max:
        yield f"{said} was tried more than {tries_max} times"
    if len(came) > begun:
        yield f"{said} counts {begun} tries, and {len(came)} came"
    for before, after in pairwise(facts):
        anew = after["made_at"] != before["made_at"]  # told a second time
        if after["tries"] not in ((0,) if anew else (before["tries"], before["tries"] + 1)):
            yield f"{said} went from {before['tries']} tries to {after['tries']}"
    shown = Publish() in came
    match push["state"]:
        case "waiting":
            yield f"{said} waits for ever"
        case "sent" if push["answer"] is None and not shown:
            yield f"{said} was not shown: {came}"
        case "failed" if came and came[-1] == Publish() and push["why"] != CUT_SHORT:
            yield f"{said} was shown: {came}"
        case "off" if push["kind"] != "question":
            yield f"{said} was called off"


def _buttons(story: Story) -> Iterator[str]:
    pushes = {sequence_of(row["id"]): row for row in story.tables["pushes"]}
    by_push: defaultdict[str, list[Pressed]] = defaultdict(list)
    for pressed in story.stage.heard.pressed:
        by_push[pressed.sequence].append(pressed)
    snoozed = Counter(row["made_by"] for row in story.tables["things"] if row["made_by"].startswith("snooze:"))
    for sequence, presses in by_push.items():
        push = pushes.get(sequence)
        if push is None or push["kind"] != "reminder":
            continue
        worked = [pressed.label for pressed in presses if pressed.status == 200]
        first = worked[0] if worked else ""
        if snoozed.pop(f"snooze:{push['id']}", 0) != ("Snooze" in worked):
            yield f"{push['id']} was snoozed otherwise than {worked} says"
        if first == "Done" and "Snooze" in worked:
            yield f"{push['id']} was done, and snoozed after that"
        if worked and push["answer"] != worked[-1].lower():
            yield f"{push['id']} is {push['answer']} after {worked}"
        for pressed in presses:
            if pressed.status == 404:
                yield f"{pressed.label} of {push['id']} was not known: {pressed.said}"
    for key in snoozed:
        yield f"{key} was made by nobody's press"


PUSHES = Feature(
    name="pushes",
    judge=_judge,
    acts=_acts,
    operations=("the push waits", "update pushes", "read buttons", "commit: update buttons", "commit: insert things"),
    share=0.2,
    left="SELECT count(*), min(next_at) AS at FROM pushes WHERE state = 'waiting'",
)
