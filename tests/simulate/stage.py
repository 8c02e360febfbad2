"""The stage of one schedule: the lives on it, who is the published one, and the steps that they make.

One rule: what strikes is looked up here, at each step, in the order of the schedule; everything that struck is counted.
"""

import json
import random
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

import attrs
import httpx2
import trio

from tests.hand_clock import HandClock
from tests.messages_api import Gate, MessagesApi
from tests.messages_api import Request as Asked
from tests.messages_api.replies import HangUp, Reply
from tests.ntfy import Ntfy
from tests.proxy import PASS, Action, Door, Late, Request
from tests.simulate.acts import Heard, Say
from tests.simulate.effects import Effect
from tests.simulate.injections import INJECTIONS, Injection, OnAnswer, OnRequest
from tests.simulate.life import TOKEN, Life
from tests.simulate.model import Rounds, Turn, honest
from tests.simulate.outsider import Outsider
from tests.simulate.plan import Schedule, newer_than, older_than
from tools.limits import Limits

REQUEST_SECONDS = 20.0
"""How long the owner is patient with one request."""
PATIENT_TRIES = 10
"""How often he is sent away before somebody sees to the lease of one that died."""


@attrs.define
class _Armed:
    """An injection that has not struck yet, or not as often as it shall."""

    name: str
    at: str | None
    nth: int
    left: int
    seen: int = 0


class Hold:
    """Somewhere in the middle of an answer or a tool, halted until the owner has done something."""

    def __init__(self, site: str) -> None:
        self.site = site
        self.gate = Gate()
        self.taken = False


