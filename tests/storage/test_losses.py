"""Whatever the connection does, a commit happens once or not at all, and its caller is told which."""

import random
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest
import trio

from storage.errors import CommitUnknown, LeaseLost, StorageError, StoreClosed, Unavailable
from storage.operation import Bell, Operation, Transaction
from tests.proxy import (
    CUT_AFTER,
    CUT_BEFORE,
    FREEZE,
    LATE,
    PASS,
    Action,
    Await,
    Door,
    Fail,
    Fate,
    Proxy,
    Request,
    open_proxy,
)
from tests.storage.harness import ADD, Add, Do, House, Rows, Script, add, house, outside, rows

pytestmark = pytest.mark.slow

Adding = Callable[[tuple[str, ...]], Operation[int]]
OPERATIONS = ["composed", "transaction"]
both = pytest.mark.parametrize("operation", [add, Add], ids=OPERATIONS)
both_everywhere = pytest.mark.parametrize(("operation", "places"), [(add, 2), (Add, 5)], ids=OPERATIONS)


def commits(request: Request) -> bool:
    """Whether this is the request that commits: a composed statement, or COMMIT."""
    return request.sql == "COMMIT" or ("fence" in request.sql and request.runs)


def first(wanted: Callable[[Request], bool], action: Action) -> Callable[[Request], Action]:
    """Do this to the first such request, and pass all others on."""
    left = [action]
    return lambda request: left.pop() if left and wanted(request) else PASS


async def one_blow_at_each_place(url: str, operation: Adding, fate: Action, **options: float) -> int:
    """Do an operation over and over, each time with this done to the next of its requests, until none is left.

    Returns how many places there were.
    """
    async with open_proxy(url) as proxy:
        async with house(proxy.url, **options) as writer:
            place, expected = 0, []
            while True:
                place += 1
                proxy.cut_all()
                await writer.do(Rows())  # a new connection to begin with: nothing is prepared yet
                script = proxy.on_request = Script({place: fate})
                names = (f"{place:03}-a", f"{place:03}-b")
                done = await writer.do(operation(names))
                expected += [(name, place + 1) for name in names]
                assert done.value == done.no == place + 1
                assert done.bells == tuple(Bell(name) for name in names)
                assert await rows(url) == expected
                if len(script.seen) < place:
                    return place - 1


@both_everywhere
@pytest.mark.parametrize("fate", [CUT_BEFORE, CUT_AFTER], ids=["before", "after"])
async def test_a_connection_lost_at_any_place_goes_unnoticed(
    url: str, operation: Adding, places: int, fate: Fate
) -> None:
    assert await one_blow_at_each_place(url, operation, fate) == places


@both_everywhere
async def test_a_server_that_undoes_a_transaction_at_any_place_is_asked_again(
    url: str, operation: Adding, places: int
) -> None:
    assert await one_blow_at_each_place(url, operation, Fail("40001")) == places


@both_everywhere
async def test_a_server_that_goes_silent_at_any_place_is_given_up(url: str, operation: Adding, places: int) -> None:
    assert await one_blow_at_each_place(url, operation, FREEZE, silent_seconds=0.1) == places


@both_everywhere
async def test_what_hangs_on_its_way_to_the_server_at_any_place_holds_nobody_up_for_long(
    url: str, operation: Adding, places: int
) -> None:
    assert await one_blow_at_each_place(url, operation, LATE, transaction_seconds=0.2) == places


@both
async def test_a_copy_that_comes_before_our_second_try_is_the_one_that_counts(url: str, operation: Adding) -> None:
    async with open_proxy(url) as proxy, house(proxy.url) as writer:
        retried, delivered = trio.Event(), trio.Event()

        def script(request: Request) -> Action:
            if commits(request) and not proxy.late:
                return LATE
            if "commit_no + 1" in request.sql and proxy.late:
                retried.set()
                return Await(delivered)
            return PASS

        async with trio.open_nursery() as nursery:
            proxy.on_request = script

            async def deliver() -> None:
                await retried.wait()  # it has looked, and found that nothing happened
                assert b"E" not in await proxy.late[0].deliver()
                delivered.set()

            nursery.start_soon(deliver)
            done = await writer.do(operation(("a", "b")))
        assert done.no == writer.connection.commit_no == 2
        assert done.bells == (Bell("a"), Bell("b"))
        assert await rows(url) == [("a", 2), ("b", 2)]
        assert (await writer.do(operation(("c",)))).no == 3


async def test_a_composed_copy_that_comes_after_our_second_try_writes_nothing(url: str) -> None:
    async with open_proxy(url) as proxy, house(proxy.url) as writer:
        proxy.on_request = first(commits, LATE)
        assert (await writer.do(add(("a", "b")))).no == 2
        assert b"E" in await proxy.late[0].deliver()
        assert (await writer.do(add(("c",)))).no == 3
        assert await rows(url) == [("a", 2), ("b", 2), ("c", 3)]


