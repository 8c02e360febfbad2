"""A house whose model answers from memory, and one durable run through it.

One rule: the clock runs from the moment a message is handed in until the commit that settles its run, and stands
still for whatever the house tidies up after that.
"""

import hashlib
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any
from zoneinfo import ZoneInfo

import trio

from actors.clock import SystemClock
from actors.store import StoreSettings
from dreamwalker import garbage, prices
from dreamwalker.cast import Given
from dreamwalker.furnishing import Furnishing
from dreamwalker.house import MAIN_AGENT, House
from storage import inbox
from storage.connection import Options
from storage.operation import Commit
from storage.text import dumps
from storage.words import EnterWords
from tools.limits import Limits
from tools.model import ModelReply, ModelRequest, ToolUse, Usage
from tools.redact import Redactor

SAID = "My sister Anna moved: her new address is Lindengasse 12, 1070 Vienna. Her birthday is still 4 May."
NOTE = "Anna (his sister) lives at Lindengasse 12, 1070 Vienna since November. Her birthday is 4 May; she likes tulips."
ANSWER = "Noted: Anna's new address is Lindengasse 12, 1070 Vienna, and her birthday stays 4 May."

COMMITS_PER_RUN = 4
"""Its message, its beginning, its turn with the call, its end."""

_RUN_SECONDS = 30.0
"""How long one run may take before the bench gives up."""
_LOOK_AGAIN_SECONDS = 0.001
_ALL = 1_000_000


class MemoryModel:
    """Satisfies Model without a network: a message is answered with one `write_note`, its result with a sentence.

    `settling_no` is the newest commit number at the time of the last sentence, when `ending` is set: what comes after
    it settles the run.
    """

    def __init__(self) -> None:
        self.newest_no: Callable[[], int] = lambda: 0
        self.settling_no = 0
        self.ending = trio.Event()
        self._notes = 0

    async def warm(self) -> None:
        """It is always ready."""

    async def ask(self, request: ModelRequest, on_text: Callable[[str], None]) -> ModelReply:
        await trio.lowlevel.checkpoint()
        if request.messages[-1]["content"][-1]["type"] == "tool_result":
            self.settling_no = self.newest_no()
            self.ending.set()
            return self._reply(request, on_text, ANSWER, stop_reason="end_turn")
        self._notes += 1
        arguments = {"title": f"Anna {self._notes}", "text": NOTE}
        use = ToolUse(id="toolu_1", name="write_note", arguments=arguments, raw=dumps(arguments))
        return self._reply(request, on_text, "I'll note that.", use, stop_reason="tool_use")

    @staticmethod
    def _reply(
        request: ModelRequest, on_text: Callable[[str], None], text: str, *uses: ToolUse, stop_reason: str
    ) -> ModelReply:
        on_text(text)
        usage = Usage(input_tokens=900, cache_read_tokens=600, output_tokens=80)
        return ModelReply(blocks=(text, *uses), stop_reason=stop_reason, usage=usage, model=request.model)


class Runs:
    """Does runs in the main agent's home conversation, one after the other."""

    def __init__(self, house: House, model: MemoryModel) -> None:
        self.house, self._model = house, model

    async def once(self) -> float:
        """One run with one call. Returns its milliseconds; the house is at rest before and after it."""
        house, model, home = self.house, self._model, self.house.homes[MAIN_AGENT]
        model.ending = trio.Event()
        with trio.fail_after(_RUN_SECONDS):
            began = time.perf_counter()
            await house.store.ask(message(house, MAIN_AGENT))
            await model.ending.wait()
            with house.live.watch(home) as watch:  # no sooner: each wake of ours would be counted
                while house.store.commit_no == model.settling_no:
                    await watch.wait()
            took = time.perf_counter() - began
            await self._rest()
        return took * 1000

    async def several(self, count: int) -> list[float]:
        """So many runs; the milliseconds of each."""
        return [await self.once() for _ in range(count)]

    async def _rest(self) -> None:
        actor = self.house.agent(MAIN_AGENT)
        while actor is not None and actor.busy:
            await trio.sleep(_LOOK_AGAIN_SECONDS)


