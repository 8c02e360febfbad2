"""The web app, as it is served here: files that a browser is given before it has said who it is.

One rule: a request picks one of the files that stand in the app's folder; nothing it says becomes a path on the disk.

The app runs as it stands, so there is nothing to build. Its pages load nothing from anywhere else, and no script can
make markup of text (`require-trusted-types-for`).
"""

import hashlib
from collections.abc import Awaitable, Callable
from functools import cache
from pathlib import Path

import attrs
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

import netlify

from .noted import Noted

Serve = Callable[[Request], Awaitable[Response]]

SITE = Path(netlify.__file__).parent / "app" / "site"

FOLDERS = ("app", "vendor", "icons")
FILES = ("app.css", "manifest.webmanifest", "sw.js")

PAGES = (
    "/",
    "/agents",
    "/agents/{name}",
    "/agents/{name}/about",
    "/questions",
    "/questions/{id}",
    "/reminders",
    "/reminders/{id}",
    "/jobs",
    "/jobs/{id}",
    "/notes/{agent}",
    "/notes/{agent}/{id}",
    "/runs",
    "/runs/{id}",
    "/search",
    "/conversations/{id}",
    "/conversations/{id}/{seq}",
    "/pushes",
    "/spend",
    "/settings",
    "/reference",
)
"""The deep links: each of them opens the app, which reads where it is."""

ROUTES = (
    (*PAGES, *(f"/{folder}/{{file}}" for folder in FOLDERS), *(f"/{file}" for file in FILES)) if SITE.is_dir() else ()
)
"""Everything that is served. A server whose app has a site of its own, as on the platform, comes without the files."""

TYPES = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".png": "image/png",
    ".svg": "image/svg+xml",
    ".txt": "text/plain; charset=utf-8",
    ".webmanifest": "application/manifest+json",
}

POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self'",
        "connect-src 'self'",
        "manifest-src 'self'",
        "worker-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
        "require-trusted-types-for 'script'",
        "trusted-types dreamwalker",
    )
)
"""What the app may load: its own files and its own server. netlify/app/netlify.toml says the same of its own site."""

HEADERS = {
    "Content-Security-Policy": POLICY,
    "Cache-Control": "no-cache",
    "Cross-Origin-Opener-Policy": "same-origin",
    "X-DNS-Prefetch-Control": "off",
    "Permissions-Policy": "camera=(), microphone=(), geolocation=(), payment=(), usb=()",
}


@attrs.frozen(kw_only=True)
class File:
    """One file of the app, and its entity tag."""

    body: bytes
    media: str
    tag: str


@cache
def files() -> dict[str, File]:
    """Every file by the path under which it is served; read once, when first asked for."""
    paths = [SITE / name for name in ("index.html", *FILES)]
    paths += [path for folder in FOLDERS for path in sorted((SITE / folder).glob("*"))]
    return {f"/{path.relative_to(SITE).as_posix()}": _read(path) for path in paths}


def _read(path: Path) -> File:
    body = path.read_bytes()
    return File(body=body, media=TYPES[path.suffix], tag=f'"{hashlib.sha256(body).hexdigest()[:32]}"')


async def serve_page(request: Request) -> Response:
    """The app itself, whichever of its pages was asked for."""
    return _answer(request, files()["/index.html"])


async def serve_file(request: Request) -> Response:
    """One of its files."""
    file = files().get(request.url.path)
    return Response("There is nothing here.", 404) if file is None else _answer(request, file)


def _answer(request: Request, file: File) -> Response:
    headers = {**HEADERS, "ETag": file.tag}
    if file.tag in request.headers.get("if-none-match", ""):
        return Response(status_code=304, headers=headers)
    return Response(file.body, headers=headers, media_type=file.media)


def routes() -> list[Route]:
    """Everything that is served of the app."""
    return [Route(path, _noted(path, serve_page if path in PAGES else serve_file), methods=["GET"]) for path in ROUTES]


def _noted(route: str, serve: Serve) -> Serve:
    """The same, for a log that says which route it was."""

    async def noted(request: Request) -> Response:
        Noted.of(request.scope).route = route
        return await serve(request)

    return noted
