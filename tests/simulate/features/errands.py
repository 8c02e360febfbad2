"""Errands: calls that set somebody to work. What happens with them, and what must be true of each.

One rule: a call has one who works for it, in a conversation of its own, and what comes of him arrives once, framed. Who
he is and what he may know is for the feature whose errands they are.
"""

import json
import random
from collections import Counter
from collections.abc import Callable, Iterator

import attrs

from dreamwalker.cast import RETIRED_RUN
from storage.records import Entry, Run, Worker
from storage.workers import Work
from tests.simulate.acts import Act, Say, Stop, When
from tests.simulate.features.answers import justified
from tests.simulate.features.moves import HOUR, House, Pass, TakeOver
from tests.simulate.features.questions import Die
from tests.simulate.model import DECLINES, Maker
from tests.simulate.outsider import Row
from tests.simulate.story import Story, text_of
from tools.answers import DETACHED, FRAMES, answer_of
from tools.outside import Source

HELD = """held AS (
    SELECT conversation FROM runs WHERE state = 'waiting' AND retry_at IS NULL
    UNION SELECT w.parent FROM workers w JOIN held ON held.conversation = w.conversation
    WHERE w.ended_at IS NULL AND NOT w.handed_off)
"""
"""The conversations that only the owner can let go on: they wait for his answer, or for one that does."""
_TABLES = ("entries", "calls", "runs", "messages")
_UNDONE = ("Stopped by the owner", "The run ended before", "Nothing was done", "Not done")
"""How the result begins of a call that no worker's outcome came to."""
_NOTHING = ("Nothing was done", "Nothing was sent", "There is no tool", "Not sent")
"""What is said in it where nobody was set to work."""

Meanwhile = Callable[[random.Random, When], Act]
"""Something that happens while somebody works."""


@attrs.frozen(kw_only=True)
class Errands:
    """The errands of one tool.

    `number`: of the message for which the model calls it, as `make` says, in one of so many `rounds`; before that comes
    what is `first`. `whens`, `meanwhile` and `several`: what happens then, and how often. `kind`: of the conversations.
    `of_call` and `of_worker` say what is wrong with one, besides what would be with any.
    """

    tool: str
    kind: str
    number: int
    make: Maker
    rounds: tuple[int, ...]
    whens: tuple[When, ...]
    several: tuple[int, ...]
    meanwhile: tuple[Meanwhile, ...]
    first: tuple[Act, ...] = ()
    of_call: Callable[[Story, str, Row, Row | None], Iterator[str]]
    of_worker: Callable[[Story, Row], Iterator[str]]

    def acts(self, chance: random.Random, numbers: range) -> list[tuple[Act, ...]]:
        """A message that has the model call it once or several times; and what happens while somebody works."""
        plan = tuple(
            tuple(self.make(chance, f"m{self.number}.{round_}.{at}") for at in range(chance.choice((1, 1, 2, 3))))
            for round_ in range(chance.choice(self.rounds))
        )
        said = Say(number=self.number, when=chance.choice(("now", "settled")), plan=plan)
        count = chance.choice(self.several)
        then = [chance.choice(self.meanwhile)(chance, chance.choice(self.whens)) for _ in range(count)]
        return [(*self.first, said, *then)]

    def judge(self, story: Story) -> Iterator[str]:
        """What is wrong with any of them."""
        kinds = {row["id"]: row["kind"] for row in story.tables["conversations"]}
        by_call = {call_of(row): row for row in story.workers.values() if kinds[row["conversation"]] == self.kind}
        for key, call in story.calls.items():
            if call["tool"] == self.tool:
                for said in self.of_call(story, key, call, by_call.get(key)):
                    yield f"{key} ({call['state']}): {said}"
        for key, worker in by_call.items():
            if key not in story.calls:
                yield f"the {self.kind} of {key} was made by no call"
            for of in (_made_once, self.of_worker, _ended, _pays):
                for said in of(story, worker):
                    yield f"the {self.kind} of {key}: {said}"
        if len(by_call) != sum(kind == self.kind for kind in kinds.values()):
            yield f"there are more conversations of kind {self.kind} than those who work in them"


# -- what happens meanwhile


