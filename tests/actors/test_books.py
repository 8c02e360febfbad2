"""The books: never under the bill, over it by what is listed as set aside, and never over the limit."""

import itertools
import random
from collections import Counter
from datetime import UTC, datetime, timedelta
from typing import Any

import attrs
import pytest
import trio

from actors.clock import SystemClock
from dreamwalker.cast import Given
from dreamwalker.prices import price
from dreamwalker.settings import NANO
from storage.operation import Operation, Read, Reader, Transaction
from storage.records import Run
from storage.settings import Set
from storage.spend import ReadPeriod
from storage.workers import WorkersOfRun
from tests.actors.delegating import Cast
from tests.actors.house import Inside, inside, open_house
from tests.hand_clock import HandClock
from tests.messages_api import Bill, Gate, answer, fail, say, serve_messages_api, text, use
from tests.messages_api.replies import HangUp, Reply
from tests.messages_api.server import Request
from tools.limits import Limits
from tools.model import Usage


@attrs.frozen(kw_only=True)
class Books:
    """What the rows say, in nano-dollars: all months together, what was settled, and what is set aside."""

    used: int
    settled: int
    unsettled: int
    requests: int


@attrs.frozen
class ReadBooks(Read[Books]):
    """The books as they stand."""

    async def read(self, reader: Reader) -> Books:
        months = await reader.get("SELECT sum(used)::bigint AS used FROM budget WHERE length(period) = 7")
        days = await reader.get("SELECT sum(used)::bigint AS used FROM budget WHERE length(period) = 10")
        rows = await reader.get(
            "SELECT count(*) AS requests, COALESCE(sum(cost), 0)::bigint AS settled, "
            "COALESCE(sum(reserved) FILTER (WHERE cost IS NULL), 0)::bigint AS unsettled FROM spend"
        )
        assert months is not None and days is not None and rows is not None and months["used"] == days["used"]
        return Books(used=months["used"], **rows)


def cost(bill: Bill) -> int:
    """What the provider bills, by the prices that the test knows."""
    usage = bill.usage
    return price(
        bill.model,
        Usage(
            input_tokens=usage["input_tokens"],
            cache_write_tokens=usage["cache_creation_input_tokens"],
            cache_read_tokens=usage["cache_read_input_tokens"],
            output_tokens=usage["output_tokens"],
            searches=usage.get("server_tool_use", {}).get("web_search_requests", 0),
        ),
    )


@attrs.define
class Provider:
    """Answers at random, and knows of each answer that it bills whether its end was seen."""

    chance: random.Random
    whole: list[bool] = attrs.Factory(list)
    asked: int = 0
    gate: Gate | None = None
    """Halts the next answer, for whoever wants to close the house in its midst."""

    def __call__(self, request: Request) -> Reply:
        self.asked += 1
        if self.gate is not None:
            self.whole.append(False)
            return answer(text("Well", self.gate, "…"))
        words, kind = "word " * self.chance.randrange(1, 60), self.chance.randrange(20)
        if kind < 11:
            self.whole.append(True)
            return say(words)
        if kind < 14:  # the prompt as it likes to count it, and searches
            self.whole.append(True)
            searches = self.chance.randrange(4)
            return answer(words).billed(
                input_tokens=self.chance.randrange(3_000),
                cache_creation_input_tokens=self.chance.randrange(3_000),
                cache_read_input_tokens=self.chance.randrange(3_000),
                server_tool_use={"web_search_requests": searches, "web_fetch_requests": 0},
            )
        if kind < 16:
            self.whole.append(True)
            return answer(words, use("list_notes", {}))
        if kind == 16:
            return fail(self.chance.choice((429, 529, 400)))
        self.whole.append(False)
        if kind == 17:
            return HangUp(reset=self.chance.random() < 0.5)
        after = self.chance.randrange(1, 5)
        return say(words).cut(after=after) if kind == 18 else say(words).reset(after=after)


@pytest.mark.slow
async def test_a_thousand_requests_are_booked_as_they_are_billed(database_url: str) -> None:
    chance = random.Random(8)
    limits = Limits(retry_first_seconds=0.001, retry_longest_seconds=0.002)
    provider = Provider(chance)
    async with serve_messages_api() as api:
        api.answer_with(provider)
        told = 0
        while provider.asked < 1_000:
            async with open_house(database_url, api, clock=SystemClock(), limits=limits) as it:
                await it.settled(told)  # what was cut off goes on
                await it.house.choose("day_limit_dollars", 1_000)
                await it.house.choose("month_limit_dollars", 1_000)
                for _ in range(chance.randrange(20, 60)):
                    told += 1
                    await it.say("x" * chance.randrange(1, 200))
                    await it.settled(told)
                    if told % 10 == 0:
                        await it.say("", kind="fresh", source="")
                told += 1
                provider.gate = Gate()
                await it.say("One more")
                await provider.gate.reached.wait()  # it is closed in the midst of it
            provider.gate = None
        books = await _settled_books(database_url, api, told)
        bill = sum(map(cost, api.billed))
        seen = sum(cost(one) for one, whole in zip(api.billed, provider.whole, strict=True) if whole)
        assert books.requests >= 1_000 and not all(provider.whole)
        assert books.used == books.settled + books.unsettled >= bill
        assert books.settled == seen, "what was seen to its end is booked to the last nano-dollar"
        assert books.unsettled >= bill - seen, "what was not is covered by what was set aside for it"


