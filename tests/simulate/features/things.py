"""What the owner does with reminders and jobs, and what must be true of the slots of both.

One rule: which slots there should be is reckoned here, from the rules as they stood, by arithmetic of its own; the
ledger is only read.
"""

import random
from collections import Counter, defaultdict
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Literal
from zoneinfo import ZoneInfo

import attrs

from tests.simulate.acts import Act, Told
from tests.simulate.features.moves import PASSES_SECONDS
from tests.simulate.outsider import Row
from tests.simulate.story import Story
from tools.catchup import CHANGED, MISSED, PAUSED, REMOVED, STILL_RUNNING

if TYPE_CHECKING:
    from tests.simulate.stage import Stage

Kind = Literal["reminder", "job"]
How = Literal["when", "text", "cancel", "pause", "resume"]

ZONE = ZoneInfo("Europe/Vienna")
OFTEN = ("every 7 minutes", "every 2 hours", "*/10 * * * *", "every day 9:00")
ONCE = ("in 5 minutes", "in 20 minutes", "in 2 hours", "tomorrow 9:00")
REAL_ONCE = "in 2 seconds"
"""For real processes, whose time passes by itself."""

LATE_SECONDS = 60


# -- what the owner does


@attrs.frozen(kw_only=True)
class Make(Act):
    """Make a reminder or a job, which he calls `name`."""

    kind: Kind
    name: str
    at: str
    text: str

    async def perform(self, stage: "Stage") -> None:
        at = REAL_ONCE if stage.schedule.real else self.at
        body = {"request_id": self.name, "when": at, "text": self.text} | _titled(self.kind, self.name)
        while (answer := await stage.request("POST", f"/api/{self.kind}s", body)).status_code == 409:
            pass  # the same request is under way still
        if answer.status_code != 201:
            stage.violations.append(f"making a {self.kind} was answered {answer.status_code}: {answer.text}")
        elif stage.heard.things.setdefault(self.name, answer.json()["id"]) != answer.json()["id"]:
            stage.violations.append(f"the {self.kind} {self.name} was made twice")


def _titled(kind: Kind, name: str) -> dict[str, str]:
    return {"title": name} if kind == "job" else {}


@attrs.frozen(kw_only=True)
class Alter(Act):
    """Change one: that of this name, else the newest. `meanwhile_seconds`: so much time passes in the middle of it."""

    kind: Kind
    how: How
    name: str = ""
    at: str = ""
    text: str = ""
    meanwhile_seconds: float = 0.0

    async def perform(self, stage: "Stage") -> None:
        if (id := await self._id(stage)) is None:
            return
        if self.meanwhile_seconds and not stage.schedule.real:
            stage.soon(_pass, stage, self.meanwhile_seconds)
        method, rest, body = _request(self)
        asked_at = stage.now()
        answer = await stage.request(method, f"/api/{self.kind}s/{id}{rest}", body)
        if answer.status_code == 200:
            no = answer.json()["no"]
            told = Told(thing=id, how=self.how, status=answer.status_code, no=no, asked_at=asked_at)
            stage.heard.told.append(told)
        elif answer.status_code not in (409, 422):
            stage.violations.append(f"{self.how} of {self.kind} {id} was answered {answer.status_code}: {answer.text}")

    async def _id(self, stage: "Stage") -> int | None:
        if self.name:
            return stage.heard.things.get(self.name)
        listed = (await stage.request("GET", f"/api/{self.kind}s")).json()[f"{self.kind}s"]
        return listed[0]["id"] if listed else None


async def _pass(stage: "Stage", seconds: float) -> None:
    """Let time pass when the next thing is asked of the database: between a look and what is done about it."""
    await stage.steps_or_seconds(1, 0.1)
    stage.clock.move(seconds)


def _request(act: Alter) -> tuple[str, str, dict[str, str] | None]:
    match act.how:
        case "when":
            return "PATCH", "", {"when": act.at}
        case "text":
            return "PATCH", "", {"text": act.text}
        case "cancel":
            return "DELETE", "", None
    return "POST", f"/{act.how}", None


