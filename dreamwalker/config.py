"""Configuration: the only reader of the environment.

One rule: values are frozen once read, and everything that is wrong is reported at once, in words. What the owner
chooses while it runs (zone, limits) are settings, which are rows.
"""

import logging
import math
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import TypeVar
from urllib.parse import unquote, urlsplit
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import attrs

from tools.limits import Limits
from tools.redact import is_weak

from .sandboxes.account import DEFAULT_URL as DEFAULT_VERCEL_URL
from .sandboxes.account import Account

DEFAULT_PORT = 8765
DEFAULT_MODEL = "claude-haiku-5-5"
DEFAULT_NTFY_URL = "https://ntfy.sh"
DEFAULT_NETLIFY_URL = "https://api.netlify.com/api/v1"
TOKEN_BYTES_MIN = 32

T = TypeVar("T")


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
    reading = _Reading(os.environ if environ is None else environ)
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


class _Reading:
    """Reads variables and gathers what is wrong with them."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        self._environ = environ
        self.problems: list[str] = []

    def text(self, name: str) -> str | None:
        value = self._environ.get(name, "").strip()
        if not value.isprintable():
            self.problems.append(f"{name} holds characters that can't be read")
            return None
        return value or None

    def home(self, name: str) -> Path:
        default = Path.home() / ".dreamwalker"
        try:
            return Path(self.text(name) or default).expanduser()
        except RuntimeError:
            self.problems.append(f"{name} begins with the home folder of somebody whom this machine doesn't know")
            return default

    def url(self, name: str, schemes: tuple[str, ...]) -> str | None:
        """An address that can be taken apart. It may hold a password, so it is never shown."""
        value = self.text(name)
        if value is None:
            return None
        try:
            parts = urlsplit(value)
            _ = parts.hostname, parts.port
        except ValueError:
            self.problems.append(f"{name} is no address that can be read")
            return None
        if parts.scheme not in schemes:
            self.problems.append(f"{name} must begin with {' or '.join(f'{s}://' for s in schemes)}")
        return value

    def address(self, name: str) -> str | None:
        """An address under which something of ours is reached, without a slash at its end."""
        value = self.url(name, ("https", "http"))
        if value is not None and (not urlsplit(value).hostname or set(value) & set(" ?#@")):
            self.problems.append(f"{name} is an address such as https://agent.example; it is {value!r}")
        return None if value is None else value.rstrip("/")

    def hosts(self, listed: str, address: str) -> tuple[str, ...]:
        """The names of a list, and the one of an address."""
        names = (self.text(listed) or "").lower().replace(",", " ").split()
        if any("/" in name or ":" in name for name in names):
            self.problems.append(f"{listed} lists bare names such as agent.example, without https:// and port")
        return tuple(dict.fromkeys([*names, *filter(None, [host_in(self.text(address))])]))

    def topic(self, name: str) -> str | None:
        value = self.text(name)
        if value is not None and not re.fullmatch(r"[-_A-Za-z0-9]{1,64}", value):
            self.problems.append(f"{name} is the bare name of a topic: up to 64 letters, digits, - and _")
        return value

    def team(self, name: str, token: str) -> str | None:
        """The slug of a team, which a token needs."""
        value = self.text(name)
        if value is not None and not re.fullmatch(r"[a-z0-9][a-z0-9-]{0,62}", value):
            self.problems.append(f"{name} is the slug of a team, as in app.netlify.com/teams/SLUG; it is {value!r}")
        if value is None and self.text(token) is not None:
            self.problems.append(f"{token} needs {name}: the slug of the one team that its user belongs to")
        return value

    def choice(self, name: str, choices: Mapping[str, T], default: T) -> T:
        value = self.text(name)
        if value is None:
            return default
        if value not in choices:
            self.problems.append(f"{name} is one of {', '.join(choices)}; it is {value!r}")
            return default
        return choices[value]

    def vercel(self, name: str) -> Account | None:
        """The account that hosted sandboxes belong to, all of which has to be there."""
        given = {part: self.text(f"{name}_{part}") for part in ("TOKEN", "TEAM", "PROJECT")}
        url = self.address(f"{name}_URL") or DEFAULT_VERCEL_URL
        missing = [f"{name}_{part}" for part, value in given.items() if value is None]
        if missing:
            self.problems.append(f"DREAMWALKER_SANDBOX is vercel, which needs {', '.join(missing)}")
            return None
        token, team, project = (value or "" for value in given.values())
        return Account(token=token, team=team, project=project, url=url)

    def folder(self, name: str) -> Path | None:
        value = self.text(name)
        if value is not None and not Path(value).is_dir():
            self.problems.append(f"{name} names no folder: {value}")
        return None if value is None else Path(value)

    def file(self, name: str) -> Path | None:
        value = self.text(name)
        if value is not None and not Path(value).is_file():
            self.problems.append(f"{name} names no file: {value}")
        return None if value is None else Path(value)

    def token(self, name: str) -> str | None:
        value = self.text(name)
        if value is not None and not value.isascii():
            self.problems.append(f"{name} holds characters beyond ASCII, which no request can carry as a token")
            return None
        if value is not None and len(value.encode()) < TOKEN_BYTES_MIN:
            self.problems.append(f"{name} is too short: a token has at least {TOKEN_BYTES_MIN} bytes")
            return None
        return value

    def judge_secret(self, name: str, secret: str, *, needless: str | None) -> None:
        """`needless`: what may well ask for none."""
        if is_weak(secret):
            self.problems.append(
                f"{name} can't be told from ordinary text, so it could not be kept out of answers and logs: "
                "use a longer, more random one" + (f" (or none, if the {needless} asks for none)" if needless else "")
            )

    def number(self, name: str, default: int, *, lowest: int, highest: int) -> int:
        value = self.text(name)
        if value is None:
            return default
        if not value.isascii() or not value.isdigit() or not lowest <= int(value) <= highest:
            self.problems.append(f"{name} is a whole number from {lowest} to {highest}; it is {value!r}")
            return default
        return int(value)

    def zone(self, name: str) -> ZoneInfo:
        value = self.text(name)
        if value is None:
            return _machine_zone()
        try:
            return ZoneInfo(value)
        except (ZoneInfoNotFoundError, ValueError, OSError):
            self.problems.append(f"{name} is no zone of the IANA list (such as Europe/Vienna): {value!r}")
            return ZoneInfo("UTC")

    def limits(self) -> Limits:
        """Limits may be set one by one: DREAMWALKER_LIMIT_LEASE_SECONDS=5."""
        given: dict[str, float | int] = {}
        for field in attrs.fields(Limits):
            name = f"DREAMWALKER_LIMIT_{field.name.upper()}"
            value = self.text(name)
            if value is None:
                continue
            try:
                number = int(value) if isinstance(field.default, int) else float(value)
                if not 0 < number < math.inf:
                    raise ValueError
                given[field.name] = number
            except ValueError:
                self.problems.append(f"{name} is a number above 0; it is {value!r}")
        return Limits(**given)  # type: ignore[arg-type]


def host_in(address: str | None) -> str | None:
    """The host of an address; None if there is none that can be read."""
    try:
        return urlsplit(address or "").hostname
    except ValueError:
        return None


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


def _machine_zone() -> ZoneInfo:
    """The zone that this machine is set to, as far as it can be told; else UTC."""
    named = os.environ.get("TZ", "").strip()
    target = os.path.realpath("/etc/localtime")
    for candidate in (named, target.partition("/zoneinfo/")[2]):
        if candidate:
            try:
                return ZoneInfo(candidate)
            except (ZoneInfoNotFoundError, ValueError, OSError):
                continue
    return ZoneInfo("UTC")