class Crowd:
    """Many agents, each of whom does runs in its home conversation: one after the other, or all of them at once."""

    def __init__(self, house: House, names: Sequence[str]) -> None:
        self._house, self._names = house, names

    @classmethod
    async def hire(cls, house: House, count: int) -> "Crowd":
        """So many new agents, each with one run behind it, and as much money as they like."""
        await house.choose("day_limit_dollars", 1_000)
        await house.choose("month_limit_dollars", 1_000)
        names = [f"agent-{number}" for number in range(count)]
        for name in names:
            await house.cast.make(name, Given(job="One of many."), house.clock.now())
        crowd = cls(house, names)
        await crowd.one_by_one()
        return crowd

    async def one_by_one(self) -> float:
        """A run of each, one after the other: the milliseconds that one took."""
        began = time.perf_counter()
        for name in self._names:
            await self._run(name)
        return (time.perf_counter() - began) * 1000 / len(self._names)

    async def at_once(self, runs_each: int = 4) -> float:
        """Some runs of each, of all of them at a time: the milliseconds that it took for each run."""

        async def several(name: str) -> None:
            for _ in range(runs_each):
                await self._run(name)

        began = time.perf_counter()
        async with trio.open_nursery() as nursery:
            for name in self._names:
                nursery.start_soon(several, name)
        return (time.perf_counter() - began) * 1000 / len(self._names) / runs_each

    async def rest(self) -> None:
        """Have done what the house leaves for when nobody waits."""
        await self._house.store.ask(EnterWords(_ALL))

    async def _run(self, name: str) -> None:
        """From handing in a message to the commit that settles its run."""
        settled, left = trio.Event(), [COMMITS_PER_RUN]

        def rung(*, rows: bool) -> None:
            left[0] -= rows
            if left[0] == 0:
                settled.set()

        with self._house.live.watch(self._house.homes[name]) as watch, trio.fail_after(_RUN_SECONDS):
            watch.ring = rung  # type: ignore[method-assign]
            await self._house.store.ask(message(self._house, name))
            await settled.wait()


def message(house: House, agent: str) -> Commit:
    """What is said to an agent."""
    store = house.store
    id, body = store.next_id(), dumps({"text": SAID, "quotes": []})
    return inbox.accept(
        id=id,
        agent=agent,
        conversation=house.homes[agent],
        source_key=f"request:bench-{id}",
        digest=hashlib.sha256(body.encode()).hexdigest(),
        kind="owner",
        body=body,
        outside=False,
        now=house.clock.now(),
        seen_no=store.commit_no,
    )


@asynccontextmanager
async def open_runs(database_url: str) -> AsyncIterator[Runs]:
    """A house on a migrated database, with all limits as the product has them."""
    garbage.settle()
    limits, model, redactor = Limits(), MemoryModel(), Redactor({"API TOKEN": "bench-4f1d0c6e9a7b43528d1e0f6a"})

    async def no_check(raw: Any) -> None:
        """The database was migrated when it was made."""

    furnishing = Furnishing(
        store=StoreSettings(
            options=Options(dsn=lambda: database_url, lease_seconds=limits.lease_seconds),
            check=no_check,
            renew_seconds=limits.renew_seconds,
            ask_seconds=limits.ask_seconds,
        ),
        model=model,
        prices=prices,
        clock=SystemClock(),
        limits=limits,
        redactor=lambda: redactor,
        zone=ZoneInfo("Europe/Vienna"),
        default_model="claude-haiku-5-5",
        phone=None,
        visited=lambda: True,
    )
    house = House(furnishing)
    model.newest_no = lambda: house.store.commit_no
    async with trio.open_nursery() as nursery:
        await nursery.start(house.run)
        yield Runs(house, model)
        nursery.cancel_scope.cancel()
