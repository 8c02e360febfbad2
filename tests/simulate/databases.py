"""The databases of a simulation: one cluster, and for each worker a migrated database of its own."""

import asyncio
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import asyncpg

from storage import migrate
from storage.embedded import Embedded

MIGRATIONS = Path(__file__).parent.parent.parent / "migrations"


class Databases:
    """A running cluster. `make` makes one more database."""

    def __init__(self, cluster: Embedded) -> None:
        self._cluster = cluster
        self._count = 0

    def make(self) -> str:
        """The URL of a new database with every migration applied."""
        self._count += 1
        name = f"stage{self._count}"
        url = self._cluster.dsn.replace("///postgres?", f"///{name}?")
        asyncio.run(self._make(name, url))
        return url

    async def _make(self, name: str, url: str) -> None:
        raw = await asyncpg.connect(self._cluster.dsn)
        await raw.execute(f"CREATE DATABASE {name}")
        await raw.close()
        raw = await asyncpg.connect(url)
        await migrate.apply(raw, migrate.read_migrations(MIGRATIONS))
        await raw.close()


@contextmanager
def open_databases() -> Iterator[Databases]:
    """A cluster of its own, gone when the block is left."""
    with tempfile.TemporaryDirectory() as folder:
        cluster = Embedded.start(Path(folder) / "postgres", fast=True)
        try:
            yield Databases(cluster)
        finally:
            cluster.close()
