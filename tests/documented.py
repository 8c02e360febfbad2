"""Whether what the server answers is what its document says, for every request of every test."""

import re

import httpx2

from dreamwalker.api.app import ENDPOINTS
from dreamwalker.api.openapi import refusals

_BEFORE_ANY_ROUTE = 431
"""Headers that are too large are refused before anybody has read which route they are for."""
_STATUSES = {
    (it.method, re.compile(re.sub(r"\{\w+\}", "[^/]+", it.route))): {it.status, *refusals(it), _BEFORE_ANY_ROUTE}
    for it in ENDPOINTS
}


async def as_documented(response: httpx2.Response) -> None:
    """A hook of a client. Raises AssertionError for a status that the document does not give for its route."""
    request = response.request
    for (method, route), statuses in _STATUSES.items():
        if method == request.method and route.fullmatch(request.url.path):
            assert response.status_code in statuses, f"{method} {request.url.path}: {response.status_code} undocumented"
