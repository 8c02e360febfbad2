"""Searching the web: a request of its own to a model that has the provider's search, paid for like every other.

One rule: the worst case stands in the books before the request leaves, and the bill after it, whatever came of it.
"""

import logging
from typing import Protocol

import trio

from storage.errors import OverBudget
from storage.operation import Commit, Write
from storage.records import Agent
from storage.text import dumps
from tools.contract import ToolContext, ToolFailed
from tools.limits import Limits
from tools.model import ModelError, ModelReply, ModelRequest
from tools.web_search import SEARCHES_MAX, SERVER_TOOL, SYSTEM, Found

from . import journal
from .clock import Clock
from .spend import Guard, Reservation
from .store import Store

log = logging.getLogger("dreamwalker.search")

_ERRORS = {
    "too_many_requests": "The search was asked too often just now. Try again in a while, or go on without.",
    "query_too_long": "The query is too long for the search.",
    "invalid_tool_input": "The search could not make sense of the query. Put it in other words.",
    "request_too_large": "What the search brought up is more than can be read. Search for something narrower.",
    "unavailable": "The search is not there just now. Try again in a while, or go on without.",
}
"""What the provider's words for a search that failed mean."""
_NOT_HERE = "Searching the web is not possible with this model service: it refused the request. Go on without."
_DECLINED = "The model declined to search for this."
_NONE_MADE = "No search was made: what answers here can't search the web. Go on without."
_BROKEN = "The search did not come to an end: the model could not be asked. Try again, or go on without."
_TOO_LONG = "The search took too long. Try again, or go on without."
_AROUND_BYTES = 256
"""At most so much JSON stands around the texts of such a request."""


class Means(Protocol):
    """What searching needs."""

    store: Store
    guard: Guard
    clock: Clock
    limits: Limits

    @property
    def agents(self) -> dict[str, Agent]: ...
    @property
    def default_model(self) -> str: ...


class Searches:
    """Searches for workers. Satisfies Searching."""

    def __init__(self, means: Means) -> None:
        self._means = means

    async def search(self, context: ToolContext, query: str) -> Found:
        """Search for a query once. Raises ToolFailed; StorageError."""
        means = self._means
        reservation = await self._reserve(context, self._request(context, query))
        try:
            with trio.fail_after(means.limits.search_seconds):
                reply = await means.guard.ask(reservation.request, lambda text: None)
        except ModelError as error:
            await self._settle(means.guard.settle_lost(reservation, error))
            log.info("search.failed", {"kind": error.kind})
            raise ToolFailed(_told(error)) from error
        except trio.TooSlowError:  # what it cost nobody knows: the reservation stands
            raise ToolFailed(_TOO_LONG) from None
        await self._settle(means.guard.settle(reservation, reply.usage))
        return _found(reply)

    def _request(self, context: ToolContext, query: str) -> ModelRequest:
        agent = self._means.agents[context.agent]
        messages = ({"role": "user", "content": query},)
        return ModelRequest(
            model=agent.model or self._means.default_model,
            system=SYSTEM,
            tools=(SERVER_TOOL,),
            messages=messages,
            max_tokens=self._means.limits.search_tokens,
            searches_max=SEARCHES_MAX,
            size_bytes=len(dumps([SYSTEM, SERVER_TOOL, messages]).encode()) + _AROUND_BYTES,
        )

    async def _reserve(self, context: ToolContext, request: ModelRequest) -> Reservation:
        """The money for it, committed. Raises ToolFailed if there is none."""
        means = self._means
        reservation = means.guard.reserve(
            request,
            run=context.call.run,
            asked=means.store.next_id(),  # far above what a run counts for its turns
            kind="search",
            agent=context.agent,
            act=context.act,
            now=means.clock.now(),
        )
        try:
            await means.store.ask(Commit(reservation.writes))
        except OverBudget as over:
            raise ToolFailed(f"Nothing was searched for: {journal.over_limit(over)}") from over
        return reservation

    async def _settle(self, writes: tuple[Write, ...]) -> None:
        if writes:
            with trio.CancelScope(shield=True):  # the bill has come, whoever goes on without what was found
                await self._means.store.ask(Commit(writes))


def _told(error: ModelError) -> str:
    """What a worker is told of a request that failed."""
    if error.kind == "empty":
        return _NONE_MADE
    if error.kind != "refused":
        return _BROKEN
    return _NOT_HERE if error.usage is None else _DECLINED


def _found(reply: ModelReply) -> Found:
    """What a reply brings. Raises ToolFailed if nothing was searched for, or nothing came of it."""
    sources = tuple(source for source in reply.sources if source.url.startswith(("https://", "http://")))
    if not sources and reply.search_errors:
        raise ToolFailed(_ERRORS.get(reply.search_errors[0], _ERRORS["unavailable"]))
    if not sources and not reply.usage.searches:
        raise ToolFailed(_NONE_MADE)
    return Found(sources=sources, said="".join(block for block in reply.blocks if isinstance(block, str)))
