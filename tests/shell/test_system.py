"""Asleep, awake, fenced: opening once, taking over, giving way, coming back."""

from contextlib import suppress
from pathlib import Path
from typing import Any

import attrs
import pytest
import trio
import trio.testing

from dreamwalker.config import Config, read
from dreamwalker.database import Database
from dreamwalker.not_ready import NotReady
from dreamwalker.system import start
from storage.errors import LeaseLost, StorageError, StoreBusy
from storage.operation import Commit
from tests.proxy import CUT_AFTER, PASS, Action, Await, Door, Request, open_proxy
from tests.storage.harness import outside
from tools.limits import Limits

RUN_OUT = "UPDATE dreamwalker_lease SET expires_at = clock_timestamp() RETURNING 1"


def config_for(database_url: str, tmp_path: Path, *, generation: str = "0", **limits: Any) -> Config:
    config = read(
        {
            "DREAMWALKER_HOME": str(tmp_path),
            "DREAMWALKER_DATABASE_URL": database_url,
            "DREAMWALKER_TOKEN": "rJk2vX9qLm4TzB7wYc1NfHd8SgP5aEo3uVi6xQ0sKtM",
            "DREAMWALKER_GENERATION": generation,
            "ANTHROPIC_API_KEY": "a-key-nobody-will-ask",
            "ANTHROPIC_BASE_URL": "http://127.0.0.1:9",
        }
    )
    return attrs.evolve(config, limits=attrs.evolve(Limits(reach_seconds=2.0), **limits))


async def test_many_first_requests_open_the_storage_once(database_url: str, tmp_path: Path) -> None:
    async with start(config_for(database_url, tmp_path)) as system:
        houses = set()

        async def request() -> None:
            houses.add(await system.open())

        assert system.state == "asleep"
        async with trio.open_nursery() as nursery:
            for _ in range(20):
                nursery.start_soon(request)
        assert len(houses) == 1 and system.state == "awake"


async def test_a_database_that_cannot_be_reached_says_so_and_the_next_request_tries_again(
    database_url: str, tmp_path: Path
) -> None:
    away = config_for(database_url.replace("postgres0", "nowhere"), tmp_path)
    async with start(away) as system:
        with pytest.raises(NotReady, match="could not be reached"):
            await system.open()
        system.database = Database(config_for(database_url, tmp_path), system.visits)
        await system.open()
        assert system.state == "awake"


async def test_the_same_deploy_takes_over_at_opening_and_the_loser_does_not_steal_it_back(
    database_url: str, tmp_path: Path
) -> None:
    config = config_for(database_url, tmp_path)
    async with start(config) as first, start(config) as second:
        house = await first.open()
        await second.open()
        with pytest.raises(Exception, match=r"taken over|ended"):
            await house.store.ask(Commit())
        with trio.fail_after(5):
            await house.live.ending.wait()
            while first.house is not None:
                await trio.lowlevel.checkpoint()
        assert first.state == "fenced"
        with pytest.raises(NotReady, match="Another instance") as refused:
            await first.open()
        assert 0 < refused.value.retry_after_seconds <= 60
        assert second.state == "awake"


async def test_a_fenced_instance_comes_back_once_the_other_gave_the_lease_up(database_url: str, tmp_path: Path) -> None:
    config = config_for(database_url, tmp_path)
    async with start(config) as first:
        house = await first.open()
        async with start(config) as second:
            await second.open()
            with pytest.raises(Exception, match=r"taken over|ended"):
                await house.store.ask(Commit())
            with trio.fail_after(5):
                while first.house is not None:
                    await trio.lowlevel.checkpoint()
        await first.open()
        assert first.state == "awake"


async def test_an_older_deploy_waits_while_a_newer_one_lives(database_url: str, tmp_path: Path) -> None:
    older = config_for(database_url, tmp_path, generation="66a0aaaa")
    newer = config_for(database_url, tmp_path, generation="66b0aaaa")
    async with start(older) as old, start(newer) as new:
        await old.open()
        await new.open()
        async with start(older) as another_old:
            with pytest.raises(NotReady, match="Another instance"):
                await another_old.open()
        assert new.state == "awake"


async def test_an_instance_whose_database_failed_does_not_take_the_lease_from_the_one_that_took_over(
    database_url: str, tmp_path: Path
) -> None:
    async with open_proxy(database_url) as proxy:
        async with (
            start(config_for(proxy.url, tmp_path)) as first,
            start(config_for(database_url, tmp_path)) as second,
        ):
            house = await first.open()
            proxy.door = Door.SHUT
            proxy.cut_all()
            with pytest.raises(StorageError):
                await house.store.ask(Commit())
            await second.open()
            proxy.door = Door.OPEN
            with trio.fail_after(10):
                while first.house is not None:
                    await trio.lowlevel.checkpoint()
            with pytest.raises(NotReady, match="Another instance"):
                await first.open()
            assert first.state == "fenced", "and it doesn't try again by itself"
            assert second.state == "awake"


async def test_an_instance_whose_database_failed_goes_on_at_once_if_nobody_took_over(
    database_url: str, tmp_path: Path
) -> None:
    async with open_proxy(database_url) as proxy, start(config_for(proxy.url, tmp_path)) as system:
        house = await system.open()
        proxy.door = Door.SHUT
        proxy.cut_all()
        with pytest.raises(StorageError):
            await house.store.ask(Commit())
        proxy.door = Door.OPEN
        with trio.fail_after(10):
            while system.house is house:
                await trio.lowlevel.checkpoint()
            await system.open()
        assert system.state == "awake"


