"""The site as Netlify builds it: its own build package makes the archive, which is unpacked somewhere else.

One rule: nothing of the checkout is at hand where it runs; only the Python in it is a stand-in, where the real one
can't be fetched.
"""

import json
import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import attrs

ROOT = Path(__file__).parent.parent.parent
MODULES = Path(__file__).parent / "node_modules"
NODE = MODULES / ".bin/node"
TAKEN = ("netlify", "netlify.toml", "package.json", "dreamwalker", "actors", "tools", "storage", "migrations")


@attrs.frozen(kw_only=True)
class Site:
    """What was built: `server` and `wake` are the folders that the archives were unpacked into."""

    server: Path
    wake: Path
    archive_bytes: int


def build(folder: Path, deploy_id: str) -> Site:
    """Build the site in a folder. Raises CalledProcessError, whose output says why."""
    source = folder / "source"
    source.mkdir(parents=True)
    for name in TAKEN:
        copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
        keep = {"symlinks": True, "ignore": shutil.ignore_patterns("__pycache__")} if (ROOT / name).is_dir() else {}
        copy(ROOT / name, source / name, **keep)
    (source / "node_modules").symlink_to(MODULES)
    command = f'command = "{sys.executable} netlify/build.py --python-from {Path(sys.base_prefix).resolve()}"'
    toml = (source / "netlify.toml").read_text()
    assert 'command = "python3 netlify/build.py"' in toml
    (source / "netlify.toml").write_text(toml.replace('command = "python3 netlify/build.py"', command))
    environ = os.environ | {"DEPLOY_ID": deploy_id, "URL": "https://agent.example", "PATH": _path(), "CI": "true"}
    flags = "--featureFlags=netlify_build_server_standalone"
    subprocess.run(
        [NODE, "node_modules/@netlify/build/bin.js", "--offline", "--context=production", flags],
        cwd=source,
        env=environ,
        check=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    archive = source / ".netlify/server/server.tgz"
    size = archive.stat().st_size
    with tarfile.open(archive) as tar:
        tar.extractall(folder / "server", filter="tar")
    with zipfile.ZipFile(source / ".netlify/functions/wake.zip") as zipped:
        zipped.extractall(folder / "wake")
    shutil.rmtree(source)
    return Site(server=folder / "server", wake=folder / "wake", archive_bytes=size)


def build_app(folder: Path) -> Path:
    """Build the web app's own site in a folder; returns its function's entry point. Raises CalledProcessError.

    Of its packages it has those that the function needs, in the versions that its own lock names.
    """
    app = ROOT / "netlify/app"
    for name in ("site", "functions"):
        shutil.copytree(app / name, folder / name)
    for name in ("netlify.toml", "package.json", "package-lock.json"):
        shutil.copy(app / name, folder)
    for name in ("@netlify/identity", "gotrue-js"):
        shutil.copytree(app / "node_modules" / name, folder / "node_modules" / name)
    build = [NODE, MODULES / "@netlify/build/bin.js", "--offline", "--cwd", folder]
    subprocess.run(build, check=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    (made,) = json.loads((folder / ".netlify/functions/manifest.json").read_text())["functions"]
    routes = [route["pattern"] for route in made["routes"]]
    assert (made["name"], routes, made["invocationMode"]) == ("api", ["/api/*"], "stream"), made
    with zipfile.ZipFile(made["path"]) as zipped:
        zipped.extractall(folder / "unpacked")
    return folder / "unpacked/___netlify-entry-point.mjs"


def check_types() -> None:
    """Have the TypeScript compiler read the entry and the function. Raises CalledProcessError."""
    tsc = [NODE, MODULES / "typescript/bin/tsc", "--project", ROOT / "tests/netlify/tsconfig.json"]
    subprocess.run([*tsc, "--typeRoots", MODULES / "@types"], check=True)


def _path() -> str:
    return f"{NODE.parent}{os.pathsep}{os.environ.get('PATH', os.defpath)}"
