"""`export`, `import`, `backup`: everything that is remembered, as one file.

One rule: a file of this name is a whole archive, looked through to its end; what is being written has another name.
"""

import gzip
import hashlib
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import IO

import click
import trio

from actors.supervisor import unwrap
from storage.archive import Archive, BadArchive, Tell, verify
from storage.errors import StorageError

from .. import config as configuration
from .. import system
from . import local
from .client import Api
from .command import Chosen
from .options import Whole, json_option
from .problems import Problem
from .reach import found_or_started
from .terminal import remark, say, show_json, table

_PART = ".part"
_KEPT = 10


@click.command(
    epilog="""\b
Examples:
  dreamwalker export everything.jsonl.gz
  dreamwalker export - | gpg --encrypt --recipient me > everything.gpg

The archive is lines of JSON, described in docs/archive.md. It may be made while dreamwalker works."""
)
@click.argument("file", type=click.Path(dir_okay=False, allow_dash=True, path_type=Path))
@click.option("--secrets", is_flag=True, help="Also what opens doors: buttons that lie on a phone still work then.")
@click.option("--force", is_flag=True, help="Replace a file that is there.")
@json_option
@click.pass_obj
def export(chosen: Chosen, file: Path, secrets: bool, force: bool, as_json: bool) -> None:
    """Write everything that is remembered into one FILE, compressed if its name ends in .gz."""
    if str(file) == "-":
        with found_or_started(chosen) as server:
            for piece in server.api.download("/export", secrets="true" if secrets else "false"):
                sys.stdout.buffer.write(piece)
        return
    if file.exists() and not force:
        raise Problem(f"{file} is there already. Choose another name, or say --force.")
    with found_or_started(chosen) as server:
        _tell(file, _write(server.api, file, secrets=secrets), as_json)


@click.command(
    epilog="""\b
Examples:
  dreamwalker import everything.jsonl.gz
  dreamwalker import --check everything.jsonl.gz       only see whether it is whole
  DREAMWALKER_HOME=~/new dreamwalker import everything.jsonl.gz

It goes into the embedded database, or into that of DREAMWALKER_DATABASE_URL, which must hold nothing. Whatever happens,
all of it is there afterwards or nothing."""
)
@click.argument("file", type=click.Path(dir_okay=False, exists=True, path_type=Path))
@click.option("--check", is_flag=True, help="Only look whether the archive is whole.")
@json_option
@click.pass_obj
def import_(chosen: Chosen, file: Path, check: bool, as_json: bool) -> None:
    """Bring an archive into a database that holds nothing."""
    if check:
        _tell(file, _verify(file), as_json)
        return
    config = configuration.read()
    if chosen.url is not None:
        raise Problem("An archive is brought into a database, not to a server: set DREAMWALKER_DATABASE_URL to its.")
    if (there := local.in_the_way(config)) is not None:
        raise Problem(f"{there} Import then.")

    async def load(lines: Iterable[bytes], tell: Tell) -> Archive:
        async with system.start(config) as asleep:
            return await asleep.database.load(lines, tell)

    with _shown("Importing") as tell, _opened(file) as lines:
        archive = _answered(lambda: trio.run(load, lines, tell))
    _tell(file, archive, as_json, "is in the database now, all of it")
    if coming := [f"{count:,} {kind}{'' if count == 1 else 's'}" for kind, count in archive.coming.items() if count]:
        remark(
            f"Active in it: {' and '.join(coming)}. They come up here from now on, as soon as dreamwalker runs.\n"
            "The copy that it was exported from must be stopped for good, or they come up twice."
        )


@click.command(
    epilog="""\b
Examples:
  dreamwalker backup                       into ~/.dreamwalker/backups
  dreamwalker backup /mnt/disk --keep 30

In a crontab:  0 3 * * *  dreamwalker backup --json >> ~/backups.log"""
)
@click.argument("folder", required=False, type=click.Path(file_okay=False, path_type=Path))
@click.option("--keep", default=_KEPT, show_default=True, type=Whole(min=1), help="How many to keep there.")
@json_option
@click.pass_obj
def backup(chosen: Chosen, folder: Path | None, keep: int, as_json: bool) -> None:
    """Write an archive with the time in its name, look it through, and let go of the oldest."""
    folder = folder or configuration.read().home / "backups"
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise Problem(f"Backups can't be kept in {folder}: {error.strerror}.") from None
    file = folder / f"dreamwalker-{datetime.now(UTC):%Y%m%dT%H%M%SZ}.jsonl.gz"
    with found_or_started(chosen) as server:
        archive = _write(server.api, file, secrets=False)
    for old in sorted(folder.glob("dreamwalker-*T*Z.jsonl.gz"))[:-keep]:
        old.unlink()
    _tell(file, archive, as_json)


