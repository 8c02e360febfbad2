"""Portable SQL to Postgres: the placeholders and the one SQLite idiom that our statements use, and what a statement
is: whether it reads, writes, or changes what it must not.

One rule: only what stands outside quotes, quoted identifiers, dollar quotes and comments is touched or looked at. A
`?` is always a parameter, so the jsonb operators that contain one can't be used.
"""

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Literal

import attrs

_TOKEN = re.compile(
    r"""
      (?P<string>  [eE]'(?:[^'\\]|\\.|'')*(?:'|\Z) (?:\s*\n\s*'(?:[^'\\]|\\.|'')*(?:'|\Z))*  |  '(?:[^']|'')*(?:'|\Z) )
    | (?P<name>    "(?:[^"]|"")*(?:"|\Z) )
    | (?P<dollar>  \$(?P<tag>(?:[^\W\d]\w*)?)\$ .*? (?:\$(?P=tag)\$|\Z) )
    | (?P<remark>  --[^\n\r]* )
    | (?P<open>    /\* )
    | (?P<no>      (?<!:):no\b )
    | (?P<param>   \? )
    | (?P<end>     ; )
    | (?P<bracket> [()] )
    | (?P<word>    [^\W\d][\w$]* )
    | (?P<space>   \s+ )
    """,
    re.VERBOSE | re.DOTALL,
)
_MARK = re.compile(r"/\*|\*/")

_READING = {"SELECT", "VALUES", "TABLE", "WITH", "SHOW", "EXPLAIN"}
_WRITING = {"INSERT", "UPDATE", "DELETE", "MERGE"}
_SCHEMA = {"CREATE", "ALTER", "DROP", "COMMENT", "GRANT", "REVOKE", "SECURITY", "REASSIGN", "IMPORT", "REINDEX"}

Kind = Literal["read", "write", "schema", "other"]
"""A query; one that changes or locks rows; one that makes, changes or removes tables and the like; the rest."""

_IF_ABSENT = ["IF", "NOT", "EXISTS"]


@attrs.frozen
class Piece:
    """A stretch of SQL text. `kind` is the name of its token, or '' for operators, numbers and the like."""

    kind: str
    text: str

    @property
    def blank(self) -> bool:
        return self.kind in ("space", "remark")


@attrs.frozen
class Translated:
    """One statement as Postgres takes it.

    `slots` says what each `$n` stands for, in order: True a parameter, False the commit number. `words` are the bare
    words in upper case, in order. `absent` is the name of what a `CREATE … IF NOT EXISTS` would make.
    """

    text: str
    slots: tuple[bool, ...]
    words: tuple[str, ...]
    kind: Kind
    absent: str | None = None

    @property
    def parameters(self) -> int:
        """How many parameters the caller passes."""
        return sum(self.slots)

    @property
    def gist(self) -> str:
        """Its first words, to name it in an error."""
        return " ".join(self.words[:4]).lower()


def pieces(sql: str) -> Iterator[Piece]:
    """The text taken apart; put together again it is the same text."""
    at = 0
    while token := _TOKEN.search(sql, at):
        if token.start() > at:
            yield Piece("", sql[at : token.start()])
        kind, at = token.lastgroup or "", token.end()
        if kind == "open":
            kind, at = "remark", _comment_end(sql, token.start())
        yield Piece(kind, sql[token.start() : at])
    if at < len(sql):
        yield Piece("", sql[at:])


def _comment_end(sql: str, start: int) -> int:
    depth, at = 0, start
    for mark in _MARK.finditer(sql, start):
        depth += 1 if mark.group() == "/*" else -1
        at = mark.end()
        if depth == 0:
            return at
    return len(sql)


@lru_cache(maxsize=256)
def split(script: str) -> tuple[str, ...]:
    """The statements of a script, those that are empty left out."""
    statements: list[list[Piece]] = [[]]
    for piece in pieces(script):
        if piece.kind == "end":
            statements.append([])
        else:
            statements[-1].append(piece)
    return tuple("".join(p.text for p in one) for one in statements if not all(p.blank for p in one))


@lru_cache(maxsize=2048)
def translate(sql: str, *, first: int = 1, number: str | None = None) -> Translated:
    """Translate one statement: `?` to `$first`, …, `:no` and `INSERT OR IGNORE`.

    `number` is SQL text that stands for the commit number; None makes it a parameter of its own. Raises ValueError
    when there is more than one statement.
    """
    parts = list(pieces(sql))
    while parts and (parts[-1].blank or parts[-1].kind == "end"):
        parts.pop()
    if any(part.kind == "end" for part in parts):
        raise ValueError(f"one statement at a time: {sql!r}")
    words = tuple(part.text.upper() for part in parts if part.kind == "word")
    absent = _if_absent(parts)
    _ignore_conflicts(parts)
    slots: list[bool] = []
    text = "".join(_numbered(part, slots, first, number) for part in parts)
    return Translated(text.strip(), tuple(slots), words, _kind(words), absent)


def _kind(words: tuple[str, ...]) -> Kind:
    first = words[0] if words else ""
    made = words.count("INTO") - words.count("INSERT") - words.count("MERGE")  # `SELECT … INTO` makes a table
    if first in _SCHEMA or (first in _READING and made > 0):
        return "schema"
    if first in _WRITING or (first in _READING and _WRITING.intersection(words)):
        return "write"
    return "read" if first in _READING else "other"


def _numbered(part: Piece, slots: list[bool], first: int, number: str | None) -> str:
    """The piece as Postgres takes it; a placeholder also takes its slot."""
    if part.kind == "param":
        slots.append(True)
        return f"${first + len(slots) - 1}"
    if part.kind == "no":
        if number is not None:
            return number
        slots.append(False)
        return f"${first + len(slots) - 1}::bigint"
    return part.text


def _ignore_conflicts(parts: list[Piece]) -> None:
    """`INSERT OR IGNORE INTO …` as Postgres says it: the clause comes last, but for RETURNING."""
    at = [i for i, part in enumerate(parts) if part.kind == "word"]
    for a, b, c in zip(at, at[1:], at[2:]):
        if [parts[i].text.upper() for i in (a, b, c)] == ["INSERT", "OR", "IGNORE"]:
            parts.insert(_values_end(parts, c), Piece("", "\nON CONFLICT DO NOTHING "))
            del parts[a + 1 : c + 1]
            return _ignore_conflicts(parts)
    return None


def _values_end(parts: list[Piece], at: int) -> int:
    """Where the INSERT that contains `at` may say what happens on a conflict."""
    depth = 0
    for i in range(at, len(parts)):
        if parts[i].kind == "bracket":
            depth += 1 if parts[i].text == "(" else -1
        if depth < 0 or (depth == 0 and parts[i].kind == "word" and parts[i].text.upper() == "RETURNING"):
            return i
    return len(parts)


def _if_absent(parts: list[Piece]) -> str | None:
    """The name, as it is written, that a CREATE … IF NOT EXISTS gives to a table, index, view or sequence."""
    said = [part for part in parts if not part.blank]
    upper = [part.text.upper() if part.kind == "word" else "" for part in said]
    if upper[:1] != ["CREATE"]:
        return None
    for at in range(1, len(said) - 3):
        if upper[at : at + 3] == _IF_ABSENT:
            name = said[at + 3].text
            if said[at + 4 : at + 5] == [Piece("", ".")]:
                name += "." + said[at + 5].text
            return name
    return None
