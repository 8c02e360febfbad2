"""Requests to Vercel's API, over the HTTP client that is here anyway.

One rule: whatever goes wrong becomes SandboxFailed in words of our own; what the other side says is not repeated, and
what may have been done is not done again.
"""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, TypeVar

import msgspec
import trio

from tools.sandbox import SandboxFailed

from .account import Account

if TYPE_CHECKING:
    import httpx2

ANSWER_SECONDS = 30.0
"""How long one answer may take."""
ATTEMPTS = 3
PAUSE_SECONDS = 0.2
"""Before a second attempt; twice that before the third."""
RETRY_AFTER_SECONDS = 5.0
"""A server that asks for more is taken to ask for this."""
ANSWER_BYTES = 1 << 20

STRANGE = "what Vercel answers is not what its API is documented to answer"
_REFUSALS = {
    400: "Vercel does not take the request as it is (400)",
    401: "Vercel does not know the access token (401): correct DREAMWALKER_VERCEL_TOKEN",
    402: "Vercel asks for a payment first (402)",
    403: "Vercel does not allow it (403): check the access token, the team and the project",
    404: "Vercel knows no such team, project or machine (404)",
    410: "the hosted machine has ended (410)",
    429: "Vercel has had enough of us for now (429)",
}

T = TypeVar("T")


class Refused(SandboxFailed):
    """An answer that is no success."""

    def __init__(self, status: int) -> None:
        super().__init__(_REFUSALS.get(status, f"Vercel {'failed' if status >= 500 else 'refuses it'} ({status})"))
        self.status = status

    @property
    def gone(self) -> bool:
        """Whether what was asked for is not there (any more)."""
        return self.status in (404, 410)


class Broken(Exception):
    """There was no answer, or not all of it; `unsent`: nor was there a request."""

    def __init__(self, why: str, *, unsent: bool) -> None:
        super().__init__(why)
        self.unsent = unsent


class Wire:
    """A connection to the API of an account."""

    def __init__(self, account: Account, client: "httpx2.AsyncClient") -> None:
        self.account, self._client = account, client

    @classmethod
    async def open(cls, account: Account) -> "Wire":
        """Connect, in a thread: importing and reading certificates take their time."""
        return cls(account, await trio.to_thread.run_sync(_client, account))

    async def close(self) -> None:
        """Close it, whatever happens."""
        with trio.CancelScope(shield=True):
            await self._client.aclose()

    async def ask(
        self,
        method: str,
        path: str,
        kind: type[T],
        *,
        query: Mapping[str, str] | None = None,
        body: object = None,
        again: bool = True,
    ) -> T:
        """One request; `again`: it may be made again when it is not known what became of it."""
        failed: SandboxFailed = SandboxFailed("Vercel does not answer")
        pause = PAUSE_SECONDS
        for attempt in range(ATTEMPTS):
            if attempt:
                await trio.sleep(pause * 2 ** (attempt - 1))
            try:
                with trio.fail_after(ANSWER_SECONDS):
                    async with self.stream(method, path, query, body=body) as answer:
                        said = await read(answer, ANSWER_BYTES)
            except trio.TooSlowError:
                failed, repeat = SandboxFailed(f"Vercel did not answer within {ANSWER_SECONDS:g} seconds"), again
            except Broken as broken:
                failed, repeat = SandboxFailed(str(broken)), again or broken.unsent
            else:
                if answer.is_success:
                    return decoded(said, kind)
                failed = Refused(answer.status_code)
                repeat = answer.status_code == 429 or (again and passing(answer.status_code))
                pause = max(PAUSE_SECONDS, _retry_after(answer.headers.get("retry-after", "")))
            if not repeat:
                break
        raise failed

    @asynccontextmanager
    async def stream(
        self,
        method: str,
        path: str,
        query: Mapping[str, str] | None = None,
        *,
        body: object = None,
        endless: bool = False,
    ) -> "AsyncIterator[httpx2.Response]":
        """One exchange; `endless`: its answer may take as long as it likes. Raises Broken."""
        import httpx2

        params = {"teamId": self.account.team, **(query or {})}
        content = None if body is None else msgspec.json.encode(body)
        timeout = httpx2.Timeout(ANSWER_SECONDS, read=None if endless else ANSWER_SECONDS)
        try:
            async with self._client.stream(method, path, params=params, content=content, timeout=timeout) as answer:
                yield answer
        except (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.PoolTimeout):
            raise Broken("Vercel can't be reached", unsent=True) from None
        except httpx2.HTTPError:
            raise Broken("Vercel broke the connection off", unsent=False) from None


def _client(account: Account) -> "httpx2.AsyncClient":
    import httpx2

    headers = {"authorization": f"Bearer {account.token}", "content-type": "application/json"}
    return httpx2.AsyncClient(base_url=account.url, headers=headers, follow_redirects=False, trust_env=False)


async def read(answer: "httpx2.Response", most: int) -> bytes:
    """The body. Raises SandboxFailed if it is too long."""
    said = bytearray()
    with trio.CancelScope() as reading:  # cancelled rather than left, so that what is under the loop ends too
        async for chunk in answer.aiter_bytes():
            said += chunk
            if len(said) > most:
                reading.cancel()
    if len(said) > most:
        raise SandboxFailed(STRANGE)
    return bytes(said)


def decoded(said: bytes, kind: type[T]) -> T:
    try:
        return msgspec.json.decode(said, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError):
        raise SandboxFailed(STRANGE) from None


def passing(status: int) -> bool:
    """Whether another attempt may do better."""
    return status == 429 or status >= 500


def _retry_after(text: str) -> float:
    return min(float(text), RETRY_AFTER_SECONDS) if text.isascii() and text.isdigit() else 0.0
