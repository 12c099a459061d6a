"""Admission of requests: how many are under way, in all and for each recipient, with a short queue.

A request counts for its client's address until it is authenticated, then for its recipient, and it
counts until the last byte of its answer is sent. Too many requests of one client are its own matter
(429); only when all together are too many, others are refused (503). Health checks always pass.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from sluicegate.errors import RateLimited, SluicegateError, Unavailable
from sluicegate.http.health import HEALTH_PATHS
from sluicegate.http.limits import AdmissionLimits
from sluicegate.http.responses import error_response, log_error

_SCOPE_KEY = "sluicegate.admission"


class Admission:
    """Counts requests under way.

    Args:
        limits: Bounds and the length of the wait.
    """

    def __init__(self, limits: AdmissionLimits) -> None:
        self._limits = limits
        self._all = Gate(limits.max_requests)
        self._of_recipient: dict[str, Gate] = {}
        self._of_address: dict[str, int] = {}

    def arrive(self, address: str) -> None:
        """Count a request whose sender is not known yet.

        Raises:
            RateLimited: The address has too many of them under way.
        """
        arrived = self._of_address.get(address, 0)
        if arrived >= self._limits.max_requests_per_address:
            raise RateLimited(_too_many("your address", arrived))
        self._of_address[address] = arrived + 1

    def leave_address(self, address: str) -> None:
        """A request ended, or its sender is known now."""
        left = self._of_address[address] - 1
        if left:
            self._of_address[address] = left
        else:
            del self._of_address[address]

    def enter_now(self, recipient: str) -> tuple[Gate, ...]:
        """Take a place of a recipient and one among all, where both are free; else none."""
        gate, everybody = self._gate(recipient), self._all
        if gate.inside >= gate.size or everybody.inside >= everybody.size:
            return ()  # nobody waits where a place is free
        gate.inside += 1
        everybody.inside += 1
        return gate, everybody

    async def enter_recipient(self, recipient: str) -> Gate:
        """Wait for a place of a recipient.

        Raises:
            RateLimited: Too many of its requests are waiting, or this one has waited too long.
        """
        gate = self._gate(recipient)
        if not await gate.enter(self._limits.queue_timeout):
            raise RateLimited(_too_many("this recipient", self._limits.max_requests_per_recipient))
        return gate

    async def enter_all(self) -> Gate:
        """Wait for a place among all requests.

        Raises:
            Unavailable: Too many requests are waiting, or this one has waited too long.
        """
        if not await self._all.enter(self._limits.queue_timeout):
            raise Unavailable("the gateway serves as many requests as it can; try again later")
        return self._all

    def _gate(self, recipient: str) -> Gate:
        gate = self._of_recipient.get(recipient)
        if gate is None:
            gate = self._of_recipient[recipient] = Gate(self._limits.max_requests_per_recipient)
        return gate


class RequestAdmission:
    """ASGI middleware: each request leaves the places that it has taken when it ends.

    Args:
        app: What is served.
        admission: Counts the requests.
        refuse: Answers an error at a path, in the spelling of what is there.
    """

    def __init__(
        self,
        app: ASGIApp,
        admission: Admission,
        refuse: Callable[[str, SluicegateError], Response] = lambda _, error: error_response(error),
    ) -> None:
        self._app = app
        self._admission = admission
        self._refuse = refuse

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a scope; only HTTP requests are counted."""
        if scope["type"] != "http" or scope["path"] in HEALTH_PATHS:
            await self._app(scope, receive, send)
            return
        client = scope.get("client")
        try:
            ticket = Ticket(self._admission, client[0] if client else "")
        except SluicegateError as error:
            log_error(error)
            await self._refuse(scope["path"], error)(scope, receive, send)
            return
        scope[_SCOPE_KEY] = ticket
        try:
            await self._app(scope, receive, send)
        finally:
            ticket.leave()


def ticket_of(scope: Scope) -> Ticket | None:
    """The places of a request; `None` where nothing counts requests."""
    ticket: Ticket | None = scope.get(_SCOPE_KEY)
    return ticket


class Ticket:
    """The places that one request has taken."""

    __slots__ = ("_address", "_admission", "_gates")

    def __init__(self, admission: Admission, address: str) -> None:
        admission.arrive(address)
        self._admission = admission
        self._address: str | None = address
        self._gates: tuple[Gate, ...] = ()

    def enter_now(self, recipient: str) -> bool:
        """Count for a recipient from now on, if there is a place without waiting."""
        self._leave_address()
        self._gates = self._admission.enter_now(recipient)
        return bool(self._gates)

    async def enter(self, recipient: str | None) -> None:
        """Wait until the request may be served; it keeps its places until its answer is sent.

        Args:
            recipient: Id of who sends it; `None` for a link, which counts for the address.

        Raises:
            RateLimited: The recipient has too many requests under way.
            Unavailable: All together are too many.
        """
        if recipient is not None:
            self._leave_address()
            self._gates = (await self._admission.enter_recipient(recipient),)
        self._gates += (await self._admission.enter_all(),)

    def leave(self) -> None:
        """Leave all places."""
        self._leave_address()
        for gate in self._gates:
            gate.leave()

    def _leave_address(self) -> None:
        if self._address is not None:
            self._admission.leave_address(self._address)
            self._address = None


@dataclass(slots=True)
class Gate:
    """So many may be inside, and as many may wait."""

    size: int
    inside: int = 0
    waiting: deque[asyncio.Future[None]] | None = None

    async def enter(self, timeout: float) -> bool:
        """Wait for a place; whether there was one in time."""
        if self.inside < self.size:  # then nobody waits
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
        """One who was inside leaves."""
        if self.waiting:
            self.waiting.popleft().set_result(None)  # who waited takes this place
        else:
            self.inside -= 1

    def _give_up(self, turn: asyncio.Future[None]) -> None:
        """Stop waiting, and pass on a place that came too late."""
        if turn.done():
            self.leave()
        elif self.waiting:
            self.waiting.remove(turn)


def _too_many(whose: str, number: int) -> str:
    return f"{whose} has {number} requests under way already; wait for some, then try again"
