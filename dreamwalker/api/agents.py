"""The agents there are: made, changed, retired and taken back by the owner.

One rule: an agent's name is its key for ever; what is retired keeps its name, and stays readable.
"""

from datetime import datetime
from typing import Annotated

import msgspec
from msgspec import Meta

from dreamwalker.cast import GRANTS, MAIN_AGENT, Given, MainAgent, NameTaken, TooManyAgents, grants_of
from dreamwalker.house import House
from storage import records
from storage.text import clean

from . import endpoint, views
from .endpoint import Asked, Endpoint, Nothing, Shown, not_found
from .errors import Refused

Name = Annotated[
    str,
    Meta(
        pattern=r"^[a-z0-9][a-z0-9-]{0,31}$(?!\n)",
        description="Small letters, digits and hyphens, 32 at most; it can't be changed later.",
    ),
]
Job = Annotated[str, Meta(description="What it is for, in a line; the other agents read it too.")]
Instructions = Annotated[str, Meta(description="Standing instructions; they are part of each of its requests.")]
Grant = Annotated[str, Meta(description=f"What it may use beside its own tools: {', '.join(GRANTS)}.")]
Model = Annotated[
    str,
    Meta(
        pattern=r"^[A-Za-z0-9][A-Za-z0-9._:/@-]{0,99}$(?!\n)",
        description="The name of the model that it thinks with; null: the default one.",
    ),
]


class AgentPath(endpoint.Given, frozen=True):
    """A path with an agent's name."""

    name: Annotated[str, Meta(description="The agent's name; `dreamwalker` is the main one.")]


class NewAgent(endpoint.Given, frozen=True):
    """An agent to be made. The same again makes nothing more."""

    name: Name
    job: Job
    instructions: Instructions = ""
    grants: tuple[Grant, ...] = ()
    model: Model | None = None


class AgentChange(endpoint.Given, frozen=True):
    """What to change of it; what is left out stays."""

    job: Job | msgspec.UnsetType = msgspec.UNSET
    instructions: Instructions | msgspec.UnsetType = msgspec.UNSET
    grants: tuple[Grant, ...] | msgspec.UnsetType = msgspec.UNSET
    model: Model | msgspec.UnsetType | None = msgspec.UNSET


class Agent(Shown, frozen=True):
    """A named agent. `home` is the id of its home conversation; `model` null means the default one."""

    name: str
    job: str
    instructions: str
    grants: tuple[str, ...]
    model: str | None
    home: int | None
    retired: bool
    retired_at: datetime | None
    no: views.No

    @classmethod
    def of(cls, row: records.Agent, home: int | None) -> "Agent":
        """From its row."""
        return cls(
            name=row.name,
            job=row.job,
            instructions=row.instructions,
            grants=grants_of(row),
            model=row.model,
            home=home,
            retired=row.retired_at is not None,
            retired_at=row.retired_at,
            no=row.no,
        )


class Agents(Shown, frozen=True):
    """Every agent, retired ones too, the oldest first.

    `grants`: everything that one can be granted; `ready`: what of it is set up on this server.
    """

    agents: tuple[Agent, ...]
    ready: tuple[str, ...]
    grants: tuple[str, ...] = GRANTS


async def list_agents(asked: Asked[Nothing, Nothing, Nothing]) -> Agents:
    house = await asked.house()
    agents = tuple(_shown(house, agent) for agent in house.agents.values())
    return Agents(agents=agents, ready=house.ready_grants)


async def read_agent(asked: Asked[AgentPath, Nothing, Nothing]) -> Agent:
    house = await asked.house()
    return _shown(house, _found(house, asked.path.name))


async def make_agent(asked: Asked[Nothing, Nothing, NewAgent]) -> Agent:
    house, body = await asked.house(), asked.body
    given = Given(
        job=_job(house, body.job),
        instructions=_instructions(house, body.instructions),
        grants=_grants(body.grants),
        model=body.model,
    )
    try:
        return _shown(house, await house.cast.make(body.name, given, house.clock.now()))
    except NameTaken:
        raise Refused(409, f"There is another agent of the name {body.name}, or was.", code="conflict") from None
    except TooManyAgents:
        raise _too_many(house) from None


