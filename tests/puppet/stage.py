"""Where scenarios are played: a whole house on a real database, its model a puppet, its internet and sandbox our own.

One rule: everything that leaves the house is written down as it leaves, by those outside.
"""

import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import attrs
import trio

from dreamwalker.cast import MAIN_AGENT, Given
from storage.conversations import Page
from storage.inbox import Unplaced
from storage.questions import ListQuestions
from storage.records import Question, Run
from storage.runs import ListRuns
from storage.waking import Look
from storage.workers import AtWork
from tests.actors.house import Inside, open_house
from tests.hand_clock import HandClock
from tests.messages_api import serve_messages_api
from tests.puppet.language import command
from tests.puppet.model import Puppet
from tests.web.internet import Internet, http, internet
from tools.sandbox import Ran

PATIENCE_SECONDS = 45.0
PAGE = "http://zoo.example/page"


@attrs.frozen(kw_only=True)
class Private:
    """What is the owner's own. The two lives of a scenario differ in nothing else."""

    pin: str
    phrase: str
    mail: str
    street: str
    zone: str


LIVES = (
    Private(
        pin="k7q9x2",
        phrase="the heron waits behind the old mill",
        mail="anna.berg@post.example",
        street="Lindengasse 14",
        zone="Europe/Vienna",
    ),
    Private(
        pin="m3t8z5",
        phrase="a lantern burns above the new gate",
        mail="olga.thal@mail.example",
        street="Birkenweg 92",
        zone="America/Lima",
    ),
)


@attrs.define
class Sandbox:
    """Writes down what goes in, and prints what it is told to. Satisfies the port."""

    left: list[tuple[str, str]]
    prints: str = ""
    offline: str | None = None

    async def unavailable(self) -> str | None:
        return None

    async def run(self, task: int, command: tuple[str, ...], *, given: bytes = b"") -> Ran:
        self.left.append(("sandbox", json.dumps([*command, given.decode("latin-1")])))
        return Ran(status=0, ending="exited", output=self.prints.encode(), cut_bytes=0)

    async def clean(self, task: int) -> None:
        pass

    async def sweep(self) -> None:
        pass


@attrs.define(kw_only=True)
class Life:
    """One life of a scenario: what the owner does in it, and what came of it.

    `says_yes` decides which questions he answers with yes; to all others he says no.
    """

    it: Inside
    own: Private
    puppet: Puppet
    net: Internet
    sandbox: Sandbox
    clock: HandClock
    says_yes: Callable[[Question], bool] = lambda question: False
    approved: list[Question] = attrs.Factory(list)
    refused: list[Question] = attrs.Factory(list)

    async def tell(self, text: str, *, seen: int | None = None, quote: str = "") -> None:
        """He writes, and waits until there is nothing left to do but what he said no to."""
        await self.write(text, seen=seen, quote=quote)
        await self.rest()

    async def write(self, text: str, *, seen: int | None = None, quote: str = "") -> None:
        """He writes; his client shows him everything, unless `seen` says otherwise."""
        quotes = [{"from": "a mail", "text": quote}] if quote else []
        no = self.it.house.store.commit_no if seen is None else seen
        await self.it.say(text, seen_no=no, quotes=quotes)

    async def afresh(self) -> None:
        """A new context."""
        await self.it.say("", kind="fresh")
        await self.rest()

    async def later(self, seconds: float) -> None:
        """Time passes."""
        self.clock.move(seconds)
        await self.rest()

    def publish(self, text: str) -> None:
        """A page of the open internet says this."""
        self.net.pages["zoo.example/page"] = http(text.encode(), kind="text/plain; charset=utf-8")

    async def hire(self, name: str, instructions: str) -> None:
        """Another agent, with standing instructions."""
        given = Given(job="looks after the garden", instructions=instructions)
        await self.it.house.cast.make(name, given, self.clock.now())

    def instruct(self, text: str) -> None:
        """The agent's standing instructions."""
        agents = self.it.house.agents
        agents[MAIN_AGENT] = attrs.evolve(agents[MAIN_AGENT], instructions=text)

    async def rest(self) -> None:
        """Answer what is asked, until nothing goes on any more."""
        with trio.fail_after(PATIENCE_SECONDS):
            while True:
                if await self._rests():
                    if not await self._answer():
                        return
                elif not (await self._an_agent_asks() and await self._answer()):
                    await trio.sleep(0.01)

    async def _rests(self) -> bool:
        it = self.it
        if (await it.ask(Look(self.clock.now()))).due or await it.ask(AtWork()):
            return False
        if await it.ask(Unplaced(it.home)):
            return False
        runs = await it.ask(ListRuns(before=2**60, limit=1000))
        return all(self._is_over(listed.run) for listed in runs)

    async def _an_agent_asks(self) -> bool:
        """Whether somebody asks whose answer another run waits for."""
        questions = await self.it.ask(ListQuestions(before=2**60, limit=1000))
        return any(each.open and each.conversation != self.it.home for each in questions)

    @staticmethod
    def _is_over(run: Run) -> bool:
        return run.ended or (run.state == "waiting" and run.retry_at is None)

    async def _answer(self) -> bool:
        """Answer the oldest open question; False if there is none."""
        questions = await self.it.ask(ListQuestions(before=2**60, limit=1000))
        question = next((each for each in reversed(questions) if each.open), None)
        if question is None:
            return False
        yes = self.says_yes(question)
        (self.approved if yes else self.refused).append(question)
        await self.it.house.decisions.answer(question.id, "yes" if yes else "no")
        return True

    @property
    def left(self) -> list[tuple[str, str]]:
        """All that left the house, in an order that does not hang on which worker was faster.

        What an agent is written by another counts, too: it is an exit.
        """
        fetched = [("fetched", head.decode("latin-1")) for head in self.net.asked]
        dialled = [("looked up", name) for name in self.net.looked_up]
        return sorted([*self.puppet.left, *self.sandbox.left, *fetched, *dialled])

    async def tried(self) -> list[str]:
        """The exits that were tried by requests that held text from outside."""
        tried = list[str]()
        for listed in reversed(await self.it.ask(ListRuns(before=2**60, limit=1000))):
            exits = {
                tool.name for tool in self.it.house.equipment.tools(listed.conversation_kind, listed.agent) if tool.exit
            }
            page = await self.it.ask(Page(listed.run.conversation, before=2**60, limit=10_000))
            tainted = {(entry.run, entry.turn) for entry in page.entries if entry.kind == "reply" and entry.label > 0}
            tried += [
                call.tool
                for call in page.calls
                if call.run == listed.run.id and (call.run, call.turn) in tainted and call.tool in exits
            ]
        return tried


Play = Callable[[Life], Awaitable[None]]


@asynccontextmanager
async def life(database_url: str, own: Private, mode: str) -> AsyncIterator[Life]:
    """A house that belongs to an owner who asks to be asked so much."""
    async with serve_messages_api() as api, internet() as net:
        puppet, clock = Puppet(), HandClock()
        api.answer_with(puppet.reply)
        sandbox = Sandbox(left=puppet.left)
        async with open_house(
            database_url,
            api,
            clock=clock,
            zone=own.zone,
            web=net.web(),
            sandbox=sandbox,  # type: ignore[arg-type]
        ) as it:
            await it.house.choose("ask", mode)
            yield Life(it=it, own=own, puppet=puppet, net=net, sandbox=sandbox, clock=clock)


def look_it_up() -> str:
    """What he writes to have the page read."""
    return "Look it up. " + command("now", "delegate", task=f"Read {PAGE} please")
