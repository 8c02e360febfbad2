"""Money: the books are never under the bill, and not above it but for what nobody saw the end of."""

import random
from collections import Counter
from collections.abc import Iterator

from tests.messages_api import Bill
from tests.simulate.acts import Act, Limit
from tests.simulate.features.feature import Feature
from tests.simulate.plan import when
from tests.simulate.story import Story

NANO_DOLLARS = {
    "input_tokens": 100,
    "cache_creation_input_tokens": 125,
    "cache_read_input_tokens": 10,
    "output_tokens": 500,
}
"""What a token of claude-haiku-5-5 costs: $0.10, $0.125, $0.01 and $0.50 a million."""


def _acts(chance: random.Random, numbers: range) -> list[tuple[Act, ...]]:
    if chance.random() < 0.2:
        return [(Limit(dollars=0, when=when(chance)), Limit(dollars=5, when="soon"))]
    return []


def _cost(bill: Bill) -> int:
    return sum(price * int(bill.usage.get(kind, 0)) for kind, price in NANO_DOLLARS.items())


def _judge(story: Story) -> Iterator[str]:
    bill = sum(_cost(bill) for bill in story.billed)
    spend = story.tables["spend"]
    charged = Counter[str]()
    for row in spend:
        for period in (row["day"], row["month"]):
            charged[period] += row["reserved"] if row["cost"] is None else row["cost"]
    booked = {row["period"]: row["used"] for row in story.tables["budget"]}
    if {period: used for period, used in booked.items() if used} != {p: used for p, used in charged.items() if used}:
        yield f"the periods hold {booked}, the requests {dict(charged)}"
    months = sum(used for period, used in booked.items() if len(period) == 7)
    if months < bill:
        yield f"the books hold {months} nano-dollars, the bill says {bill}"
    if len(spend) < len(story.billed):
        yield f"{len(story.billed)} requests were billed, {len(spend)} were reserved for"
    settled = sum(row["cost"] for row in spend if row["cost"] is not None)
    if settled > bill:
        yield f"{settled} nano-dollars were settled, the bill says {bill}"
    unsettled = Counter(story.runs[row["run"]]["conversation"] for row in spend if row["cost"] is None)
    tried_again = sum(write["tab"] == "runs" and write["fact"]["state"] == "waiting" for write in story.writes)
    lives_lost = len(story.stage.lives) - 1  # each with one request in flight, at most, of every conversation
    cut_short = sum(run["conversation"] in story.workers and run["state"] != "done" for run in story.runs.values())
    ended = len(story.stage.stopped) + cut_short
    for conversation, count in unsettled.items():
        if count > sum(story.stage.struck.values()) + ended + tried_again + lives_lost:
            yield f"{count} reservations of conversation {conversation} were never settled, and less struck"


MONEY = Feature(name="money", judge=_judge, acts=_acts, operations=("reserve", "settle", "commit: insert settings"))
