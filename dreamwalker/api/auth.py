"""Who may come in: the bearer token, and the names this server answers to.

One rule: the token is compared as bytes in constant time, and read anew for each request, so that changing it bites.
"""

import hmac
import ipaddress
from collections.abc import Iterable

from starlette.types import Scope

from dreamwalker.config import Config
from dreamwalker.reading import TOKEN_BYTES_MIN
from tools.limits import FIXED
from tools.redact import is_weak

from .errors import Refused

Headers = Iterable[tuple[bytes, bytes]]

TOKEN_FILE_BYTES_MAX = FIXED.token_file_bytes


class Token:
    """The API token: from the environment, or else from the file in the home folder."""

    def __init__(self, config: Config) -> None:
        self._given, self._file = config.token, config.token_file

    def current(self) -> bytes | None:
        """The token as it is now; None if there is none, or one too short to be a secret: then nobody comes in."""
        if self._given is not None:
            return self._given.encode()
        try:
            with self._file.open("rb") as file:
                token = file.read(TOKEN_FILE_BYTES_MAX).strip()
        except OSError:
            return None
        return token if len(token) >= TOKEN_BYTES_MIN and _is_secret(token) else None

    def admits(self, headers: Headers) -> bool:
        """Whether a request carries the token as it is now."""
        return carries(headers, self.current())


def carries(headers: Headers, token: bytes | None) -> bool:
    """Whether a request carries this token, which None is not."""
    carried = [value for name, value in headers if name.lower() == b"authorization"]
    if token is None or len(carried) != 1:
        return False
    scheme, _, credentials = carried[0].partition(b" ")
    return scheme.lower() == b"bearer" and hmac.compare_digest(credentials.strip(), token)


def _is_secret(token: bytes) -> bool:
    """Whether it can be kept out of texts: only then may anybody come in with it."""
    try:
        return not is_weak(token.decode())
    except UnicodeDecodeError:
        return False


def judge_token(token: Token, scope: Scope) -> None:
    """Raises Refused unless the request carries the token."""
    if not token.admits(scope["headers"]):
        raise Refused(401, "The token is missing or wrong.", headers={"WWW-Authenticate": "Bearer"})


def judge_host(names: Iterable[str], scope: Scope) -> None:
    """Raises Refused unless the request is meant for us: an address, localhost, or one of `names`.

    A page of another site that has its own name point here can't use an address, since its browser sends the name.
    """
    given = [value for name, value in scope["headers"] if name.lower() == b"host"]
    if len(given) == 1:
        name = _host_name(given[0].decode("latin-1").lower())
        if name in names or name == "localhost" or name.endswith(".localhost") or _is_address(name):
            return
    raise Refused(421, "This server does not answer to that name. DREAMWALKER_HOSTS says which names are its own.")


def _host_name(host: str) -> str:
    """A Host header without its port, and an IPv6 address without its brackets."""
    name, colon, port = host.rpartition(":")
    if not colon or (port and not (port.isascii() and port.isdigit())):
        name = host
    if name.startswith("[") and name.endswith("]"):
        return name[1:-1]
    return name.removesuffix(".")


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True
