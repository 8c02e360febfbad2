"""Jobs: a run is one conversation for its slot, with one report; slots of a job never overlap, and none is lost."""

import random
from collections import Counter
from collections.abc import Iterator

from tests.simulate.acts import Act
from tests.simulate.features.feature import Feature
from tests.simulate.features.moves import some_time
from tests.simulate.features.things import OFTEN, ONCE, Alter, Make, alteration, came_up, judge_messages, judge_slots
from tests.simulate.model import HANDS_ON, SILENT
from tests.simulate.outsider import Row
from tests.simulate.story import Story, text_of
from tools.jobs import says_nothing

TASKS = ("See what is new.", *(f"See what is new. {rest}" for rest in (SILENT, HANDS_ON, HANDS_ON)))


def _acts(chance: random.Random, numbers: range) -> list[tuple[Act, ...]]:
    name = "job-0"
    at = chance.choice((*OFTEN, *OFTEN, *ONCE))
    acts: list[Act] = [Make(kind="job", name=name, at=at, text=chance.choice(TASKS)), some_time(chance)]
    if chance.random() < 0.5:  # the run that began is going on when more time passes
        acts.append(some_time(chance, when=chance.choice(("answering", "delegated"))))
    if chance.random() < 0.5:
        acts.append(changed := alteration(chance, "job", name))
        acts.append(some_time(chance))
        if changed.how == "pause":
            acts += [Alter(kind="job", how="resume", name=name), some_time(chance)]
    return [tuple(acts)]


def _judge(story: Story) -> Iterator[str]:
    yield from judge_slots(story, "job")
    yield from judge_messages(story, "job")
    yield from _side_by_side(story)
    yield from _conversations(story)
    yield from _reports(story)


def _side_by_side(story: Story) -> Iterator[str]:
    """A slot begins only when the one before it has its fate."""
    running: dict[int, str] = {}
    for write in story.writes:
        if write["tab"] != "slots":
            continue
        slot = write["fact"]
        if slot["fate"] == "running":
            if slot["thing"] in running:
                yield f"job {slot['thing']} began {slot['slot']} while {running[slot['thing']]} was running"
            running[slot["thing"]] = slot["slot"]
        elif running.get(slot["thing"]) == slot["slot"]:
            del running[slot["thing"]]
    for thing, slot_name in running.items():
        yield f"job {thing} has the slot {slot_name} running for ever"
    for thing_row in story.tables["things"]:
        if thing_row["running"] is not None:
            yield f"job {thing_row['id']} is said to be running {thing_row['running']}"


def _conversations(story: Story) -> Iterator[str]:
    keys = came_up(story, "job")
    there = {row["made_by"]: row for row in story.tables["conversations"] if row["kind"] == "job"}
    for key in keys.keys() ^ there.keys():
        yield f"{key} {'has no conversation' if key in keys else 'has a conversation and no fate'}"
    runs = Counter(run["conversation"] for run in story.runs.values())
    for key, conversation in there.items():
        if runs[conversation["id"]] != 1:
            yield f"{key} has {runs[conversation['id']]} runs"
        if key in keys and keys[key]["conversation"] != conversation["id"]:
            yield f"{key} names another conversation than its own"


def _reports(story: Story) -> Iterator[str]:
    """What a run said last is its report, told at home once and pushed once, unless it said that there is nothing."""
    notices = Counter(row["source_key"] for row in story.tables["messages"] if row["kind"] == "notice")
    pushed = Counter(row["id"] for row in story.tables["pushes"] if row["kind"] == "report")
    shown = Counter(entry["message"] for entry in story.entries if entry["message"] is not None)
    keys = came_up(story, "job")
    for key, slot in keys.items():
        run = next((run for run in story.runs.values() if run["conversation"] == slot["conversation"]), None)
        if run is None:
            continue
        yield from _one(story, key, slot, run)
        tells = slot["report"] is not None or slot["fate"] == "failed"
        if notices[f"report:{key}"] != tells:
            yield f"{key} was reported {notices[f'report:{key}']} times"
        if pushed[key] > tells or (slot["report"] is not None and not pushed[key]):
            yield f"the report of {key} was pushed {pushed[key]} times"
    for row in story.tables["messages"]:
        if row["kind"] != "notice" or not row["source_key"].startswith("report:"):
            continue
        if row["source_key"].removeprefix("report:") not in keys:
            yield f"{row['source_key']} is of no run"
        if row["placed_seq"] is None or shown[row["id"]] != 1:
            yield f"{row['source_key']} was placed {shown[row['id']]} times"


def _one(story: Story, key: str, slot: Row, run: Row) -> Iterator[str]:
    if (slot["fate"] == "ran") != (run["state"] == "done"):
        yield f"{key} {slot['fate']}, and its run is {run['state']}"
    said = [text_of(reply["shown"]).strip() for reply in story.replies if reply["run"] == run["id"]]
    expected = said[-1] if run["state"] == "done" and said and said[-1] and not says_nothing(said[-1]) else None
    if slot["report"] != expected:
        yield f"{key} reported {slot['report']!r}, and said {expected!r}"


JOBS = Feature(
    name="jobs",
    judge=_judge,
    acts=_acts,
    operations=("come up", "report a job's run"),
    share=0.25,
    left="SELECT count(*), NULL::timestamptz AS at FROM slots WHERE fate = 'running'",
)