class Stage:
    """One schedule's world."""

    def __init__(
        self,
        schedule: Schedule,
        *,
        outsider: Outsider,
        api: MessagesApi,
        client: httpx2.AsyncClient,
        database_url: str,
        limits: Limits,
        nursery: trio.Nursery,
        new_life: "Callable[[Stage, int, str], Life]",
        ntfy: Ntfy,
    ) -> None:
        self.schedule, self.outsider, self.api, self.database_url = schedule, outsider, api, database_url
        self.limits = self.times = limits
        self.clock = HandClock()
        self.chance = random.Random(schedule.seed)
        self.lives: list[Life] = []
        self.current: Life
        self.said: dict[int, Say] = {}
        self.accepted: dict[int, int] = {}
        self.withdrawn: set[int] = set()
        self.stopped: set[int] = set()
        self.effects: list[Effect] = []
        self.turns: list[Turn] = []
        self.met: Counter[str] = Counter()
        """How often each operation came up."""
        self.struck: Counter[tuple[str, str]] = Counter()
        self.violations: list[str] = []
        self.ntfy = ntfy
        self.heard = Heard()
        self.said_of_closing: list[str] = []
        """Why houses closed, in the words of their logs."""
        self.stopped_well: Life | None = None
        """Who was told to stop in the end, and did, with the database there all the while."""
        self._plans: dict[int, Rounds] = dict(schedule.plans)
        self._armed = [_Armed(blow.name, blow.at, blow.nth, INJECTIONS[blow.name].times) for blow in schedule.blows]
        self._client, self._nursery, self._new_life = client, nursery, new_life
        self._late: list[Late] = []
        self._hold: Hold | None = None
        self._steps = 0
        self._news = trio.Event()
        self._ending = False

    def now(self) -> datetime:
        """The present, as the lives see it."""
        return datetime.now(UTC) if self.schedule.real else self.clock.now()

    # -- steps

    def meet(self, site: str, operation: str, life: Life) -> Any:
        """What strikes at this step, if anything does."""
        self._steps += 1
        self.met[operation] += 1
        self._news.set()
        self._news = trio.Event()
        for armed in self._armed:
            injection: Injection = INJECTIONS[armed.name]
            if injection.site != site or (armed.at or operation) != operation:
                continue
            if injection.at and operation not in injection.at:
                continue
            armed.seen += 1
            if armed.seen >= armed.nth and armed.left:
                armed.left -= 1
                self.struck[armed.name, operation] += 1
                return injection
        return None

    @contextmanager
    def spared(self) -> Iterator[None]:
        """Nothing strikes in this block: a judge asks."""
        armed, self._armed = self._armed, []
        try:
            yield
        finally:
            self._armed = armed

    def on_request(self, life: Life, request: Request, operation: str) -> Action:
        """What becomes of a request to the database."""
        injection = self.meet("database", operation, life)
        assert injection is None or isinstance(injection, OnRequest)
        return PASS if injection is None else injection.strike(self, life, request)

    def on_answer(self, asked: Asked) -> Reply:
        """What a request to the model is answered."""
        life = next((life for life in self.lives if life.key == asked.key), None)
        if life is None or life.dead or asked.json is None:
            return HangUp()
        turn = honest(asked.json, self._plans, len(self.turns) + 1)
        self.turns.append(turn)
        injection = self.meet("model", "answer with calls" if turn.calls else "answer", life)
        if injection is not None:
            assert isinstance(injection, OnAnswer)
            return injection.strike(self, life, turn)
        site = "delegated" if turn.asker in ("worker", "ask") else "answering"
        if self._hold is not None and self._hold.site == site and not self._hold.taken:
            self._hold.taken = True
            return turn.answer(gate=self._hold.gate)
        return turn.answer()

    async def steps_or_seconds(self, steps: int, seconds: float) -> None:
        """Wait until so many steps were made, but not for longer."""
        until = self._steps + steps
        with trio.move_on_after(seconds):
            while self._steps < until:
                await self._news.wait()

    async def news(self, seconds: float) -> bool:
        """Let so much time pass; whether there was a step meanwhile."""
        before = self._steps
        await trio.sleep(seconds)
        return self._steps > before

    # -- holding

    def hold_at(self, site: str) -> Hold:
        """Halt the next answer or tool in its middle."""
        self._hold = Hold(site)
        return self._hold

    async def hold(self, life: Life) -> None:
        """Where a tool can be halted."""
        if self._hold is not None and self._hold.site == "working" and not self._hold.taken:
            self._hold.taken = True
            await self._hold.gate.passed()

    # -- lives

    async def begin(self, generation: str) -> Life:
        """Begin one more life; returns when it listens."""
        life = self._new_life(self, len(self.lives) + 1, generation)
        self.lives.append(life)
        await self._nursery.start(life.run)
        return life

    def died(self, life: Life) -> None:
        """A life was killed: the platform begins another, if it was the published one."""
        if not self._ending and life is getattr(self, "current", None):
            deployed_anew = self.chance.random() < 0.2
            self.soon(self._publish, life, newer_than(life.generation) if deployed_anew else life.generation)

    def ended(self, life: Life) -> None:
        """A life has ended in whatever way."""
        if not life.dead:
            life.dead = True
            self.died(life)

    async def replace(self, old: Life, *, newer: bool = False, older: bool = False) -> None:
        """Another instance is published and opens the storage, while the old one lives."""
        if self.current is not old or self._ending:
            return
        generation = newer_than(old.generation) if newer else older_than(old.generation) if older else old.generation
        await self._publish(old, generation)

    async def _publish(self, old: Life, generation: str) -> None:
        """Begin one more life in the place of `old`, unless another was published there meanwhile."""
        newcomer = await self.begin(generation)
        if self.current is old:
            self.current = newcomer
            await self.wake(newcomer)
        else:
            newcomer.kill()

    async def knock_as_older(self) -> None:
        """An instance of an older deploy asks for the storage while a newer one lives: it must be sent away."""
        holder = self.current
        life = await self.begin(older_than(holder.generation))
        answer = await self.send(life, "GET", "/api/status")
        if answer is not None and answer.status_code == 200 and not holder.dead and not await self._given_up(holder):
            self.violations.append("an older deploy was let in while a newer one lived")
        life.kill()

    async def _given_up(self, holder: Life) -> bool:
        rows = await self.outsider.rows("SELECT holder = '' AS free FROM dreamwalker_lease")
        lost = await self.outsider.rows("SELECT 1 FROM audit.leases WHERE holder = '' OR was_over")
        return bool(rows[0]["free"]) or bool(lost)

    async def wake(self, life: Life) -> None:
        """The platform's wake: open the storage, tried again until it is open or the life is over."""
        with trio.move_on_after(REQUEST_SECONDS):
            while not life.dead:
                answer = await self.send(life, "GET", "/api/status")
                if answer is not None and answer.status_code == 200:
                    return
                await trio.sleep(0.005)

    # -- the owner's requests

    async def request(self, method: str, path: str, body: Any = None) -> httpx2.Response:
        """Ask the published instance, and when it sends us away the others, until one answers otherwise than 503."""
        with trio.fail_after(REQUEST_SECONDS):
            life, tries = self.current, 0
            while not self._ending:
                answer = await self.send(life, method, path, body)
                if answer is not None and answer.status_code != 503 and not self._ending:
                    return answer
                await trio.sleep(0.005)
                tries += 1
                life = self.somebody(tries)
                if tries % PATIENT_TRIES == 0:
                    await self.bury()
        await trio.sleep_forever()  # nobody waits for it any more
        raise AssertionError

    def somebody(self, tries: int) -> Life:
        """Whom a client asks that was sent away so often: the published instance, now and then one of the others."""
        there = [life for life in self.lives if not life.dead and life.url] or [self.current]
        return self.current if tries % 3 or not tries else there[tries // 3 % len(there)]

    async def bury(self) -> None:
        """Let the lease of one that died run out: its time passes for whoever waits for it."""
        if await self.outsider.holder() in {life.app for life in self.lives if life.dead}:
            await self.outsider.let_lease_run_out()

    async def send(self, life: Life, method: str, path: str, body: Any = None) -> httpx2.Response | None:
        """Ask one instance once; None if it does not answer."""
        try:
            answer = await self._client.request(
                method,
                life.url + path,
                content=None if body is None else json.dumps(body),
                headers={"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/json"},
            )
        except httpx2.HTTPError:
            return None
        if answer.status_code == 503 and not answer.headers.get("retry-after", "").isdigit():
            self.violations.append(f"503 without Retry-After: {answer.text}")
        if answer.status_code == 500:
            self.violations.append(f"{method} {path} was answered 500: {answer.text}")
        return answer

    async def probe(self, life: Life) -> httpx2.Response | None:
        """Ask one instance, once, to accept a message."""
        body = {"request_id": f"probe-{life.number}", "text": "Are you there?"}
        return await self.send(life, "POST", "/api/agents/dreamwalker/messages", body)

    # -- later

    def soon(self, task: Any, *args: Any) -> None:
        """Do something beside the rest."""
        self._nursery.start_soon(task, *args)

    def after(self, seconds: float) -> trio.Event:
        """An event that is set so much later."""
        event = trio.Event()

        async def wait() -> None:
            await trio.sleep(seconds)
            event.set()

        self.soon(wait)
        return event

    def either(self, event: trio.Event, seconds: float) -> trio.Event:
        """An event that is set with another one, or so much later."""
        both = trio.Event()

        async def wait() -> None:
            with trio.move_on_after(seconds):
                await event.wait()
            both.set()

        self.soon(wait)
        return both

    def deliver_later(self, late: Late) -> None:
        """Let a request that a dead connection holds back arrive after some more steps, or when all is over."""
        self._late.append(late)
        steps = self.chance.choice((0, 0, 1, 2, 3, 5, 8, 13, 999))

        async def deliver() -> None:
            await self.steps_or_seconds(steps, 10 if steps == 999 else 0.08)
            await self._deliver(late)

        self.soon(deliver)

    async def deliver_rest(self) -> None:
        """Let arrive what is held back still."""
        for late in list(self._late):
            await self._deliver(late)

    async def _deliver(self, late: Late) -> None:
        if not late.delivered:
            await late.deliver()

    async def end(self) -> None:
        """The last one stops, in order or not; then nobody is left."""
        self._ending = True
        for life in self.lives:
            life.resume()
        if self.schedule.stops_in_the_end and not self.current.dead:
            self.current.stop()
            reached = self.current.proxy.door is Door.OPEN
            with trio.move_on_after(2):
                await self.current.ended.wait()
                if reached and not any(operation == "give the lease up" for _, operation in self.struck):
                    self.stopped_well = self.current
        for life in self.lives:
            life.kill()
        for life in self.lives:
            await life.ended.wait()
