"""The private header of a request on Netlify, as the entry writes it."""

import base64
import json
from typing import Any

from netlify.gateway import HEADER

NEWER = "66b0aaaa0123456789abcdef"
"""The id of a deploy."""

ENTRY_SECRET = "e5" * 32
"""What the entry and the server share."""


def header(
    database_url: str | None = None,
    model_url: str | None = None,
    *,
    key: str = "the-first-key-that-was-lent",
    deploy: str = NEWER,
    context: str = "production",
    published: bool = True,
    secret: str = ENTRY_SECRET,
) -> str:
    """The header of one visit, as the entry writes it."""
    visit: dict[str, Any] = {"deploy": {"id": deploy, "context": context, "published": published}, "secret": secret}
    if database_url is not None:
        visit["database_url"] = database_url
    if model_url is not None:
        visit["model"] = {"api_key": key, "base_url": model_url}
    return base64.b64encode(json.dumps(visit).encode()).decode()


__all__ = ["ENTRY_SECRET", "HEADER", "NEWER", "header"]
