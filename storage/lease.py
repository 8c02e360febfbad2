"""The lease: the one row that says who may write, and the statements that take, renew and give it up.

One rule: every commit renews it first and fails if another has taken it. The database's clock alone judges it.
"""

from functools import lru_cache
from typing import Any
from urllib.parse import urlsplit

from . import sql
from .operation import Statement

# Run out, given up, ours already, of an older or the same deploy. A process that held it before, as $4, and may have
# lost it since, waits its turn: it takes what has run out or was given up, and what is still its own.
TAKE = """
UPDATE dreamwalker_lease
SET holder = $1, generation = $2, commit_no = commit_no + 1,
    expires_at = clock_timestamp() + make_interval(secs => $3)
WHERE id = 1 AND (expires_at <= clock_timestamp() OR holder IN ('', $1, $4) OR (generation <= $2 AND $4 = ''))
RETURNING commit_no
"""

LOOK = "SELECT holder, commit_no FROM dreamwalker_lease WHERE id = 1"

_FREE = "SELECT holder = '' OR expires_at <= clock_timestamp() FROM dreamwalker_lease WHERE id = 1"

SECONDS_LEFT = "SELECT extract(epoch FROM expires_at - clock_timestamp())::float8 FROM dreamwalker_lease WHERE id = 1"


async def is_free(raw: Any) -> bool:
    """Whether anybody may take it. `raw` is a driver's connection."""
    return bool(await raw.fetchval(_FREE))


def give_up(holder: str) -> str:
    """Make the lease free, if it is this holder's."""
    assert holder.isalnum(), holder
    return (
        "UPDATE dreamwalker_lease SET holder = '', expires_at = clock_timestamp(), commit_no = commit_no + 1"
        f" WHERE id = 1 AND holder = '{holder}'"
    )


def begin(holder: str, number: int, lease_seconds: float, settings: str) -> str:
    """One round trip that begins a transaction, bounds it, renews the lease and holds its row until the commit.

    The last status is `UPDATE 1` exactly when the lease is ours and the commit is the next one. Values are our own
    hex and numbers, written out because a script of several statements takes no parameters.
    """
    assert holder.isalnum(), holder
    return (
        f"BEGIN;{settings};"
        f"UPDATE dreamwalker_lease SET commit_no = commit_no + 1,"
        f" expires_at = clock_timestamp() + make_interval(secs => {lease_seconds:f})"
        f" WHERE id = 1 AND holder = '{holder}' AND commit_no = {number:d}"
    )


# $1 holder, $2 the number that must be the last one, $3 seconds
_FENCE = """WITH fence AS (
UPDATE dreamwalker_lease SET commit_no = commit_no + 1, expires_at = clock_timestamp() + make_interval(secs => $3)
WHERE id = 1 AND holder = $1 AND commit_no = $2 RETURNING commit_no{bound})"""

_FENCED = "dreamwalker_require(EXISTS (SELECT FROM fence), 'DW001', 'the lease is lost')"
_NUMBER = "(SELECT commit_no FROM fence)"


@lru_cache(maxsize=512)
def compose(parts: Statement, bound_seconds: float | None = None) -> tuple[str, int]:
    """One statement of several writes behind one fence, and how many parameters it takes (three are the fence's).

    `bound_seconds`: the server ends the statement's transaction after so long, wherever it is (from Postgres 17 on).
    `parts` are (sql, expected rows, error code, what). Each write waits for the fence because it mentions its number;
    then each expectation is checked, the fence's first, and a false one undoes the statement. Raises ValueError when
    a part is not one write.
    """
    bound = "" if bound_seconds is None else f", set_config('transaction_timeout', '{bound_seconds * 1000:.0f}', true)"
    ctes, checks = [_FENCE.format(bound=bound)], [_FENCED]
    taken = 3
    for at, (text, expect, code, what) in enumerate(parts):
        translated = sql.translate(text, first=taken + 1, number=_NUMBER)
        if translated.kind != "write":
            raise ValueError(f"not a write: {text!r}")
        taken += translated.parameters
        returning = "" if "RETURNING" in translated.words else "\nRETURNING 1"
        ctes.append(f"w{at} AS (\n{translated.text}{returning}\n)")
        if expect is not None:
            said = (what or translated.gist).replace("'", "''")
            checks.append(f"dreamwalker_require((SELECT count(*) FROM w{at}) = {expect}, '{code}', '{said}')")
    return ",\n".join(ctes) + "\nSELECT " + "\nAND ".join(checks), taken


# libpq's own, which the driver would send to the server as settings and be refused.
_LIBPQ_ONLY = {"channel_binding", "connect_timeout", "gssencmode", "keepalives", "keepalives_idle", "sslcompression"}


def connectable(dsn: str) -> tuple[str, bool]:
    """A connection string that the driver takes, and whether its host name says that it is a pooler."""
    address, _, query = dsn.partition("?")
    kept = [setting for setting in query.split("&") if setting and setting.partition("=")[0] not in _LIBPQ_ONLY]
    return address + ("?" + "&".join(kept) if kept else ""), "-pooler" in (urlsplit(dsn).hostname or "")
