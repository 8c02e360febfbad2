"""The token of a machine of one's own: made once, kept in a file that only its owner may read.

One rule: it is never printed.
"""

import contextlib
import os
import secrets
from pathlib import Path

from ..config import Config
from ..reading import TOKEN_BYTES_MIN
from .problems import Misconfigured


def read(config: Config) -> str | None:
    """The token that the environment or the file gives; None if neither does. Raises Misconfigured."""
    if config.token is not None:
        return config.token
    try:
        token = config.token_file.read_text().strip()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, UnicodeDecodeError) as error:
        raise Misconfigured(f"The token file {config.token_file} can't be read: {error}") from error
    wrong = "is too short" if len(token.encode()) < TOKEN_BYTES_MIN else "holds characters that no request can carry"
    if len(token.encode()) < TOKEN_BYTES_MIN or not (token.isascii() and token.isprintable()):
        raise Misconfigured(
            f"The token in {config.token_file} {wrong}. Delete the file, and `dreamwalker serve` makes a new one."
        )
    return token


def read_or_make(config: Config) -> str:
    """The token, made first if there is none. Two at once make one. Raises Misconfigured."""
    token = read(config)
    if token is not None:
        return token
    try:
        make_home(config.home)
        _write_once(config.token_file, secrets.token_urlsafe(TOKEN_BYTES_MIN))
    except OSError as error:
        raise Misconfigured(f"The token can't be kept in {config.home}: {error}") from error
    made = read(config)
    assert made is not None
    return made


def make_home(home: Path) -> None:
    """Make the folder of everything that is kept on this machine, for its owner alone. Raises OSError."""
    home.parent.mkdir(parents=True, exist_ok=True)
    home.mkdir(mode=0o700, exist_ok=True)


def _write_once(path: Path, text: str) -> None:
    """Write a private file whole or not at all; one that is there already stays."""
    aside = write_private(path.with_name(f"{path.name}.{os.getpid()}"), text)
    try:
        with contextlib.suppress(FileExistsError):
            os.link(aside, path)
    finally:
        aside.unlink()


def write_private(path: Path, text: str) -> Path:
    """Write a new file that only its owner may read, to the disk; the path itself is returned. Raises OSError."""
    make_home(path.parent)
    path.unlink(missing_ok=True)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    with open(descriptor, "w") as file:
        file.write(text + "\n")
        file.flush()
        os.fsync(file.fileno())
    return path
