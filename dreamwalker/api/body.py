"""What a request says: its body, its query and its path, read within bounds and checked against a msgspec Struct.

One rule: whatever the bytes are, they become a checked value or a refusal in words; text that can't be stored (NUL,
lone surrogates) is no reason to refuse, since it is replaced where it is stored.
"""

import json
import re
from collections.abc import Iterable
from typing import Any, TypeVar

import msgspec
import trio
from starlette.requests import ClientDisconnect, Request

from storage.text import clean
from tools.limits import FIXED

from .errors import Refused
from .unfit import words

_DIGITS = re.compile("-?[0-9]+")

S = TypeVar("S", bound=msgspec.Struct)

BODY_SECONDS = FIXED.body_seconds
"""How long a client may take to send a body."""


async def read_body(request: Request, limit_bytes: int) -> bytes:
    """The whole body, which is given up as soon as it is larger than the limit. Raises Refused, ClientDisconnect."""
    encoding = request.headers.get("content-encoding", "identity").lower()
    if encoding != "identity":
        raise Refused(415, "A body is sent as it is, without Content-Encoding.")
    body, more = bytearray(), True
    with trio.move_on_after(BODY_SECONDS) as patience:
        while more and max(len(body), _declared_bytes(request)) <= limit_bytes:
            message = await request.receive()
            if message["type"] == "http.disconnect":
                raise ClientDisconnect
            body += message.get("body", b"")
            more = message.get("more_body", False)
    if patience.cancelled_caught:
        raise Refused(408, f"The body did not arrive within {BODY_SECONDS:g} seconds.")
    if len(body) > limit_bytes or more:
        raise Refused(413, f"The body is larger than {limit_bytes:,} bytes, the most that is taken here.")
    return bytes(body)


def _declared_bytes(request: Request) -> int:
    declared = request.headers.get("content-length", "")
    return int(declared) if declared.isascii() and declared.isdigit() and len(declared) < 20 else 0


def decode(body: bytes) -> Any:
    """The JSON value of a body. Raises Refused if it is not JSON in UTF-8, or an object has a key twice."""
    try:
        return json.loads(body.decode("utf-8"), object_pairs_hook=_object, parse_constant=_constant)
    except UnicodeDecodeError:
        raise Refused(400, "The body is not UTF-8.") from None
    except RecursionError:
        raise Refused(400, "The body is nested too deeply.") from None
    except ValueError as error:
        raise Refused(400, f"The body is not JSON: {error}.") from None


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = {clean(key): value for key, value in pairs}
    if len(made) < len(pairs):
        raise ValueError("a key stands twice in one object")
    return made


def _constant(name: str) -> Any:
    raise ValueError(f"{name} is no JSON number")


def convert(value: Any, struct: type[S]) -> S:
    """A JSON value as the struct. Raises Refused if it does not fit."""
    return _fitting(value, struct, 422, strict=True)


def convert_text(pairs: Iterable[tuple[str, str]], struct: type[S], *, status: int) -> S:
    """Names and values of a query or a path as the struct. Raises Refused with this status if they do not fit."""
    items = list(pairs)
    values = {clean(name): value for name, value in items}
    if len(values) < len(items):
        raise Refused(status, "A name stands twice in the query.")
    made = _fitting(values, struct, status, strict=False)
    for field, name in zip(struct.__struct_fields__, struct.__struct_encode_fields__, strict=True):
        if type(getattr(made, field)) is int and name in values and not _DIGITS.fullmatch(values[name]):
            raise Refused(status, "There is nothing here." if status == 404 else f"{name} is a number, in digits.")
    return made


def _fitting(value: Any, struct: type[S], status: int, *, strict: bool) -> S:
    try:
        return msgspec.convert(value, struct, strict=strict)
    except msgspec.ValidationError as error:
        why = words(error, struct)
    except UnicodeEncodeError:  # msgspec looks into a text where a number or one of a few words is wanted
        why = "A text with half a character in it (a lone surrogate) stands where no such text can."
    raise Refused(status, "There is nothing here." if status == 404 else why)
