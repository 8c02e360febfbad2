"""The reference of the command, and its completion by a shell."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from dreamwalker.cli.reference import document
from tests.cli.conftest import Machine

REFERENCE = Path(__file__).parent.parent.parent / "docs/command.md"


def test_the_reference_is_what_the_command_says_of_itself() -> None:
    assert REFERENCE.read_text() == document(), "run `make docs`"


def test_every_noun_teaches_by_example() -> None:
    parts = re.findall(r"^#+ (dreamwalker[^\n]*)\n\n```text\n(.*?)```", document(), re.DOTALL | re.MULTILINE)
    nouns = {command: help for command, help in parts if command.count(" ") <= 1}
    assert len(nouns) > 15 and len(parts) > len(nouns)
    assert [command for command, help in nouns.items() if "Example" not in help] == []


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_what_a_shell_needs_is_printed(machine: Machine, shell: str) -> None:
    said = machine.run("completion", shell)
    assert said.returncode == 0 and "_DREAMWALKER_COMPLETE" in said.stdout


def test_a_line_is_completed_without_importing_what_only_a_noun_needs(machine: Machine) -> None:
    asked = {"_DREAMWALKER_COMPLETE": "bash_complete", "COMP_WORDS": "dreamwalker re", "COMP_CWORD": "1"}
    said = machine.run(PYTHONPROFILEIMPORTTIME="1", **asked)
    assert said.stdout.split() == ["plain,remind", "plain,reminders", "plain,retention"]
    assert " dreamwalker.cli.reminders\n" not in said.stderr
    verbs = machine.run(**asked | {"COMP_WORDS": "dreamwalker spend ", "COMP_CWORD": "2"})
    assert "plain,raise" in verbs.stdout.split()


@pytest.mark.skipif(shutil.which("bash") is None, reason="bash is needed")
def test_bash_takes_what_is_printed(machine: Machine) -> None:
    script = machine.run("completion", "bash").stdout
    ran = subprocess.run(
        ["bash", "-c", f"{script}\ncomplete -p dreamwalker"], capture_output=True, text=True, check=True
    )
    assert "_dreamwalker_completion" in ran.stdout
