"""What befalls a schedule: every kind of injection, by name, and what it does where it strikes.

One rule: an injection strikes at a step (a request to the database, a request to the model, an effect of a tool) and
is the same wherever it strikes, so that every kind can meet every operation.
"""

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Literal

import attrs
import trio

from tests.messages_api import Answer, Gate, HangUp, Silence, empty, fail, paused, use
from tests.messages_api.replies import Reply
from tests.proxy import CUT_AFTER, CUT_BEFORE, FREEZE, LATE, Action, Await, Door, Fail, Request, Then
from tests.simulate.acts import Act, Say, Stop
from tests.simulate.model import Turn

if TYPE_CHECKING:
    from tests.simulate.life import Life
    from tests.simulate.stage import Stage

Site = Literal["database", "model", "tool"]

SLOW_SECONDS = 0.04
ABSENT_SECONDS = 0.1
PAUSE_SECONDS = 0.05
LONGEST_PAUSE_SECONDS = 3.0


@attrs.frozen
class OnRequest:
    """At a request to the database: what becomes of it."""

    strike: "Callable[[Stage, Life, Request], Action]"
    at: tuple[str, ...] = ()
    """The operations that it strikes, all if none are named."""
    times: int = 1
    """How often it strikes, each time it is met."""
    site: Site = "database"


@attrs.frozen
class OnAnswer:
    """At a request to the model: what is answered instead of the honest turn."""

    strike: "Callable[[Stage, Life, Turn], Reply]"
    times: int = 1
    at: tuple[str, ...] = ()
    site: Site = "model"


async def _nothing(stage: "Stage", life: "Life") -> None:
    pass


@attrs.frozen
class OnEffect:
    """At an effect of a tool: before it and after it."""

    before: "Callable[[Stage, Life], Awaitable[None]]" = _nothing
    after: "Callable[[Stage, Life], Awaitable[None]]" = _nothing
    times: int = 1
    at: tuple[str, ...] = ()
    site: Site = "tool"


Injection = OnRequest | OnAnswer | OnEffect


# -- the database


def _dies(fate: object) -> "Callable[[Stage, Life, Request], Action]":
    return lambda stage, life, request: Then(fate, life.kill)  # type: ignore[arg-type]


def _late(stage: "Stage", life: "Life", request: Request, *, dies: bool) -> Action:
    def happened() -> None:
        stage.deliver_later(life.proxy.late[-1])
        if dies:
            life.kill()

    return Then(LATE, happened)


def _slow(stage: "Stage", life: "Life", request: Request) -> Action:
    return Await(stage.after(SLOW_SECONDS))


def _absent(stage: "Stage", life: "Life", seconds: float) -> Action:
    def shut() -> None:
        life.proxy.door = Door.SHUT
        life.proxy.cut_all()
        stage.soon(_open_again, life, seconds)

    return Then(CUT_BEFORE, shut)


async def _open_again(life: "Life", seconds: float) -> None:
    await trio.sleep(seconds)
    life.reopen_door()


def _pauses(stage: "Stage", life: "Life", request: Request, *, then: str) -> Action:
    resumed = life.pause()
    stage.soon(_meanwhile, stage, life, then)
    return Await(resumed)


async def _meanwhile(stage: "Stage", life: "Life", then: str) -> None:
    try:
        with trio.move_on_after(LONGEST_PAUSE_SECONDS):
            if then.startswith("past"):
                await stage.outsider.let_lease_run_out()
            if then.endswith("replaced"):
                await stage.replace(life, newer="older" not in then and "like" not in then, older="older" in then)
                await stage.steps_or_seconds(6, 0.15)
            else:
                await trio.sleep(PAUSE_SECONDS)
    finally:
        life.resume()


def _replaced(stage: "Stage", life: "Life", request: Request, *, newer: bool) -> Action:
    done = trio.Event()

    async def replace() -> None:
        await stage.replace(life, newer=newer)
        done.set()

    stage.soon(replace)
    return Await(stage.either(done, 0.5))


def _knocks(stage: "Stage", life: "Life", request: Request) -> Action:
    stage.soon(stage.knock_as_older)
    return Await(stage.after(SLOW_SECONDS))


def _stops(stage: "Stage", life: "Life", request: Request) -> Action:
    life.stop()
    return Await(stage.after(0.005))


