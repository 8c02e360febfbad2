"""A home folder of its own for each test that wants one, and servers that several tests share."""

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import attrs
import pytest
from click.testing import CliRunner, Result

from dreamwalker.cli.command import root
from tests.cli.scripted import ScriptedModel

ROOT = Path(__file__).resolve().parent.parent.parent
COMMAND = (sys.executable, "-m", "dreamwalker")
WAIT_SECONDS = 60.0
OTHER_TOKEN = "qT7-Xw2mVb9_LkP4sRz8HdY3nJc6FgA1eUo5iKpQxZt"


def environment(home: Path, **variables: str) -> dict[str, str]:
    """What a command finds in its environment: nothing of the tests' own."""
    return {
        "PATH": os.environ["PATH"],
        "PYTHONPATH": str(ROOT),
        "LANG": "C.UTF-8",
        "TZ": "Europe/Vienna",
        "DREAMWALKER_HOME": str(home),
    } | variables


@attrs.frozen
class Machine:
    """A machine with a home folder, on which commands are run."""

    env: dict[str, str]

    @property
    def home(self) -> Path:
        return Path(self.env["DREAMWALKER_HOME"])

    def run(self, *arguments: str, input: str = "", **variables: str) -> subprocess.CompletedProcess[str]:
        """Run a command to its end."""
        return subprocess.run(
            [*COMMAND, *arguments],
            input=input,
            capture_output=True,
            text=True,
            env=self.env | variables,
            timeout=WAIT_SECONDS,
        )

    def call(self, *arguments: str, input: str = "", **variables: str) -> Result:
        """Run a command to its end in this process, which is a hundred times as fast."""
        runner = CliRunner(env={name: None for name in os.environ if name.startswith("DREAMWALKER_")})
        return runner.invoke(root, arguments, input=input, env=self.env | variables, prog_name="dreamwalker")

    def start(self, *arguments: str, **variables: str) -> subprocess.Popen[str]:
        """Start a command; what it says goes into pipes."""
        pipe = subprocess.PIPE
        return subprocess.Popen(
            [*COMMAND, *arguments], stdin=pipe, stdout=pipe, stderr=pipe, text=True, env=self.env | variables
        )

    def serve(self, *arguments: str, **variables: str) -> subprocess.Popen[str]:
        """Start a server, and wait until it listens."""
        server = self.start("serve", *(arguments or ("--port", "0")), **variables)
        assert server.stdout is not None
        line = server.stdout.readline()
        if "listens at" not in line:
            raise AssertionError(f"It does not listen: {line}{server.communicate()}")
        return server


def stop(server: subprocess.Popen[str], by: signal.Signals = signal.SIGTERM) -> tuple[int, str]:
    """Stop a process; its exit code, and all that it had to say."""
    server.send_signal(by)
    out, err = server.communicate(timeout=WAIT_SECONDS)
    return server.returncode, out + err


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    """A machine on which nothing ever ran."""
    return Machine(environment(tmp_path / "home"))


@pytest.fixture(scope="session")
def practiced() -> Iterator[Machine]:
    """A machine on which a server runs, with the practice model."""
    with tempfile.TemporaryDirectory() as folder:
        machine = Machine(environment(Path(folder) / "home"))
        server = machine.serve()
        yield machine
        stop(server)


@pytest.fixture(scope="session")
def _model() -> Iterator[ScriptedModel]:
    with ScriptedModel() as model:
        yield model


@pytest.fixture(scope="session")
def _scripted(_model: ScriptedModel) -> Iterator[Machine]:
    with tempfile.TemporaryDirectory() as folder:
        settings = {"ANTHROPIC_API_KEY": "sk-test-of-the-command", "ANTHROPIC_BASE_URL": _model.url}
        machine = Machine(environment(Path(folder) / "home", **settings))
        server = machine.serve()
        yield machine
        stop(server)


@pytest.fixture
def model(_model: ScriptedModel) -> ScriptedModel:
    """The model of the scripted machine, which echoes whatever is not scripted."""
    _model.begin()
    return _model


@pytest.fixture
def scripted(_scripted: Machine, model: ScriptedModel) -> Machine:
    """A machine on which a server runs, with a model that a test can script; its conversation begins afresh.

    Nothing is under way there, and no text from outside, for tests of another file were there before.
    """
    for command in ("stop", "new"):
        said = _scripted.call(command)
        assert said.exit_code == 0, said.output
    return _scripted
