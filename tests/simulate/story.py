"""What is known after a schedule: every row, the audit, and what the world outside saw.

One rule: judges look at nothing else.
"""

from collections.abc import Iterable
from datetime import datetime
from functools import cached_property
from typing import Any

import attrs
import msgspec

from tests.messages_api import Bill
from tests.messages_api import Request as Asked
from tests.simulate.acts import Say
from tests.simulate.effects import Effect
from tests.simulate.model import Turn
from tests.simulate.outsider import Outsider, Row
from tests.simulate.stage import Stage

_ALL = "SELECT * FROM {} ORDER BY no"


@attrs.define(kw_only=True, slots=False)
class Story:
    """One schedule as it went. `tables` holds the rows of each numbered table; JSON columns are parsed."""

    stage: Stage
    tables: dict[str, list[Row]]
    writes: list[Row]
    """What the triggers saw: tab, op, no, app, xid, commit_no and the row as `fact`, in order.

    `commit_no`: the number at which the lease stood then, which is that of its commit if it was one.
    """
    leases: list[Row]
    """Every change of the lease row, in order."""
    commit_no: int
    now: datetime
    """When all was over."""

    @property
    def said(self) -> dict[int, Say]:
        """What the owner said and was told is accepted, by number. What he says as all ends, he is told nothing of."""
        return {number: said for number, said in self.stage.said.items() if number in self.stage.accepted}

    @property
    def effects(self) -> list[Effect]:
        """What happened outside."""
        return self.stage.effects

    @property
    def turns(self) -> list[Turn]:
        """What the model honestly would have answered, by serial from 1."""
        return self.stage.turns

    @property
    def asked(self) -> list[Asked]:
        """Every request to the model."""
        return self.stage.api.requests

    @property
    def billed(self) -> list[Bill]:
        """What the provider bills."""
        return self.stage.api.billed

    def struck(self, *names: str) -> int:
        """How often injections of these kinds struck."""
        return sum(count for (name, _), count in self.stage.struck.items() if name in names)

    @cached_property
    def entries(self) -> list[Row]:
        """The transcript, in order, with `shown` as blocks."""
        rows = [{**row, "shown": msgspec.json.decode(row["shown"])} for row in self.tables["entries"]]
        return sorted(rows, key=lambda row: (row["conversation"], row["seq"]))

    @cached_property
    def replies(self) -> list[Row]:
        """The entries that the model wrote."""
        return [entry for entry in self.entries if entry["kind"] == "reply"]

    @cached_property
    def calls(self) -> dict[str, Row]:
        """Every call by its key, with `result` as a block."""
        made = {}
        for row in self.tables["calls"]:
            result = msgspec.json.decode(row["result"]) if row["result"] else None
            made[f"call:{row['run']}.{row['turn']}.{row['position']}"] = {**row, "result": result}
        return made

    @cached_property
    def runs(self) -> dict[int, Row]:
        """Every run by its id."""
        return {row["id"]: row for row in self.tables["runs"]}

    @cached_property
    def workers(self) -> dict[int, Row]:
        """Every worker by its conversation."""
        return {row["conversation"]: row for row in self.tables["workers"]}

    def message(self, number: int) -> Row | None:
        """The row of what the owner said."""
        key = f"request:{self.said[number].request_id}"
        return next((row for row in self.tables["messages"] if row["source_key"] == key), None)


def text_of(blocks: Iterable[dict[str, Any]]) -> str:
    """The text of content blocks."""
    return "\n".join(block["text"] for block in blocks if block["type"] == "text")


async def read_story(stage: Stage) -> Story:
    """Read everything, once all is over."""
    outsider: Outsider = stage.outsider
    (lease,), writes, leases, *tables = await outsider.all(
        ("SELECT commit_no FROM dreamwalker_lease",),
        ("SELECT * FROM audit.writes ORDER BY at",),
        ("SELECT * FROM audit.leases ORDER BY at",),
        *((_ALL.format(name),) for name in outsider.tables),
    )
    return Story(
        stage=stage,
        tables=dict(zip(outsider.tables, tables, strict=True)),
        writes=[{**row, "fact": msgspec.json.decode(row["fact"])} for row in writes],
        leases=leases,
        commit_no=lease["commit_no"],
        now=stage.now(),
    )
