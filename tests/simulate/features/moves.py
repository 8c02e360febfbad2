"""How time passes: with the house awake, dead, asleep, paused, or being taken over.

One rule: it passes by hand and at once, so that whatever was due meanwhile is found late by whoever comes next.
"""

import random
from typing import TYPE_CHECKING, ClassVar, Literal

import attrs
import trio

from tests.simulate.acts import Act, When

if TYPE_CHECKING:
    from tests.simulate.stage import Stage

House = Literal["awake", "dead", "asleep", "paused", "replaced", "replaced by a newer"]
HOUSES: tuple[House, ...] = ("awake", "awake", "dead", "asleep", "paused", "replaced", "replaced by a newer")

MINUTE, HOUR, DAY = 60.0, 3_600.0, 86_400.0
PASSES_SECONDS = (59.0, 5 * MINUTE - 1, 5 * MINUTE, 7 * MINUTE + 1, 20 * MINUTE, 3 * HOUR, 26 * HOUR)
SLEEP_SECONDS = 3.0
PAUSE_SECONDS = 0.03


@attrs.frozen(kw_only=True)
class Pass(Act):
    """So much time passes, and what is with the house meanwhile."""

    seconds: float
    house: House = "awake"
    with_real_processes: ClassVar[bool] = False

    async def perform(self, stage: "Stage") -> None:
        life = stage.current
        match self.house:
            case "dead":
                life.kill()
            case "asleep":
                life.stop()
                with trio.move_on_after(SLEEP_SECONDS):
                    await life.ended.wait()
            case "paused":
                life.pause()
                stage.clock.move(self.seconds)
                await trio.sleep(PAUSE_SECONDS)
                life.resume()
                return
            case "replaced" | "replaced by a newer":
                stage.soon(_replace, stage, self.house)
        stage.clock.move(self.seconds)


async def _replace(stage: "Stage", house: House) -> None:
    await stage.replace(stage.current, newer=house != "replaced")


@attrs.frozen(kw_only=True)
class TakeOver(Act):
    """The lease passes, to another instance of this deploy or of a newer one, while this one lives on."""

    newer: bool

    async def perform(self, stage: "Stage") -> None:
        await stage.replace(stage.current, newer=self.newer)


_WHEN: tuple[When, ...] = ("now", "settled", "settled", "answering")


@attrs.frozen(kw_only=True)
class Wake(Act):
    """The platform's wake comes, several times at once."""

    times: int

    async def perform(self, stage: "Stage") -> None:
        async with trio.open_nursery() as nursery:
            for _ in range(self.times):
                nursery.start_soon(_wake, stage)


async def _wake(stage: "Stage") -> None:
    answer = await stage.request("POST", "/api/wake")
    if answer.status_code not in (200, 202):
        stage.violations.append(f"a wake was answered {answer.status_code}: {answer.text}")


def some_time(chance: random.Random, when: When | None = None) -> Pass:
    """Some of it passes."""
    chosen = chance.choice(_WHEN) if when is None else when
    return Pass(seconds=chance.choice(PASSES_SECONDS), house=chance.choice(HOUSES), when=chosen)