async def test_a_late_copy_writes_nothing_when_later_commits_have_passed_it_by(url: str) -> None:
    async with open_proxy(url) as proxy, house(proxy.url) as writer:
        proxy.on_request = first(commits, LATE)
        await writer.do(add(("a",)))
        await writer.do(Do(lambda tx: tx.run("DELETE FROM settings WHERE name = 'a' AND no < :no")))
        assert b"E" in await proxy.late[0].deliver()
        assert await rows(url) == []


async def test_a_commit_that_hangs_while_our_second_try_waits_for_it_is_the_one_that_counts(url: str) -> None:
    async with open_proxy(url) as proxy, house(proxy.url) as writer:
        proxy.on_request = first(commits, LATE)
        async with trio.open_nursery() as nursery:

            async def deliver() -> None:
                while not await outside(url, "SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock'"):
                    pass
                await proxy.late[0].deliver()

            nursery.start_soon(deliver)
            assert (await writer.do(Add(("a", "b")))).no == 2
        assert await rows(url) == [("a", 2), ("b", 2)]


async def test_a_transaction_whose_commit_never_comes_is_ended_by_the_database_and_run_again(url: str) -> None:
    async with open_proxy(url) as proxy, house(proxy.url, idle_seconds=0.2) as writer:
        proxy.on_request = first(commits, LATE)
        assert (await writer.do(Add(("a", "b")))).no == 2
        assert b"C" not in await proxy.late[0].deliver()
        assert await rows(url) == [("a", 2), ("b", 2)]


async def test_an_operation_is_run_again_from_the_start_with_clean_bells(url: str) -> None:
    runs = 0

    async def twice(tx: Transaction) -> int:
        nonlocal runs
        runs += 1
        tx.ring(Bell("try", runs))
        await tx.run(ADD, "a", "1")
        return runs

    async with open_proxy(url) as proxy, house(proxy.url) as writer:
        proxy.on_request = first(lambda request: "INSERT" in request.sql, CUT_BEFORE)
        done = await writer.do(Do(twice))
        assert (done.value, done.bells) == (2, (Bell("try", 2),))


# -- when the database stays away


@both
@pytest.mark.parametrize("fate", [CUT_BEFORE, CUT_AFTER], ids=["not landed", "landed"])
async def test_a_commit_whose_row_cannot_be_read_within_the_bound_is_unknown(
    url: str, operation: Adding, fate: Fate
) -> None:
    async with open_proxy(url) as proxy, house(proxy.url, reach_seconds=0.3) as writer:
        proxy.on_request = lambda request: shut_and(proxy, fate) if commits(request) else PASS
        with pytest.raises(CommitUnknown):
            await writer.do(operation(("a",)))
    assert await rows(url) == ([("a", 2)] if fate is CUT_AFTER else [])


def shut_and(proxy: Proxy, fate: Fate) -> Fate:
    proxy.door = Door.SHUT
    return fate


async def test_a_transaction_that_never_got_to_its_commit_is_known_not_to_have_happened(url: str) -> None:
    async with open_proxy(url) as proxy, house(proxy.url, reach_seconds=0.3) as writer:
        proxy.on_request = lambda request: shut_and(proxy, CUT_AFTER) if "INSERT" in request.sql else PASS
        with pytest.raises(Unavailable):
            await writer.do(Add(("a",)))
        with pytest.raises(Unavailable):
            await writer.do(add(("b",)))
        with pytest.raises(Unavailable):
            await writer.do(Rows())
        proxy.door, proxy.on_request = Door.OPEN, lambda request: PASS
        assert (await writer.do(add(("c",)))).no == 2
    assert await rows(url) == [("c", 2)]


async def test_an_error_that_proves_nothing_about_an_earlier_copy_leaves_it_unknown(url: str) -> None:
    async with open_proxy(url) as proxy, house(proxy.url) as writer:
        fates: list[Action] = [LATE, Fail("53100", "no space left on device")]
        proxy.on_request = lambda request: fates.pop(0) if fates and commits(request) else PASS
        with pytest.raises(CommitUnknown, match="no space left"):
            await writer.do(add(("a",)))


async def test_the_database_may_take_its_time_to_answer_a_new_connection(url: str) -> None:
    async with open_proxy(url) as proxy, house(proxy.url) as writer:
        proxy.door = Door.STUCK
        proxy.cut_all()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(writer.do, add(("a",)))
            while proxy.accepted < 2:
                await trio.lowlevel.checkpoint()
            proxy.door = Door.OPEN
        assert await rows(url) == [("a", 2)]
        assert writer.connection.drops == 1