def _meanwhile_he(act: Act) -> "Callable[[Stage, Life, Request], Action]":
    """The owner does something while the request is under way."""

    def strike(stage: "Stage", life: "Life", request: Request) -> Action:
        stage.soon(act.perform, stage)
        return Await(stage.after(SLOW_SECONDS / 2))

    return strike


# -- the model


def _broken(how: str) -> "Callable[[Stage, Life, Turn], Reply]":
    def strike(stage: "Stage", life: "Life", turn: Turn) -> Reply:
        whole = turn.answer()
        after = stage.chance.randrange(0, 5 + sum(len(block.pieces) for block in whole.blocks))  # type: ignore[union-attr]
        broken: Answer = getattr(whole, how)(after=after)
        return broken

    return strike


def _says(make: Callable[[Turn], Reply]) -> "Callable[[Stage, Life, Turn], Reply]":
    return lambda stage, life, turn: make(turn)


def _with_bad_call(kind: str) -> "Callable[[Stage, Life, Turn], Reply]":
    def make(turn: Turn) -> Reply:
        if not turn.calls:  # it does not answer yet
            turn = attrs.evolve(turn, text=f"[{turn.serial}] Let me see.")
        match kind:
            case "unknown":
                return turn.answer(use("launch_rocket", {"to": "the moon"}))
            case "invalid":
                return turn.answer(use("write_note", {"title": 7, "colour": "red"}))
            case "cut":
                return turn.answer(use("write_note", '{"title": "half a ti'), stop="max_tokens")
            case _:
                return turn.answer(use("list_notes", {}), same_ids=True)

    return _says(make)


def _in_the_middle(act: "Callable[[Stage, Life], None]") -> "Callable[[Stage, Life, Turn], Reply]":
    """Something happens while the answer is being written."""

    def strike(stage: "Stage", life: "Life", turn: Turn) -> Reply:
        gate = Gate()

        async def wait() -> None:
            with trio.move_on_after(1):
                await gate.reached.wait()
                act(stage, life)
            await trio.sleep(0.01)
            gate.open()

        stage.soon(wait)
        return turn.answer(gate=gate)

    return strike


def _die_before_answering(stage: "Stage", life: "Life", turn: Turn) -> Reply:
    life.kill()
    return Silence()


def _replace_now(stage: "Stage", life: "Life") -> None:
    stage.soon(stage.replace, life)


# -- tools


async def _die(stage: "Stage", life: "Life") -> None:
    life.kill()
    await life.awake()


async def _fail(stage: "Stage", life: "Life") -> None:
    raise RuntimeError("the post office burned down")


async def _be_slow(stage: "Stage", life: "Life") -> None:
    await trio.sleep(SLOW_SECONDS)


async def _be_paused(stage: "Stage", life: "Life") -> None:
    life.pause()
    stage.soon(_meanwhile, stage, life, "past, replaced")
    await life.awake()


async def _be_replaced(stage: "Stage", life: "Life") -> None:
    await stage.replace(life)


async def _be_stopped(stage: "Stage", life: "Life") -> None:
    life.stop()
    await trio.sleep(0.005)


REPLIES = ("reply", "reply with calls", "whole turn", "result")

