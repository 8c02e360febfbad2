"""The spend guard: a Model that answers only what has been reserved for.

One rule: nothing else holds an unguarded model. The worst case is part of the commit before a request, and the real
cost part of the commit after it; a crash in between leaves the reservation, so the books are never under the bill.
"""

import weakref
from collections.abc import Callable
from datetime import datetime
from typing import Protocol
from zoneinfo import ZoneInfo

import attrs

from storage import spend
from storage.operation import Write
from tools.model import Model, ModelError, ModelReply, ModelRequest, Usage


class Prices(Protocol):
    """What models cost, in nano-dollars."""

    def price(self, model: str, usage: Usage) -> int:
        """The cost of what was used."""
        ...

    def worst_case(self, model: str, input_bytes: int, max_tokens: int, searches_max: int = 0) -> int:
        """An upper bound of what a request can cost."""
        ...


@attrs.frozen(kw_only=True)
class Purse:
    """The limits that hold now, in nano-dollars, and the zone in which days and months begin."""

    day_limit: int
    month_limit: int
    zone: ZoneInfo

    def day(self, now: datetime) -> str:
        """The day that `now` falls on, as the books name it: "2026-11-30"."""
        return now.astimezone(self.zone).date().isoformat()

    def month(self, now: datetime) -> str:
        """The month that `now` falls in, as the books name it: "2026-11"."""
        return self.day(now)[:7]


class Unreserved(Exception):
    """A model was asked something that no reservation was made for: a mistake in our own code."""


@attrs.frozen(kw_only=True)
class Reservation:
    """A request with the money for it. `writes` belong into the commit that precedes the request."""

    request: ModelRequest
    entry: spend.Reserved
    writes: tuple[Write, ...]


class Guard:
    """The only model that conversations hold. Satisfies Model."""

    def __init__(self, model: Model, prices: Prices, purse: Callable[[], Purse]) -> None:
        self._model, self._prices, self._purse = model, prices, purse
        self._reserved: weakref.WeakSet[ModelRequest] = weakref.WeakSet()

    def reserve(
        self, request: ModelRequest, *, run: int, asked: int, kind: str, agent: str, act: str, now: datetime
    ) -> Reservation:
        """The worst case of a request as writes. The commit raises OverBudget if it does not fit the limits."""
        purse = self._purse()
        entry = spend.Reserved(
            run=run,
            asked=asked,
            kind=kind,
            agent=agent,
            act=act,
            model=request.model,
            day=purse.day(now),
            month=purse.month(now),
            amount=self._worst(request),
        )
        self._reserved.add(request)
        writes = spend.reserve(entry, day_limit=purse.day_limit, month_limit=purse.month_limit, now=now)
        return Reservation(request=request, entry=entry, writes=writes)

    def extend(self, reservation: Reservation, request: ModelRequest, *, kind: str) -> Reservation:
        """The same reservation for a request that has grown since; `writes` charge the difference."""
        purse, amount = self._purse(), max(self._worst(request), reservation.entry.amount)
        entry = attrs.evolve(reservation.entry, amount=amount, kind=kind)
        self._reserved.add(request)
        writes = spend.extend(reservation.entry, entry, day_limit=purse.day_limit, month_limit=purse.month_limit)
        return Reservation(request=request, entry=entry, writes=writes)

    async def warm(self) -> None:
        """Get the model ready to be asked; it costs nothing."""
        await self._model.warm()

    async def ask(self, request: ModelRequest, on_text: Callable[[str], None]) -> ModelReply:
        """Ask what was reserved for, once. Raises Unreserved, ModelError."""
        if request not in self._reserved:
            raise Unreserved(f"a request to {request.model} that nothing was reserved for")
        self._reserved.discard(request)
        return await self._model.ask(request, on_text)

    def settle(self, reservation: Reservation, usage: Usage) -> tuple[Write, ...]:
        """The real cost in the place of the reservation, as writes for the commit that follows the answer."""
        return spend.settle(reservation.entry, self._settled(reservation, usage))

    def turn_over(
        self, reservation: Reservation, usage: Usage, following: Reservation, now: datetime
    ) -> tuple[Write, ...] | None:
        """The real cost of one request, and the reservation for the following, as writes of one commit.

        None if they fall on different days. The commit raises OverBudget if the two together don't fit the limits.
        """
        it, purse = reservation.entry, self._purse()
        if it.day != following.entry.day:
            return None
        return spend.turn_over(
            it,
            self._settled(reservation, usage),
            following.entry,
            day_limit=purse.day_limit,
            month_limit=purse.month_limit,
            now=now,
        )

    def _settled(self, reservation: Reservation, usage: Usage) -> spend.Settled:
        return spend.Settled(
            cost=self._prices.price(reservation.entry.model, usage),
            input_tokens=usage.input_tokens,
            cache_write_tokens=usage.cache_write_tokens,
            cache_read_tokens=usage.cache_read_tokens,
            output_tokens=usage.output_tokens,
            searches=usage.searches,
        )

    def settle_lost(self, reservation: Reservation, error: ModelError) -> tuple[Write, ...]:
        """What an answer that never came has cost, as writes.

        Nothing, if surely nothing is billed; the whole bill of an answer that came but can't be used. An answer that
        broke off was billed to an end that nobody saw: its reservation stands.
        """
        if error.usage is None:
            return self.settle(reservation, Usage())
        return self.settle(reservation, error.usage) if error.kind in ("empty", "refused") else ()

    def _worst(self, request: ModelRequest) -> int:
        assert request.size_bytes > 0, "the worst case of a request hangs on its size"
        return self._prices.worst_case(request.model, request.size_bytes, request.max_tokens, request.searches_max)
