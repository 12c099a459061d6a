"""The gateway as an OAuth 2.0 client: access tokens of another server, renewed before they expire.

Source: RFC 6749, sections 2.3.1, 4.4 and 5.
"""

from __future__ import annotations

import base64
import json
import math
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal, TypeGuard
from urllib.parse import quote_plus

from pydantic import Field

from sluicegate.api.clients.configured_secret import RotatableSecret, current_secret
from sluicegate.api.clients.fresh import RefreshingValue
from sluicegate.api.clients.http_client import HttpClient, HttpRequest, NoResponse
from sluicegate.api.config import PluginConfig
from sluicegate.api.errors import Unavailable

_LONGEST: Final = 65_536  # bytes of a response; no token is longer
_LONGEST_REASON: Final = 100


class OAuth2Client(PluginConfig):
    """Settings of an OAuth 2.0 client, whose access tokens are renewed before they expire."""

    client_id: str = Field(min_length=1, description="The client id.")
    client_secret: RotatableSecret = Field(description="The client secret.")
    scope: str | None = Field(default=None, min_length=1, description="Scopes, separated by spaces.")
    client_authentication: Literal["header", "body"] = Field(
        default="header",
        description="How the client sends id and secret: with HTTP Basic, or in the form.",
    )
    parameters: Mapping[str, str] = Field(
        default_factory=dict,
        description="Additional fields of the form, such as `audience` or `resource`.",
    )

    async def grant(self, token_uri: str) -> HttpRequest:
        """Return the request for an access token, with the current secret of its file or variable.

        The request counts as idempotent, because a second token doesn't replace the first.

        Args:
            token_uri: The token endpoint.
        """
        form = {"grant_type": "client_credentials", **self.parameters}
        if self.scope is not None:
            form["scope"] = self.scope
        secret = await current_secret(self.client_secret)
        if self.client_authentication == "body":
            form |= {"client_id": self.client_id, "client_secret": secret}
            return HttpRequest("POST", token_uri, form=form, idempotent=True)
        pair = f"{quote_plus(self.client_id)}:{quote_plus(secret)}"
        basic = base64.b64encode(pair.encode()).decode()
        shown = {"Authorization": f"Basic {basic}"}
        return HttpRequest("POST", token_uri, shown, form=form, idempotent=True)


@dataclass(frozen=True, slots=True)
class AccessToken:
    """A bearer token and its expiry in epoch milliseconds; `None` if the expiry is unknown."""

    value: str = field(repr=False)
    expires_at: int | None


class AccessTokens(RefreshingValue[AccessToken]):
    """Access tokens of a token endpoint, renewed when a fifth of their lifetime remains.

    Args:
        http: HTTP client for the endpoint.
        grant: Creates the request for a token; may raise `OSError` or `ValueError`.
        server: The server that accepts the tokens, for messages: `the catalog 'lake'`.
        margin: Maximum seconds before its expiry at which a token is renewed.
        clock: Epoch seconds.
    """

    def __init__(
        self,
        http: HttpClient,
        grant: Callable[[], Awaitable[HttpRequest]],
        server: str,
        *,
        margin: int,
        clock: Callable[[], float] = time.time,
    ) -> None:
        super().__init__(self._fetched, f"the gateway's token for {server}", margin=margin, clock=clock)
        self._http = http
        self._grant = grant
        self._server = server

    async def _fetched(self) -> AccessToken:
        asked_at = self._now()
        try:
            request = await self._grant()
            answer = await self._http.send(request)
        except (NoResponse, OSError, ValueError) as error:
            raise Unavailable(
                f"the gateway cannot sign in to {self._server} now; try again later", detail=str(error)
            ) from error
        document = _object(answer.content)
        value = document.get("access_token")
        if answer.status != 200 or not is_token(value):
            raise Unavailable(
                f"the gateway may not sign in to {self._server}; ask its operator",
                detail=f"{request.url}: {answer.status} {_reason(document)}",
            )
        lifetime = _lifetime_ms(document.get("expires_in"))
        return AccessToken(value, None if lifetime is None else asked_at + lifetime)


def _object(content: bytes) -> Mapping[str, Any]:
    if len(content) > _LONGEST:
        return {}
    try:
        document = json.loads(content)
    except (ValueError, RecursionError):
        return {}
    return document if isinstance(document, dict) else {}


def is_token(value: object) -> TypeGuard[str]:
    """Whether the value is a single word that a header can contain."""
    return (
        isinstance(value, str) and value.isascii() and value.isprintable() and value.split() == [value]
    )


def _reason(document: Mapping[str, Any]) -> str:
    """Return only the error code, because descriptions may repeat rejected secrets."""
    code = document.get("error_code") or document.get("error")
    if isinstance(code, dict):  # Iceberg's error format, in which Polaris rejects a realm
        code = code.get("type")
    return code[:_LONGEST_REASON] if isinstance(code, str) else "no token in the response"


def _lifetime_ms(expires_in: object) -> int | None:
    """Return milliseconds. A token without a lifetime is used until a server rejects it."""
    try:
        seconds = float(str(expires_in))
    except ValueError:
        return None
    return int(seconds * 1000) if math.isfinite(seconds) and seconds > 0 else None
