"""Makes `build/`, which the server's archive carries: a relocatable Python, every package, dreamwalker and what the
deploy is. The site's build command runs it, with any Python from 3.8 on and nothing installed.

One rule: what is shipped is what the lock names, by hash; nothing of the machine that builds it is in there.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BUILD = ROOT / "build"
ROOMS = ("dreamwalker", "actors", "tools", "storage", "migrations")

PYTHON = "cpython-3.13-linux-x86_64-gnu"

UNUSED = (
    "include",
    "share",
    "lib/pkgconfig",
    "lib/python3*/test",
    "lib/python3*/idlelib",
    "lib/python3*/tkinter",
    "lib/python3*/turtledemo",
    "lib/python3*/turtle.py",
    "lib/python3*/lib2to3",
    "lib/python3*/ensurepip",
    "lib/python3*/config-*",
    "lib/python3*/lib-dynload/_tkinter*",
    "lib/python3*/lib-dynload/_test*",
    "lib/python3*/site-packages/*",
    "lib/libpython*.a",
    "lib/tcl*",
    "lib/tk*",
    "lib/itcl*",
    "lib/thread*",
    "lib/Tix*",
    "lib/libtcl*",
    "lib/libtk*",
)
"""Of a Python, what a server has no use for; patterns below its root."""


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description="Make build/, which the archive of the Netlify Server carries.")
    parser.add_argument(
        "--python-from", type=Path, metavar="DIR", help="copy this Python instead: for tests, not for a deploy"
    )
    given = parser.parse_args()
    shutil.rmtree(BUILD, ignore_errors=True)
    BUILD.mkdir()
    if given.python_from is None:
        fetch_python()
    else:
        shutil.copytree(given.python_from, BUILD / "python", symlinks=True, ignore=shutil.ignore_patterns(*ignored()))
    install()
    prune()
    compile_all()
    (BUILD / "deploy.json").write_text(json.dumps(deploy(given.python_from is not None), indent=2) + "\n")
    files = sum(1 for path in BUILD.rglob("*") if path.is_file())
    size = sum(path.stat().st_size for path in BUILD.rglob("*") if path.is_file() and not path.is_symlink())
    print(f"build/ holds {files:,} files, {size / 1e6:.0f} MB")


def fetch_python(python: str = PYTHON) -> None:
    """A Python that runs wherever it is put. uv knows where it is and its hash, and is itself taken by hash."""
    tools = BUILD / "tools"
    run(sys.executable, "-m", "venv", str(tools))
    run(
        str(tools / "bin/python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check",
        "--only-binary", ":all:", "--require-hashes", "--requirement", str(ROOT / "netlify/uv.txt"),
    )  # fmt: skip
    install_python(tools / "bin/uv", python)
    shutil.rmtree(tools)


def install_python(uv: Path, python: str) -> None:
    """Have uv fetch a Python into `build/python`. Another that may be on this machine does not count."""
    into = BUILD / "pythons"
    run(
        str(uv), "python", "install", "--no-config", "--managed-python", "--no-bin", "--install-dir", str(into), python
    )  # fmt: skip
    (made,) = (path for path in into.iterdir() if path.is_dir() and not path.is_symlink() and path.name[0] != ".")
    made.rename(BUILD / "python")
    shutil.rmtree(into)


def ignored() -> "tuple[str, ...]":
    """Names that are not copied of a Python which stands in: they are many."""
    return ("test", "idlelib", "tkinter", "__pycache__", "site-packages")


def install() -> None:
    """Every package of the lock, with that Python's own pip, and dreamwalker beside them."""
    site = BUILD / "site"
    pip = BUILD / "pip"  # one that needs nothing of the Python that is shipped
    run(sys.executable, "-m", "venv", str(pip))
    run(
        str(pip / "bin/python"), "-m", "pip", "--python", str(BUILD / "python/bin/python3"), "install", "--quiet",
        "--disable-pip-version-check", "--target", str(site), "--only-binary", ":all:", "--no-compile",
        "--require-hashes", "--requirement", str(ROOT / "netlify/requirements.txt"),
    )  # fmt: skip
    shutil.rmtree(pip)
    for room in ROOMS:
        shutil.copytree(ROOT / room, site / room, ignore=shutil.ignore_patterns("__pycache__"))
    (site / "netlify").mkdir()
    for module in ("__init__.py", *(path.name for path in (ROOT / "netlify").glob("*.py") if path.name != "build.py")):
        shutil.copy(ROOT / "netlify" / module, site / "netlify" / module)


def prune() -> None:
    """Throw away what a server has no use for."""
    for pattern in UNUSED:
        for path in (BUILD / "python").glob(pattern):
            shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
    shutil.rmtree(BUILD / "site/bin", ignore_errors=True)
    for path in list((BUILD / "site").rglob("tests")):
        if path.is_dir():
            shutil.rmtree(path)


def compile_all() -> None:
    """Compile ahead, bound to what the sources hold: the archive does not keep their times."""
    python = str(BUILD / "python/bin/python3")
    mode = ("--invalidation-mode", "unchecked-hash")
    library = subprocess.check_output(
        [python, "-c", "import sysconfig; print(sysconfig.get_path('stdlib'))"], text=True
    )
    run(python, "-m", "compileall", "-q", *mode, str(BUILD / "site"), library.strip())


def deploy(stand_in: bool) -> "dict[str, object]":
    """What is known of the deploy while it is built, and only then. The site's own address comes first."""
    addresses = [os.environ.get(name) for name in ("URL", "DEPLOY_PRIME_URL", "DEPLOY_URL")]
    return {
        "id": os.environ.get("DEPLOY_ID", ""),
        "context": os.environ.get("CONTEXT", "dev"),
        "urls": list(dict.fromkeys(filter(None, addresses))),
        "commit": os.environ.get("COMMIT_REF", ""),
        "python": "a stand-in for tests" if stand_in else PYTHON,
    }


def run(*command: str) -> None:
    """Run a command, or end with what it says."""
    if (status := subprocess.call(command)) != 0:
        sys.exit(f"{command[0]} ended with status {status}")


if __name__ == "__main__":
    main()