async def _settled_books(database_url: str, api: Any, told: int) -> Books:
    async with open_house(database_url, api, clock=SystemClock()) as it:
        await it.settled(told)
        return await it.ask(ReadBooks())


@attrs.frozen
class _Spent(Operation[None]):
    """So much was used in a day and its month before."""

    day: str
    used: int

    async def perform(self, tx: Transaction) -> None:
        for period in (self.day, self.day[:7]):
            await tx.run("INSERT INTO budget (period, used, no) VALUES (?, ?, :no)", period, self.used)


async def test_five_workers_at_once_never_pass_the_limit(database_url: str) -> None:
    day, limits = "2026-11-29", Limits(reply_tokens=2_000)
    async with inside(database_url, limits=limits) as it:
        await it.house.cast.change("dreamwalker", Given(model="claude-sonnet-5-5"))
        await it.house.store.ask(_Spent(day, 4_900_000_000))
        cast = Cast().play(it.api)
        words = ("Ants", "Bees", "Cats", "Dogs", "Eels")
        cast.says(answer(*(use("delegate", {"task": f"{word} eat what?"}) for word in words)), say("Some of it."))
        gates = [Gate() for _ in words]
        for word, gate in zip(words, gates, strict=True):
            cast.does(word, say("They eat", gate, "."))
        await it.say("What do they eat?")
        with trio.fail_after(20):
            while (passed := await _outcomes(it)).total() < 5:
                for gate in gates:
                    if gate.reached.is_set():
                        assert (await it.ask(ReadPeriod(day))).used <= 5 * NANO
                        gate.open()
                await trio.sleep(0.01)
        assert passed["money"] >= 1 and passed["answered"] >= 1, passed
        assert (await it.ask(ReadPeriod(day))).used <= 5 * NANO


async def _outcomes(it: Inside) -> "Counter[str]":
    runs = await it.runs()
    seen = await it.ask(WorkersOfRun(runs[0].id)) if runs else ()
    ended = [one for one in seen if one.run is not None and one.run.ended]
    return Counter("money" if one.worker.cut_short == "money" else "answered" for one in ended)


VIENNA_MIDNIGHTS = [
    # what is waited in, the setting that is too low, and the instants at which a day or a month of the owner's begins
    ("2026-11-29T12:00", "day_limit_dollars", ["2026-11-29T23:00", "2026-11-30T23:00"]),
    ("2026-11-30T12:00", "month_limit_dollars", ["2026-11-30T23:00", "2026-12-01T23:00"]),
    ("2026-03-28T12:00", "day_limit_dollars", ["2026-03-28T23:00", "2026-03-29T22:00", "2026-03-30T22:00"]),
    ("2026-10-24T12:00", "day_limit_dollars", ["2026-10-24T22:00", "2026-10-25T23:00", "2026-10-26T23:00"]),
]


@pytest.mark.parametrize(("start", "setting", "midnights"), VIENNA_MIDNIGHTS)
async def test_the_limit_holds_to_each_midnight_of_the_owners_zone_and_over_restarts(
    database_url: str, start: str, setting: str, midnights: list[str]
) -> None:
    clock = HandClock(_utc(start))
    async with serve_messages_api() as api:
        api.answer_with(lambda request: say("At last."))
        async with open_house(database_url, api, clock=clock) as it:
            await it.house.store.ask(Set(setting, 0))
        async with open_house(database_url, api, clock=clock) as it:
            await it.say("Hello")
            await it.until(lambda runs: bool(runs) and runs[0].retry_at is not None)
        for midnight, following in itertools.pairwise(midnights):
            async with open_house(database_url, api, clock=clock) as it:
                run = await _waiting_until(it, midnight)
                clock.set(_utc(midnight) - timedelta(seconds=1))
                assert run.state == "waiting" and not api.requests
                await clock.sleepers(1)
                clock.set(_utc(midnight) + timedelta(seconds=1))
                run = await _waiting_until(it, following)
                assert run.state == "waiting" and "limit of the" in (run.reason or "") and not api.requests
        async with open_house(database_url, api, clock=clock) as it:
            await it.house.choose(setting, 5)
            (run,) = await it.settled()
            assert run.state == "done" and run.asked == 1 and len(api.requests) == 1


async def _waiting_until(it: Inside, text: str) -> Run:
    (run,) = await it.until(lambda runs: runs[0].retry_at == _utc(text))
    return run


def _utc(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)
