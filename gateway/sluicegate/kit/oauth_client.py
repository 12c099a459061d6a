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

from pydantic import Field, SecretStr

from sluicegate.errors import Unavailable
from sluicegate.kit.fresh import Fresh
from sluicegate.kit.http_client import HttpClient, HttpRequest, NoAnswer
from sluicegate.plugin_config import PluginConfig

_LONGEST: Final = 65_536  # bytes of an answer; no token is longer
_LONGEST_REASON: Final = 100


class OAuth2Client(PluginConfig):
    """An OAuth 2.0 client, whose access tokens are renewed before each expires."""

    client_id: str = Field(min_length=1, description="The client's id.")
    client_secret: SecretStr = Field(description="The client's secret.")
    scope: str | None = Field(default=None, min_length=1, description="Scopes, with spaces between.")
    client_authentication: Literal["header", "body"] = Field(
        default="header",
        description="How the client shows id and secret: by HTTP Basic, or in the form.",
    )
    parameters: Mapping[str, str] = Field(
        default_factory=dict,
        description="More fields of the form, such as `audience` or `resource`.",
    )

    def grant(self, token_uri: str) -> HttpRequest:
        """The request for an access token.

        Args:
            token_uri: The token endpoint.
        """
        form = {"grant_type": "client_credentials", **self.parameters}
        if self.scope is not None:
            form["scope"] = self.scope
        secret = self.client_secret.get_secret_value()
        if self.client_authentication == "body":
            form |= {"client_id": self.client_id, "client_secret": secret}
            return HttpRequest("POST", token_uri, form=form)
        pair = f"{quote_plus(self.client_id)}:{quote_plus(secret)}"
        basic = base64.b64encode(pair.encode()).decode()
        return HttpRequest("POST", token_uri, {"Authorization": f"Basic {basic}"}, form=form)


@dataclass(frozen=True, slots=True)
class AccessToken:
    """A bearer token, and when it ends in epoch milliseconds; `None` where nobody said."""

    value: str = field(repr=False)
    expires_at: int | None


class AccessTokens(Fresh[AccessToken]):
    """Access tokens of a token endpoint, renewed when a fifth of their life is left.

    Args:
        http: Reaches the endpoint.
        grant: Makes the request for a token; may raise `OSError` or `ValueError`.
        server: Who the tokens are for, in messages: `the catalog 'lake'`.
        margin: Seconds before its end at which a token is renewed at the earliest.
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
        except (NoAnswer, OSError, ValueError) as error:
            raise Unavailable(
                f"the gateway cannot sign in to {self._server} now; try again later", detail=str(error)
            ) from error
        document = _object(answer.content)
        value = document.get("access_token")
        if answer.status != 200 or not _is_token(value):
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


def _is_token(value: object) -> TypeGuard[str]:
    """Whether it is one word that can stand in a header."""
    return (
        isinstance(value, str) and value.isascii() and value.isprintable() and value.split() == [value]
    )


def _reason(document: Mapping[str, Any]) -> str:
    """The error's code alone: descriptions of refused secrets may repeat them."""
    code = document.get("error_code") or document.get("error")
    return code[:_LONGEST_REASON] if isinstance(code, str) else "no token in the answer"


def _lifetime_ms(expires_in: object) -> int | None:
    """Milliseconds; a token that does not say is used until it is refused."""
    try:
        seconds = float(str(expires_in))
    except ValueError:
        return None
    return int(seconds * 1000) if math.isfinite(seconds) and seconds > 0 else None
