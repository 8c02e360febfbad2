"""`make netlify`: builds both sites with Netlify's own packages and runs them under its own bootstraps.

The server lives an owner's day; the app's site is asked by everybody who should and should not be let through.

One rule: the last line is `N steps, nothing lost, nothing doubled`. Times are shown beside their bars and judged by
whoever reads them, for a busy machine is slow; an archive that is too large is a failure.
"""

import shutil
import subprocess
import sys
import tempfile
import time
from contextlib import AsyncExitStack
from functools import partial
from pathlib import Path

import trio

from storage.embedded import Embedded
from tests.databases import fresh_database, make_migrated
from tests.messages_api import serve_messages_api
from tests.netlify.app_steps import AppSteps
from tests.netlify.built import Site, build, build_app, check_types
from tests.netlify.day import FIRST, Day
from tests.netlify.platform import Platform
from tests.ntfy.server import serve_ntfy
from tests.storage.harness import outside

BARS = {"archive_mb": 60.0, "first_request_ms": 2_000.0, "added_ms": 3.0}
DAY_SECONDS = 240.0


async def stand(entry: Path, folder: Path, database_url: str) -> int:
    """Take the steps of the app's own site; how many there were."""
    with trio.fail_after(DAY_SECONDS):
        async with serve_messages_api() as api:
            steps = AppSteps(entry=entry, folder=folder)
            await steps.take(database_url, api)
            return steps.steps


async def live(site: Site, folder: Path, database_url: str) -> Day:
    """Live the day; it is returned as it was lived."""
    for role in ("owner_a", "owner_b"):
        await outside(database_url, f"CREATE ROLE {role} SUPERUSER LOGIN")
    with trio.fail_after(DAY_SECONDS):
        async with serve_messages_api() as api, serve_ntfy() as ntfy, AsyncExitStack() as stack:
            day = Day(
                site=site,
                folder=folder,
                platform=Platform(
                    model_url=api.url,
                    model_key="sk-gateway-first-9Qw3Er7Ty1Ui",
                    database_url=with_user(database_url, "owner_a"),
                ),
                api=api,
                ntfy=ntfy,
                ask=partial(outside, database_url),
                stack=stack,
            )
            await day.live()
            return day


def with_user(url: str, user: str) -> str:
    """The same database for another user."""
    head, _, query = url.partition("?")
    settings = [setting for setting in query.split("&") if not setting.startswith("user=")]
    return head.replace("//postgres@", "//") + "?" + "&".join([*settings, f"user={user}"])


def main() -> int:
    """The command."""
    folder = Path(tempfile.mkdtemp(prefix="dw-netlify-"))
    try:
        check_types()
        began = time.monotonic()
        app, site = build_app(folder / "app"), build(folder / "site", FIRST)
        print(f"built in {time.monotonic() - began:.0f} s")
        server = Embedded.start(folder / "postgres", fast=True)
        try:
            migrated = make_migrated(server)
            with fresh_database(server, migrated) as url:
                steps = trio.run(stand, app, folder, url)
            with fresh_database(server, migrated) as url:
                day = trio.run(live, site, folder, url)
        finally:
            server.close()
    except subprocess.CalledProcessError as error:
        print(error.output or error, file=sys.stderr)
        return 1
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    over = [name for name, bar in BARS.items() if day.figures[name] > bar]
    for name, value in day.figures.items():
        print(f"{name:18} {value:8}   ≤ {BARS[name]:g} {'✗' if name in over else '✓'}")
    print(f"{day.steps + steps} steps, nothing lost, nothing doubled")
    return 1 if "archive_mb" in over else 0


if __name__ == "__main__":
    sys.exit(main())
