"""`serve` as a process: its token, where it can be found, and how it ends."""

import json
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.cli.conftest import OTHER_TOKEN, Machine, stop


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def written(machine: Machine) -> dict[str, object]:
    value: dict[str, object] = json.loads((machine.home / "server.json").read_text())
    return value


def test_a_first_start_makes_a_token_that_is_never_printed_and_there_is_no_second_server(machine: Machine) -> None:
    server = machine.serve()
    token = (machine.home / "token").read_text().strip()
    assert len(token) >= 43 and mode(machine.home) == 0o700
    assert mode(machine.home / "token") == mode(machine.home / "server.json") == 0o600
    assert written(machine)["pid"] == server.pid
    second = machine.call("serve", "--port", "0")
    assert second.exit_code == 1 and f"runs on this machine already, at {written(machine)['url']}" in second.stderr
    (machine.home / "server.json").unlink()
    third = machine.run("serve", "--port", "0")
    assert third.returncode == 3 and f"in use by process {server.pid}" in third.stderr
    began = time.monotonic()
    code, said = stop(server)
    assert code == 0 and time.monotonic() - began < 10
    assert "the practice model answers: rules, not an AI" in said and token not in said
    assert sorted(path.name for path in machine.home.iterdir()) == ["postgres", "token"]


def test_a_port_that_is_taken_is_said_to_be(machine: Machine, practiced: Machine) -> None:
    port = str(written(practiced)["url"]).rpartition(":")[2]
    answer = machine.run("serve", "--port", port)
    assert answer.returncode == 1 and answer.stderr.count("\n") == 1
    assert f"Something else listens on port {port} of 127.0.0.1 already" in answer.stderr


def test_an_address_that_is_not_ours_is_said_to_be(machine: Machine) -> None:
    answer = machine.run("serve", "--host", "192.0.2.1")
    assert answer.returncode == 1 and "can't listen on port 8765 of 192.0.2.1" in answer.stderr


def test_a_database_that_is_away_does_not_keep_the_server_down(machine: Machine) -> None:
    away = {"DREAMWALKER_DATABASE_URL": "postgres://127.0.0.1:9/x", "DREAMWALKER_LIMIT_REACH_SECONDS": "0.5"}
    server = machine.serve(**away)
    answer = machine.run("doctor", **away)
    assert answer.returncode == 1 and "✓ server: it answers" in answer.stdout and "✗ database" in answer.stdout
    code, said = stop(server, signal.SIGINT)
    assert code == 0 and "It is tried again at each request." in said


def test_a_deploy_needs_its_token_from_the_environment(machine: Machine) -> None:
    deploy = {"DREAMWALKER_GENERATION": "66b0aaaa"}
    answer = machine.call("serve", **deploy)
    assert answer.exit_code == 2 and "DREAMWALKER_TOKEN is not set" in answer.stderr
    assert not machine.home.exists()


def test_a_token_file_that_cannot_be_used_is_reported(machine: Machine) -> None:
    machine.home.mkdir()
    (machine.home / "token").write_text(OTHER_TOKEN[:20] + "\n")
    answer = machine.call("serve", "--port", "0")
    assert answer.exit_code == 2 and "is too short. Delete the file" in answer.stderr
    (machine.home / "token").write_text("Ü" + OTHER_TOKEN + "\n", encoding="utf-8")
    answer = machine.call("serve", "--port", "0")
    assert answer.exit_code == 2 and "no request can carry. Delete the file" in answer.stderr


def test_a_home_that_cannot_be_written_to_is_reported(machine: Machine) -> None:
    machine.home.parent.joinpath("file").write_text("")
    answer = machine.call("serve", DREAMWALKER_HOME=str(machine.home.parent / "file" / "home"))
    assert answer.exit_code == 2 and "The token can't be kept in" in answer.stderr


def test_two_first_starts_at_once_make_one_token(machine: Machine) -> None:
    make = "from dreamwalker.cli import tokens; from dreamwalker.config import read; print(tokens.read_or_make(read()))"
    command = [sys.executable, "-c", make]
    started = [subprocess.Popen(command, env=machine.env, stdout=subprocess.PIPE, text=True) for _ in range(4)]
    assert len({process.communicate()[0] for process in started}) == 1
    assert [path.name for path in machine.home.iterdir()] == ["token"]


@pytest.mark.slow
def test_a_server_that_a_chat_started_for_itself_says_so_to_a_later_serve(machine: Machine) -> None:
    chat = machine.start("chat")
    assert chat.stdin is not None and chat.stdout is not None
    chat.stdin.write("/spend\n")
    chat.stdin.flush()
    assert "of $5.00" in chat.stdout.readline()
    for command in (("serve", "--port", "0"), ("migrate",)):
        refused = machine.call(*command)
        assert refused.exit_code == 1 and refused.stderr.startswith("`dreamwalker chat` has started dreamwalker on")
        assert "Leave that first" in refused.stderr and str(written(machine)["url"]) in refused.stderr
    chat.communicate("/quit\n", timeout=60)
    assert machine.call("migrate").exit_code == 0


@pytest.mark.slow
def test_two_commands_that_start_a_server_at_once_share_one(machine: Machine) -> None:
    chats = [machine.start("chat") for _ in range(2)]
    for chat in chats:
        assert chat.stdin is not None and chat.stdout is not None
        chat.stdin.write("/spend\n")
        chat.stdin.flush()
    for chat in chats:
        assert "of $5.00" in chat.stdout.readline()  # type: ignore[union-attr]
    said = [chat.communicate("/quit\n", timeout=60) for chat in chats]
    assert [chat.returncode for chat in chats] == [0, 0], said