def alteration(chance: random.Random, kind: Kind, name: str = "") -> Alter:
    """Some change."""
    hows: tuple[How, ...] = ("when", "when", "text", "cancel") + (("pause", "pause") if kind == "job" else ())
    return Alter(
        kind=kind,
        how=chance.choice(hows),
        name=name,
        at=chance.choice((*ONCE, *OFTEN)),
        text="Something else.",
        when=chance.choice(("now", "settled", "settled", "working")),
        meanwhile_seconds=chance.choice((0.0, 0.0, *PASSES_SECONDS)),
    )


# -- what must be true


@attrs.frozen
class Expected:
    """A slot that there should be: of which version of its thing."""

    at: datetime
    version: int


def came_up(story: Story, kind: Kind) -> dict[str, Row]:
    """What came up, by its key."""
    ids = {row["id"] for row in story.tables["things"] if row["kind"] == kind}
    rows = (row for row in story.tables["slots"] if row["thing"] in ids and row["fate"] != "skipped")
    return {f"slot:{row['thing']}:{row['slot']}": row for row in rows}


def judge_slots(story: Story, kind: Kind) -> Iterator[str]:
    """Each slot has exactly one fate, and there is no fate of what is no slot, nor of what was changed before it."""
    ledgers: defaultdict[int, list[Row]] = defaultdict(list)
    for row in sorted(story.tables["slots"], key=lambda row: row["at"]):
        ledgers[row["thing"]].append(row)
    for thing in story.tables["things"]:
        if thing["kind"] == kind:
            facts = _facts(story, thing["id"])
            expected = _expected(facts, story)
            for said in (*_fates(expected, ledgers[thing["id"]]), *_reasons(expected, ledgers[thing["id"]], facts)):
                yield f"{kind} {thing['id']} ({thing['rule']}): {said}"
    yield from _ghosts(story, kind)


def _facts(story: Story, thing: int) -> list[Row]:
    """A thing as it was written, time after time."""
    return [w["fact"] for w in story.writes if w["tab"] == "things" and w["fact"]["id"] == thing]


def _expected(facts: list[Row], story: Story) -> list[Expected]:
    spans: list[tuple[Row, datetime, datetime]] = []
    first = facts[0]
    for fact in facts:
        if fact["version"] > first["version"]:
            spans.append((first, _at(first["reached_at"]), _at(fact["reached_at"])))
            first = fact
    last = _at(facts[-1]["reached_at"]) if story.stage.schedule.real else story.now
    spans.append((first, _at(first["reached_at"]), last))
    return [
        Expected(at, fact["version"])
        for fact, begin, end in spans
        if fact["state"] == "active"
        for at in _instants(fact["rule"], _at(fact["since"]), begin, end)
    ]


def _at(text: str) -> datetime:
    return datetime.fromisoformat(text).astimezone(UTC)


def _instants(rule: str, since: datetime, begin: datetime, end: datetime) -> Iterator[datetime]:
    """The instants of a rule later than `begin`, not later than `end`."""
    match rule.split():
        case ["every", count, unit]:
            step = timedelta(**{unit if unit.endswith("s") else f"{unit}s": int(count)})
            at = since.replace(microsecond=0) + step
        case ["*/10", "*", "*", "*", "*"]:
            step = timedelta(minutes=10)
            at = datetime(2026, 11, 29, tzinfo=UTC)
        case ["0", "9", "*", "*", "*"]:
            step = timedelta(days=1)
            at = datetime(2026, 11, 29, 9, tzinfo=ZONE).astimezone(UTC)  # no clock is set before March
        case [once]:
            step = timedelta(days=3_660)
            at = _at(once)
        case _:
            raise ValueError(f"no schedule here has the rule {rule}")
    while at <= end:
        if at > begin:
            yield at
        at += step


def _fates(expected: list[Expected], rows: list[Row]) -> Iterator[str]:
    versions = {slot.at: slot.version for slot in expected}
    covered: Counter[datetime] = Counter()
    for row in rows:
        last_at = row["last_at"] or row["at"]
        there = [slot.at for slot in expected if row["at"] <= slot.at <= last_at]
        if not there or there[0] != row["at"] or there[-1] != last_at:
            yield f"{row['slot']} has the fate {row['fate']} ({row['why']}), and is no slot of it"
        elif len(there) != row["count"]:
            yield f"the row of {row['slot']} stands for {row['count']} slots and should for {len(there)}"
        elif versions[row["at"]] != row["version"]:
            yield f"{row['slot']} came up by version {row['version']}, not {versions[row['at']]}"
        covered.update(there)
    for slot in expected:
        if covered[slot.at] != 1:
            yield f"the slot of {slot.at} has {covered[slot.at]} fates"


