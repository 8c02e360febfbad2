"""What came of somebody who was set to work, a worker or another agent, and how a model is told of it.

One rule: how it ended is said in one of a few fixed sentences, in the brackets that nothing from outside can hold; what
was written stands below as text from outside.
"""

from typing import Literal

import attrs

from storage.records import Worker
from storage.text import loads
from storage.workers import Work

from .outside import Source

Outcome = Literal["answered", "cut", "silent", "failed", "time", "money", "retired", "stopped"]

_FRAMES: dict[Outcome, str] = {
    "answered": "⟦The {who} is done. Its answer follows.⟧",
    "cut": "⟦The {who} is done, but its answer broke off at the longest length of a reply. It follows.⟧",
    "silent": "⟦The {who} is done and said nothing.⟧",
    "failed": "⟦The {who} failed. Why, and what it had written until then, follows.⟧",
    "time": "⟦The {who} took too long and was ended. What it had written until then follows.⟧",
    "money": "⟦The spending limit was reached before the {who} was done. What it had written until then follows.⟧",
    "retired": "⟦The {who} was retired before it was done. What it had written until then follows.⟧",
    "stopped": "⟦The {who} was stopped before it was done. What it had written until then follows.⟧",
}
FRAMES: dict[Source, dict[Outcome, str]] = {
    Source.WORKER: {outcome: frame.format(who="worker") for outcome, frame in _FRAMES.items()},
    Source.AGENT: {outcome: frame.format(who="agent") for outcome, frame in _FRAMES.items()},
}
"""What a model is told of how it ended, by who it was."""

DETACHED = (
    "Still open: the owner wrote something meanwhile. The work goes on, and what comes of it will come as a message."
)


@attrs.frozen(kw_only=True)
class Answer:
    """What came of it. `clean`: nothing from outside was read on the way, and no error is told."""

    outcome: Outcome
    text: str
    clean: bool = False

    @property
    def failed(self) -> bool:
        """Whether it did not come to an end of its own."""
        return self.outcome not in ("answered", "cut", "silent")


def source_of(worker: Worker) -> Source:
    """Whose text it is."""
    return Source.WORKER if worker.receiver is None else Source.AGENT


def answer_of(work: Work) -> Answer:
    """What one whose work is over has to say: its last reply if it came to an end, else all it wrote."""
    texts = [text_of(entry.shown) for entry in work.replies]
    run, written = work.run, "\n\n".join(text for text in texts if text)
    clean = work.worker.receiver is not None and all(entry.label == 0 for entry in work.replies)
    match work.worker.cut_short:
        case "time" | "money" | "retired" as why:
            return Answer(outcome=why, text=written, clean=clean)
    if run is None or run.state == "stopped":
        return Answer(outcome="stopped", text=written, clean=clean)
    if run.state != "done":
        return Answer(outcome="failed", text=f"{run.reason}\n\n{written}".strip())
    last = texts[-1] if texts else ""
    if not last:
        return Answer(outcome="silent", text=written, clean=clean)
    return Answer(outcome="cut" if work.replies[-1].cut else "answered", text=last, clean=clean)


def text_of(shown: str) -> str:
    """The text of content blocks."""
    return "\n".join(block["text"] for block in loads(shown) if block["type"] == "text").strip()
