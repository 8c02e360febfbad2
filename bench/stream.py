"""(f): one streamed reply through the Claude client and the SDK, over loopback, apart from everything else."""

import time

from dreamwalker.claude import Claude, Credentials, NewestCredentials
from tools.model import ModelRequest

from .child import module
from .figures import Figure

_TEXT = "The scripted Messages API says this back, eight characters at a time. " * 6


async def sdk_stream(*, samples: int) -> list[Figure]:
    """The scripted Messages API is a process of its own; the first replies, with the SDK's import, don't count."""
    took = []
    async with module("tests.messages_api") as api:
        credentials = NewestCredentials(Credentials(api_key="a key that the bench made up", base_url=await api.line()))
        async with Claude(credentials) as claude:
            for _ in range(3 + samples):
                began = time.perf_counter()
                await claude.ask(_request(), lambda text: None)
                took.append((time.perf_counter() - began) * 1000)
    return [Figure(name="sdk_stream_ms", values=took[3:], unit="ms", digits=1)]


def _request() -> ModelRequest:
    message = {"role": "user", "content": [{"type": "text", "text": _TEXT}]}
    return ModelRequest(
        model="claude-haiku-5-5", system="You say it back.", tools=(), messages=(message,), max_tokens=1000
    )
