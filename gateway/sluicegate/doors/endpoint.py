"""What every address of a door does: authenticate, wait for a place, handle, and answer errors."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from sluicegate.access.authentication import Authentication
from sluicegate.errors import SluicegateError
from sluicegate.http.admission import ticket_of
from sluicegate.http.responses import as_sluicegate_error, error_response
from sluicegate.nouns import Principal
from sluicegate.telemetry import name_recipient

Handler = Callable[[Request, Principal], Awaitable[Response]]


class Endpoint:
    """An ASGI endpoint: authenticate, wait for a place, handle, and answer every error as JSON.

    It is not one of Starlette's function endpoints because those cost a third of a listing's time.

    Args:
        handler: Answers a recipient.
        authentication: Recognises recipients.
        refuse: Answers errors.
    """

    def __init__(
        self,
        handler: Handler,
        authentication: Authentication,
        refuse: Callable[[SluicegateError], Response] = error_response,
    ) -> None:
        self._handler = handler
        self._authentication = authentication
        self._refuse = refuse

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        request = Request(scope, receive)
        client = scope.get("client")
        try:
            principal = await self._authentication.authenticate(
                request.headers.get("authorization"), client[0] if client else None
            )
            name_recipient(principal.name)
            ticket = ticket_of(scope)
            if ticket is not None and not ticket.enter_now(principal.id):
                await ticket.enter(principal.id)
            response = await self._handler(request, principal)
        except Exception as error:
            response = self._refuse(as_sluicegate_error(error))
        await response(scope, receive, send)