INJECTIONS: dict[str, Injection] = {
    "db: dies before": OnRequest(_dies(CUT_BEFORE)),
    "db: dies after": OnRequest(_dies(CUT_AFTER)),
    "db: dies, delivered late": OnRequest(lambda s, life, r: _late(s, life, r, dies=True)),
    "db: dies again and again": OnRequest(_dies(CUT_BEFORE), at=REPLIES, times=6),
    "db: stops (SIGTERM)": OnRequest(_stops),
    "db: cut before": OnRequest(lambda s, life, r: CUT_BEFORE),
    "db: cut after": OnRequest(lambda s, life, r: CUT_AFTER),
    "db: cut, delivered late": OnRequest(lambda s, life, r: _late(s, life, r, dies=False)),
    "db: cut again and again": OnRequest(lambda s, life, r: CUT_AFTER, times=5),
    "db: silent": OnRequest(lambda s, life, r: FREEZE),
    "db: undone by the server": OnRequest(lambda s, life, r: Fail("40001")),
    "db: ended by the server": OnRequest(lambda s, life, r: Fail("57P01")),
    "db: slow": OnRequest(_slow, times=3),
    "db: absent": OnRequest(lambda s, life, r: _absent(s, life, ABSENT_SECONDS)),
    "db: absent for long": OnRequest(lambda s, life, r: _absent(s, life, s.times.reach_seconds + 0.2)),
    "db: paused": OnRequest(lambda s, life, r: _pauses(s, life, r, then="")),
    "db: paused past the lease": OnRequest(lambda s, life, r: _pauses(s, life, r, then="past")),
    "db: paused, replaced by its like": OnRequest(lambda s, life, r: _pauses(s, life, r, then="like, replaced")),
    "db: paused, replaced by a newer": OnRequest(lambda s, life, r: _pauses(s, life, r, then="replaced")),
    "db: paused past, replaced by an older": OnRequest(
        lambda s, life, r: _pauses(s, life, r, then="past, older, replaced")
    ),
    "db: replaced by its like": OnRequest(lambda s, life, r: _replaced(s, life, r, newer=False)),
    "db: replaced by a newer": OnRequest(lambda s, life, r: _replaced(s, life, r, newer=True)),
    "db: an older knocks": OnRequest(_knocks),
    "db: the owner stops it meanwhile": OnRequest(_meanwhile_he(Stop())),
    "db: the owner stops it meanwhile, in a reply": OnRequest(_meanwhile_he(Stop()), at=REPLIES),
    "db: the owner writes meanwhile": OnRequest(_meanwhile_he(Say(number=50))),
    "db: the owner interrupts meanwhile": OnRequest(_meanwhile_he(Say(number=51, interrupt=True))),
    "model: silent": OnAnswer(_says(lambda turn: Silence())),
    "model: hangs up": OnAnswer(_says(lambda turn: HangUp(reset=turn.serial % 2 == 0))),
    "model: stalls": OnAnswer(_broken("stall")),
    "model: cut": OnAnswer(_broken("cut")),
    "model: reset": OnAnswer(_broken("reset")),
    "model: error in the stream": OnAnswer(_broken("error")),
    "model: 429": OnAnswer(_says(lambda turn: fail(429, retry_after=7))),
    "model: 529": OnAnswer(_says(lambda turn: fail(529)), times=3),
    "model: 500": OnAnswer(_says(lambda turn: fail(500))),
    "model: 504": OnAnswer(_says(lambda turn: fail(504))),
    "model: 500 again and again": OnAnswer(_says(lambda turn: fail(500)), times=9),
    "model: 400": OnAnswer(_says(lambda turn: fail(400, "prompt is too long"))),
    "model: 401": OnAnswer(_says(lambda turn: fail(401, "invalid x-api-key")), times=2),
    "model: empty answer": OnAnswer(_says(lambda turn: empty())),
    "model: repeated ids": OnAnswer(_with_bad_call("repeated"), times=2),
    "model: unknown tool": OnAnswer(_with_bad_call("unknown")),
    "model: invalid arguments": OnAnswer(_with_bad_call("invalid")),
    "model: cut arguments": OnAnswer(_with_bad_call("cut")),
    "model: pauses": OnAnswer(_says(lambda turn: paused(f"[{turn.serial}] Searching on."))),
    "model: declines": OnAnswer(_says(lambda turn: turn.answer(stop="refusal") if turn.calls else empty("refusal"))),
    "model: dies before the answer": OnAnswer(_die_before_answering),
    "model: dies in the answer": OnAnswer(_in_the_middle(lambda stage, life: life.kill())),
    "model: dies again and again": OnAnswer(_die_before_answering, times=6),
    "model: stops (SIGTERM) in the answer": OnAnswer(_in_the_middle(lambda stage, life: life.stop())),
    "model: replaced in the answer": OnAnswer(_in_the_middle(_replace_now)),
    "tool: dies before": OnEffect(before=_die),
    "tool: dies after": OnEffect(after=_die),
    "tool: dies again and again": OnEffect(after=_die, times=6),
    "tool: fails before": OnEffect(before=_fail),
    "tool: fails after": OnEffect(after=_fail),
    "tool: slow": OnEffect(before=_be_slow),
    "tool: paused before, replaced": OnEffect(before=_be_paused),
    "tool: paused after, replaced": OnEffect(after=_be_paused),
    "tool: replaced before": OnEffect(before=_be_replaced),
    "tool: replaced after": OnEffect(after=_be_replaced),
    "tool: stops (SIGTERM) before": OnEffect(before=_be_stopped),
}
