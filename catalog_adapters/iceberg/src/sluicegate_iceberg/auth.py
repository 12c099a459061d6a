"""How the gateway shows a catalog who it is: by a bearer token, given or fetched as an OAuth client."""

from __future__ import annotations

import asyncio
import base64
import logging
import math
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import quote_plus

import orjson

from sluicegate.api import SecretStr, Unavailable
from sluicegate_iceberg.config import IcebergConfig, OAuth2Config
from sluicegate_iceberg.http import Answer, Http

log = logging.getLogger(__name__)

_AHEAD_SECONDS = 60.0
_AHEAD_SHARE = 0.2
# A token that is still valid is used on; its renewal is tried again after this.
_RETRY_SECONDS = 5.0


class Authorization(ABC):
    """Makes the header `Authorization`."""

    @abstractmethod
    async def header(self) -> str | None:
        """The header's value; `None` sends none.

        Raises:
            Unavailable: No token can be had now.
        """

    async def after(self, refused: str | None) -> str | None:
        """Another value, after one was refused; `None` where there is no other."""
        return None


class GivenToken(Authorization):
    """A token that is never renewed, or none."""

    def __init__(self, token: SecretStr | None) -> None:
        self._token = token

    async def header(self) -> str | None:
        """See `Authorization.header`."""
        return None if self._token is None else f"Bearer {self._token.get_secret_value()}"


@dataclass(frozen=True, slots=True)
class _Token:
    header: str = field(repr=False)
    renew_at: float
    expires_at: float


class ClientCredentials(Authorization):
    """OAuth 2.0 client credentials (RFC 6749, 4.4): renewed ahead of expiry, once for all who wait.

    Args:
        http: Sends the requests.
        config: The client.
        url: The token endpoint.
        clock: Seconds, monotonic.
    """

    def __init__(
        self,
        http: Http,
        config: OAuth2Config,
        url: str,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._http = http
        self._config = config
        self._url = url
        self._clock = clock
        self._token: _Token | None = None
        self._renewing = asyncio.Lock()

    async def header(self) -> str | None:
        """See `Authorization.header`; a token that is still valid serves while none can be had."""
        token, now = self._token, self._clock()
        if token is not None and (now < token.renew_at or self._another_renews(token, now)):
            return token.header
        async with self._renewing:
            if self._token is not token and self._token is not None:
                return self._token.header
            return await self._renewed_or_kept()

    async def after(self, refused: str | None) -> str | None:
        """See `Authorization.after`."""
        async with self._renewing:
            if self._token is None or self._token.header == refused:
                self._token = await self._exchange()
            return self._token.header

    def _another_renews(self, token: _Token, now: float) -> bool:
        return self._renewing.locked() and now < token.expires_at

    async def _renewed_or_kept(self) -> str:
        kept = self._token
        try:
            self._token = await self._exchange()
        except Unavailable as error:
            if kept is None or self._clock() >= kept.expires_at:
                raise
            self._token = replace(kept, renew_at=self._clock() + _RETRY_SECONDS)
            log.warning("the token of a catalog is kept a little longer: %s", error.detail)
            return kept.header
        return self._token.header

    async def _exchange(self) -> _Token:
        asked_at = self._clock()
        form = {"grant_type": "client_credentials", **self._config.parameters}
        headers = {"Accept": "application/json"}
        client, secret = self._config.client_id, self._config.client_secret.get_secret_value()
        if self._config.client_authentication == "header":
            pair = f"{quote_plus(client)}:{quote_plus(secret)}"
            headers["Authorization"] = f"Basic {base64.b64encode(pair.encode()).decode()}"
        else:
            form |= {"client_id": client, "client_secret": secret}
        if self._config.scope is not None:
            form["scope"] = self._config.scope
        answer = await self._http.send("POST", self._url, headers=headers, form=form)
        document = _document(answer)
        token = document.get("access_token")
        if answer.status != 200 or not isinstance(token, str) or not token:
            raise self._http.unavailable(f"{self._url}: {answer.status} {_reason(document)}")
        lifetime = _lifetime(document.get("expires_in"))
        ahead = min(_AHEAD_SECONDS, lifetime * _AHEAD_SHARE)
        return _Token(f"Bearer {token}", asked_at + lifetime - ahead, asked_at + lifetime)


def configured(config: IcebergConfig, http: Http) -> Authorization:
    """The configured way."""
    if config.oauth2 is None:
        return GivenToken(config.token)
    url = config.oauth2.token_uri or f"{config.uri}/v1/oauth/tokens"
    return ClientCredentials(http, config.oauth2, url)


def _document(answer: Answer) -> dict[str, Any]:
    try:
        document = orjson.loads(answer.body)
    except orjson.JSONDecodeError:
        return {}
    return document if isinstance(document, dict) else {}


def _reason(document: dict[str, Any]) -> str:
    """What the token endpoint says of a refusal (RFC 6749, 5.2)."""
    error = document.get("error")
    return f"{error}" if isinstance(error, str) else "no access token"


def _lifetime(expires_in: object) -> float:
    """Seconds; a token that does not say is used until it is refused."""
    try:
        lifetime = float(str(expires_in))
    except ValueError:
        return math.inf
    return lifetime if lifetime > 0 else math.inf
