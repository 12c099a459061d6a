"""The token endpoint, which exchanges client credentials for access tokens (RFC 6749, section 4.4)."""

from __future__ import annotations

import hmac
import logging
import re
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from sluicegate._util.clock import epoch_ms
from sluicegate.access.authentication.oauth.failed_login_throttle import FailedLoginThrottle
from sluicegate.access.authentication.oauth.requests import MAX_BODY, OAuthError, TokenRequest
from sluicegate.access.authentication.recipient_checks import check_credential, check_recipient
from sluicegate.access.grants import Grants
from sluicegate.access.recipients.profile import ICEBERG_PATH, TOKEN_ENDPOINT_PATH
from sluicegate.access.recipients.secrets import digest
from sluicegate.api.errors import PermissionDenied, Unauthenticated
from sluicegate.audit.trail import note_claim, note_issued
from sluicegate.database.reads import CredentialRecord
from sluicegate.http.bodies import read_body
from sluicegate.http.responses import NOT_STORED, json_response
from sluicegate.telemetry import name_recipient
from sluicegate.telemetry.context import note_error

if TYPE_CHECKING:
    from sluicegate.access.authentication.oauth.access_tokens import AccessTokenIssuer


log = logging.getLogger(__name__)

_CLIENT_ID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_NO_DIGEST = bytes(32)


class Clients:
    """The OAuth clients of recipients."""

    def __init__(self, grants: Grants, *, now: Callable[[], int] = epoch_ms) -> None:
        self._grants = grants
        self._now = now

    async def authenticate(self, request: TokenRequest, address: str | None) -> CredentialRecord:
        """Return the client that sends a request."""
        known = _CLIENT_ID.fullmatch(request.client_id) is not None
        client = await self._grants.client(request.client_id) if known else None
        expected = _NO_DIGEST if client is None else client.digest
        same = hmac.compare_digest(expected, digest(request.client_secret))
        if client is None or not same:
            # An id in another format is not logged, because it may be a secret in the wrong field.
            log.warning(
                "OAuth client %s was refused",
                request.client_id if known else "with an id of unknown format",
            )
            note_claim("oauth", request.client_id if known else None)
            raise OAuthError("invalid_client", "client_id or client_secret is wrong", 401)
        self._check(client, address)
        return client

    def _check(self, client: CredentialRecord, address: str | None) -> None:
        try:
            check_credential(client, "OAuth client", "oauth", self._now())
            check_recipient(client.recipient, "oauth", address, client.id)
        except Unauthenticated as error:
            log.info("OAuth client %s: %s", client.id, error.message)
            raise OAuthError("invalid_client", error.message, 401) from None
        except PermissionDenied as error:
            log.info("OAuth client %s: %s", client.id, error.detail)
            refusal = "not allowed from this address"
            raise OAuthError("unauthorized_client", refusal, rule="network") from None


ICEBERG_TOKENS = "/v1/oauth/tokens"
TOKEN_PATHS = (TOKEN_ENDPOINT_PATH, ICEBERG_PATH + ICEBERG_TOKENS)
_NOT_STORED = {**NOT_STORED, "Pragma": "no-cache"}
_RETRY_SECONDS = "5"


class TokenEndpoint:
    """Responds to requests for access tokens."""

    def __init__(
        self,
        grants: Grants,
        tokens: Callable[[], Awaitable[AccessTokenIssuer]],
        *,
        throttle: FailedLoginThrottle | None = None,
        now: Callable[[], int] = epoch_ms,
    ) -> None:
        self._clients = Clients(grants, now=now)
        self._tokens = tokens
        self._throttle = throttle or FailedLoginThrottle()

    def routes(self) -> list[Route]:
        """Return its routes: the path in profiles, and the one that Iceberg clients use by default."""
        return [Route(path, self._answer, methods=["POST"]) for path in TOKEN_PATHS]

    async def _answer(self, request: Request) -> Response:
        try:
            return granted_response(await self._grant(request))
        except OAuthError as error:
            if error.status == 401 and not await self._throttle.delay():
                return refusal_response(
                    OAuthError("slow_down", "too many failed attempts; try again later", 429)
                )
            return refusal_response(error)

    async def _grant(self, request: Request) -> dict[str, Any]:
        headers, body = request.headers, await read_body(request, MAX_BODY)
        token_request = TokenRequest.parse(
            headers.get("content-type", ""), headers.get("authorization"), body
        )
        client = await self._clients.authenticate(token_request, request.client and request.client.host)
        name_recipient(client.recipient.name)
        token = (await self._tokens()).issue(client, token_request.scope)
        note_issued("access token", expires_at=epoch_ms() + token.expires_in * 1000)
        return {
            "access_token": token.text,
            "token_type": "bearer",
            "expires_in": token.expires_in,
            "scope": token_request.scope,
        }


def granted_response(granted: dict[str, Any]) -> Response:
    """Return the response with a token."""
    return json_response(granted, headers=_NOT_STORED)


def refusal_response(error: OAuthError) -> Response:
    """Return the response to a rejected request."""
    note_error(error)
    headers = dict(_NOT_STORED)
    if error.status == 401:
        headers["WWW-Authenticate"] = 'Basic realm="sluicegate"'
    elif error.status == 429:
        seconds = error.retry_after
        headers["Retry-After"] = _RETRY_SECONDS if seconds is None else str(seconds)
    body = {"error": error.code, "error_description": error.description}
    return json_response(body, error.status, headers)