async def test_the_lease_is_kept_up_again_after_a_database_that_was_too_slow_for_it(
    database_url: str, tmp_path: Path
) -> None:
    limits: dict[str, Any] = {"renew_seconds": 0.2, "ask_seconds": 0.1, "reach_seconds": 10.0}
    async with open_proxy(database_url) as proxy, start(config_for(proxy.url, tmp_path, **limits)) as system:
        with trio.fail_after(20):
            house = await system.open()
            go_on, halted = trio.Event(), trio.Event()

            def halt(request: Request) -> Action:
                if "dreamwalker_lease" not in request.sql:
                    return PASS
                halted.set()
                return Await(go_on)

            proxy.on_request = halt
            await halted.wait()
            with pytest.raises(StoreBusy):
                await house.store.ask(Commit())  # later than the renewal that waits, which is given up before it
            go_on.set()
            proxy.on_request = lambda request: PASS
            for _ in range(3):
                before = house.store.commit_no
                while house.store.commit_no == before:
                    await trio.lowlevel.checkpoint()


async def test_an_instance_that_is_replaced_while_it_opens_does_not_steal_the_lease_back(
    database_url: str, tmp_path: Path
) -> None:
    async with open_proxy(database_url) as proxy:
        async with (
            start(config_for(proxy.url, tmp_path)) as first,
            start(config_for(database_url, tmp_path)) as second,
        ):
            reached, replaced = trio.Event(), trio.Event()

            def halt(request: Request) -> Action:
                if "FROM settings" not in request.sql:
                    return PASS
                reached.set()
                return Await(replaced)

            proxy.on_request = halt
            async with trio.open_nursery() as nursery:

                @nursery.start_soon
                async def replace() -> None:
                    await reached.wait()
                    await second.open()
                    replaced.set()

                with pytest.raises(NotReady):
                    await first.open()
            assert first.state == "fenced"
            with pytest.raises(NotReady, match="Another instance"):
                await first.open()
            assert second.state == "awake"


async def test_an_instance_that_is_kept_out_opens_nothing_until_the_lease_may_be_free(
    database_url: str, tmp_path: Path
) -> None:
    async with open_proxy(database_url) as proxy:
        older = config_for(proxy.url, tmp_path, generation="66a0aaaa", look_seconds=3600.0)
        newer = config_for(database_url, tmp_path, generation="66b0aaaa", lease_seconds=2.0)
        async with start(older) as old, start(newer) as new:
            house = await new.open()
            for _ in range(20):
                with pytest.raises(NotReady, match="Another instance") as refused:
                    await old.open()
                assert 0 < refused.value.retry_after_seconds <= 2
            assert proxy.accepted == 1
            await outside(database_url, RUN_OUT)  # nobody looks, but the time is over
            with trio.fail_after(5):
                while old.state != "awake":
                    with suppress(NotReady):
                        await old.open()
            assert proxy.accepted == 2
            with pytest.raises(LeaseLost):
                await house.store.ask(Commit())


async def test_an_instance_that_is_kept_out_sees_within_seconds_that_the_lease_was_given_up(
    database_url: str, tmp_path: Path
) -> None:
    async with open_proxy(database_url) as proxy:
        older = config_for(proxy.url, tmp_path, generation="66a0aaaa", look_seconds=0.05)
        newer = config_for(database_url, tmp_path, generation="66b0aaaa")
        async with start(older) as old:
            async with start(newer) as new:
                await new.open()
                with pytest.raises(NotReady, match="Another instance"):
                    await old.open()
            with trio.fail_after(5):
                while old.state != "awake":
                    with suppress(NotReady):
                        await old.open()
            assert proxy.accepted == 3, "it was sent away, looked once and opened"


async def test_an_instance_that_is_kept_out_says_so_when_the_database_is_away_as_well(
    database_url: str, tmp_path: Path
) -> None:
    async with open_proxy(database_url) as proxy:
        older = config_for(proxy.url, tmp_path, generation="66a0aaaa", look_seconds=0.001)
        newer = config_for(database_url, tmp_path, generation="66b0aaaa")
        async with start(older) as old, start(newer) as new:
            await new.open()
            with pytest.raises(NotReady, match="Another instance"):
                await old.open()
            proxy.on_request = lambda request: CUT_AFTER
            said = "Another instance"
            while said.startswith("Another instance"):
                with pytest.raises(NotReady) as refused:
                    await old.open()
                said = str(refused.value)
            assert said.startswith("the connection to the database was lost")


async def test_a_caller_that_leaves_does_not_cut_an_opening_short(database_url: str, tmp_path: Path) -> None:
    async with start(config_for(database_url, tmp_path)) as system:
        with trio.move_on_after(0):
            await system.open()
        assert system.state == "asleep"
        with trio.fail_after(20):
            while system.state != "awake":
                await trio.lowlevel.checkpoint()


async def test_whoever_waits_for_an_opening_hears_of_the_end_of_the_process(database_url: str, tmp_path: Path) -> None:
    refused: list[str] = []

    async def request() -> None:
        try:
            await system.open()
        except NotReady as error:
            refused.append(str(error))

    async with trio.open_nursery() as nursery:
        async with start(config_for(database_url, tmp_path)) as system:
            for _ in range(3):
                nursery.start_soon(request)
            await trio.testing.wait_all_tasks_blocked()
    assert refused in ([], ["dreamwalker is stopping."] * 3)