def write(number: int) -> Meanwhile:
    """The owner writes something, or interrupts."""
    return lambda chance, when: Say(
        number=number + chance.randrange(1, 100), when=when, interrupt=chance.random() < 0.3
    )


def stop(kind: str) -> Meanwhile:
    """The owner stops the newest run of this kind."""
    return lambda chance, when: Stop(kind=kind, when=when)


def run_late(*houses: House) -> Meanwhile:
    """So much time passes that whoever works is ended."""
    return lambda chance, when: Pass(seconds=HOUR + 1, house=chance.choice(houses), when=when)


def follow(chance: random.Random, when: When) -> Act:
    """Another instance takes over."""
    return TakeOver(newer=chance.random() < 0.5, when=when)


def die(chance: random.Random, when: When) -> Act:
    """The process dies a few steps later."""
    return Die(steps=chance.randrange(16), when=when)


# -- what must be true of each


def call_of(worker: Row) -> str:
    return f"call:{worker['run']}.{worker['turn']}.{worker['position']}"


def outcome_of_call(story: Story, key: str, call: Row, worker: Row | None) -> Iterator[str]:
    """What came of a call's worker arrives once: as its result, or as a message if the run went on without it."""
    said = "" if call["result"] is None else text_of(call["result"]["content"])
    brought = [row for row in story.tables["messages"] if row["kind"] == "outcome" and row["cause"] == key]
    framed = _framed(said, worker)
    if worker is None:
        undone = said.startswith(_UNDONE) or any(words in said for words in _NOTHING)
        if framed or brought or not (undone or (call["question"] is not None and call["state"] == "detached")):
            yield f"it has no worker, and says {said!r}"
        return
    stopped = story.runs[call["run"]]["state"] == "stopped"
    if call["state"] == "detached":
        if said != DETACHED or len(brought) > 1 or (not brought and not stopped):
            yield f"{len(brought)} messages brought what came of it, and it says {said!r}"
        for message in brought:
            yield from brought_by(story, worker, message)
        return
    if brought:
        yield f"what came of it was brought by {len(brought)} messages besides its result"
    if not framed:
        if not (call["failed"] and said.startswith(_UNDONE)):
            yield f"it says {said!r} and nothing of its worker"
        return
    yield from _outcome(story, worker, said)
    if not answer_of(_work(story, worker)).clean and (call["label"] != call["no"] or not call["outside"]):
        yield f"its result came in with commit {call['no']} and has the label {call['label']}"
    if _ended_no(story, worker) != call["no"]:
        yield f"its result is commit {call['no']}, and its worker ended with {_ended_no(story, worker)}"


def brought_by(story: Story, worker: Row, message: Row) -> Iterator[str]:
    """The message that brings an outcome is placed once, framed, and from outside."""
    shown = [entry for entry in story.entries if entry["message"] == message["id"]]
    if len(shown) != 1 or message["conversation"] != worker["parent"]:
        yield f"the message with what came of it was placed {len(shown)} times"
        return
    (entry,) = shown
    yield from _outcome(story, worker, text_of(entry["shown"]))
    label = 0 if answer_of(_work(story, worker)).clean else message["accepted_no"]
    if entry["source"] != "outside" or entry["label"] != label:
        yield f"what came of it was brought as {entry['source']} with the label {entry['label']}"
    if _ended_no(story, worker) != message["accepted_no"]:
        yield f"it was brought in commit {message['accepted_no']}, and its worker ended otherwise"


def _framed(said: str, worker: Row | None) -> list[str]:
    frames = FRAMES[Source.WORKER if worker is None else _source(worker)]
    return [outcome for outcome, frame in frames.items() if frame in said]


def _source(worker: Row) -> Source:
    return Source.WORKER if worker["receiver"] is None else Source.AGENT


def _outcome(story: Story, worker: Row, said: str) -> Iterator[str]:
    """It is what the rows of the worker say, behind its sentence, in the frame of outside text."""
    answer = answer_of(_work(story, worker))
    remark = _source(worker).remark
    if _framed(said, worker) != [answer.outcome]:
        yield f"it came to {_framed(said, worker)}, and was {answer.outcome}"
    if said.count(remark) != 1 or said.count("⟦End of the text from outside.⟧") != 1:
        yield f"what came of it is not framed: {said!r}"
    elif answer.text not in said.partition(remark)[2].rpartition("⟦End of")[0]:
        yield f"what came of it is {answer.text!r}, and told was {said!r}"


