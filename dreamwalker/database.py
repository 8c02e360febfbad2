"""The database of a process: one of its own, one that it is told of, or the one that each request brings.

One rule: nobody else knows which it is. What is done here beside the house takes no lease: its schema is brought up to
date, and all that it holds is taken out as an archive or brought in.
"""

import logging
from collections.abc import Awaitable, Callable, Iterable
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import trio

from actors.store import StoreSettings
from storage import lease, migrate
from storage.connection import Options, in_trio, visit
from storage.embedded import Embedded
from storage.errors import Unavailable

from .config import Config
from .visits import Visits

if TYPE_CHECKING:
    from storage.archive import Archive, Tell

log = logging.getLogger("dreamwalker.database")

MIGRATIONS = Path(__file__).resolve().parent.parent / "migrations"

NO_DATABASE = (
    "No request has brought the address of a database. On Netlify it comes with each, once the site has Netlify "
    "Database: the package @netlify/database in package.json provisions it."
)


class Database:
    """The database. The embedded one is started when it is first needed, and ends with `close`."""

    def __init__(self, config: Config, visits: Visits) -> None:
        self._config, self._visits = config, visits
        self._embedded: Embedded | None = None

    async def options(self) -> Options:
        """How it is reached. Raises Unavailable while no request has brought its address."""
        visits, limits = self._visits, self._config.limits
        own = await self._embedded_url() if self._config.embedded else self._config.database_url
        if own is None and visits.database_url is None:
            raise Unavailable(NO_DATABASE)
        return Options(
            dsn=lambda: own or visits.database_url or "",
            generation=visits.generation,
            lease_seconds=limits.lease_seconds,
            reach_seconds=limits.reach_seconds,
            statement_seconds=limits.statement_seconds,
            idle_seconds=limits.idle_seconds,
            transaction_seconds=limits.transaction_seconds,
            silent_seconds=limits.silent_seconds,
            pooler=self._config.pooler,
        )

    async def store(self) -> StoreSettings:
        """What a house's storage is opened with. A database of one's own is brought up to date first."""
        if self._config.platform is None and self._config.generation == "0":
            await self.migrate()
        migrations, limits = migrate.read_migrations(MIGRATIONS), self._config.limits

        async def check(raw: Any) -> None:
            await migrate.check(raw, migrations)

        return StoreSettings(
            options=await self.options(),
            check=check,
            renew_seconds=limits.renew_seconds,
            ask_seconds=limits.ask_seconds,
        )

    async def is_free(self) -> bool:
        """Whether nobody has its lease now."""
        return await visit(await self.options(), lease.is_free)

    async def migrate(self) -> tuple[str, ...]:
        """Apply the migrations that it lacks; returns their names. Raises StorageError."""
        migrations = migrate.read_migrations(MIGRATIONS)
        names = await visit(await self.options(), lambda raw: migrate.apply(raw, migrations))
        for name in names:
            log.info("migration.applied", {"migration": name})
        return names

    async def export(self, take: Callable[[bytes], Awaitable[None]], *, now: datetime, secrets: bool = False) -> None:
        """Write the archive of all there is now, piece by piece, while others write. Raises StorageError."""
        from storage import archive

        await visit(await self.options(), lambda raw: archive.export(raw, in_trio(take), now=now, secrets=secrets))

    async def load(self, lines: Iterable[bytes], tell: "Tell") -> "Archive":
        """Bring an archive into it; it must hold nothing. Raises StorageError."""
        from storage import archive

        migrations = migrate.read_migrations(MIGRATIONS)
        return await visit(await self.options(), lambda raw: archive.load(raw, lines, migrations, tell))

    async def _embedded_url(self) -> str:
        if self._embedded is None:
            start = partial(Embedded.start, self._config.home / "postgres", bin_dir=self._config.postgres_bin)
            self._embedded = await trio.to_thread.run_sync(start)
        return self._embedded.dsn

    async def close(self) -> None:
        """Stop the embedded one, if there is one."""
        if self._embedded is not None:
            await trio.to_thread.run_sync(self._embedded.close)
