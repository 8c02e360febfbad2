"""How storage reaches its database, as values."""

from collections.abc import Callable

import attrs


@attrs.frozen(kw_only=True)
class Options:
    """How to reach the database and how long to wait for it.

    `dsn` is called for each new connection, since credentials may rotate. `reach_seconds` bounds every operation,
    reconnecting included. `idle_seconds` is how long the database lets a paused process hold a transaction open, and
    so how long a newer process may have to wait for its row. `statement_seconds` is how long a statement of a
    transaction may take; a server that has said nothing for `silent_seconds` is gone. Each is shorter than the next,
    and silence leaves enough of the bound to find out what became of a commit.
    `pooler`: behind a transaction-mode pooler, where each transaction may meet another session; None finds out.
    """

    dsn: Callable[[], str]
    generation: str = "0"
    lease_seconds: float = 60.0
    reach_seconds: float = 30.0
    idle_seconds: float = 10.0
    statement_seconds: float = 12.0
    silent_seconds: float = 14.0
    pooler: bool | None = None
