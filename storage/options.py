"""How storage reaches its database, as values."""

from collections.abc import Callable

import attrs


@attrs.frozen(kw_only=True)
class Options:
    """How to reach the database and how long to wait for it.

    `dsn` is called for each new connection, since credentials may rotate. `reach_seconds` bounds every operation,
    reconnecting included. The database ends a statement of a transaction after `statement_seconds`, and a transaction
    whose holder is paused between two after `idle_seconds`, or anywhere after `transaction_seconds`: so long may a
    newer process have to wait for its row. A server that has said nothing for `silent_seconds` is gone: longer than
    those, and short enough to leave the most of the bound for finding out what became of a commit.
    `pooler`: behind a transaction-mode pooler, where each transaction may meet another session; None finds out.
    """

    dsn: Callable[[], str]
    generation: str = "0"
    lease_seconds: float = 60.0
    reach_seconds: float = 30.0
    statement_seconds: float = 8.0
    idle_seconds: float = 8.5
    transaction_seconds: float = 8.5
    silent_seconds: float = 14.0
    pooler: bool | None = None

    def timeouts(self, server_version: tuple[int, ...]) -> str:
        """The settings that ride with BEGIN, in the same round trip.

        The first two don't count while the server waits between the messages of one statement, so a holder that
        stops just there would keep the row for good; the third, which Postgres 16 does not have, counts always.
        """
        settings = {"statement": self.statement_seconds, "idle_in_transaction_session": self.idle_seconds}
        if server_version >= (17,):
            settings["transaction"] = self.transaction_seconds
        return ";".join(f"SET LOCAL {name}_timeout = {int(seconds * 1000)}" for name, seconds in settings.items())
