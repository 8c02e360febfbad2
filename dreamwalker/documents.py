"""What the documentation says of the program, made from the program: `python -m dreamwalker.documents` writes it.

One rule: a page that is made here is never edited by hand; a test sees to it that it is as the program is.
"""

import ast
import inspect
from collections.abc import Iterator
from pathlib import Path

from tools import limits

FOLDER = Path(__file__).resolve().parent.parent / "docs"

_LIMITS = """# Limits

Every size, count and time that bounds something, as this version has them. This page is made from
[tools/limits.py](../tools/limits.py) by `make docs`. A name ends in its unit.

Those of the first part can be set for a server by a variable of its environment: `DREAMWALKER_LIMIT_` and the name in
capitals, for instance `DREAMWALKER_LIMIT_TURNS=80`. They are for tests and for odd cases; the defaults belong together.
"""


def pages() -> dict[str, str]:
    """Each page that is made, by its name."""
    return {"limits.md": _limits()}


def _limits() -> str:
    parts = [_LIMITS, *_sections(limits.Limits), "## What nothing can set\n", *_table(_rows(limits.Fixed))]
    return "\n".join(parts)


def _sections(of: type) -> Iterator[str]:
    """A table for each part of a class of limits, which a comment `# -- name` begins."""
    rows = list(_rows(of))
    for section in dict.fromkeys(section for section, *_ in rows):
        yield f"## {section[:1].upper()}{section[1:]}\n"
        yield from _table(row for row in rows if row[0] == section)


def _table(rows: Iterator[tuple[str, str, str, str]]) -> Iterator[str]:
    yield "| limit | value | meaning |\n| --- | --- | --- |"
    for _, name, value, meaning in rows:
        yield f"| `{name}` | {value} | {meaning} |"
    yield ""


def _rows(of: type) -> Iterator[tuple[str, str, str, str]]:
    """The section, name, value and meaning of each limit, from the source."""
    lines = inspect.getsource(of).splitlines()
    (made,) = ast.parse("\n".join(lines)).body
    assert isinstance(made, ast.ClassDef)
    there = of()
    for at, node in enumerate(made.body):
        if not isinstance(node, ast.AnnAssign) or not isinstance(node.target, ast.Name):
            continue
        after = made.body[at + 1] if at + 1 < len(made.body) else None
        said = after.value.value if isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant) else ""
        name = node.target.id
        yield _section(lines, node.lineno), name, _shown(getattr(there, name)), " ".join(str(said).split())


def _section(lines: list[str], before: int) -> str:
    found = (line.partition("# -- ")[2] for line in reversed(lines[:before]) if "# -- " in line)
    return next(found, "")


def _shown(value: float) -> str:
    return f"{value:,}" if isinstance(value, int) else f"{value:,.10g}"


def main() -> None:
    """Write all of them."""
    for name, text in pages().items():
        (FOLDER / name).write_text(text)


if __name__ == "__main__":
    main()
