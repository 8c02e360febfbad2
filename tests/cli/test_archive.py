"""`export`, `import` and `backup`: from one machine to another, while the first goes on working."""

import gzip
import json
from pathlib import Path

import pytest

from tests.cli.conftest import Machine, environment, stop


@pytest.fixture
def other(tmp_path: Path) -> Machine:
    """A second machine, on which nothing ever ran."""
    return Machine(environment(tmp_path / "other"))


def test_what_one_machine_exports_another_imports_and_knows(practiced: Machine, other: Machine, tmp_path: Path) -> None:
    practiced.call("ask", "Remember that Anna likes tulips.")
    for when in ("tomorrow 9:00", "tomorrow 10:00"):
        practiced.call("remind", when, "water the tulips")
    practiced.call("jobs", "add", "Weather", "Will it rain?", "--when", "every day 9:00")
    file = tmp_path / "all.jsonl.gz"
    made = practiced.call("export", str(file), "--json")
    assert made.exit_code == 0, made.output
    assert file.stat().st_mode & 0o077 == 0, "it is for the owner alone"
    brought = other.run("import", str(file), "--json")
    assert brought.returncode == 0, brought.stderr
    assert "Active in it: 2 reminders and 1 job. They come up here from now on" in brought.stderr
    assert "must be stopped for good, or they come up twice." in brought.stderr
    assert json.loads(brought.stdout)["content"] == json.loads(made.stdout)["content"]
    server = other.serve()
    try:
        assert "tulips" in other.call("notes").output
        assert other.call("ask", "What does Anna like?").exit_code == 0
        running = other.call("import", str(file))
        assert running.exit_code == 1 and running.output.endswith("Import then.\n")
    finally:
        stop(server)
    again = other.run("import", str(file))
    assert again.returncode == 1 and "Import into an empty one." in again.stderr


def test_an_archive_that_was_cut_short_is_told_apart(practiced: Machine, tmp_path: Path) -> None:
    file, cut = tmp_path / "all.jsonl", tmp_path / "cut.jsonl"
    assert practiced.call("export", str(file)).exit_code == 0
    assert practiced.call("import", "--check", str(file)).exit_code == 0
    cut.write_bytes(file.read_bytes()[:-100])
    checked = practiced.call("import", "--check", str(cut))
    assert checked.exit_code == 1 and "cut short" in checked.output
    (tmp_path / "cut.jsonl.gz").write_bytes(gzip.compress(file.read_bytes())[:-100])
    checked = practiced.call("import", "--check", str(tmp_path / "cut.jsonl.gz"))
    assert checked.exit_code == 1 and "can't be read" in checked.output


def test_a_file_that_is_there_is_not_replaced_unless_told_to(practiced: Machine, tmp_path: Path) -> None:
    file = tmp_path / "all.jsonl"
    file.write_text("mine")
    refused = practiced.call("export", str(file))
    assert refused.exit_code == 1 and file.read_text() == "mine"
    assert practiced.call("export", str(file), "--force").exit_code == 0
    assert file.read_text().startswith('{"dreamwalker":"archive"')
    assert [path.name for path in tmp_path.glob("*.part")] == []


def test_a_backup_keeps_the_newest(practiced: Machine, tmp_path: Path) -> None:
    old = [tmp_path / f"dreamwalker-2020010{day}T000000Z.jsonl.gz" for day in (1, 2, 3)]
    for file in old:
        file.write_bytes(b"")
    made = practiced.call("backup", str(tmp_path), "--keep", "2", "--json")
    assert made.exit_code == 0, made.output
    newest = Path(json.loads(made.stdout)["file"])
    assert sorted(tmp_path.glob("*.gz")) == [old[2], newest]
    assert practiced.call("import", "--check", str(newest)).exit_code == 0


def test_it_can_go_into_a_pipe(practiced: Machine) -> None:
    said = practiced.run("export", "-")
    assert said.returncode == 0 and json.loads(said.stdout.splitlines()[-1])["manifest"]["agents"]["rows"] >= 1
