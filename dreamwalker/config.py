"""Configuration: what the environment says, read in one place.

One rule: values are frozen once read, and everything that is wrong is reported at once, in words. What the owner
chooses while it runs (zone, limits) are settings, which are rows.
"""

import logging
import os
import re
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import unquote
from zoneinfo import ZoneInfo

import attrs

from tools.limits import Limits

from .reading import Reading
from .sandboxes.account import Account

DEFAULT_PORT = 8765
DEFAULT_MODEL = "claude-haiku-5-5"
DEFAULT_NTFY_URL = "https://ntfy.sh"
DEFAULT_NETLIFY_URL = "https://api.netlify.com/api/v1"


class BadConfiguration(Exception):
    """Something in the environment can't be used. The message lists everything that is wrong."""


@attrs.frozen(kw_only=True)
class Config:
    """What the environment says. Secrets don't show in its repr."""

    home: Path
    """Where the token file and the embedded database live on a machine of one's own."""
    database_url: str | None = attrs.field(repr=False)
    """None: the embedded Postgres."""
    pooler: bool | None
    """Whether the database is behind a transaction-mode pooler; None finds out."""
    postgres_bin: Path | None
    token: str | None = attrs.field(repr=False)
    """The API token; None: `serve` makes one and keeps it in `home`."""
    host: str
    port: int
    hosts: tuple[str, ...]
    """Names that this server answers to besides localhost and addresses, in lower case."""
    model: str
    zone: ZoneInfo
    """The owner's zone until he chooses one."""
    api_key: str | None = attrs.field(repr=False)
    base_url: str | None
    extra_ca_file: Path | None
    ntfy_url: str
    """The ntfy server that pushes go to."""
    ntfy_topic: str | None = attrs.field(repr=False)
    """Where the owner's phone listens; None: nothing is pushed. Whoever knows it may read what is pushed."""
    ntfy_token: str | None = attrs.field(repr=False)
    public_url: str | None
    """Where a phone reaches this dreamwalker; None: pushes have no buttons."""
    app_url: str | None
    """Where the web app is that a push opens: the public address, unless it has a site of its own."""
    wake_token: str | None = attrs.field(repr=False)
    """Another token, which may wake it and nothing else."""
    sandbox: str
    """Where workers run commands: bubblewrap, vercel or none."""
    vercel: Account | None
    """Whose hosted sandboxes; there is one if they are chosen."""
    platform: str | None
    """What lends it credentials and its database with each request: netlify; None: nothing does."""
    netlify_token: str | None = attrs.field(repr=False)
    """A personal access token of a Netlify user who belongs to one team; None: nothing can be granted."""
    netlify_team: str | None
    """The slug of that team."""
    netlify_url: str
    entry_secret: str | None = attrs.field(repr=False)
    """What the entry of a platform signs each visit with; there is one if there is a platform."""
    generation: str
    log_level: int
    """The least of what is logged, as `logging` counts."""
    limits: Limits

    def secrets(self) -> dict[str, str]:
        """What must never stand in a text, a log or an answer, by the name that is shown in its place."""
        named = {
            "API TOKEN": self.token or _kept(self.token_file),
            "WAKE TOKEN": self.wake_token,
            "ENTRY SECRET": self.entry_secret,
            "MODEL KEY": self.api_key,
            "DATABASE PASSWORD": password_in(self.database_url),
            "NTFY TOPIC": self.ntfy_topic,
            "NTFY TOKEN": self.ntfy_token,
            "NETLIFY TOKEN": self.netlify_token,
            "SANDBOX TOKEN": self.vercel.token if self.vercel else None,
        }
        return {name: secret for name, secret in named.items() if secret}

    @property
    def embedded(self) -> bool:
        """Whether the database is the embedded one."""
        return self.database_url is None and self.platform is None

    @property
    def practice(self) -> bool:
        """Whether there is neither a key nor a model of one's own, so that the practice model answers.

        On a platform it answers as long as no request has brought a key.
        """
        return self.api_key is None and self.base_url is None and self.platform is None

    @property
    def token_file(self) -> Path:
        """Where the token of a machine of one's own is kept."""
        return self.home / "token"


