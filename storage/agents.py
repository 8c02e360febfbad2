"""Named agents: made, changed, retired and taken back. Each has a home conversation from its first commit on.

One rule: a name is the key of an agent for ever. One that is retired keeps its name and all that it ever said.
"""

from datetime import datetime

import attrs

from . import conversations, inbox, runs, workers
from .operation import Bell, Operation, Read, Reader, Transaction
from .records import Agent, Conversation, Run, Worker

_AGENT = f"SELECT {Agent.columns()} FROM agents WHERE name = ?"
_HOME = f"SELECT {Conversation.columns()} FROM conversations WHERE made_by = ?"
_MAKE = """
INSERT INTO agents (name, job, instructions, grants, model, made_at, no) VALUES (?, ?, ?, ?, ?, ?, :no)
"""


@attrs.frozen(kw_only=True)
class MakeAgent(Operation[tuple[Agent, Conversation]]):
    """Make an agent and its home conversation, or find those of that name: the agent as it stands, and its home.

    `id` is for a new home conversation.
    """

    name: str
    job: str
    instructions: str = ""
    grants: str = "[]"
    model: str | None = None
    id: int
    now: datetime

    async def perform(self, tx: Transaction) -> tuple[Agent, Conversation]:
        made_by = f"home:{self.name}"
        if await tx.get(_AGENT, self.name) is None:
            await tx.run(_MAKE, self.name, self.job, self.instructions, self.grants, self.model, self.now)
        if await tx.get(_HOME, made_by) is None:
            await tx.write(conversations.make(id=self.id, agent=self.name, kind="home", made_by=made_by, now=self.now))
        agent, home = await tx.get(_AGENT, self.name), await tx.get(_HOME, made_by)
        assert agent is not None and home is not None
        return Agent.of(agent), Conversation.of(home)


_AGENTS = f"""
SELECT {", ".join("a." + name for name in Agent.columns().split(", "))}, h.id AS home
FROM agents a LEFT JOIN conversations h ON h.made_by = 'home:' || a.name ORDER BY a.made_at, a.name
"""


@attrs.frozen
class Agents(Read[tuple[tuple[Agent, int | None], ...]]):
    """Every agent with the id of its home conversation, retired ones too, the oldest first."""

    async def read(self, reader: Reader) -> tuple[tuple[Agent, int | None], ...]:
        return tuple((Agent.of(row), row["home"]) for row in await reader.all(_AGENTS))


_CHANGE = "UPDATE agents SET job = ?, instructions = ?, grants = ?, model = ?, no = :no WHERE name = ?"


@attrs.frozen(kw_only=True)
class ChangeAgent(Operation[Agent]):
    """Change what is given of an agent; None leaves a field as it is, and `default_model` takes its own model away.

    Raises LookupError if there is none of that name.
    """

    name: str
    job: str | None = None
    instructions: str | None = None
    grants: str | None = None
    model: str | None = None
    default_model: bool = False

    async def perform(self, tx: Transaction) -> Agent:
        row = await tx.get(_AGENT, self.name)
        if row is None:
            raise LookupError(f"no agent {self.name}")
        before = Agent.of(row)
        it = attrs.evolve(
            before,
            job=before.job if self.job is None else self.job,
            instructions=before.instructions if self.instructions is None else self.instructions,
            grants=before.grants if self.grants is None else self.grants,
            model=None if self.default_model else self.model or before.model,
        )
        if it == before:
            return before
        await tx.run(_CHANGE, it.job, it.instructions, it.grants, it.model, self.name)
        return attrs.evolve(it, no=tx.no)


_RETIRE = "UPDATE agents SET retired_at = ?, no = :no WHERE name = ? AND retired_at IS NULL"
_RESTORE = "UPDATE agents SET retired_at = NULL, no = :no WHERE name = ? AND retired_at IS NOT NULL"
_AT_WORK = f"""
SELECT {", ".join("r." + name for name in Run.columns().split(", "))} FROM runs r
JOIN conversations c ON c.id = r.conversation
WHERE c.agent = ? AND c.kind <> 'worker' AND r.state IN ('open', 'waiting') ORDER BY r.id
"""
_OWN = _AT_WORK.replace("c.kind <> 'worker'", "c.kind IN ('home', 'job')")
_WRITTEN_TO = f"""
SELECT {Worker.columns()} FROM workers w WHERE receiver = ? AND ended_at IS NULL
    AND NOT EXISTS (SELECT FROM runs r WHERE r.conversation = w.conversation AND r.closed_at IS NOT NULL)
ORDER BY conversation
"""


@attrs.frozen(kw_only=True)
class RunsOf(Read[tuple[Run, ...]]):
    """The runs of an agent's own that have not ended: those of its workers, and for whoever wrote to it, aside."""

    agent: str

    async def read(self, reader: Reader) -> tuple[Run, ...]:
        return tuple(Run.of(row) for row in await reader.all(_OWN, self.agent))


@attrs.frozen(kw_only=True)
class Retire(Operation[Agent]):
    """Retire an agent, in one commit with the end of all that it was at work on.

    What waits in its home is taken back, its runs end as `end` says (`run` aside), and whoever wrote to it hears of it.
    Raises LookupError if there is none of that name.
    """

    name: str
    end: runs.End
    now: datetime

    async def perform(self, tx: Transaction) -> Agent:
        home = await tx.get(_HOME, f"home:{self.name}")
        if home is not None:
            await tx.write(inbox.withdraw_all(home["id"], self.now))
            tx.ring(Bell(inbox.LIVE, home["id"]))
        for row in await tx.all(_WRITTEN_TO, self.name):
            worker = Worker.of(row)
            if worker.cut_short is None:
                await tx.write(workers.cut_short(worker.conversation, "retired"))
            await tx.write(inbox.withdraw_all(worker.conversation, self.now))
        for row in await tx.all(_AT_WORK, self.name):
            await attrs.evolve(self.end, run=row["id"]).perform(tx)
        tx.ring(Bell(runs.WORKERS))
        await tx.run(_RETIRE, self.now, self.name)
        return await _found(tx, self.name)


@attrs.frozen(kw_only=True)
class Restore(Operation[Agent]):
    """Take a retired agent back. Raises LookupError if there is none of that name."""

    name: str

    async def perform(self, tx: Transaction) -> Agent:
        await tx.run(_RESTORE, self.name)
        return await _found(tx, self.name)


async def _found(tx: Transaction, name: str) -> Agent:
    row = await tx.get(_AGENT, name)
    if row is None:
        raise LookupError(f"no agent {name}")
    return Agent.of(row)
