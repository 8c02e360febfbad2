"""What goes wrong at the door, and how the client is told.

One rule: an error is `{"error": {"code", "message"}}` in plain words, whatever was raised; a trace never leaves here.
"""

import logging
import math
from collections.abc import Mapping
from typing import Annotated

import msgspec
from msgspec import Meta
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.responses import Response

from actors.mailbox import MailboxError
from actors.supervisor import unwrap
from dreamwalker.not_ready import NotReady
from netlify.gateway import BadVisit
from storage.errors import CommitUnknown, LeaseLost, StoreBusy, StoreClosed, TookTooLong, Unavailable
from storage.text import clean
from tools.limits import FIXED

from .noted import Noted

log = logging.getLogger("dreamwalker.api")

CODES = {
    400: "bad_request",
    401: "unauthorized",
    404: "not_found",
    405: "method_not_allowed",
    409: "conflict",
    408: "timeout",
    410: "withdrawn",
    413: "too_large",
    415: "unsupported",
    421: "misdirected",
    422: "invalid",
    429: "too_many",
    500: "internal",
    503: "unavailable",
}
"""The code of each status, where the one who refuses names no narrower one."""

MEANINGS = {
    "ahead": "The stream is asked for from a commit that does not exist.",
    "bad_request": "The body is not JSON in UTF-8, or an object has a key twice; or it went round the platform.",
    "behind": "More has changed than the client wants to hear one by one: read a page, and join from its number.",
    "changed": "What it was about has changed meanwhile: look at it again.",
    "conflict": "Something else was sent under this request id, or has this name.",
    "decided": "It was decided otherwise before.",
    "expired": "The question has expired, which means no.",
    "internal": "A mistake of dreamwalker's own; its log tells about it.",
    "invalid": "A field is unknown, missing, or holds what it can't.",
    "lower": "The limit is higher already.",
    "main": "The main agent can't be retired.",
    "method_not_allowed": "The route does not take this method.",
    "misdirected": "The server does not answer to that host name.",
    "no_phone": "No phone is set up, or pushes are turned off.",
    "not_found": "There is no such thing.",
    "not_ready": "The storage can't be opened just now.",
    "over": "The reminder or job is over.",
    "placed": "The agent has the message already.",
    "retired": "The agent is retired.",
    "stopped": "The run of the question was stopped.",
    "superseded": "The question was asked anew.",
    "time": "The time in words can't be understood, or has passed.",
    "timeout": "The body came too slowly.",
    "too_large": "The body is too large.",
    "too_many": "There are too many; try again later.",
    "unauthorized": "The token is missing or wrong.",
    "unavailable": "The database or another instance is in the way just now; ask again.",
    "unsupported": "The body is encoded.",
    "withdrawn": "This deploy is not the one that the site shows.",
}
"""Every code there is, for those who write clients."""

RETRY_SECONDS = FIXED.storage_retry_seconds
"""After an error of the storage it is opened anew, which takes about so long."""


class Refused(Exception):
    """The request is not served. `message` is for the owner; `code` for his program; `headers` go with the answer."""

    def __init__(
        self, status: int, message: str, *, code: str | None = None, headers: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(message)
        self.status, self.message = status, clean(message)
        self.code = code if code is not None else CODES[status]
        self.headers = dict(headers or {})

    @property
    def response(self) -> Response:
        """The answer that says it."""
        body = msgspec.json.encode(Problem(error=Said(code=self.code, message=self.message)))
        return Response(body, self.status, self.headers, "application/json")


class Said(msgspec.Struct, frozen=True, kw_only=True):
    """What went wrong: a code for programs, and words for people."""

    code: Annotated[
        str,
        Meta(
            description="\n".join(f"- `{code}`: {meaning}" for code, meaning in MEANINGS.items()),
            extra_json_schema={"enum": list(MEANINGS)},
        ),
    ]
    message: str


class Problem(msgspec.Struct, frozen=True, kw_only=True):
    """The body of every answer that is not a success."""

    error: Said


def refusal(error: Exception, where: Noted) -> Refused | None:
    """How the client is told of an error; None if he has gone."""
    error = found if isinstance(found := unwrap(error), Exception) else error
    match error:
        case Refused():
            return error
        case ClientDisconnect():
            return None
        case HTTPException():
            return _routing(error)
        case BadVisit():
            return Refused(400, str(error))
        case NotReady():
            return _later(str(error), error.retry_after_seconds, code="not_ready")
        case CommitUnknown():
            return _later("The database broke off; whether this was done is not known. Ask again with the same id.")
        case LeaseLost() | StoreClosed():
            return _later("Another instance has taken over, or the storage was closed. Nothing was done; ask again.")
        case Unavailable() | TookTooLong():
            return _later("The database can't be reached or takes too long just now. Nothing was done; ask again.")
        case StoreBusy():
            return _later("The database did not answer in time. It may still be done; ask again with the same id.")
        case MailboxError():
            return _later("The agent did not answer in time; look again.")
    log.error("request.failed", {"method": where.method, "route": where.route}, exc_info=error)
    return Refused(500, "Something went wrong inside dreamwalker; its log says what.")


def _later(message: str, seconds: float = RETRY_SECONDS, *, code: str | None = None) -> Refused:
    return Refused(503, message, code=code, headers={"Retry-After": str(max(1, math.ceil(seconds)))})


def _routing(error: HTTPException) -> Refused:
    if error.status_code == 405:
        return Refused(405, "That can't be done here.", headers=error.headers)
    return Refused(404, "There is nothing here.")