def read(environ: Mapping[str, str] | None = None) -> Config:
    """Read the environment. Raises BadConfiguration."""
    reading = Reading(os.environ if environ is None else environ)
    config = Config(
        home=reading.home("DREAMWALKER_HOME"),
        database_url=reading.url("DREAMWALKER_DATABASE_URL", ("postgres", "postgresql")),
        pooler=reading.choice("DREAMWALKER_DATABASE_POOLER", {"yes": True, "no": False, "auto": None}, None),
        postgres_bin=reading.folder("DREAMWALKER_POSTGRES_BIN"),
        token=reading.token("DREAMWALKER_TOKEN"),
        host=reading.text("DREAMWALKER_HOST") or "127.0.0.1",
        hosts=reading.hosts("DREAMWALKER_HOSTS", "DREAMWALKER_PUBLIC_URL"),
        port=reading.number("DREAMWALKER_PORT", DEFAULT_PORT, lowest=0, highest=65535),
        model=reading.text("DREAMWALKER_MODEL") or DEFAULT_MODEL,
        zone=reading.zone("DREAMWALKER_ZONE"),
        api_key=reading.text("ANTHROPIC_API_KEY"),
        base_url=reading.url("ANTHROPIC_BASE_URL", ("http", "https")),
        extra_ca_file=reading.file("NODE_EXTRA_CA_CERTS"),
        ntfy_url=reading.address("DREAMWALKER_NTFY_URL") or DEFAULT_NTFY_URL,
        ntfy_topic=reading.topic("DREAMWALKER_NTFY_TOPIC"),
        ntfy_token=reading.text("DREAMWALKER_NTFY_TOKEN"),
        public_url=(public_url := reading.address("DREAMWALKER_PUBLIC_URL")),
        app_url=reading.address("DREAMWALKER_APP_URL") or public_url,
        wake_token=reading.token("DREAMWALKER_WAKE_TOKEN"),
        sandbox=(sandbox := reading.choice("DREAMWALKER_SANDBOX", _SANDBOXES, "bubblewrap")),
        vercel=reading.vercel("DREAMWALKER_VERCEL") if sandbox == "vercel" else None,
        platform=reading.choice("DREAMWALKER_PLATFORM", {"netlify": "netlify"}, None),
        netlify_token=reading.text("DREAMWALKER_NETLIFY_TOKEN"),
        netlify_team=reading.team("DREAMWALKER_NETLIFY_TEAM", "DREAMWALKER_NETLIFY_TOKEN"),
        netlify_url=reading.address("DREAMWALKER_NETLIFY_URL") or DEFAULT_NETLIFY_URL,
        entry_secret=reading.token("DREAMWALKER_ENTRY_SECRET"),
        generation=reading.text("DREAMWALKER_GENERATION") or "0",
        log_level=reading.choice("DREAMWALKER_LOG", _LOG_LEVELS, logging.INFO),
        limits=reading.limits(),
    )
    for name, secret in config.secrets().items():
        from_file = name == "API TOKEN" and config.token is None
        set_by = f"The token in {config.token_file}" if from_file else _SET_BY[name]
        reading.judge_secret(set_by, secret, needless=_NEEDLESS.get(name))
    if reading.problems:
        listed = "\n".join(f"- {problem}" for problem in reading.problems)
        raise BadConfiguration(f"dreamwalker can't start with these settings of the environment:\n{listed}")
    return config


_LOG_LEVELS = {name: getattr(logging, name.upper()) for name in ("debug", "info", "warning", "error")}
_SANDBOXES = {name: name for name in ("bubblewrap", "vercel", "none")}

_SET_BY = {
    "API TOKEN": "DREAMWALKER_TOKEN",
    "MODEL KEY": "ANTHROPIC_API_KEY",
    "DATABASE PASSWORD": "the password in DREAMWALKER_DATABASE_URL",
    "NTFY TOPIC": "DREAMWALKER_NTFY_TOPIC",
    "NTFY TOKEN": "DREAMWALKER_NTFY_TOKEN",
    "NETLIFY TOKEN": "DREAMWALKER_NETLIFY_TOKEN",
    "SANDBOX TOKEN": "DREAMWALKER_VERCEL_TOKEN",
    "WAKE TOKEN": "DREAMWALKER_WAKE_TOKEN",
    "ENTRY SECRET": "DREAMWALKER_ENTRY_SECRET",
}
"""Where each secret stands, for whoever has to change it."""


_NEEDLESS = {"MODEL KEY": "model", "DATABASE PASSWORD": "database"}
"""What may ask for no secret: a model on one's own machine, a database that lets in whoever reaches it."""


def _kept(token_file: Path) -> str | None:
    try:
        return token_file.read_text().strip()
    except (OSError, ValueError):
        return None


def password_in(url: str | None) -> str | None:
    """The password in an address, also in one that can't be read otherwise: it must not stand in a text either."""
    user, at, _ = re.split("[/?#]", (url or "").partition("//")[2], maxsplit=1)[0].rpartition("@")
    password = user.partition(":")[2]
    return unquote(password) if at and password else None
