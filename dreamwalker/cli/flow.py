"""Text that comes in pieces, cut into rows that fit a terminal.

One rule: prose is broken between words; a block of code is left as it is, so that what is copied from it is right.
"""

import re

from prompt_toolkit.utils import get_cwidth

TAIL_ROWS = 6
"""A line without a place to break it is kept together up to so many rows."""

_WORD = re.compile(" *[^ ]+| +")
_FENCE = ("```", "~~~")


class Flow:
    """What was fed and not yet given out is `tail`: the beginning of a row."""

    def __init__(self) -> None:
        self.tail = ""
        self._in_code = False
        self._begun = False  # rows of the present line were given out already

    def feed(self, text: str, columns: int) -> str:
        """Take more text in, and give out the rows that are complete, each with its line feed."""
        *lines, self.tail = (self.tail + text).split("\n")
        rows = [row for line in lines for row in self._end_of_line(line, columns)]
        if not self._keeps_together(self.tail):
            *full, self.tail = wrapped(self.tail, columns)
            rows += full
            self._begun = self._begun or bool(full)
        while get_cwidth(self.tail) > TAIL_ROWS * columns:
            head, self.tail = _cut(self.tail, columns)
            rows.append(head)
            self._begun = True
        return "".join(f"{row}\n" for row in rows)

    def end(self) -> str:
        """End the text, and give out what is left of it."""
        rest, self.tail, self._in_code, self._begun = self.tail, "", False, False
        return f"{rest}\n" if rest else ""

    def _end_of_line(self, line: str, columns: int) -> list[str]:
        rows = [line] if self._keeps_together(line) else wrapped(line, columns)
        if _is_fence(line) and not self._begun:
            self._in_code = not self._in_code
        self._begun = False
        return rows

    def _keeps_together(self, line: str) -> bool:
        return self._in_code or (_is_fence(line) and not self._begun)


def wrapped(line: str, columns: int) -> list[str]:
    """A line as rows, broken between words. A word that is wider than a row is left to the terminal."""
    rows = [""]
    for word in _WORD.findall(line):
        if rows[-1] and get_cwidth(rows[-1] + word) > columns:
            rows.append(word.lstrip(" "))
        else:
            rows[-1] += word
    return rows


def _is_fence(line: str) -> bool:
    return line.lstrip().startswith(_FENCE)


def _cut(line: str, columns: int) -> tuple[str, str]:
    """The first row of a line that has no place to break it, and the rest."""
    width = 0
    for at, char in enumerate(line):
        width += get_cwidth(char)
        if width > columns:
            return line[:at], line[at:]
    return line, ""
