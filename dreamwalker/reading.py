"""Reading variables of the environment: what each kind of value has to be, and what is said of one that is not.

One rule: nothing is raised. What is wrong is gathered, so that all of it can be told at once.
"""

import math
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import TypeVar
from urllib.parse import urlsplit
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import attrs

from tools.limits import Limits
from tools.redact import is_weak

from .sandboxes.account import DEFAULT_URL as DEFAULT_VERCEL_URL
from .sandboxes.account import Account

TOKEN_BYTES_MIN = 32

T = TypeVar("T")


class Reading:
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