async def change_agent(asked: Asked[AgentPath, Nothing, AgentChange]) -> Agent:
    house, body = await asked.house(), asked.body
    name = _found(house, asked.path.name).name
    given = Given(
        job=None if isinstance(body.job, msgspec.UnsetType) else _job(house, body.job),
        instructions=(
            None if isinstance(body.instructions, msgspec.UnsetType) else _instructions(house, body.instructions)
        ),
        grants=None if isinstance(body.grants, msgspec.UnsetType) else _grants(body.grants),
        model=None if isinstance(body.model, msgspec.UnsetType) else body.model,
        default_model=body.model is None,
    )
    return _shown(house, await house.cast.change(name, given))


async def retire_agent(asked: Asked[AgentPath, Nothing, Nothing]) -> Agent:
    house = await asked.house()
    name = _found(house, asked.path.name).name
    try:
        return _shown(house, await house.cast.retire(name, house.clock.now()))
    except MainAgent:
        raise Refused(409, f"{MAIN_AGENT} is the main agent and can't be retired.", code="main") from None


async def restore_agent(asked: Asked[AgentPath, Nothing, Nothing]) -> Agent:
    house = await asked.house()
    try:
        return _shown(house, await house.cast.restore(_found(house, asked.path.name).name))
    except TooManyAgents:
        raise _too_many(house) from None


def _too_many(house: House) -> Refused:
    return Refused(429, f"There are {house.limits.agents} agents already; retire some first.")


def home_of(house: House, name: str) -> int:
    """The home conversation of an agent, retired or not. Raises Refused."""
    home = house.homes.get(name)
    if home is None:
        raise not_found("agent of that name")
    return home


def home_at_work(house: House, name: str) -> int:
    """The home conversation of an agent that something can be given to. Raises Refused."""
    home = home_of(house, name)
    if (refusal := retired(house, name)) is not None:
        raise refusal
    return home


def retired(house: House, name: str) -> Refused | None:
    """The fixed answer to what is given to a retired agent; None if it is at work."""
    if house.agents[name].retired_at is None:
        return None
    return Refused(409, f"{name} is retired and answers no more. What it said can still be read.", code="retired")


def _found(house: House, name: str) -> records.Agent:
    agent = house.agents.get(name)
    if agent is None:
        raise not_found("agent of that name")
    return agent


def _shown(house: House, agent: records.Agent) -> Agent:
    return Agent.of(agent, house.homes.get(agent.name))


def _job(house: House, job: str) -> str:
    return _checked(house, " ".join(job.split()), 1, house.limits.agent_job_characters, "An agent's job has")


def _instructions(house: House, instructions: str) -> str:
    return _checked(
        house, instructions.strip(), 0, house.limits.instructions_characters, "An agent's instructions have"
    )


def _checked(house: House, text: str, least: int, most: int, what: str) -> str:
    if not least <= len(text) <= most:
        raise Refused(422, f"{what} {least} to {most:,} characters; here there are {len(text):,}.")
    return house.redactor.text(clean(text))  # what is kept in memory is what will be read from the row


def _grants(names: tuple[str, ...]) -> tuple[str, ...]:
    if unknown := sorted(set(names) - set(GRANTS)):
        raise Refused(422, f"There is no grant {unknown[0]!r}. What can be granted: {', '.join(GRANTS)}.")
    return names


ENDPOINTS = (
    Endpoint(method="GET", route="/api/agents", says="Every agent.", handle=list_agents, answer=Agents),
    Endpoint(
        method="POST",
        route="/api/agents",
        says="Make an agent; it is at work at once.",
        handle=make_agent,
        body=NewAgent,
        answer=Agent,
        status=201,
        refusals=(409, 429),
    ),
    Endpoint(
        method="GET",
        route="/api/agents/{name}",
        says="One agent.",
        handle=read_agent,
        path=AgentPath,
        answer=Agent,
    ),
    Endpoint(
        method="PATCH",
        route="/api/agents/{name}",
        says="Change an agent's job, instructions, grants or model; its next request goes by it.",
        handle=change_agent,
        path=AgentPath,
        body=AgentChange,
        answer=Agent,
    ),
    Endpoint(
        method="POST",
        route="/api/agents/{name}/retire",
        says="Retire an agent: what it is at work on ends, and it answers no more. What it said stays readable.",
        handle=retire_agent,
        path=AgentPath,
        answer=Agent,
        refusals=(409,),
    ),
    Endpoint(
        method="POST",
        route="/api/agents/{name}/restore",
        says="Take a retired agent back.",
        handle=restore_agent,
        path=AgentPath,
        answer=Agent,
        refusals=(429,),
    ),
)
