"""Writes site/app/files.js: which files the app consists of, and a version made of all that is in them.

One rule: it says the same for the same files, so that a browser takes up a new version exactly when there is one.
"""

import hashlib
import json
import sys
from pathlib import Path

SITE = Path(__file__).parent / "site"
STAMP = SITE / "app" / "files.js"
APART = {"sw.js", "app/files.js"}
"""The service worker itself, which no cache may hold, and the stamp."""


def stamp() -> str:
    """What the file has to say."""
    paths = sorted(path for path in SITE.rglob("*") if path.is_file())
    names = [name for path in paths if (name := path.relative_to(SITE).as_posix()) not in APART]
    digest = hashlib.sha256()
    for name in names:
        body = (SITE / name).read_bytes()
        digest.update(f"{name} {len(body)}\n".encode() + body)
    listed = [
        "/",
        *(f"/{name}" for name in names if name != "index.html" and not name.endswith(".txt")),
        "/app/files.js",
    ]
    return (
        "// Made by stamp.py; `make app` makes it anew.\n"
        f"export const VERSION = {json.dumps(digest.hexdigest()[:16])};\n"
        f"export const FILES = {json.dumps(listed, indent=2)};\n"
    )


if __name__ == "__main__":
    if "--check" in sys.argv:
        sys.exit(0 if STAMP.read_text() == stamp() else "netlify/app/site has changed: run `make app`")
    STAMP.write_text(stamp())
