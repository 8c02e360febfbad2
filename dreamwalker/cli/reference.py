"""The reference of the command, made of its own help: `python -m dreamwalker.cli.reference`.

One rule: nothing stands in it that the command does not say itself.
"""

from collections.abc import Iterator

import click

from .command import root

COLUMNS = 88

_HEAD = """# The command

Made of the command's own help by `make docs`.
"""


def document() -> str:
    """The whole reference, as Markdown."""
    parts = [_HEAD]
    for context in _contexts(root, "dreamwalker", None):
        level = "#" * min(2 + context.command_path.count(" "), 4)
        parts.append(f"{level} {context.command_path}\n\n```text\n{context.command.get_help(context).rstrip()}\n```\n")
    return "\n".join(parts)


def _contexts(command: click.Command, name: str, parent: click.Context | None) -> Iterator[click.Context]:
    """A command and every one below it, in the order of the help."""
    context = click.Context(command, info_name=name, parent=parent, terminal_width=COLUMNS, **command.context_settings)
    yield context
    if isinstance(command, click.Group):
        for inner in command.list_commands(context):
            found = command.get_command(context, inner)
            if found is not None and not found.hidden:
                yield from _contexts(found, inner, context)


if __name__ == "__main__":
    print(document(), end="")
