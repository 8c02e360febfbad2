"""Clients of the world outside, as far as they are set up: a model of one's own, the phone, Netlify.

One rule: what is not set up is None, and is not imported for nothing.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import trio

from netlify.client import Netlify
from tools.phone import Phone

from .claude import Credentials
from .config import Config
from .ntfy import Ntfy, Topic

PRACTICE_KEY = "practice-model-needs-no-key"


async def credentials(config: Config, nursery: trio.Nursery) -> Credentials:
    """The key and the model that the environment names; those of the practice model if it names none."""
    if config.practice:
        return await practice(nursery)
    return Credentials(api_key=config.api_key or "no-key-was-given", base_url=config.base_url)


async def practice(nursery: trio.Nursery) -> Credentials:
    """Start the practice model in a nursery."""
    from .practice import serve_practice

    return Credentials(api_key=PRACTICE_KEY, base_url=await nursery.start(serve_practice))


@asynccontextmanager
async def phone(config: Config) -> AsyncIterator[Phone | None]:
    """The owner's phone, if he has set one up."""
    if config.ntfy_topic is None:
        yield None
        return
    topic = Topic(
        url=config.ntfy_url,
        name=config.ntfy_topic,
        token=config.ntfy_token,
        public_url=config.public_url,
        app_url=config.app_url,
    )
    async with Ntfy(topic, seconds=config.limits.push_seconds) as made:
        yield made


@asynccontextmanager
async def netlify(config: Config) -> AsyncIterator[Netlify | None]:
    """What an agent may be granted, if the owner has set it up."""
    if config.netlify_token is None or config.netlify_team is None:
        yield None
        return
    async with Netlify(token=config.netlify_token, team=config.netlify_team, url=config.netlify_url) as made:
        yield made
