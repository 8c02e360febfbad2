"""Fetching: requests, redirects and bounds, up to the bytes of a page.

One rule: every hop is a request of its own, with nothing in it but an address, over a connection that was judged for
it, and every failure has its fixed sentence. One deadline stands over all of them.
"""

import re
import ssl
from collections.abc import Awaitable, Callable, Iterator
from contextlib import AsyncExitStack, aclosing

import attrs
import httpcore2
import trio

from tools.egress import Egress
from tools.fetch_url import FetchFailed
from tools.limits import Limits
from tools.web_address import BadAddress, WebAddress

from .inflate import ACCEPTED, BadPacking, Inflate
from .wire import Allowance, NoTls, TooMuch, Wire

_HEADERS = (
    (b"Accept", b"text/html, application/xhtml+xml, application/pdf, application/json, text/*;q=0.9, */*;q=0.5"),
    (b"Accept-Encoding", ACCEPTED.encode()),
    (b"Accept-Language", b"en, *;q=0.5"),  # never the owner's own: a worker's page must not tell where he lives
    (b"User-Agent", b"Mozilla/5.0 (compatible; dreamwalker)"),
    (b"Connection", b"close"),
)
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_STATUS = {
    400: "it could not make sense of the request",
    401: "it wants somebody to sign in",
    403: "it does not let this be read",
    404: "there is no such page",
    410: "the page is gone",
    429: "it was asked too often",
    451: "it may not show this page",
    500: "it failed",
    503: "it can't answer just now",
}
_PIECES_MAX = 50_000
"""Pieces in which a page may come: what comes byte by byte costs far more time than its bytes are worth."""
_BAD_CERTIFICATE = "The host can't show that it is the one it says: its certificate is not valid."
_NO_TLS = "The host does not speak TLS as it should."
_READABLE = re.compile(
    r"text/.+|application/(?:.+\+)?(?:json|xml|xhtml\+xml)|application/(?:x-)?(?:javascript|ndjson|yaml)"
)
_SAYS_NOTHING = ("application/octet-stream", "application/x-unknown", "unknown/unknown")
_NAMED = {"image": "a picture", "video": "a film", "audio": "a sound", "font": "a font"}
_TYPE = re.compile(r"[\w.+-]+/[\w.+-]+")
_CHARSET = re.compile(r"""charset\s*=\s*["']?([\w.:-]{1,40})""", re.IGNORECASE)


@attrs.frozen(kw_only=True)
class Fetched:
    """The bytes of a page. `kind` is "html", "pdf" or "text"; `charset` is what its header says, "" if nothing."""

    address: WebAddress
    kind: str
    charset: str
    body: bytes
    cut: bool


async def fetch(
    address: WebAddress, egress: Egress, limits: Limits, trusted: Callable[[], Awaitable[ssl.SSLContext]]
) -> Fetched:
    """The bytes that an address leads to. Raises FetchFailed, EgressRefused, EgressFailed."""
    for _ in range(limits.page_redirects + 1):
        context = await trusted() if address.scheme == "https" else None
        found = await _hop(address, egress, limits, context)
        if isinstance(found, Fetched):
            return found
        try:
            address = address.leading_to(found)
        except BadAddress as bad:
            raise FetchFailed(f"It leads on to another address, which is not followed. {bad}") from None
    raise FetchFailed(f"It leads on to other addresses, more than {limits.page_redirects} times.")


async def _hop(address: WebAddress, egress: Egress, limits: Limits, context: ssl.SSLContext | None) -> Fetched | str:
    """What one request gives: a page, or where it leads. Raises FetchFailed, EgressRefused, EgressFailed."""
    allowance = Allowance(limits.page_head_bytes)
    try:
        async with AsyncExitStack() as stack:
            pool = await stack.enter_async_context(
                httpcore2.AsyncConnectionPool(
                    ssl_context=context, network_backend=Wire(egress, allowance.take), max_keepalive_connections=0
                )
            )
            headers = [(b"Host", address.authority.encode()), *_HEADERS]
            response = await stack.enter_async_context(pool.stream("GET", _url(address), headers=headers))
            if response.status in _REDIRECTS and (location := _header(response, b"location")):
                return location
            if response.status != 200:
                why = _STATUS.get(response.status, "it has no page for this")
                raise FetchFailed(f"The server answers {response.status}: {why}.")
            allowance.left_bytes = limits.page_wire_bytes
            return await _page(address, response, limits)
    except TooMuch:
        raise FetchFailed("The server sends more headers than any page needs.") from None
    except NoTls as no_tls:
        raise FetchFailed(_BAD_CERTIFICATE if no_tls.certificate else _NO_TLS) from None
    except httpcore2.LocalProtocolError:
        raise FetchFailed("That address can't be asked for.") from None
    except (httpcore2.NetworkError, httpcore2.ProtocolError):
        raise FetchFailed("The connection broke off, or what came over it is no answer of a web server.") from None


