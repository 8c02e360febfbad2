"""What the owner chose: JSON values by name. One rule: settings are rows, never configuration."""

from typing import Any

import attrs

from .operation import Operation, Read, Reader, Transaction
from .text import dumps, loads

_ALL = "SELECT name, value FROM settings ORDER BY name"


@attrs.frozen
class Settings(Read[dict[str, Any]]):
    """Every setting that has been set."""

    async def read(self, reader: Reader) -> dict[str, Any]:
        return {row["name"]: loads(row["value"]) for row in await reader.all(_ALL)}


_SET = """
INSERT INTO settings (name, value, no) VALUES (?, ?, :no)
ON CONFLICT (name) DO UPDATE SET value = excluded.value, no = excluded.no
"""


@attrs.frozen
class Set(Operation[None]):
    """Set one setting; what a name may be and hold is judged above."""

    name: str
    value: Any

    async def perform(self, tx: Transaction) -> None:
        await tx.run(_SET, self.name, dumps(self.value))


_IDS = """
SELECT GREATEST((SELECT COALESCE(max(id), 0) FROM conversations), (SELECT COALESCE(max(id), 0) FROM messages),
                (SELECT COALESCE(max(id), 0) FROM runs), (SELECT COALESCE(max(id), 0) FROM notes),
                (SELECT COALESCE(max(id), 0) FROM things), (SELECT COALESCE(max(id), 0) FROM questions)) AS id
"""


@attrs.frozen
class HighestId(Read[int]):
    """The highest id in use, from which a new holder goes on counting."""

    async def read(self, reader: Reader) -> int:
        row = await reader.get(_IDS)
        assert row is not None
        return int(row["id"])
