"""The Netlify grant in a house: who has it, what its answers are, and that taking it away bites at once."""

import pytest

from dreamwalker.cast import Given
from netlify.client import NOT_ONE_TEAM, Netlify
from tests.actors.house import Inside, inside
from tests.actors.speaking import MAIN, Stage
from tests.messages_api import Gate, answer, say, text, use
from tests.netlify_api.server import OTHER, TEAM, TOKEN, serve_netlify
from tools.netlify import NETLIFY
from tools.outside import Source


def names(it: Inside, agent: str, kind: str = "home") -> set[str]:
    return {tool.name for tool in it.house.equipment.tools(kind, agent) if tool.name.startswith("netlify_")}


async def test_only_whom_the_owner_granted_it_can_look_and_what_it_sees_is_from_outside(database_url: str) -> None:
    async with serve_netlify() as api, Netlify(token=TOKEN, team=TEAM["slug"], url=api.url) as netlify:
        async with inside(database_url, netlify=netlify) as it:
            await it.house.cast.make("ops", Given(job="watches the sites"), it.clock.now())
            assert names(it, MAIN) == names(it, "ops") == set()
            await it.house.cast.change(MAIN, Given(grants=(NETLIFY,)))
            assert len(names(it, MAIN)) == 9 and names(it, "ops") == set()
            assert names(it, MAIN, "job") == names(it, MAIN, "worker") == set()
            stage = Stage().play(it.api)
            looks = (use("netlify_deploys", {"site": "shop"}), use("netlify_site", {"site": "nothing of that name"}))
            stage.says(MAIN, answer(*looks), say("The newest deploy failed."))
            await it.say("How is the shop?")
            await it.settled()
            _, (deploys, nothing) = await it.transcript()
            assert deploys.failed is False and deploys.label == deploys.no and deploys.result is not None
            assert Source.NETLIFY.remark in deploys.result and "exit code: 2" in deploys.result
            assert "secret:" not in deploys.result
            assert nothing.failed and nothing.result is not None and "There is no site of that name" in nothing.result
            assert not any("nothing" in question for question in api.asked), "a name never leaves here"


async def test_a_grant_that_is_taken_away_in_the_midst_of_a_run_is_gone(database_url: str) -> None:
    gate = Gate()
    async with serve_netlify() as api, Netlify(token=TOKEN, team=TEAM["slug"], url=api.url) as netlify:
        async with inside(database_url, netlify=netlify) as it:
            await it.house.cast.change(MAIN, Given(grants=(NETLIFY,)))
            stage = Stage().play(it.api)
            stage.says(MAIN, answer(text("Let me", gate, "look."), use("netlify_sites", {})), say("I can't."))
            await it.say("Which sites are there?")
            await gate.reached.wait()
            await it.house.cast.change(MAIN, Given(grants=()))
            gate.open()
            await it.settled()
            _, (call,) = await it.transcript()
            assert call.failed and call.result is not None and "There is no tool 'netlify_sites'" in call.result
            assert api.asked == [] and "netlify" not in str(stage.asked[MAIN][1]["tools"])


@pytest.mark.parametrize("team", [[TEAM, OTHER], [OTHER], []])
async def test_a_token_that_acts_on_another_team_is_not_used(database_url: str, team: list[dict[str, str]]) -> None:
    async with serve_netlify() as api, Netlify(token=TOKEN, team=TEAM["slug"], url=api.url) as netlify:
        api.teams = team
        async with inside(database_url, netlify=netlify) as it:
            await it.house.cast.change(MAIN, Given(grants=(NETLIFY,)))
            stage = Stage().play(it.api)
            stage.says(MAIN, answer(use("netlify_variables", {})), say("It can't be told."))
            await it.say("Which variables are there?")
            await it.settled()
            _, (call,) = await it.transcript()
            assert call.failed and call.result is not None and NOT_ONE_TEAM[:60] in call.result
            assert api.asked == ["/accounts"]
