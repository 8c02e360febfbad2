"""What Netlify sends with each request, as the entry (`netlify/server/index.ts`) hands it on: in one private header.

One rule: nobody but the entry writes that header. It throws away one that a visitor sent, and signs its own with a
secret that it gave this process at the start: whatever else gets through to the socket is not believed.
"""

import hmac
from base64 import b64decode
from collections.abc import Iterable

import msgspec

from .deploy import Deploy

HEADER = b"x-dreamwalker-visit"
VISIT_BYTES_MAX = 16_384
"""Several times what keys, an address and the names of a few dozen headers take."""


class BadVisit(Exception):
    """The private header is missing, doubled or can't be read: the entry and this server do not go together."""


class Model(msgspec.Struct, frozen=True, kw_only=True):
    """Credentials for a Messages API: the gateway's, or the owner's own."""

    api_key: str
    base_url: str | None = None

    def __repr__(self) -> str:
        return f"Model(base_url={self.base_url!r})"


class Visit(msgspec.Struct, frozen=True, kw_only=True):
    """One request: the deploy that it is for, and what the platform lent for it.

    `headers` are the names, never the values, of the platform's own headers that it came with.
    """

    deploy: Deploy
    secret: str
    model: Model | None = None
    database_url: str | None = None
    headers: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"Visit(deploy={self.deploy!r}, model={self.model!r})"


_decoder = msgspec.json.Decoder(Visit)


def read(headers: Iterable[tuple[bytes, bytes]], secret: str) -> Visit:
    """The visit of a request, signed with the secret. Raises BadVisit, whose message quotes nothing of it."""
    given = [value for name, value in headers if name.lower() == HEADER]
    if len(given) != 1 or len(given[0]) > VISIT_BYTES_MAX:
        raise BadVisit(f"A request must carry {HEADER.decode()} once, with {VISIT_BYTES_MAX:,} bytes at most.")
    try:
        visit = _decoder.decode(b64decode(given[0], validate=True))
    except (ValueError, msgspec.MsgspecError):
        raise BadVisit(f"{HEADER.decode()} can't be read.") from None
    if not secret or not hmac.compare_digest(visit.secret.encode(), secret.encode()):
        raise BadVisit(f"{HEADER.decode()} was not written by the entry.")
    return visit