async def test_a_database_that_is_away_for_a_moment_is_waited_for(url: str) -> None:
    async with open_proxy(url) as proxy, house(proxy.url) as writer:
        proxy.door = Door.SHUT
        proxy.cut_all()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(writer.do, Add(("a",)))
            while proxy.accepted < 4:
                await trio.lowlevel.checkpoint()
            proxy.door = Door.OPEN
        assert await rows(url) == [("a", 2)]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda url: url.replace("/storage?", "/nowhere?"), "refused the connection.*nowhere"),
        (lambda url: url.replace("postgresql:", "mysql:"), "address can't be used"),
        (lambda url: url + "&sslmode=sometimes", "address can't be used"),
        (lambda url: "postgresql://[::1", "address can't be used"),
        (lambda url: "postgresql://me@127.0.0.1:99999/x", "address can't be used"),
        (lambda url: "postgresql://me@127.0.0.1:port/x", "address can't be used"),
        (lambda url: f"postgresql://me@{'a' * 64}.example/x", "address can't be used"),
    ],
)
async def test_a_wrong_address_is_told_at_once(url: str, change: Callable[[str], str], said: str) -> None:
    async with house(change(url), opened=False, reach_seconds=3600.0) as writer:
        with pytest.raises(Unavailable, match=said):
            await writer.open()


# -- another holder meanwhile


@both
async def test_a_holder_replaced_while_it_was_cut_off_has_lost_the_lease(url: str, operation: Adding) -> None:
    async with open_proxy(url) as proxy, house(proxy.url) as writer:
        looking, replaced = trio.Event(), trio.Event()

        def script(request: Request) -> Action:
            if commits(request):
                return CUT_BEFORE
            if request.sql.startswith("SELECT holder"):
                looking.set()
                return Await(replaced)
            return PASS

        proxy.on_request = script
        async with trio.open_nursery() as nursery:

            @nursery.start_soon
            async def replace() -> None:
                await looking.wait()
                async with house(url) as newer:
                    await newer.do(add(("newer",)))
                replaced.set()

            with pytest.raises(LeaseLost):
                await writer.do(operation(("a",)))
        assert await rows(url) == [("newer", 3)]


# -- operations that do as they like with errors


async def test_an_operation_that_swallows_a_failed_statement_is_undone_and_told(url: str) -> None:
    async def swallow(tx: Transaction) -> str:
        await tx.run(ADD, "a", "1")
        with suppress(StorageError):
            await tx.run(ADD, "a", "1")
        return "fine"

    async with house(url) as writer:
        with pytest.raises(StorageError, match="swallowed"):
            await writer.do(Do(swallow))
        assert (await writer.do(add(("b",)))).no == 2
    assert await rows(url) == [("b", 2)]


@pytest.mark.parametrize("fate", [CUT_BEFORE, Fail("40P01"), Fail("57P01")], ids=["lost", "deadlock", "shutdown"])
@pytest.mark.parametrize("makes", ["nothing", "an error"])
async def test_an_operation_can_make_nothing_else_of_a_loss(url: str, fate: Action, makes: str) -> None:
    async def swallow(tx: Transaction) -> str:
        try:
            await tx.run(ADD, "a", "1")
        except Exception as error:
            if makes == "an error":
                raise ValueError("mine") from error
        return "fine"

    async with open_proxy(url) as proxy, house(proxy.url) as writer:
        proxy.on_request = first(lambda request: "INSERT" in request.sql, fate)
        assert (await writer.do(Do(swallow))).value == "fine"
    assert await rows(url) == [("a", 2)]


async def test_an_error_is_raised_as_it_is_even_when_the_connection_breaks_while_undoing(url: str) -> None:
    async def fail(tx: Transaction) -> None:
        await tx.run(ADD, "a", "1")
        raise KeyError("mine")

    async with open_proxy(url) as proxy, house(proxy.url) as writer:
        proxy.on_request = first(lambda request: request.sql == "ROLLBACK", CUT_BEFORE)
        with pytest.raises(KeyError, match="mine"):
            await writer.do(Do(fail))
        assert (await writer.do(add(("b",)))).no == 2
    assert await rows(url) == [("b", 2)]


async def test_a_refusal_at_the_very_commit_is_told_and_nothing_happened(url: str) -> None:
    async with open_proxy(url) as proxy, house(proxy.url) as writer:
        proxy.on_request = first(commits, Fail("53100", "no space left on device"))
        with pytest.raises(Exception, match="no space left"):
            await writer.do(Add(("a",)))
        assert (await writer.do(add(("b",)))).no == 2
    assert await rows(url) == [("b", 2)]


# -- ending


