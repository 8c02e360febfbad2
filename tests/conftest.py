"""One Postgres for the whole session, and for each test that asks a database of its own.

The fixtures are plain ones that run asyncio to its end, so that trio tests can use them too.
"""

import shutil
import signal
from collections.abc import Iterator

import pytest
from hypothesis import settings

from storage.embedded import Embedded
from tests.databases import fresh_database, make_migrated

settings.register_profile("untimed", deadline=None)  # how long an example takes says how busy the machine is
settings.load_profile("untimed")

# A shell lets what it starts in the background ignore SIGINT, and each process that the tests start inherits that.
signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Embedded]:
    """A running Postgres."""
    folder = tmp_path_factory.mktemp("postgres")
    server = Embedded.start(folder, fast=True)
    yield server
    server.close()
    shutil.rmtree(folder)


@pytest.fixture(scope="session")
def migrated(cluster: Embedded) -> str:
    """The name of a database into which the real migrations were applied, to copy from."""
    return make_migrated(cluster)


@pytest.fixture
def database_url(cluster: Embedded, migrated: str) -> Iterator[str]:
    """The URL of a fresh database with the real migrations applied."""
    with fresh_database(cluster, migrated) as url:
        yield url


@pytest.fixture
def empty_database_url(cluster: Embedded) -> Iterator[str]:
    """The URL of a fresh database in which there is nothing."""
    with fresh_database(cluster, "template0") as url:
        yield url
