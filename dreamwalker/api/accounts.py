"""How runs and money look from outside: what was worked on, what it cost, and what is set aside beside that.

One rule: what was spent and what is set aside are told apart, everywhere.
"""

from typing import Annotated, Literal

from msgspec import Meta

from dreamwalker.settings import NANO
from storage import runs, spend
from tools.limits import FIXED
from tools.outside import cut

from .endpoint import Shown
from .views import Dollars, Run, run_fields

OPENING_CHARACTERS = FIXED.opening_characters
"""How much is shown of what opened a run."""

Unsettled = Annotated[
    float, Meta(description="US dollars set aside for requests whose cost is not known: under way, or cut off.")
]
Lost = Annotated[
    float,
    Meta(
        description=(
            "US dollars: how much of that stays set aside, for answers that were cut off. They were billed to an end "
            "that nobody saw, so the most that they can have cost is counted."
        )
    ),
]


class Opening(Shown, frozen=True):
    """The beginning of what opened a run, as a line. `kind`: its message's; `outside`: others may have written it."""

    kind: Literal["owner", "task", "agent", "job", "reminder", "outcome"]
    text: str
    outside: bool

    @classmethod
    def of(cls, opener: runs.Opener) -> "Opening":
        """From what the list read of it."""
        line, more = cut(" ".join(opener.text.split()), OPENING_CHARACTERS)
        return cls(
            kind=opener.kind,  # type: ignore[arg-type]
            text=f"{line.rstrip()}…" if more else line,
            outside=opener.label > 0 or opener.quoted,
        )


class ListedRun(Run, frozen=True):
    """A run with whose it is, in which kind of conversation, what opened it, and what it cost so far.

    `act`: what it is charged to, `message:…` or `slot:…`; `hops`: how many messages between agents it is from there.
    `opening` is null where the message was let go of.
    """

    agent: str
    kind: str
    opening: Opening | None
    act: str
    hops: int
    cost_dollars: Dollars
    unsettled_dollars: Unsettled
    lost_dollars: Lost
    works_for: Annotated[
        int | None, Meta(description="Of a worker, or an agent written to: the run that it works for.")
    ]

    @classmethod
    def listed(cls, item: runs.Listed) -> "ListedRun":
        """From a row of the list."""
        return cls(
            **run_fields(item.run),
            agent=item.agent,
            kind=item.conversation_kind,
            opening=None if item.opener is None else Opening.of(item.opener),
            act=item.run.act,
            hops=item.run.hops,
            cost_dollars=item.cost / NANO,
            unsettled_dollars=item.unsettled / NANO,
            lost_dollars=item.lost / NANO,
            works_for=item.works_for,
        )


class Cost(Shown, frozen=True):
    """Requests of one kind under one name (a day, a month, an agent, a model, an act, a run), and what they cost."""

    name: str
    kind: str
    requests: int
    cost_dollars: Dollars
    unsettled_dollars: Unsettled
    lost_dollars: Lost
    input_tokens: int
    cache_write_tokens: int
    cache_read_tokens: int
    output_tokens: int
    searches: int

    @classmethod
    def of(cls, row: spend.Sum) -> "Cost":
        """From a sum of rows."""
        return cls(
            name=row.name,
            kind=row.kind,
            requests=row.requests,
            cost_dollars=row.cost / NANO,
            unsettled_dollars=row.unsettled / NANO,
            lost_dollars=row.lost / NANO,
            input_tokens=row.input_tokens,
            cache_write_tokens=row.cache_write_tokens,
            cache_read_tokens=row.cache_read_tokens,
            output_tokens=row.output_tokens,
            searches=row.searches,
        )
