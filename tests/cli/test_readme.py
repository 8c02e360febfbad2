"""What the README and the pages beside it say can be done as it stands there."""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.conftest import ROOT, Machine, stop

README = (ROOT / "README.md").read_text()
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
ON_ITS_OWN = ("dreamwalker chat", "dreamwalker serve")
"""What stays until it is left: tried elsewhere."""


def commands() -> Iterator[str]:
    """The commands in the README's blocks, in their order."""
    for block in re.findall(r"```sh\n(.*?)```", README, re.DOTALL):
        for line in block.splitlines():
            command = line.partition("  #")[0].strip()
            if command.startswith("dreamwalker ") and command not in ON_ITS_OWN:
                yield command


@pytest.mark.slow
def test_every_command_of_the_readme_runs_as_it_is_printed(
    machine: Machine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "mail.txt").write_text("Please answer soon. Karl")
    monkeypatch.chdir(tmp_path)
    server = machine.serve()
    tried = list(commands())
    try:
        for command in tried:
            answer = machine.call(*shlex.split(command)[1:])
            nothing_there = (answer.exit_code == 4 and "holds" in answer.stderr) or "why 1234" in command
            assert answer.exit_code == 0 or nothing_there, (command, answer.output)
            assert "should not have" not in answer.output
    finally:
        stop(server)
    assert len(tried) > 20 and (tmp_path / "all.jsonl.gz").exists()


def test_every_command_of_the_readme_is_one() -> None:
    from dreamwalker.cli.command import NOUNS

    named = re.findall(r"`dreamwalker ([a-z]+)", "".join(page.read_text() for page in PAGES))
    assert {command.split()[1] for command in commands()} | set(named) <= {*NOUNS}


def test_every_target_and_page_that_is_named_is_there() -> None:
    makefile = (ROOT / "Makefile").read_text()
    for page in PAGES:
        text = page.read_text()
        blocks = "".join(re.findall(r"```sh\n(.*?)```", text, re.DOTALL))
        for target in re.findall(r"`make ([a-z-]+)", text) + re.findall(r"^make ([a-z-]+)", blocks, re.MULTILINE):
            assert re.search(rf"^{target}:", makefile, re.MULTILINE), (page, target)
        for link in re.findall(r"\]\((?!https?://|#)([^)#]+)", text):
            assert (page.parent / link).exists(), (page, link)


def test_the_first_screen_says_what_it_is_how_to_begin_and_what_to_mind() -> None:
    first = "\n".join(README.splitlines()[:35])
    assert (
        first.index("A personal agent") < first.index("make chat") < first.index("make serve") < first.index("can lie")
    )
