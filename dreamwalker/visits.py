"""What the platform lends with each request: the newest of everything, and whether this deploy may work at all.

One rule: what is lent is kept in memory alone, and is replaced by whatever came last; nothing of it is ever in the
environment. On a machine of one's own nothing comes, and what the configuration says holds.
"""

import time

from netlify.deploy import Deploy
from netlify.gateway import Visit

from .claude import Credentials, NewestCredentials
from .config import Config, password_in

REMEMBERED = 4
"""So many values of a secret that rotates are kept out of texts: one may be quoted a while after it was replaced."""


class Visits:
    """What has come so far; `database_url` is None until a request brought one."""

    def __init__(self, config: Config, credentials: NewestCredentials) -> None:
        self._credentials = credentials
        self._on_platform = config.platform is not None
        self._generation = config.generation
        self._secrets: dict[str, list[str]] = {}
        self.database_url: str | None = None
        self.deploy = Deploy()
        self.headers: tuple[str, ...] = ()
        self.count = 0
        self.first_at: float | None = None
        """When the first came, in monotonic seconds."""
        self.rotations = {"model": 0, "database": 0}
        self.newest_at = {"model": 0.0, "database": 0.0}
        """When the newest of each came, in monotonic seconds."""

    @property
    def generation(self) -> str:
        """What the lease compares."""
        return self.deploy.generation if self._on_platform else self._generation

    @property
    def withdrawn(self) -> bool:
        """Whether the site shows another deploy: then nothing is opened here, and what is open is closed."""
        return self.deploy.withdrawn

    def take(self, visit: Visit) -> bool:
        """Keep what came. True if the credentials are new: what waited for some may try again."""
        self.count += 1
        self.first_at = self.first_at or time.monotonic()
        self.deploy, self.headers = visit.deploy, visit.headers
        if visit.database_url is not None and visit.database_url != self.database_url:
            self._came("database", password_in(visit.database_url), "DATABASE PASSWORD")
            self.database_url = visit.database_url
        if visit.model is None:
            return False
        changed = self._credentials.seen(Credentials(api_key=visit.model.api_key, base_url=visit.model.base_url))
        if changed:
            self._came("model", visit.model.api_key, "MODEL KEY")
        return changed

    def secrets(self) -> dict[str, str]:
        """What was lent and must not stand in any text, by the name that is shown in its place."""
        return {
            name if at == 0 else f"{name} ({at} before)": value
            for name, values in self._secrets.items()
            for at, value in enumerate(reversed(values))
        }

    def _came(self, what: str, secret: str | None, name: str) -> None:
        self.rotations[what] += 1
        self.newest_at[what] = time.monotonic()
        if secret:
            self._secrets[name] = [*self._secrets.get(name, ()), secret][-REMEMBERED:]
