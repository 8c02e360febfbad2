"""The gate in a run: which calls of a new reply begin at once, and which must wait for the owner.

One rule: it is decided once, when the reply is committed, over the transcript as it was asked. A resumed run finds the
decision in its rows and never decides anew.
"""

import hashlib
from collections.abc import Sequence
from datetime import timedelta
from functools import partial
from typing import Any, Protocol

import attrs
import trio

from storage.answers import Judged, Target
from storage.records import Agent, Call, Entry, Question, Run
from storage.text import dumps, loads
from storage.things import FindThing
from tools import taint
from tools.contract import Tool, ToolContext, ToolFailed
from tools.outside import cut
from tools.private import private_text, texts_of
from tools.taint import Held, Mode, Rule
from tools.toolbox import Toolbox, canonical

from . import journal
from .transcript import Transcript

_UNGATED = frozenset({"worker", "job"})
"""Kinds of conversations that hold nothing of the owner's but their task, and so never ask."""

_SOURCES_MAX = 10
_NAME_CHARACTERS = 200


class Means(journal.Means, Protocol):
    """What judging needs."""

    @property
    def ask_mode(self) -> Mode: ...


@attrs.frozen(kw_only=True)
class Verdict:
    """What becomes of a reply's calls: those that begin at once, those that were judged, those of closed exits."""

    begin: tuple[Call, ...]
    judged: tuple[Judged, ...]
    closed: tuple[Call, ...]

    @property
    def all_begin(self) -> bool:
        """Whether nothing stands in the way of any."""
        return not self.judged and not self.closed


@attrs.frozen(kw_only=True)
class Gate:
    """The gate of one conversation. `transcript` is as the model saw it when it replied."""

    means: Means
    toolbox: Toolbox
    transcript: Transcript
    run: Run
    agent: Agent
    refusals: int

    async def judge(self, reply: Entry, calls: Sequence[Call]) -> Verdict:
        """Look at each call of a reply. What can't be carried out anyway begins, and fails in words."""
        begin: list[Call] = []
        judged: list[Judged] = []
        closed: list[Call] = []
        for call in calls:
            acting = await self._acting(call)
            if acting is None:
                begin.append(call)
            elif acting[0].exit and self._closed:
                closed.append(call)
            else:
                judged.append(await self._judge(call, *acting, reply))
        return Verdict(begin=tuple(begin), judged=tuple(judged), closed=tuple(closed))

    @property
    def _closed(self) -> bool:
        """Whether the owner refused so often that this run's exits are closed."""
        return self.refusals >= self.means.limits.refusals

    async def _acting(self, call: Call) -> tuple[Tool, Any] | None:
        """The tool and arguments of a call that may have to be asked about, as they would run."""
        if self.transcript.conversation.kind in _UNGATED or call.position >= self.means.limits.calls_per_turn:
            return None
        try:
            tool, arguments = self.toolbox.read(call, self.means.limits)
            if not tool.asks and not (tool.exit and (self._closed or taint.tainted(self.transcript.label))):
                return None
            if tool.settle is not None:
                arguments = await tool.settle(self._context(call), arguments)
        except ToolFailed:
            return None
        return tool, arguments

    def _context(self, call: Call) -> ToolContext:
        return journal.context(self.means, call, run=self.run, agent=self.agent.name, label=self.transcript.label)

    async def _judge(self, call: Call, tool: Tool, arguments: Any, reply: Entry) -> Judged:
        act, now = canonical(arguments), self.means.clock.now()
        held = Held(rule=Rule.CHOICE) if tool.asks else await self._held(tool, act)
        target = tool.target(self.agent.name, arguments) if tool.target is not None else None
        question = Question(
            id=self.means.store.next_id(),
            agent=self.agent.name,
            conversation=call.conversation,
            run=call.run,
            turn=call.turn,
            position=call.position,
            kind="choice" if tool.asks else "act",
            tool=tool.name,
            act=act,
            act_hash=hashlib.sha256("\0".join((self.agent.name, tool.name, act)).encode()).hexdigest(),
            thing=None,
            base_version=None,
            label=self.transcript.label,
            why=dumps({**self._why(held), **await self._named(held, target)}),
            reason="\n".join(block["text"] for block in loads(reply.shown) if block["type"] == "text"),
            state="open",
            answer=None,
            asked_at=now,
            expires_at=now + timedelta(seconds=self.means.limits.question_seconds),
            closed_at=None,
            started_at=None,
            reminded_at=None,
            no=0,
        )
        return Judged(call=call, question=question, held=held is not None, target=target)

    async def _held(self, tool: Tool, act: str) -> Held | None:
        """Ask the gate. In a thread: a long history takes a moment to compare."""
        transcript, agent = self.transcript, self.agent
        texts, newest = tuple(texts_of(loads(act))), transcript.newest_owner_text
        own = (agent.job, agent.instructions, *transcript.own_texts(tool.name, derived=False))
        derived, outside = tuple(transcript.own_texts(tool.name, derived=True)), tuple(transcript.foreign_texts())
        decide = partial(
            taint.gate,
            label=transcript.label,
            seen_no=transcript.seen_no,
            mode=self.means.ask_mode,
            private=lambda: private_text(texts, own, newest, derived=derived, outside=outside),
        )
        return await trio.to_thread.run_sync(decide)

    async def _named(self, held: Held | None, target: Target | None) -> dict[str, str]:
        """What he calls the reminder or job that an act would change, as it stands when he is asked about it."""
        if held is None or target is None or not target.thing.startswith("thing:"):
            return {}
        thing = await self.means.store.ask(FindThing(id=int(target.thing.partition(":")[2])))
        if thing is None or thing.agent != self.agent.name:
            return {}
        return {"named": cut(thing.title or thing.text, _NAME_CHARACTERS)[0]}

    def _why(self, held: Held | None) -> dict[str, Any]:
        """What the owner is told of why he is asked: the rule, and which text from outside is about."""
        if held is None:
            return {}
        sources = list(self.transcript.outside_sources(self.transcript.seen_no if held.rule is Rule.FRESH else 0))
        return {
            "rule": held.rule.value,
            "found": held.found,
            "outside": sources[-_SOURCES_MAX:],
            "more": max(len(sources) - _SOURCES_MAX, 0),
        }
