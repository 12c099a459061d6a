"""The token endpoint: client credentials in, a short-lived access token out (RFC 6749, section 4.4)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from sluicegate.access.grants import Grants
from sluicegate.access.oauth.clients import Clients
from sluicegate.access.oauth.penalty import Penalty
from sluicegate.access.oauth.requests import OAuthError, TokenRequest
from sluicegate.access.profile import ICEBERG_PATH, TOKEN_ENDPOINT_PATH
from sluicegate.clock import epoch_ms
from sluicegate.http.bodies import read_body
from sluicegate.http.responses import NOT_STORED, json_response
from sluicegate.telemetry import name_recipient

if TYPE_CHECKING:
    from sluicegate.access.oauth.access_tokens import AccessTokens

ICEBERG_TOKENS = "/v1/oauth/tokens"
TOKEN_PATHS = (TOKEN_ENDPOINT_PATH, ICEBERG_PATH + ICEBERG_TOKENS)
_MAX_BODY = 16_384
_NOT_STORED = {**NOT_STORED, "Pragma": "no-cache"}
_RETRY_SECONDS = "5"


class TokenEndpoint:
    """Answers requests for access tokens.

    Args:
        grants: Where clients are looked up.
        tokens: Issues the tokens; loaded with the first request.
        penalty: What refused clients have to wait.
        now: Epoch milliseconds.
    """

    def __init__(
        self,
        grants: Grants,
        tokens: Callable[[], Awaitable[AccessTokens]],
        *,
        penalty: Penalty | None = None,
        now: Callable[[], int] = epoch_ms,
    ) -> None:
        self._clients = Clients(grants, now=now)
        self._tokens = tokens
        self._penalty = penalty or Penalty()

    def routes(self) -> list[Route]:
        """Where the endpoint is: as profiles say, and where clients of Iceberg catalogs look for it."""
        return [Route(path, self._answer, methods=["POST"]) for path in TOKEN_PATHS]

    async def _answer(self, request: Request) -> Response:
        try:
            return granted_response(await self._grant(request))
        except OAuthError as error:
            if error.status == 401 and not await self._penalty.serve():
                return refusal_response(OAuthError("slow_down", "too many refused attempts; wait", 429))
            return refusal_response(error)

    async def _grant(self, request: Request) -> dict[str, Any]:
        headers, body = request.headers, await read_body(request, _MAX_BODY)
        asked = TokenRequest.parse(headers.get("content-type", ""), headers.get("authorization"), body)
        client = await self._clients.authenticate(asked, request.client and request.client.host)
        name_recipient(client.recipient.name)
        token = (await self._tokens()).issue(client, asked.scope)
        return {
            "access_token": token.text,
            "token_type": "bearer",
            "expires_in": token.expires_in,
            "scope": asked.scope,
        }


def granted_response(granted: dict[str, Any]) -> Response:
    """The answer that holds a token."""
    return json_response(granted, headers=_NOT_STORED)


def refusal_response(error: OAuthError) -> Response:
    """The answer to a client that gets none."""
    headers = dict(_NOT_STORED)
    if error.status == 401:
        headers["WWW-Authenticate"] = 'Basic realm="sluicegate"'
    elif error.status == 429:
        headers["Retry-After"] = _RETRY_SECONDS
    body = {"error": error.code, "error_description": error.description}
    return json_response(body, error.status, headers)
