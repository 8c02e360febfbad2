"""Things: reminders and jobs, and when each is due next.

One rule: whatever moves a thing on (a slot that came up, a change of its rule) says which state of it was seen: its
version and how far it had come. Of two that have seen the same one commits, so nothing comes up twice or by an old
rule.
"""

from datetime import datetime

import attrs

from .operation import Bell, Read, Reader, Row, Write
from .records import Thing

SCHEDULE = "schedule"
"""Topic of the bell that says: something may be due earlier than it was."""

CHANGED = Bell(SCHEDULE)

_MAKE = """
INSERT INTO things (id, agent, kind, made_by, title, text, label, act, hops, rule, zone, since, zone_data, state,
                    next_at, reached_at, version, made_at, no)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, :no)
"""


def make(it: Thing) -> Write:
    """Make a reminder or a job. Raises Duplicate if its `made_by` made one before."""
    return Write(
        _MAKE,
        (
            it.id, it.agent, it.kind, it.made_by, it.title, it.text, it.label, it.act, it.hops, it.rule, it.zone,
            it.since, it.zone_data, it.state, it.next_at, it.reached_at, it.version, it.made_at,
        ),
        what="make it",
    )  # fmt: skip


_CHANGE = """
UPDATE things SET title = ?, text = ?, label = ?, rule = ?, zone = ?, since = ?, zone_data = ?, state = ?, next_at = ?,
    reached_at = ?, skipping = NULL, version = version + 1, no = :no
WHERE id = ? AND version = ? AND reached_at = ?
"""


def change(seen: Thing, it: Thing) -> Write:
    """Put a changed thing in the place of the one that was seen. Raises NotAsExpected if it is no longer like that."""
    return Write(
        _CHANGE,
        (
            it.title, it.text, it.label, it.rule, it.zone, it.since, it.zone_data, it.state, it.next_at, it.reached_at,
            seen.id, seen.version, seen.reached_at,
        ),
        what="it is as it was seen",
    )  # fmt: skip


_ADVANCE = """
UPDATE things SET state = ?, next_at = ?, reached_at = ?, zone_data = ?, running = ?, skipping = ?, no = :no
WHERE id = ? AND version = ? AND reached_at = ?
"""


def advance(seen: Thing, it: Thing) -> Write:
    """Write how far a thing has come. Raises NotAsExpected if it is no longer as it was seen."""
    return Write(
        _ADVANCE,
        (
            it.state, it.next_at, it.reached_at, it.zone_data, it.running, it.skipping,
            seen.id, seen.version, seen.reached_at,
        ),
        what="it is as it was seen",
    )  # fmt: skip


_RUN_OVER = "UPDATE things SET running = NULL, no = :no WHERE id = ? AND running = ?"


def run_over(thing: int, slot: str) -> Write:
    """The run of a job's slot has been reported; its next slot may run."""
    return Write(_RUN_OVER, (thing, slot), what="the job's run is over")


@attrs.frozen(kw_only=True)
class Due:
    """A thing with what its coming up needs: its agent's home conversation, whether the agent is retired, and, if its
    newest row of the ledger stands for skipped slots, why they were.
    """

    thing: Thing
    home: int
    retired: bool
    skipping_why: str | None

    @property
    def at(self) -> datetime:
        """When it is due next."""
        assert self.thing.next_at is not None, self.thing
        return self.thing.next_at

    @classmethod
    def of(cls, row: Row) -> "Due":
        """From one row."""
        return cls(thing=Thing.of(row), home=row["home"], retired=row["retired"], skipping_why=row["skipping_why"])


def _due(things: str) -> str:
    return f"""
SELECT {", ".join("t." + name for name in Thing.columns().split(", "))}, h.id AS home,
    a.retired_at IS NOT NULL AS retired, s.why AS skipping_why
FROM ({things}) t JOIN agents a ON a.name = t.agent JOIN conversations h ON h.made_by = 'home:' || t.agent
LEFT JOIN slots s ON s.thing = t.id AND s.slot = t.skipping ORDER BY t.next_at, t.id
"""


_UPCOMING = _due("SELECT * FROM things WHERE next_at IS NOT NULL ORDER BY next_at, id LIMIT ?")


@attrs.frozen
class Upcoming(Read[tuple[Due, ...]]):
    """The things that are due next, in the order in which they are, at most `limit`."""

    limit: int

    async def read(self, reader: Reader) -> tuple[Due, ...]:
        return tuple(Due.of(row) for row in await reader.all(_UPCOMING, self.limit))


_RECKONED_OTHERWISE = _due("SELECT * FROM things WHERE next_at IS NOT NULL AND zone_data <> ? ORDER BY id LIMIT ?")


@attrs.frozen
class ReckonedOtherwise(Read[tuple[Due, ...]]):
    """Things whose next time was reckoned with other zone data than this, at most `limit`."""

    zone_data: str
    limit: int

    async def read(self, reader: Reader) -> tuple[Due, ...]:
        return tuple(Due.of(row) for row in await reader.all(_RECKONED_OTHERWISE, self.zone_data, self.limit))


_VERSION_NOW = "SELECT version FROM things WHERE id = ? AND agent = ?"


@attrs.frozen
class VersionNow(Read[int]):
    """The version of one of an agent's reminders or jobs, 0 if it has none of this id."""

    id: int
    agent: str

    async def read(self, reader: Reader) -> int:
        row = await reader.get(_VERSION_NOW, self.id, self.agent)
        return 0 if row is None else int(row["version"])


_BY_ID = f"SELECT {Thing.columns()} FROM things WHERE id = ?"
_BY_MAKER = f"SELECT {Thing.columns()} FROM things WHERE made_by = ?"


@attrs.frozen(kw_only=True)
class FindThing(Read[Thing | None]):
    """A thing by its id, or by what made it."""

    id: int | None = None
    made_by: str | None = None

    async def read(self, reader: Reader) -> Thing | None:
        row = await (reader.get(_BY_ID, self.id) if self.id is not None else reader.get(_BY_MAKER, self.made_by))
        return None if row is None else Thing.of(row)


_LIST = f"""
SELECT {Thing.columns()} FROM things
WHERE kind = ? AND (?::text IS NULL OR agent = ?) AND id < ? AND (state IN ('active', 'paused') OR ?)
ORDER BY id DESC LIMIT ?
"""


@attrs.frozen(kw_only=True)
class ListThings(Read[tuple[Thing, ...]]):
    """Reminders or jobs, of one agent or all, below id `before`, the newest first. `over`: those that are over too."""

    kind: str
    limit: int
    agent: str | None = None
    before: int = 2**62
    over: bool = False

    async def read(self, reader: Reader) -> tuple[Thing, ...]:
        rows = await reader.all(_LIST, self.kind, self.agent, self.agent, self.before, self.over, self.limit)
        return tuple(Thing.of(row) for row in rows)


_COUNT = "SELECT count(*) AS count FROM things WHERE agent = ? AND kind = ? AND state IN ('active', 'paused')"


@attrs.frozen
class CountThings(Read[int]):
    """How many reminders or jobs of an agent are not over."""

    agent: str
    kind: str

    async def read(self, reader: Reader) -> int:
        row = await reader.get(_COUNT, self.agent, self.kind)
        assert row is not None
        return int(row["count"])
