"""The practice model on the web: it reads the page that it is told to, and says that it can't search."""

from types import SimpleNamespace

import pytest

from tests.actors.house import open_house
from tests.shell.practising import practice_model
from tests.web.internet import Internet, http


@pytest.mark.parametrize(
    ("asked", "answered"),
    [
        ("Look up http://zoo.example/hours, please", "Nine to five"),
        ("Look up trains to Graz", "what answers here can't search the web"),
        ("Look up http://localhost:8080/secret", "its name means something near"),
    ],
)
async def test_looking_up_can_be_tried_without_a_key(
    database_url: str, net: Internet, asked: str, answered: str
) -> None:
    net.pages["zoo.example/hours"] = http(b"<title>Zoo</title><p>Nine to five.")
    async with practice_model() as url:
        async with open_house(database_url, SimpleNamespace(url=url), web=net.web()) as it:  # type: ignore[arg-type]
            await it.say(asked)
            (run,) = await it.settled()
            said = (await it.said())[-1]
            assert run.state == "done" and answered in said and "practice model (rules, not an AI)" in said
