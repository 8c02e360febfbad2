"""The Python that a deploy carries: fetched by uv from where its list says, and by hash.

A server on loopback has the list and the archive, which is made of the Python that runs this test. So all is proved but
that the real archive is where uv's own list says.
"""

import hashlib
import json
import os
import platform
import shutil
import subprocess
import sys
import sysconfig
import tarfile
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import attrs
import pytest
import trio
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response, StreamingResponse

from tests.netlify.loopback import loopback

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux" or platform.machine() != "x86_64", reason="what is deployed is this"),
]

ROOT = Path(__file__).parent.parent.parent
VERSION = "{}.{}".format(*sys.version_info)
KEY = f"cpython-{VERSION}-linux-x86_64-gnu"
LEFT_OUT = ("test", "idlelib", "tkinter", "lib2to3", "site-packages", "dist-packages", "__pycache__", "config-*")


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """This Python as an archive of the kind that uv fetches."""
    root = tmp_path_factory.mktemp("python") / "python"
    (root / "bin").mkdir(parents=True)
    shutil.copy(os.path.realpath(sys.executable), root / f"bin/python{VERSION}")
    for name in ("python3", "python"):
        (root / "bin" / name).symlink_to(f"python{VERSION}")
    shutil.copytree(
        sysconfig.get_path("stdlib"), root / f"lib/python{VERSION}", ignore=shutil.ignore_patterns(*LEFT_OUT)
    )
    for library in Path(sysconfig.get_config_var("LIBDIR")).glob("libpython3*.so*"):
        shutil.copy(library, root / "lib", follow_symlinks=False)
    made = root.parent / "python.tar.gz"
    with tarfile.open(made, "w:gz", compresslevel=1) as tar:
        tar.add(root, "python")
    return made.read_bytes()


@attrs.define
class Host:
    """Where the list and the archive are. `cuts`: so many downloads break off in the middle."""

    archive: bytes
    sha256: str = ""
    name: str = "python.tar.gz"
    cuts: int = 0
    asked: list[str] = attrs.Factory(list)

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            raise NotImplementedError("there is nothing to start or to stop")
        request = Request(scope)
        self.asked.append(request.url.path)
        await self._answer(request)(scope, receive, send)

    def _answer(self, request: Request) -> Response:
        match request.url.path:
            case "/list.json":
                return Response(json.dumps(self._list(str(request.base_url))), media_type="application/json")
            case "/moved.tar.gz":
                return RedirectResponse("/python.tar.gz", 302)
            case "/python.tar.gz" if self.cuts > 0:
                self.cuts -= 1
                return StreamingResponse(self._half(), headers={"content-length": str(len(self.archive))})
            case "/python.tar.gz":
                return Response(self.archive, media_type="application/gzip")
        return Response(status_code=404)

    async def _half(self) -> AsyncIterator[bytes]:
        yield self.archive[: len(self.archive) // 2]
        raise ConnectionError("on purpose")

    def _list(self, base: str) -> object:
        major, minor, patch = sys.version_info[:3]
        return {
            f"cpython-{major}.{minor}.{patch}-linux-x86_64-gnu": {
                "name": "cpython",
                "arch": {"family": "x86_64", "variant": None},
                "os": "linux",
                "libc": "gnu",
                "major": major,
                "minor": minor,
                "patch": patch,
                "prerelease": "",
                "url": f"{base}{self.name}",
                "sha256": self.sha256 or hashlib.sha256(self.archive).hexdigest(),
                "variant": None,
                "build": "20261101",
            }
        }


async def fetch(host: Host, folder: Path, call: str) -> tuple[int, str]:
    """What came of a function of netlify/build.py in a checkout of its own: its status, and what it said."""
    (folder / "netlify").mkdir()
    (folder / "build").mkdir()
    for name in ("build.py", "uv.txt"):
        shutil.copy(ROOT / "netlify" / name, folder / "netlify")
    async with loopback(host) as url:
        kept = {name: value for name, value in os.environ.items() if not name.startswith("UV_")}
        environ = {
            **kept,
            "UV_PYTHON_DOWNLOADS_JSON_URL": f"{url}/list.json",
            "UV_CACHE_DIR": str(folder / "cache"),
            "UV_PYTHON_CACHE_DIR": "",
            "UV_HTTP_RETRIES": "2",
            "NO_PROXY": "127.0.0.1",
        }
        code = f"from pathlib import Path; import build; build.{call}"
        done = await trio.run_process(
            [sys.executable, "-c", code],
            cwd=folder / "netlify",
            env=environ,
            check=False,
            capture_stdout=True,
            stderr=subprocess.STDOUT,
        )
        return done.returncode, done.stdout.decode()


INSTALL = f"install_python(Path({str(Path(sys.executable).with_name('uv'))!r}), {KEY!r})"


def runs(folder: Path) -> bool:
    """Whether the Python that was made is there, by itself, and runs."""
    python = folder / "build/python/bin/python3"
    code = "import sys, json, hashlib, ssl, sqlite3; print(sys.prefix)"
    said = subprocess.run([python, "-I", "-c", code], capture_output=True, text=True, env={}, check=False)
    return said.stdout.strip() == str(folder / "build/python")


async def test_uv_is_taken_by_hash_and_brings_a_python_that_runs_where_it_is_put(
    tmp_path: Path, archive: bytes
) -> None:
    status, said = await fetch(Host(archive), tmp_path, f"fetch_python({KEY!r})")
    assert status == 0, said
    assert runs(tmp_path)
    assert [path.name for path in (tmp_path / "build").iterdir()] == ["python"]


async def test_an_archive_that_has_moved_is_followed(tmp_path: Path, archive: bytes) -> None:
    host = Host(archive, name="moved.tar.gz")
    status, said = await fetch(host, tmp_path, INSTALL)
    assert status == 0, said
    assert runs(tmp_path) and host.asked[-1] == "/python.tar.gz"


async def test_a_download_that_breaks_off_is_begun_again(tmp_path: Path, archive: bytes) -> None:
    host = Host(archive, cuts=1)
    status, said = await fetch(host, tmp_path, INSTALL)
    assert status == 0, said
    assert runs(tmp_path) and host.asked.count("/python.tar.gz") == 2


@pytest.mark.parametrize(
    ("host", "says"),
    [
        ({"sha256": "0" * 64}, "hash"),
        ({"sha256": "0" * 64, "name": "moved.tar.gz"}, "hash"),
        ({"cuts": 99}, "download"),
        ({"name": "nowhere.tar.gz"}, "404"),
    ],
)
async def test_what_is_not_the_archive_that_was_meant_ends_the_build_and_leaves_no_python(
    tmp_path: Path, archive: bytes, host: dict[str, Any], says: str
) -> None:
    status, said = await fetch(Host(archive, **host), tmp_path, INSTALL)
    assert status != 0 and says in said.lower() and "ended with status" in said, said
    assert not (tmp_path / "build/python").exists()