def _write(api: Api, file: Path, *, secrets: bool) -> Archive:
    """Have an archive sent, and give it its name once it was looked through."""
    part = file.with_name(file.name + _PART)
    try:
        with _creating(part, compressed=file.suffix == ".gz") as out, _shown("Exporting") as tell:
            whole = _Counted(tell)
            for piece in api.download("/export", secrets="true" if secrets else "false"):
                out.write(piece)
                whole.count(piece)
        archive = _verify(part, compressed=file.suffix == ".gz")
        part.replace(file)
    finally:
        with suppress(FileNotFoundError):
            part.unlink()
    return archive


class _Counted:
    """Counts lines as they come, for the bar. The first says how many there will be."""

    def __init__(self, tell: Tell) -> None:
        self._tell, self._lines, self._all, self._first = tell, 0, 0, b""

    def count(self, piece: bytes) -> None:
        """Take in the next piece."""
        if not self._all:
            self._first += piece
            line, found, _ = self._first.partition(b"\n")
            if found:
                self._all = max(_head_rows(line), 1)
        self._lines += piece.count(b"\n")
        self._tell(min(self._lines, self._all), self._all)


def _head_rows(line: bytes) -> int:
    try:
        return Archive([line + b"\n"]).head.rows
    except BadArchive:
        return 0  # it is looked through when all of it is there


def _verify(file: Path, *, compressed: bool | None = None) -> Archive:
    with _shown("Checking") as tell, _opened(file, compressed=compressed) as lines:

        async def look() -> Archive:
            return await verify(lines, tell)

        return _answered(lambda: trio.run(look))


def _answered(work: Callable[[], Archive]) -> Archive:
    try:
        return work()
    except Exception as raised:
        error = unwrap(raised)
        if isinstance(error, StorageError):
            raise Problem(str(error)) from None
        if isinstance(error, gzip.BadGzipFile | EOFError):
            raise Problem(f"The archive can't be read: {error}.") from None
        raise error from None


@contextmanager
def _creating(part: Path, *, compressed: bool) -> Iterator[IO[bytes]]:
    """A new file that only the owner can read, on the disk when the block is left."""
    try:
        descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    except OSError as error:
        raise Problem(f"{part.with_suffix('')} can't be written: {error.strerror}.") from None
    with open(descriptor, "wb") as raw:
        if compressed:
            with gzip.GzipFile(fileobj=raw, mode="wb", compresslevel=6, mtime=0, filename="") as out:
                yield out  # type: ignore[misc]
        else:
            yield raw
        raw.flush()
        os.fsync(raw.fileno())


@contextmanager
def _opened(file: Path, *, compressed: bool | None = None) -> Iterator[Iterable[bytes]]:
    """The lines of an archive."""
    if file.suffix == ".gz" if compressed is None else compressed:
        with gzip.open(file, "rb") as opened:
            yield opened
    else:
        with file.open("rb") as plain:
            yield plain


@contextmanager
def _shown(what: str) -> Iterator[Tell]:
    """A bar on the terminal, if there is one."""
    with click.progressbar(length=1, label=what, file=sys.stderr) as bar:

        def tell(done: int, all_rows: int) -> None:
            bar.length = max(all_rows, 1)
            bar.update(done - bar.pos)

        yield tell


def _tell(file: Path, archive: Archive, as_json: bool, says: str = "is whole") -> None:
    """What there was, and by which hash it can be known again."""
    sha256 = hashlib.sha256(repr(sorted((name, part["sha256"]) for name, part in archive.manifest.items())).encode())
    if as_json:
        show_json(
            {
                "file": str(file),
                "made_at": archive.head.made_at,
                "rows": archive.head.rows,
                "commit_no": archive.head.commit_no,
                "content": sha256.hexdigest(),
                "tables": archive.manifest,
            }
        )
        return
    say(table((name, f"{part['rows']:,}") for name, part in archive.manifest.items() if part["rows"]))
    say(f"\n{archive.head.rows:,} rows, content {sha256.hexdigest()[:16]}")
    remark(f"{file} {says}.")