async def test_a_stop_that_cannot_wait_ends_what_is_under_way(url: str) -> None:
    async with open_proxy(url) as proxy, house(proxy.url, silent_seconds=3600.0) as writer:
        frozen = trio.Event()

        def script(request: Request) -> Action:
            frozen.set()
            return FREEZE

        async with trio.open_nursery() as nursery:

            @nursery.start_soon
            async def ask() -> None:
                with pytest.raises(StoreClosed):
                    await writer.do(Rows())

            proxy.on_request = script
            await frozen.wait()
            writer.connection.cut()
        with pytest.raises(StoreClosed):
            await writer.do(add(("a",)))


async def test_a_stop_that_cannot_wait_ends_an_attempt_to_connect(url: str) -> None:
    async with open_proxy(url) as proxy, house(proxy.url, reach_seconds=3600.0) as writer:
        proxy.door = Door.STUCK
        proxy.cut_all()
        async with trio.open_nursery() as nursery:

            @nursery.start_soon
            async def ask() -> None:
                with pytest.raises(StoreClosed):
                    await writer.do(Rows())

            while proxy.accepted < 2:
                await trio.lowlevel.checkpoint()
            writer.connection.cut()


async def test_closing_gives_the_lease_up_even_if_the_connection_was_lost(url: str) -> None:
    async with open_proxy(url) as proxy, house(proxy.url) as writer:
        proxy.on_request = first(lambda request: True, CUT_BEFORE)
        writer.connection.stopping = True
        with pytest.raises(StoreClosed):
            await writer.do(Rows())
        await writer.bridge.call(writer.connection.close)
    assert await outside(url, "SELECT holder FROM dreamwalker_lease") == [("",)]


async def test_closing_without_a_database_raises_nothing(url: str) -> None:
    async with open_proxy(url) as proxy, house(proxy.url) as writer:
        proxy.door = Door.SHUT
        proxy.cut_all()
        await writer.bridge.call(writer.connection.close)


# -- everything at once


@pytest.mark.parametrize("seed", range(2))
async def test_in_a_storm_every_commit_lands_once(url: str, seed: int) -> None:
    chance = random.Random(seed)
    weather: list[Action] = [CUT_BEFORE, CUT_AFTER, LATE, Fail("40001"), Fail("57P01")]
    times: dict[str, Any] = {"transaction_seconds": 0.3, "reach_seconds": 30.0}
    async with open_proxy(url) as proxy, house(proxy.url, **times) as writer:
        async with trio.open_nursery() as nursery:

            def storm(request: Request) -> Action:
                held = [late for late in proxy.late if not late.delivered]
                if held and chance.random() < 0.2:
                    nursery.start_soon(chance.choice(held).deliver)
                    return PASS
                return chance.choice(weather) if chance.random() < 0.1 else PASS

            proxy.on_request = storm
            expected = []
            for number in range(2, 62):
                names = (f"{number}-a", f"{number}-b")
                done = await writer.do(chance.choice([add, Add])(names))
                assert done.no == number
                assert [bell.topic for bell in done.bells] == list(names)
                expected += [(name, number) for name in names]
            proxy.on_request = lambda request: PASS
        assert writer.connection.drops > 5
        assert proxy.late
    assert await rows(url) == expected


async def test_callers_that_give_up_at_any_time_disturb_nothing(url: str) -> None:
    chance = random.Random(1)
    answered: set[str] = set()
    started: set[str] = set()

    async with house(url) as writer:

        async def caller(number: int) -> None:
            name = f"{number:03}"
            with trio.CancelScope() as scope:
                async with trio.open_nursery() as nursery:
                    nursery.start_soon(give_up, scope, chance.choice([0, 3, 30, 300]))
                    await ask(writer, name, number % 2 == 0)
                    answered.add(name)
                    nursery.cancel_scope.cancel()

        async def ask(writer: House, name: str, composed: bool) -> None:
            if composed:
                await writer.do(add((name + "-a", name + "-b")))
                return

            async def pair(tx: Transaction) -> None:
                started.add(name)
                await tx.run(ADD, name + "-a", "1")
                await tx.run(ADD, name + "-b", "1")

            await writer.do(Do(pair))

        async with trio.open_nursery() as nursery:
            for number in range(200):
                nursery.start_soon(caller, number)
        last = await writer.do(add(("last",)))

    landed = [name for name, _ in await rows(url)]
    pairs = {name[:3] for name in landed if name != "last"}
    assert sorted(landed) == sorted([p + half for p in pairs for half in ("-a", "-b")] + ["last"]), "none is half"
    assert answered <= pairs
    assert started <= pairs, "what had begun was carried out"
    assert 0 < len(answered) < 200
    assert last.no == len(pairs) + 2


async def give_up(scope: trio.CancelScope, steps: int) -> None:
    for _ in range(steps):
        await trio.lowlevel.checkpoint()
    scope.cancel()