def _work(story: Story, worker: Row) -> Work:
    """A worker as the product reads it."""
    conversation = worker["conversation"]
    run = next((run for run in story.runs.values() if run["conversation"] == conversation), None)
    replies = (row for row in story.replies if row["conversation"] == conversation)
    return Work(
        worker=Worker.of(worker),
        run=None if run is None else Run.of(run),
        replies=tuple(Entry.of({**row, "shown": json.dumps(row["shown"])}) for row in replies),
    )


def _ended_no(story: Story, worker: Row) -> int:
    """The commit with which a worker ended; 0 if it has not."""
    return next((fact["no"] for fact in _facts(story, worker) if fact["ended_at"] is not None), 0)


def _facts(story: Story, worker: Row) -> list[Row]:
    of = worker["conversation"]
    return [w["fact"] for w in story.writes if w["tab"] == "workers" and w["fact"]["conversation"] == of]


def _made_once(story: Story, worker: Row) -> Iterator[str]:
    """A restart finds the same worker with the same task."""
    key, of = call_of(worker), worker["conversation"]
    made = [w["fact"] for w in story.writes if w["tab"] == "workers" and w["op"] == "INSERT"]
    if len(calls := [fact for fact in made if call_of(fact) == key]) != 1:
        yield f"was made {len(calls)} times"
    tasks = [row for row in story.tables["messages"] if row["conversation"] == of]
    kind = "task" if worker["receiver"] is None else "agent"
    if [(row["kind"], row["cause"]) for row in tasks if row["kind"] != "outcome"] != [(kind, key)]:
        yield f"was given {[(row['kind'], row['cause']) for row in tasks]}"
    if len(runs := [run for run in story.runs.values() if run["conversation"] == of]) > 1:
        yield f"has {len(runs)} runs"
    if sum(fact["ended_at"] is not None for fact in _facts(story, worker)) != 1:
        yield f"ended otherwise than once: {_facts(story, worker)}"


def _ended(story: Story, worker: Row) -> Iterator[str]:
    """It has ended, for a reason that is true, and nothing of it happened after that."""
    ended_no = _ended_no(story, worker)
    parent = story.runs[worker["run"]]
    for run in story.runs.values():
        if run["conversation"] != worker["conversation"]:
            continue
        reason = run["reason"] or ""
        if run["state"] == "stopped" and run["id"] not in story.stage.stopped:
            waited = parent["state"] in ("stopped", "failed") and not worker["handed_off"]
            left = waited and reason.startswith("The run that it worked for")
            if not left and not (worker["cut_short"] == "retired" and reason == RETIRED_RUN):
                yield f"its run {run['id']} was stopped by nobody: {reason}"
        elif run["state"] == "failed" and worker["cut_short"] is None and DECLINES not in _task(story, worker):
            yield from justified(story, run)
    if worker["cut_short"] == "time" and not story.stage.schedule.real:
        late = [
            row for row in story.tables["spend"] if row["at"] > worker["deadline_at"] and _is_of(story, row, worker)
        ]
        if late:
            yield f"it asked the model after its time: {late}"
    for write in story.writes:
        fact = write["fact"]
        mine = write["tab"] in _TABLES and fact["conversation"] == worker["conversation"]
        if mine and 0 < ended_no < fact["no"]:
            yield f"it went on after its end in commit {ended_no}: {write['tab']} {fact}"


def _task(story: Story, worker: Row) -> str:
    return str(story.calls[call_of(worker)]["arguments"])


def _is_of(story: Story, spent: Row, worker: Row) -> bool:
    return bool(story.runs[spent["run"]]["conversation"] == worker["conversation"])


def _pays(story: Story, worker: Row) -> Iterator[str]:
    """What it spends is charged to what its task came of."""
    acts = Counter(row["act"] for row in story.tables["spend"] if _is_of(story, row, worker))
    if acts.keys() - {story.runs[worker["run"]]["act"]}:
        yield f"it was charged to {dict(acts)}"
