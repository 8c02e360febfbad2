"""What the documentation says of the program, made from the program: `python -m dreamwalker.documents` writes it.

One rule: a page that is made here is never edited by hand; a test sees to it that it is as the program is.
"""

import ast
import inspect
from collections.abc import Iterator
from pathlib import Path

from tools import limits

from .events import EVENTS, FACTS

FOLDER = Path(__file__).resolve().parent.parent / "docs"

_LIMITS = """# Limits

Every size, count and time that bounds something, as this version has them. This page is made from
[tools/limits.py](../tools/limits.py) by `make docs`. A name ends in its unit.

Those of the first part can be set for a server by a variable of its environment: `DREAMWALKER_LIMIT_` and the name in
capitals, for instance `DREAMWALKER_LIMIT_TURNS=80`. They are for tests and for odd cases; the defaults belong together.
"""

_LOGS = """# Logs

The server writes one line for each event to its standard error: the time (UTC), the level, the event, and facts.
This page is made from [dreamwalker/events.py](../dreamwalker/events.py) by `make docs`.

```
2026-11-30T07:00:00.181Z info request method=POST route=/api/agents/{{name}}/messages status=202 … message=412
2026-11-30T07:00:00.189Z info message.placed message=412 conversation=1 run=413 act=message:412 kind=owner
2026-11-30T07:00:02.730Z info model.answered conversation=1 run=413 model=claude-haiku-5-5 ms=2538 input_tokens=1204 …
2026-11-30T07:00:02.738Z info call.ended conversation=1 run=413 call=call:413.1.0 tool=write_note failed=no ms=2 …
2026-11-30T07:00:04.011Z info run.ended conversation=1 run=413 act=message:412 state=done turns=2 seconds=3.83
```

A line holds ids, counts, times and our own words. It never holds what you or a model wrote, a title, an address with
its query, or a secret of the server; of an error from elsewhere it tells the kind and the place, not the words. A value
of more than letters, digits and a few signs is a JSON text, so a line is a line whatever stands in it.

## Following a message

The line of the request that brought a message has its number, and whatever comes of it has the same `act`:

```sh
grep 'message=412 ' serve.log         # from the door into its conversation, and which run it belongs to
grep 'run=413 ' serve.log             # what the run did, step by step
grep 'act=message:412 ' serve.log     # the runs of workers and of other agents that it set going
dreamwalker why 413                   # the same from the database, with the words
```

The numbers are those of the rows: `messages.id`, `runs.id`, `conversations.id`, `calls (run, turn, position)`,
`questions.id`, `things.id`, `pushes.id`.

## Where they are

`dreamwalker serve` writes to its terminal, a chat that starts a server of its own to `serve.log` in
`~/.dreamwalker`, and on Netlify they are in the log of the server, between the lines of its entry and of the
function that wakes it, which look the same. `DREAMWALKER_LOG` says how much there is: `debug`
(with the files of the web app and the questions whether it is healthy), `info`, `warning` or `error`.

## Events

| event | meaning |
| --- | --- |
{events}

## Facts

| fact | meaning |
| --- | --- |
{facts}
"""


def pages() -> dict[str, str]:
    """Each page that is made, by its name."""
    return {"limits.md": _limits(), "logs.md": _logs()}


def _logs() -> str:
    events = "\n".join(f"| `{name}` | {meaning} |" for name, meaning in EVENTS.items())
    facts = "\n".join(f"| `{name}` | {meaning} |" for name, meaning in FACTS.items())
    return _LOGS.format(events=events, facts=facts)


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
