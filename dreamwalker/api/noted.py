"""What the log says of a request: one line when it is over.

One rule: a request is known by its route's pattern and by numbers. Its path, query, headers and body stay out.
"""

import logging
import time
from collections.abc import Mapping
from typing import Any, ClassVar

log = logging.getLogger("dreamwalker.api")

UNTOLD = ("GET /api/health",)
"""What is told at the level debug alone, like the files of the web app: it comes all the time and says nothing."""


METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
"""Any other is a word of the visitor's."""


class Noted:
    """What is known of one request so far. It lives in the request's scope."""

    KEY: ClassVar[str] = "dreamwalker.noted"

    def __init__(self, method: str) -> None:
        self.route = "none"
        self.method = method if method in METHODS else "other"
        self._began = time.monotonic()
        self._ids: dict[str, int] = {}

    @classmethod
    def of(cls, scope: Mapping[str, Any]) -> "Noted":
        """What is known of the request with this scope."""
        noted: Noted = scope[cls.KEY]
        return noted

    def ids(self, **ids: int) -> None:
        """What the request is about, by the names of dreamwalker/events.py."""
        self._ids |= ids

    def log(self, status: int | None) -> None:
        """Write the line. `status` None: the client left before there was an answer."""
        told = self.route.startswith("/api/") or self.route == "none"
        level = logging.INFO if told and f"{self.method} {self.route}" not in UNTOLD else logging.DEBUG
        ms = round(1_000 * (time.monotonic() - self._began))
        facts = {"method": self.method, "route": self.route, "status": status, "ms": ms, **self._ids}
        log.log(level, "request", facts)
