"""The process that makes text of one page: started, given the page, and gone.

One rule: its limits stand before the first byte of the page is looked at. It imports nothing of ours but its two
readers, knows nothing but the page, and once it parses, can open no file and no connection.
"""

import ctypes
import json
import os
import resource
import signal
import sys
from typing import Any

_TITLE_CHARACTERS = 300
_DIE_WITH_PARENT = 1  # PR_SET_PDEATHSIG, prctl(2)


class Unreadable(Exception):
    """No text can be made of the page. The word says why: one of `reader.FAILURES`."""


def _limit(seconds: int, memory_bytes: int) -> None:
    """What it may take, at most; the kernel ends it then."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_DIE_WITH_PARENT, signal.SIGKILL, 0, 0, 0)
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.alarm(seconds)
    for kind, most in (
        (resource.RLIMIT_CPU, seconds),
        (resource.RLIMIT_DATA, memory_bytes),
        (resource.RLIMIT_FSIZE, 0),
        (resource.RLIMIT_CORE, 0),
    ):
        resource.setrlimit(kind, (most, most))


def _close_doors() -> None:
    """From now on nothing can be opened."""
    resource.setrlimit(resource.RLIMIT_NOFILE, (0, 0))


def _read(task: dict[str, Any], body: bytes) -> tuple[str, str, bool]:
    """Title and text of a page, and whether only its beginning was read. Raises Unreadable."""
    if task["kind"] == "pdf":
        from . import page_pdf

        _close_doors()
        return page_pdf.read(body)
    from . import charset

    text = charset.decode(body, task["charset"], html=task["kind"] == "html")
    del body
    if task["kind"] != "html":
        return "", text, False
    from . import page_html

    _close_doors()
    return page_html.read(text, task["address"])


def main() -> None:
    """Read a line of JSON and a page from the standard input, write a line of JSON."""
    task = json.loads(sys.stdin.buffer.readline())
    _limit(task["seconds"], task["memory_bytes"])
    try:
        title, text, cut = _read(task, sys.stdin.buffer.read())
    except Unreadable as unreadable:
        answer: dict[str, Any] = {"failed": str(unreadable)}
    else:
        start = task["skip_characters"]
        answer = {
            "title": " ".join(title.split())[:_TITLE_CHARACTERS],
            "text": text[start : start + task["limit_characters"]],
            "characters": len(text),
            "cut": cut,
        }
    sys.stdout.buffer.write(json.dumps(answer).encode())
    sys.stdout.flush()
    os._exit(0)  # what is left in memory is not worth taking apart
