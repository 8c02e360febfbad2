"""The agents there are. One rule: an agent is named in a path, and found here."""

from typing import Annotated

from msgspec import Meta

from dreamwalker.house import House

from .endpoint import Asked, Endpoint, Given, Nothing, Shown, not_found


class AgentPath(Given, frozen=True):
    """A path with an agent's name."""

    name: Annotated[str, Meta(description="The agent's name; `dreamwalker` is the main one.")]


class Agent(Shown, frozen=True):
    """A named agent. `home` is the id of its home conversation; `model` null means the default one."""

    name: str
    job: str
    model: str | None
    home: int | None
    retired: bool


class Agents(Shown, frozen=True):
    """Every agent, retired ones too."""

    agents: tuple[Agent, ...]


async def list_agents(asked: Asked[Nothing, Nothing, Nothing]) -> Agents:
    house = await asked.house()
    return Agents(
        agents=tuple(
            Agent(
                name=agent.name,
                job=agent.job,
                model=agent.model,
                home=house.homes.get(agent.name),
                retired=agent.retired_at is not None,
            )
            for agent in house.agents.values()
        )
    )


def home_of(house: House, name: str) -> int:
    """The home conversation of an agent. Raises Refused."""
    home = house.homes.get(name)
    if home is None:
        raise not_found("agent of that name")
    return home


ENDPOINTS = (Endpoint(method="GET", route="/api/agents", says="Every agent.", handle=list_agents, answer=Agents),)
