"""`migrate`: bring a database's schema up to date.

One rule: it applies the files that this version brings, in their order, and says which.
"""

import click
import trio

from actors.child import unwrap
from storage.errors import StorageError

from .. import config as configuration
from .. import system
from ..config import Config
from . import local
from .problems import Problem
from .terminal import say


@click.command(
    epilog="""\b
Examples:
  dreamwalker migrate                                     the embedded database
  DREAMWALKER_DATABASE_URL=postgres://… dreamwalker migrate

`dreamwalker serve` does this by itself. On the platform the deploy does it."""
)
def migrate() -> None:
    """Bring the schema of DREAMWALKER_DATABASE_URL, or of the embedded database, up to date."""
    config = configuration.read()
    if config.embedded and (there := local.in_the_way(config)) is not None:
        raise Problem(f"{there} It brought the database up to date when it started.")
    try:
        applied = trio.run(_migrate, config)
    except Exception as raised:
        error = unwrap(raised)
        if isinstance(error, StorageError):
            raise Problem(str(error)) from None
        raise error from None
    for name in applied:
        say(f"Applied {name}.")
    if not applied:
        say("Nothing to do: the database is up to date.")


async def _migrate(config: Config) -> tuple[str, ...]:
    async with system.start(config) as asleep:
        return await asleep.database.migrate()
