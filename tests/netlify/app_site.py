"""The app's own site as Netlify builds it: its function under the bootstrap that the build puts into the archive.

An Identity before it is played, and a dreamwalker behind it.

One rule: what the platform tells a function, and how long it lets it run, is as the platform documents it.
"""

import base64
import itertools
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import attrs
import httpx2
import trio

from tests.instance import Instance
from tests.netlify.identity import Identity
from tests.netlify.platform import function
from tests.netlify.upstream import Upstream
from tests.world import PATIENCE_SECONDS, TOKEN

OWNER = "Anna@Home.example"
OWNERS = f"{OWNER}, other@home.example"
STREAM_SECONDS, ANSWER_SECONDS = 1.5, 1.0
FUNCTION_SECONDS = 60.0
"""After so long the platform cuts a function off."""

_numbers = itertools.count(1)


@attrs.define(kw_only=True)
class AppSite:
    """The site, and who stands before and behind it. `entry`: the function's entry point, as it was built."""

    entry: Path
    folder: Path
    steps: int = 0
    identity: Identity = attrs.Factory(Identity)
    url: str = ""
    """Of the site, whose Identity is below it as on the platform."""
    upstream: Upstream = attrs.Factory(Upstream)
    upstream_url: str = ""

    def step(self, what: str) -> None:
        """Say what has gone well."""
        self.steps += 1
        print(f"✓ {what}", flush=True)

    @asynccontextmanager
    async def site(self, url: str, **variables: str) -> AsyncIterator[Instance]:
        """The function, with dreamwalker at an address."""
        environ = {
            "URL": self.url,
            "DREAMWALKER_URL": url,
            "DREAMWALKER_TOKEN": TOKEN,
            "DREAMWALKER_OWNERS": OWNERS,
            "DREAMWALKER_STREAM_SECONDS": str(STREAM_SECONDS),
            "DREAMWALKER_ANSWER_SECONDS": str(ANSWER_SECONDS),
        }
        home = self.folder / f"app-{next(_numbers)}"
        async with function(self.entry, home, environ | variables, seconds=FUNCTION_SECONDS) as it:
            it.client.headers = httpx2.Headers(self.here())
            yield it

    def here(self) -> dict[str, str]:
        """What the site's own pages say with each request."""
        return {"Host": self.url.partition("//")[2], "X-Forwarded-Proto": "http", "Sec-Fetch-Site": "same-origin"}

    def owner(self) -> dict[str, str]:
        """What the owner's browser says."""
        return signed_in(self.identity.issue(OWNER))

    async def heard(self) -> None:
        """Wait until dreamwalker hears that who asked last has left."""
        with trio.fail_after(PATIENCE_SECONDS):
            await self.upstream.came[-1].left.wait()


def info(url: str, **fields: object) -> dict[str, str]:
    """The header by which the platform tells a function of its site's Identity."""
    told = {"url": f"{url}/.netlify/identity", **fields}
    return {"X-Nf-Identity-Info": base64.b64encode(json.dumps(told).encode()).decode()}


def signed_in(jwt: str) -> dict[str, str]:
    """The cookies of a browser that has signed in."""
    return {"Cookie": f"nf_jwt={jwt}; nf_refresh=refresh-me"}


def code(got: httpx2.Response) -> str:
    """The code of an error."""
    said: str = got.json()["error"]["code"]
    return said
