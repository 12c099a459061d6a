"""Limits concurrent requests in total and per client, with short queues (limit control).

A request counts for its client's address until it is authenticated. Then it counts for its recipient
(in the delegation service, for its client). It counts until the last byte of its response is sent. A
client with too many concurrent requests gets 429. Only when the total limit is reached are other
clients rejected (503). Health checks are always admitted.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from sluicegate.api.errors import RateLimited, SluicegateError, Unavailable
from sluicegate.http.health import HEALTH_PATHS
from sluicegate.http.limits import ConcurrencyLimits
from sluicegate.http.responses import error_response, log_error
from sluicegate.telemetry import count

CONCURRENCY = "concurrency"
"""The rule of refusals because of too many concurrent requests, some of which have status 503."""
_SCOPE_KEY = "sluicegate.request_slots"


class RecipientGate(Protocol):
    """Other limits of authenticated senders."""

    def admit(self, recipient: str) -> int | None:
        """Count a request, by the id of its sender.

        Returns:
            The maximum number of its concurrent requests, if it has its own.
        """


class ConcurrencyLimit:
    """Counts concurrent requests."""

    def __init__(
        self,
        limits: ConcurrencyLimits,
        kind: str = "recipient",
        gate: RecipientGate | None = None,
    ) -> None:
        self._limits = limits
        self._kind = kind
        self._gate = gate
        self._all = Slots(limits.max_requests)
        self._of_recipient: dict[str, Slots] = {}
        self._of_address: dict[str, int] = {}

    def arrive(self, address: str) -> None:
        """Count a request whose sender is not known yet."""
        arrived = self._of_address.get(address, 0)
        if arrived >= self._limits.max_requests_per_address:
            raise _too_many("your address", arrived, "address_concurrent_requests")
        self._of_address[address] = arrived + 1

    def leave_address(self, address: str) -> None:
        """Release the address's slot: the request has ended, or its sender is now known."""
        left = self._of_address[address] - 1
        if left:
            self._of_address[address] = left
        else:
            del self._of_address[address]

    def admit(self, recipient: str) -> None:
        """Apply the gate to a request of a recipient."""
        if self._gate is not None:
            own = self._gate.admit(recipient)
            self._slots(recipient).size = own or self._limits.max_requests_per_recipient

    def enter_now(self, recipient: str) -> tuple[Slots, ...]:
        """Take a slot of the recipient and a global slot if both are free, otherwise none."""
        own, everybody = self._slots(recipient), self._all
        if own.inside >= own.size or everybody.inside >= everybody.size:
            return ()  # if a slot is free, no request is waiting for it
        own.inside += 1
        everybody.inside += 1
        return own, everybody

    async def enter_recipient(self, recipient: str) -> Slots:
        """Wait for one of the recipient's slots."""
        slots = self._slots(recipient)
        if not await slots.enter(self._limits.queue_timeout):
            raise _too_many(f"this {self._kind}", slots.size, "concurrent_requests")
        return slots

    async def enter_all(self) -> Slots:
        """Wait for one of the global slots."""
        if not await self._all.enter(self._limits.queue_timeout):
            full = Unavailable("the server has too many concurrent requests; try again later")
            raise full.decided_by(CONCURRENCY)
        return self._all

    def _slots(self, recipient: str) -> Slots:
        slots = self._of_recipient.get(recipient)
        if slots is None:
            slots = self._of_recipient[recipient] = Slots(self._limits.max_requests_per_recipient)
        return slots


