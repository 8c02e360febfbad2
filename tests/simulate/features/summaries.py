"""Summaries: a long conversation is summed up once for each stretch of it, whole turns only, and paid for."""

from collections.abc import Iterator

from tests.simulate.features.feature import Feature
from tests.simulate.outsider import Row
from tests.simulate.story import Story


def _judge(story: Story) -> Iterator[str]:
    made = [entry for entry in story.entries if entry["kind"] == "summary"]
    covered: dict[int, int] = {}
    for summary in made:
        name = f"summary {summary['seq']} of conversation {summary['conversation']}"
        before, covers_to = covered.get(summary["conversation"], 0), summary["covers_to"]
        if not before < covers_to < summary["seq"]:
            yield f"{name} covers up to {covers_to}, the one before it up to {before}"
        covered[summary["conversation"]] = covers_to
        if summary["keeps_from"] is not None and summary["keeps_from"] > covers_to:
            yield f"{name} keeps from {summary['keeps_from']} on, and covers up to {covers_to}"
        yield from _covers_whole_turns(story, summary, name)
    paid = sum(row["kind"] == "compaction" and row["cost"] is not None for row in story.tables["spend"])
    if paid < len(made):
        yield f"{len(made)} summaries were made, and {paid} were paid for"


def _covers_whole_turns(story: Story, summary: Row, name: str) -> Iterator[str]:
    there = [entry for entry in story.entries if entry["conversation"] == summary["conversation"]]
    fresh = max((e["seq"] for e in there if e["kind"] == "fresh" and e["seq"] < summary["seq"]), default=0)
    for entry in there:
        if not fresh < entry["seq"] <= summary["covers_to"]:
            continue
        if entry["label"] > summary["label"]:
            yield f"{name} is labelled {summary['label']}, and covers what is labelled {entry['label']}"
        if entry["kind"] == "message" and entry["run"] == summary["run"] and _is_unanswered(story, entry, summary):
            yield f"{name} covers entry {entry['seq']}, which is still to be answered"
        if entry["turn"] is None:
            continue
        for key, call in story.calls.items():
            if (call["run"], call["turn"]) != (entry["run"], entry["turn"]):
                continue
            if call["result"] is None or (call["state"] == "finished" and call["no"] > summary["no"]):
                yield f"{name} covers {key}, which had no result"
            if call["label"] > summary["label"] and call["no"] < summary["no"]:
                yield f"{name} is labelled {summary['label']}, and {key} is labelled {call['label']}"


def _is_unanswered(story: Story, entry: Row, summary: Row) -> bool:
    """Whether the run of an entry had said nothing since when it was summed up."""
    return not any(
        reply["run"] == entry["run"] and entry["seq"] < reply["seq"] < summary["seq"] for reply in story.replies
    )


SUMMARIES = Feature(
    name="summaries",
    judge=_judge,
    operations=("sum up",),
    share=0.3,
    limits={"compact_at_tokens": 300, "recent_tokens": 60, "words_tokens": 100},
)
