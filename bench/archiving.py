"""A process that exports a database into a file, or imports one: its seconds and its greatest memory, as JSON.

`python -m bench.archiving export URL FILE`
"""

import asyncio
import json
import resource
import sys
import time
from datetime import UTC, datetime
from pathlib import Path

import asyncpg

from storage import archive, migrate

_MIGRATIONS = Path(__file__).resolve().parent.parent / "migrations"


async def _export(url: str, file: Path) -> object:
    raw = await asyncpg.connect(url)
    with file.open("wb") as out:

        async def take(piece: bytes) -> None:
            out.write(piece)

        await archive.export(raw, take, now=datetime(2026, 11, 29, tzinfo=UTC))
    with file.open("rb") as lines:
        return (await archive.verify(lines)).manifest


async def _import(url: str, file: Path) -> object:
    raw = await asyncpg.connect(url)
    with file.open("rb") as lines:
        return (await archive.load(raw, lines, migrate.read_migrations(_MIGRATIONS))).manifest


def main() -> None:
    """The command."""
    what, url, file = sys.argv[1:]
    began = time.perf_counter()
    manifest = asyncio.run({"export": _export, "import": _import}[what](url, Path(file)))
    seconds, most_mb = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps({"seconds": seconds, "most_mb": most_mb, "manifest": manifest}))


if __name__ == "__main__":
    main()
