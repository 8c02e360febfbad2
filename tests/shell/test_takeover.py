"""Two instances on one database, each a real process: which of them works, and that the other one knows."""

import signal
from pathlib import Path

import pytest
import trio

from tests.instance import NEW, OLD, READY, Instance, instance
from tests.messages_api import Gate, answer, say, serve_messages_api, text
from tests.proxy import PASS, Action, Request, Then, open_proxy
from tests.world import LIFETIME_SECONDS

pytestmark = pytest.mark.slow


async def is_fenced(old: Instance) -> None:
    """It takes nothing in, and says when to come again."""
    refused = await old.say("Do you work?")
    assert refused.status_code == 503, refused.text
    assert refused.headers["retry-after"].isdigit() and int(refused.headers["retry-after"]) >= 1


async def has_the_lease(new: Instance) -> bool:
    return (await new.get("/api/status")).status_code == 200


async def all_is_done(new: Instance, replies: list[str]) -> None:
    """Every run ends well, and these are the replies."""
    async with new.stream() as events:
        await events.until_settled(len(await new.runs()))
    assert [run["state"] for run in await new.runs()] == ["done"] * len(replies)
    assert await new.replies() == replies


async def test_a_newer_deploy_takes_the_lease_at_once_and_is_at_the_run_within_a_second(
    database_url: str, tmp_path: Path
) -> None:
    gate = Gate()
    with trio.fail_after(LIFETIME_SECONDS):
        async with (
            serve_messages_api() as api,
            instance(database_url, api.url, tmp_path / "old", generation=OLD) as old,
            instance(database_url, api.url, tmp_path / "new", generation=NEW) as new,
        ):
            api.script(answer(text("Half an", gate, " answer")), say("All of it."))
            assert (await old.say("Tell me all")).status_code == 202
            async with old.stream() as events:
                await gate.reached.wait()
                await new.logged(READY)
                began = trio.current_time()
                assert await has_the_lease(new)
                await api.arrived(2)
                assert trio.current_time() - began < 1
                gate.open()  # what the old one is still told, it can't commit any more
                assert (await events.of("end")).data == {"reason": "closed"}
                assert await events.next() is None
            await is_fenced(old)
            await all_is_done(new, ["All of it."])
            assert await has_the_lease(new), "it was not stolen back"


async def test_an_older_deploy_is_sent_away_while_a_newer_one_lives_and_let_in_once_it_has_stopped(
    database_url: str, tmp_path: Path
) -> None:
    with trio.fail_after(LIFETIME_SECONDS):
        async with (
            serve_messages_api() as api,
            instance(database_url, api.url, tmp_path / "new", generation=NEW) as new,
            instance(database_url, api.url, tmp_path / "old", generation=OLD, look_seconds=0.01) as old,
        ):
            api.script(lambda request: say("Here."))
            assert await has_the_lease(new)
            await is_fenced(old)
            assert (await new.say("Hi")).status_code == 202, "the newer one was not disturbed"
            new.signal(signal.SIGTERM)
            assert await new.ended() == 0
            assert await has_the_lease(old)
            await all_is_done(old, ["Here."])


async def test_an_older_deploy_waits_for_the_lease_of_a_killed_one_to_run_out(
    database_url: str, tmp_path: Path
) -> None:
    with trio.fail_after(LIFETIME_SECONDS):
        async with (
            serve_messages_api() as api,
            instance(database_url, api.url, tmp_path / "new", generation=NEW, lease_seconds=3, renew_seconds=1) as new,
            instance(database_url, api.url, tmp_path / "old", generation=OLD, lease_seconds=3) as old,
        ):
            assert await has_the_lease(new)
            new.signal(signal.SIGKILL)
            killed = trio.current_time()
            await is_fenced(old)
            while not await has_the_lease(old):
                await trio.lowlevel.checkpoint()
            assert 1 < trio.current_time() - killed < 4


async def test_an_instance_that_is_frozen_is_replaced_at_once_and_knows_it_when_it_goes_on(
    database_url: str, tmp_path: Path
) -> None:
    gate = Gate()
    with trio.fail_after(LIFETIME_SECONDS):
        async with (
            serve_messages_api() as api,
            instance(database_url, api.url, tmp_path / "frozen", renew_seconds=0.2) as frozen,
            instance(database_url, api.url, tmp_path / "new", renew_seconds=0.2) as new,
        ):
            api.script(answer(text("Half an", gate, " answer")), say("All of it."))
            assert (await frozen.say("Tell me all")).status_code == 202
            async with frozen.stream() as events:
                await gate.reached.wait()
                await new.logged(READY)
                frozen.signal(signal.SIGSTOP)
                began = trio.current_time()
                assert await has_the_lease(new)
                await api.arrived(2)
                assert trio.current_time() - began < 1
                await all_is_done(new, ["All of it."])
                gate.open()
                frozen.signal(signal.SIGCONT)
                assert (await events.of("end")).data == {"reason": "closed"}
            await is_fenced(frozen)
            assert await has_the_lease(new)
            assert await new.replies() == ["All of it."]


async def test_an_instance_that_is_frozen_inside_a_transaction_is_replaced_within_ten_seconds(
    database_url: str, tmp_path: Path
) -> None:
    gate = Gate()
    with trio.fail_after(LIFETIME_SECONDS):
        async with (
            serve_messages_api() as api,
            open_proxy(database_url) as proxy,
            trio.open_nursery() as nursery,
            instance(proxy.url, api.url, tmp_path / "frozen", generation=OLD) as frozen,
            instance(database_url, api.url, tmp_path / "new", generation=NEW) as new,
        ):
            api.script(answer(text("Half an", gate, " answer")), say("All of it."))
            assert (await frozen.say("Tell me all")).status_code == 202
            await gate.reached.wait()
            await new.logged(READY)
            inside = trio.Event()

            def freeze() -> None:
                frozen.signal(signal.SIGSTOP)
                inside.set()

            def halt(request: Request) -> Action:
                begins = request.sql.startswith("BEGIN") and "UPDATE dreamwalker_lease" in request.sql
                return Then(PASS, freeze) if begins and not inside.is_set() else PASS

            proxy.on_request = halt
            nursery.start_soon(_choose_a_zone, frozen)
            await inside.wait()
            began = trio.current_time()
            assert await has_the_lease(new)
            await api.arrived(2)
            assert 5 < trio.current_time() - began < 10, "the database ended its transaction"
            gate.open()
            await all_is_done(new, ["All of it."])
            frozen.signal(signal.SIGCONT)
            while await has_the_lease(frozen):
                await trio.lowlevel.checkpoint()
            await is_fenced(frozen)
            zone = (await new.get("/api/settings")).json()
            assert "Asia/Kolkata" not in str(zone), "what was begun before was undone"
            nursery.cancel_scope.cancel()


async def _choose_a_zone(frozen: Instance) -> None:
    await frozen.client.patch("/api/settings", json={"zone": "Asia/Kolkata"}, timeout=LIFETIME_SECONDS)