def _url(address: WebAddress) -> httpcore2.URL:
    scheme, host, target = (text.encode() for text in (address.scheme, address.host, address.target))
    return httpcore2.URL(scheme=scheme, host=host, port=address.port, target=target)


async def _page(address: WebAddress, response: httpcore2.Response, limits: Limits) -> Fetched:
    content_type = _header(response, b"content-type").lower()
    media = content_type.partition(";")[0].strip()
    charset, kind = _CHARSET.search(content_type), _kind(media)
    try:
        unpack = Inflate(_joined(response, b"content-encoding"))
        body, too_long = await _body(response, unpack, limits.page_bytes)
    except BadPacking:
        raise FetchFailed("The page is packed in a way that was not asked for, or badly.") from None
    kind = kind or _looks(body)
    cut = too_long or not unpack.whole
    if kind == "pdf" and too_long:
        raise FetchFailed(
            f"It is a PDF of more than {limits.page_bytes // 1_000_000} MB, which is too long to be read."
        )
    if kind == "pdf" and cut:
        raise FetchFailed("It is a PDF of which only the beginning came, so it can't be read.")
    return Fetched(address=address, kind=kind, charset=charset[1] if charset else "", body=body, cut=cut)


async def _body(response: httpcore2.Response, unpack: Inflate, most_bytes: int) -> tuple[bytes, bool]:
    """The unpacked body, or its beginning, and whether it was longer than that."""
    body = bytearray()
    try:
        async with aclosing(response.aiter_stream()) as stream:
            pieces = 0
            async for data in stream:
                pieces += 1
                if pieces > _PIECES_MAX:
                    return bytes(body), True
                for piece in unpack.feed(data):
                    body += piece
                    if len(body) > most_bytes:
                        return bytes(body[:most_bytes]), True
                    await trio.lowlevel.checkpoint()
    except TooMuch:
        return bytes(body), True
    return bytes(body), False


def _kind(media: str) -> str | None:
    """What a page is, by what its header says; None if that is nothing. Raises FetchFailed for what is no text."""
    if media == "application/pdf":
        return "pdf"
    if media in ("text/html", "application/xhtml+xml"):
        return "html"
    if _READABLE.fullmatch(media):
        return "text"
    if not _TYPE.fullmatch(media) or media in _SAYS_NOTHING:
        return None
    named = _NAMED.get(media.partition("/")[0])
    if named is None:
        raise FetchFailed("What is there is no page, text, JSON or PDF, so it can't be read.")
    raise FetchFailed(f"It is {named}, which can't be read as text.")


def _looks(body: bytes) -> str:
    """What a page is, by how it begins."""
    beginning = body[:1024].lstrip(b"\xef\xbb\xbf\t\n\x0c\r ").lower()
    if beginning.startswith(b"%pdf-"):
        return "pdf"
    return "html" if beginning.startswith((b"<!doctype html", b"<html", b"<head", b"<body")) else "text"


def _header(response: httpcore2.Response, name: bytes) -> str:
    """The first header of a name; "" if there is none."""
    return next(_headers(response, name), "")


def _joined(response: httpcore2.Response, name: bytes) -> str:
    """A header that is a list, which may come in several lines."""
    return ",".join(_headers(response, name))


def _headers(response: httpcore2.Response, name: bytes) -> Iterator[str]:
    return (_decoded(value) for key, value in response.headers if key.lower() == name)


def _decoded(value: bytes) -> str:
    try:
        return value.decode().strip()
    except UnicodeDecodeError:
        return value.decode("latin-1").strip()
