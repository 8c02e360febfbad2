"""What can be told of the database itself. One rule: it is one look at one moment."""

from datetime import datetime

import attrs

from .operation import Read, Reader

_VITALS = """
SELECT clock_timestamp() AS at, pg_database_size(current_database()) AS size_bytes,
    current_setting('server_version') AS version,
    extract(epoch FROM l.expires_at - clock_timestamp())::float8 AS lease_seconds,
    (SELECT string_agg(name, E'\\n' ORDER BY name) FROM dreamwalker_migrations) AS migrations,
    (SELECT min(next_at) FROM things) AS due_at
FROM dreamwalker_lease l WHERE l.id = 1
"""


@attrs.frozen(kw_only=True)
class Vitals:
    """`at` by the database's clock; `lease_seconds` is what is left of the lease; `due_at`: what comes up next."""

    at: datetime
    size_bytes: int
    version: str
    lease_seconds: float
    migrations: tuple[str, ...]
    due_at: datetime | None


@attrs.frozen
class ReadVitals(Read[Vitals]):
    """Look at it."""

    async def read(self, reader: Reader) -> Vitals:
        row = await reader.get(_VITALS)
        assert row is not None
        return Vitals(**{**row, "migrations": tuple(row["migrations"].split("\n"))})
