"""The examples of the README, run as they stand by a shell."""

import os
import re
import shutil
from pathlib import Path

import pytest
import trio

from tests.messages_api import say
from tests.world import PATIENCE_SECONDS, TOKEN, world

README = (Path(__file__).parent.parent.parent / "README.md").read_text()
LISTENS = "http://127.0.0.1:8765"

pytestmark = pytest.mark.skipif(shutil.which("curl") is None, reason="curl is needed")


def examples() -> str:
    """The shell block of the README that asks the API by curl."""
    (block,) = (it for it in re.findall(r"```sh\n(.*?)```", README, re.DOTALL) if "curl -H" in it)
    return str(block)


async def test_the_examples_for_curl_do_what_they_are_said_to_do(database_url: str, tmp_path: Path) -> None:
    (tmp_path / ".dreamwalker").mkdir()
    (tmp_path / ".dreamwalker/token").write_text(TOKEN)
    async with world(database_url, say("Noted: tulips.")) as w:
        script = (
            examples()
            .replace(LISTENS, w.url)
            .replace("curl -N", "curl -sN --max-time 3")
            .replace("curl -H", "curl -sfH")
        )
        assert script.count(w.url) >= 2
        environ = {"HOME": str(tmp_path), "PATH": os.environ["PATH"]}
        with trio.fail_after(PATIENCE_SECONDS):
            ran = await trio.run_process(
                ["sh", "-c", script], env=environ, capture_stdout=True, capture_stderr=True, check=False
            )
        said = ran.stdout.decode()
        assert ran.stderr == b""
        assert '"state":"waiting"' in said and "event: change" in said and "Noted: tulips." in said
        entries = (await w.get("/api/agents/dreamwalker/entries"))["entries"]
        assert [it["text"] for it in entries] == ["Remember that Anna likes tulips.", "Noted: tulips."]
