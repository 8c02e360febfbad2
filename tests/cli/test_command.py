"""The command on a machine where nothing runs: its help, its words when it can't, its exit codes."""

import sys
from pathlib import Path

import pytest

from tests.cli.conftest import OTHER_TOKEN, Machine


def test_help_names_every_noun_and_every_exit_code_and_teaches_by_example(machine: Machine) -> None:
    help = machine.run("--help").stdout
    for noun in ["chat", "ask", "new", "stop", "runs", "notes", "spend", "settings", "serve", "migrate", "doctor"]:
        assert f"\n  {noun} " in help
        said = machine.call(noun, "-h")
        assert said.exit_code == 0 and "Example" in said.stdout
    for code in ("0 ", "1 ", "2 ", "3 ", "4 ", "130 "):
        assert f"\n    {code}" in help


def test_help_imports_nothing_that_it_does_not_need(machine: Machine) -> None:
    answer = machine.run("--help", PYTHONPROFILEIMPORTTIME="1")
    assert answer.returncode == 0 and "click" in answer.stderr
    for module in ("trio", "httpx2", "starlette", "asyncpg", "anthropic", "prompt_toolkit"):
        assert f" {module}\n" not in answer.stderr


def test_without_a_server_a_command_says_how_to_start_one(machine: Machine) -> None:
    answer = machine.run("notes")
    assert answer.returncode == 3
    assert answer.stderr.startswith("No dreamwalker runs on this machine. `dreamwalker serve` starts one")
    assert not machine.home.exists()


def test_what_is_not_a_command_is_a_usage_error(machine: Machine) -> None:
    for wrong in (
        ["frobnicate"],
        ["ask"],
        ["runs", "show", "many"],
        ["spend", "--month", "May"],
        ["serve", "--port", "x"],
    ):
        assert machine.call(*wrong).exit_code == 2


def test_a_wrong_environment_is_told_whole_and_at_once(machine: Machine) -> None:
    answer = machine.call("serve", DREAMWALKER_ZONE="Atlantis", DREAMWALKER_PORT="many", DREAMWALKER_TOKEN="short")
    assert answer.exit_code == 2
    for name in ("DREAMWALKER_ZONE", "DREAMWALKER_PORT", "DREAMWALKER_TOKEN"):
        assert name in answer.stderr
    assert "short" not in answer.stderr.replace("too short", "")


def test_a_server_elsewhere_needs_an_address_that_can_be_and_a_token_of_its_own(machine: Machine) -> None:
    answer = machine.call("notes", DREAMWALKER_URL="example.org", DREAMWALKER_TOKEN=OTHER_TOKEN)
    assert answer.exit_code == 2 and "begins with http:// or https://" in answer.stderr
    machine.home.mkdir()
    (machine.home / "token").write_text("this machine's token is for this machine\n")
    answer = machine.call("notes", DREAMWALKER_URL="https://dreamwalker.invalid")
    assert answer.exit_code == 2 and "Set DREAMWALKER_TOKEN" in answer.stderr


@pytest.mark.parametrize(
    "url", ["http://[", "http://[::1", "http://", "http://127.0.0.1:99999", "http://127.0.0.1:port", "https:///x"]
)
def test_an_address_that_can_not_be_read_is_told_in_words(machine: Machine, url: str) -> None:
    answer = machine.call("--url", url, "notes", DREAMWALKER_TOKEN=OTHER_TOKEN)
    assert answer.exit_code == 2 and "can't be read as one" in answer.stderr


def test_a_home_that_can_be_no_folder_is_told_in_words(machine: Machine) -> None:
    for home in ("/dev/null", "/dev/null/home"):
        answer = machine.run("chat", DREAMWALKER_HOME=home)
        assert answer.returncode == 2 and f"Nothing can be kept in {home}" in answer.stderr


def test_a_secret_that_is_too_weak_is_told_once_and_as_what_it_is(machine: Machine) -> None:
    said = machine.call("serve", DREAMWALKER_TOKEN="short").stderr
    assert "DREAMWALKER_TOKEN is too short" in said and "ordinary text" not in said
    said = machine.call("notes", DREAMWALKER_TOKEN="Ü" + OTHER_TOKEN).stderr
    assert "DREAMWALKER_TOKEN holds characters beyond ASCII" in said and OTHER_TOKEN not in said
    said = machine.call("serve", DREAMWALKER_TOKEN="a" * 40).stderr
    assert "DREAMWALKER_TOKEN can't be told from ordinary text" in said and "asks for none" not in said
    said = machine.call("serve", ANTHROPIC_API_KEY="key").stderr
    assert "ANTHROPIC_API_KEY can't be told from ordinary text" in said and "if the model asks for none" in said
    said = machine.call("serve", DREAMWALKER_DATABASE_URL="postgresql://me:word@127.0.0.1/x").stderr
    assert "if the database asks for none" in said