class ConcurrencyLimitMiddleware:
    """ASGI middleware that releases the slots of each request when it ends."""

    def __init__(
        self,
        app: ASGIApp,
        limit: ConcurrencyLimit,
        refuse: Callable[[str, SluicegateError], Response] = lambda _, error: error_response(error),
    ) -> None:
        self._app = app
        self._limit = limit
        self._refuse = refuse

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a scope; only HTTP requests are counted."""
        if scope["type"] != "http" or scope["path"] in HEALTH_PATHS:
            await self._app(scope, receive, send)
            return
        client = scope.get("client")
        try:
            slots = RequestSlots(self._limit, client[0] if client else "")
        except SluicegateError as error:
            log_error(error)
            await self._refuse(scope["path"], error)(scope, receive, send)
            return
        scope[_SCOPE_KEY] = slots
        try:
            await self._app(scope, receive, send)
        finally:
            slots.leave()


def slots_of(scope: Mapping[str, Any]) -> RequestSlots | None:
    """The slots of a request, or `None` if requests are not counted."""
    slots: RequestSlots | None = scope.get(_SCOPE_KEY)
    return slots


class RequestSlots:
    """The slots that one request occupies: one of each kind, however often it is authenticated."""

    __slots__ = ("_address", "_limit", "_recipient", "_taken")

    def __init__(self, limit: ConcurrencyLimit, address: str) -> None:
        limit.arrive(address)
        self._limit = limit
        self._address: str | None = address
        self._taken: tuple[Slots, ...] = ()
        self._recipient: str | None = None  # who has entered

    def enter_now(self, recipient: str) -> bool:
        """Count the request for a recipient from now on, if a slot is free without waiting."""
        self._leave_address()
        if self._recipient == recipient:
            return True  # a plugin's wrapper has authenticated the request before
        self._leave_taken()
        self._limit.admit(recipient)
        self._taken = self._limit.enter_now(recipient)
        self._recipient = recipient if self._taken else None
        return bool(self._taken)

    async def enter(self, recipient: str | None) -> None:
        """Wait until the request can be served; it occupies its slots until its response is sent."""
        if recipient is not None:
            self._leave_address()
            self._leave_taken()
            own = await self._limit.enter_recipient(recipient)
            self._taken += (own,)
        common = await self._limit.enter_all()
        self._taken += (common,)
        self._recipient = recipient or self._recipient

    def name(self, recipient: str) -> None:
        """Apply the gate of the recipient of a signed link.

        The request still counts for its address.
        """
        self._limit.admit(recipient)

    def leave(self) -> None:
        """Release all slots. Calling it again has no effect."""
        self._leave_address()
        self._leave_taken()

    def _leave_taken(self) -> None:
        taken, self._taken, self._recipient = self._taken, (), None
        for slots in taken:
            slots.leave()

    def _leave_address(self) -> None:
        if self._address is not None:
            self._limit.leave_address(self._address)
            self._address = None


@dataclass(slots=True)
class Slots:
    """A semaphore with a bounded queue: `size` requests can be inside, and as many can wait."""

    size: int
    inside: int = 0
    waiting: deque[asyncio.Future[None]] | None = None

    async def enter(self, timeout: float) -> bool:
        """Wait for a slot. Returns whether one became free in time."""
        if self.inside < self.size:  # a free slot implies an empty queue
            self.inside += 1
            return True
        if self.waiting is None:
            self.waiting = deque()
        if len(self.waiting) >= self.size:
            return False
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.waiting.append(turn)
        try:
            await asyncio.wait([turn], timeout=timeout)
        except asyncio.CancelledError:
            self._give_up(turn)
            raise
        if turn.done():
            return True
        self._give_up(turn)
        return False

    def leave(self) -> None:
        """Release a slot."""
        if self.waiting and self.inside <= self.size:  # `size` can have been lowered
            self.waiting.popleft().set_result(None)  # the waiting request takes this slot
        else:
            self.inside -= 1

    def _give_up(self, turn: asyncio.Future[None]) -> None:
        """Stop waiting, and pass on a slot that was assigned too late."""
        if turn.done():
            self.leave()
        elif self.waiting:
            self.waiting.remove(turn)


def _too_many(whose: str, number: int, limit: str) -> RateLimited:
    count("sluicegate.limits.refused", limit=limit)
    return RateLimited(
        f"{whose} has {number} concurrent requests already; wait until some complete, then try again"
    ).decided_by(CONCURRENCY)
