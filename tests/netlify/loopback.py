"""Servers on loopback that an application of ours answers, to be asked by what is tested."""

import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

import trio
from hypercorn.config import Config
from hypercorn.trio import serve

QUIET = logging.getLogger("tests.loopback")
"""What is played breaks on purpose."""
QUIET.addHandler(logging.NullHandler())
QUIET.propagate = False


@asynccontextmanager
async def loopback(app: Any) -> AsyncIterator[str]:
    """Serve an ASGI application; yields its address, where nobody is any more when the block is left."""
    config = Config()
    config.bind = ["127.0.0.1:0"]
    config.accesslog, config.errorlog = None, QUIET
    async with trio.open_nursery() as nursery:
        (address,) = await nursery.start(partial(serve, app, config, mode="asgi"))
        yield str(address)
        nursery.cancel_scope.cancel()