@pytest.mark.parametrize("written", ["", "{", "[]", '{"pid": 1}', '{"pid": -1, "url": "http://127.0.0.1:9"}'])
def test_what_a_dead_server_wrote_down_is_ignored(machine: Machine, written: str) -> None:
    machine.home.mkdir()
    (machine.home / "server.json").write_text(written)
    assert machine.call("notes").exit_code == 3


def test_what_should_not_have_happened_is_one_sentence_and_a_trace_only_on_demand(machine: Machine) -> None:
    machine.home.mkdir()
    (machine.home / "token").mkdir()
    (machine.home / "server.json").mkdir()
    broken = {"PYTHONPATH": f"{_broken(machine.home)}:{machine.env['PYTHONPATH']}"}
    answer = machine.run("runs", **broken)
    assert answer.returncode == 1 and answer.stderr.count("\n") == 1
    assert "RuntimeError: broken on purpose" in answer.stderr and "DREAMWALKER_DEBUG=1" in answer.stderr
    answer = machine.run("runs", DREAMWALKER_DEBUG="1", **broken)
    assert "Traceback" in answer.stderr


def _broken(folder: Path) -> Path:
    """A folder with a library that can't be imported."""
    (folder / "httpx2.py").write_text("raise RuntimeError('broken on purpose')")
    return folder


def test_the_doctor_says_what_is_wrong_and_what_to_do(machine: Machine) -> None:
    machine.home.mkdir(mode=0o700)
    token = machine.home / "token"
    token.write_text(OTHER_TOKEN)
    token.chmod(0o644)
    answer = machine.call("doctor")
    assert answer.exit_code == 1
    assert f"✗ token: others on this machine may read {token}" in answer.stdout and "chmod 600" in answer.stdout
    assert "✓ database: the embedded one" in answer.stdout and "! model: the practice model answers" in answer.stdout
    token.write_text(OTHER_TOKEN[:20])
    assert "✗ token: The token in" in machine.call("doctor").stdout
    token.unlink()
    machine.home.chmod(0o777)
    assert "✗ home: others may write" in machine.call("doctor").stdout


def test_the_doctor_looks_for_the_database_without_a_server(machine: Machine) -> None:
    answer = machine.call("doctor", DREAMWALKER_DATABASE_URL="postgres://me:secret-word@127.0.0.1:9/x")
    assert answer.exit_code == 1 and "✗ database: nothing answers at 127.0.0.1, port 9" in answer.stdout
    assert "secret-word" not in answer.stdout
    answer = machine.call("doctor", DREAMWALKER_POSTGRES_BIN=str(Path(sys.executable).parent))
    assert answer.exit_code == 1 and "there is no program postgres" in answer.stdout


def test_the_doctor_reports_a_wrong_environment(machine: Machine) -> None:
    answer = machine.call("doctor", DREAMWALKER_ZONE="Atlantis")
    assert answer.exit_code == 1 and "✗ configuration" in answer.stdout and "DREAMWALKER_ZONE" in answer.stdout


def test_the_doctor_changes_nothing(machine: Machine) -> None:
    assert machine.call("doctor").exit_code == 0
    assert not machine.home.exists()


def test_migrate_brings_the_embedded_database_up_to_date_once(machine: Machine) -> None:
    first, second = machine.call("migrate"), machine.call("migrate")
    assert first.exit_code == 0 and "Applied 0001_foundation." in first.stdout
    assert second.exit_code == 0 and second.stdout == "Nothing to do: the database is up to date.\n"


def test_migrate_brings_a_database_of_ones_own_up_to_date(machine: Machine, empty_database_url: str) -> None:
    answer = machine.call("migrate", DREAMWALKER_DATABASE_URL=empty_database_url)
    assert answer.exit_code == 0 and "Applied 0001_foundation." in answer.stdout


def test_migrate_says_in_words_that_a_database_cannot_be_reached(machine: Machine) -> None:
    answer = machine.call(
        "migrate", DREAMWALKER_DATABASE_URL="postgres://127.0.0.1:9/x", DREAMWALKER_LIMIT_REACH_SECONDS="0.5"
    )
    assert answer.exit_code == 1 and "could not be reached" in answer.stderr and answer.stderr.count("\n") == 1
