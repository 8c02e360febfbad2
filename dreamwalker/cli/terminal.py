"""What commands print: text that cannot hijack a terminal, tables and money.

One rule: whatever a model, a tool or a server wrote goes through `drawn` before it reaches a terminal.
"""

import json
from collections.abc import Iterable, Sequence
from typing import Any

import click

from tools.unseen import UNSEEN

Json = dict[str, Any]

# They join letters and emoji and move nothing.
_JOINERS = "\u200c\u200d\ufe0e\ufe0f"


_DIGITS_MAX = 18  # all that a bigint always holds


def drawn(text: str) -> str:
    """The text with every character that cannot be seen, or that a terminal would obey, drawn as ⟨U+001B⟩.

    Line feeds and tabs stay, and so does what joins letters and emoji.
    """
    text = text.replace("\r\n", "\n").replace("\u2028", "\n").replace("\u2029", "\n")
    return UNSEEN.sub(lambda found: found[0] if found[0] in _JOINERS else f"⟨U+{ord(found[0]):04X}⟩", text)


def sendable(text: str) -> str:
    """What was typed, without what no request can carry: lone surrogates, from a terminal that isn't UTF-8."""
    return text.encode("utf-8", "replace").decode()


def number_in(text: str) -> int | None:
    """The number that a text is; None if it is none, or longer than a number of anything here."""
    return int(text) if text.isdecimal() and len(text) <= _DIGITS_MAX else None


def one_line(text: str, characters: int = 100) -> str:
    """The beginning of a text as one line."""
    line = " ".join(text.split())
    return line if len(line) <= characters else line[: characters - 1].rstrip() + "…"


def say(text: str = "") -> None:
    """Print what was asked for."""
    click.echo(drawn(text))


def remark(text: str) -> None:
    """Print beside what was asked for, on stderr."""
    click.echo(drawn(text), err=True)


def show_json(value: object) -> None:
    """Print JSON that a terminal can't be hijacked with either: unseen characters are escaped."""
    text = json.dumps(value, ensure_ascii=False, indent=2)
    click.echo(UNSEEN.sub(lambda found: json.dumps(found[0])[1:-1], text))


def table(rows: Iterable[Sequence[str]]) -> str:
    """Rows in columns, as one text; the last column may be as long as it is."""
    drawn_rows = [[drawn(cell) for cell in row] for row in rows]
    if not drawn_rows:
        return ""
    widths = [max(map(len, column)) for column in zip(*drawn_rows, strict=True)]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in drawn_rows
    )


def dollars(amount: float) -> str:
    """Money for reading: cents, and as many more places as a small sum needs."""
    return f"${amount:,.2f}" if amount == 0 or amount >= 0.1 else f"${amount:.4f}"
