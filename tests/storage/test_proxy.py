"""The proxy counts and delays what it should, or what is measured through it would mean nothing."""

import time

from tests.proxy import open_proxy
from tests.storage.harness import Rows, Script, add, house


async def test_it_counts_and_delays_round_trips(url: str) -> None:
    async with open_proxy(url) as proxy, house(proxy.url) as writer:
        await writer.do(add(("a",)))
        before, proxy.delay_seconds = proxy.round_trips, 0.01
        began = time.monotonic()
        await writer.do(add(("b",)))
        await writer.do(Rows())
        assert proxy.round_trips - before == 1 + 2
        assert time.monotonic() - began >= 0.03


async def test_it_tells_requests_apart(url: str) -> None:
    async with open_proxy(url) as proxy, house(proxy.url) as writer:
        script = proxy.on_request = Script()
        await writer.do(Rows())
        await writer.do(Rows())
        assert [(request.kinds, request.runs) for request in script.seen] == [
            ("PDH", False),
            ("BES", True),
            ("BES", True),
        ]
        assert len({request.sql for request in script.seen}) == 1