def _reasons(expected: list[Expected], rows: list[Row], facts: list[Row]) -> Iterator[str]:
    """What was missed was overtaken by a later slot; what is late is the latest; what was changed was changed."""
    commits: defaultdict[int, list[tuple[Row, Row]]] = defaultdict(list)
    for before, after in pairwise(facts):
        commits[after["no"]].append((before, after))
    for row, following in zip(rows, [*rows[1:], None], strict=False):
        changes = [after for before, after in commits[row["no"]] if after["version"] > before["version"]]
        match row["fate"], row["why"]:
            case "skipped", why if why == MISSED:
                if following is None or not row["last_at"] < following["at"] <= row["settled_at"]:
                    yield f"{row['slot']} was missed, and no later one was made up for"
            case "skipped", why if why in (CHANGED, PAUSED, REMOVED):
                if not changes:
                    yield f"{row['slot']} is said to have been overtaken by a change, and there was none"
            case "skipped", why if why == STILL_RUNNING:
                if all(before["running"] is None for before, _ in commits[row["no"]]):
                    yield f"{row['slot']} was skipped for a run that was not going on"
            case "skipped", why:
                yield f"{row['slot']} was skipped because of {why!r}"
            case _:
                came_at = row["at"] + timedelta(seconds=row["late_seconds"])
                if any(row["at"] < slot.at <= came_at and slot.version == row["version"] for slot in expected):
                    yield f"{row['slot']} came up {row['late_seconds']} s late, when a later one was due"


def _ghosts(story: Story, kind: Kind) -> Iterator[str]:
    """Once he was told of a change, nothing comes up by what was before it."""
    inserted = [w["fact"] for w in story.writes if w["tab"] == "slots" and w["op"] == "INSERT"]
    for told in story.stage.heard.told:
        facts = _facts(story, told.thing)
        if facts[0]["kind"] != kind:
            continue
        version = max(fact["version"] for fact in facts if fact["no"] <= told.no)
        for slot in inserted:
            if slot["thing"] == told.thing and slot["no"] > told.no and slot["version"] < version:
                yield f"{kind} {told.thing}: {slot['slot']} of version {slot['version']} came after {told.how}"
            if slot["thing"] == told.thing and told.how == "cancel" and slot["no"] > told.no:
                again = any(w["no"] > told.no and w["version"] > version for w in facts)
                if not again:
                    yield f"{kind} {told.thing}: {slot['slot']} came up after it was cancelled"
        yield from _took_effect(told, facts, kind)


def _took_effect(told: Told, facts: list[Row], kind: Kind) -> Iterator[str]:
    """A change of when it comes up holds from when it was made, not from earlier."""
    made: list[Any] = [(a, b) for a, b in pairwise(facts) if b["version"] > a["version"] and b["no"] == told.no]
    for _, after in made:
        if told.how != "text" and _at(after["reached_at"]) < told.asked_at.replace(microsecond=0):
            yield f"{kind} {told.thing}: {told.how} was asked for at {told.asked_at}, holds from {after['reached_at']}"


def judge_messages(story: Story, kind: Kind) -> Iterator[str]:
    """What came up has its one message, placed once, in one run that has ended; what did not has none."""
    keys = came_up(story, kind)
    messages = [row for row in story.tables["messages"] if row["kind"] == kind]
    counts = Counter(message["source_key"] for message in messages)
    for key in keys | dict.fromkeys(counts):
        if counts[key] != (key in keys):
            yield f"{key} has {counts[key]} messages"
    shown = Counter(entry["message"] for entry in story.entries)
    for message in messages:
        run = story.runs.get(message["run"])
        entries = shown[message["id"]]  # a job's prompt comes with its earlier reports
        if message["placed_seq"] is None or entries < 1 or (kind == "reminder" and entries > 1):
            yield f"the message of {message['source_key']} was placed {entries} times"
        elif run is None or run["closed_at"] is None:
            yield f"the message of {message['source_key']} is in no run that has ended"
