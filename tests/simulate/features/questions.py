"""Questions: what the owner was asked about is done once if he said yes, and never otherwise."""

from collections import defaultdict
from collections.abc import Iterator

from tests.simulate.features.feature import Feature
from tests.simulate.outsider import Row
from tests.simulate.story import Story


def _judge(story: Story) -> Iterator[str]:
    calls: defaultdict[int, list[Row]] = defaultdict(list)
    for key, call in story.calls.items():
        if call["question"] is not None:
            calls[call["question"]].append({**call, "key": key})
        if call["turn"] == 0 and call["question"] is None:
            yield f"{key} was set going by no question"
    for question in story.tables["questions"]:
        yield from _one(question, calls[question["id"]])


def _one(question: Row, calls: list[Row]) -> Iterator[str]:
    name = f"question {question['id']}"
    asked = [call for call in calls if call["turn"] > 0]
    late = [call for call in calls if call["turn"] == 0]
    if question["state"] == "open":
        yield f"{name} is still open"
    if len(asked) != 1 or len(late) > 1:
        yield f"{name} has the calls {[call['key'] for call in calls]}"
    yes = question["state"] == "answered" and question["answer"] == "yes"
    done = [call["key"] for call in calls if call["state"] == "finished" and not call["failed"]]
    if done and not yes:
        yield f"{name} is {question['state']} {question['answer']}, and {done} was done"
    if len(done) > 1:
        yield f"{name} was carried out {len(done)} times"
    if yes and any(call["state"] == "detached" for call in asked) != bool(late):
        yield f"{name} was answered yes, and its calls are {[(call['key'], call['state']) for call in calls]}"


QUESTIONS = Feature(
    name="questions",
    judge=_judge,
    operations=("read questions", "insert questions", "commit: update budget", "commit: update questions"),
)
