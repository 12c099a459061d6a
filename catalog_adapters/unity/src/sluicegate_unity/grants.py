"""Authenticates the gateway to the catalog: anonymously, with a fixed token, or with an OAuth grant.

Sources: RFC 8693, as implemented by Unity Catalog; RFC 6749, section 4.4.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Final

import anyio

from sluicegate.api import AccessTokens, AuthorizedClient, HttpClient, HttpRequest, current_secret
from sluicegate_unity.config import OAuth2, TokenExchange, UnityConfig
from sluicegate_unity.responses import refuses_identity

_EXCHANGE: Final = "urn:ietf:params:oauth:grant-type:token-exchange"
_ACCESS_TOKEN: Final = "urn:ietf:params:oauth:token-type:access_token"  # noqa: S105 (a type's name)
_MARGIN_SECONDS: Final = 300


def authorized(config: UnityConfig, http: HttpClient, catalog: str) -> AuthorizedClient:
    """Return a client that authenticates as configured."""
    grant = _grant(config)
    if grant is None:
        return AuthorizedClient(http, config.token, is_refusal=refuses_identity)
    server = f"the catalog '{catalog}'"
    tokens = AccessTokens(http, grant, server, margin=_MARGIN_SECONDS)
    return AuthorizedClient(http, tokens, is_refusal=refuses_identity)


def _grant(config: UnityConfig) -> Callable[[], Awaitable[HttpRequest]] | None:
    if config.token_exchange is not None:
        return _exchange(config.token_exchange, config.exchange_uri)
    return _client_credentials(config.oauth2) if config.oauth2 is not None else None


def _exchange(config: TokenExchange, uri: str) -> Callable[[], Awaitable[HttpRequest]]:
    async def grant() -> HttpRequest:
        form = {
            "grant_type": _EXCHANGE,
            "requested_token_type": _ACCESS_TOKEN,
            "subject_token_type": config.subject_token_type,
            "subject_token": await _subject(config),
        }
        return HttpRequest("POST", uri, form=form, idempotent=True)

    return grant


async def _subject(config: TokenExchange) -> str:
    if config.subject_token is not None:
        return await current_secret(config.subject_token)
    if config.subject_token_file is None:
        raise ValueError("there is no identity token")
    token = (await anyio.Path(config.subject_token_file).read_text(encoding="utf-8")).strip()
    if not token:
        raise ValueError(f"{config.subject_token_file} is empty")
    return token


def _client_credentials(config: OAuth2) -> Callable[[], Awaitable[HttpRequest]]:
    async def grant() -> HttpRequest:
        return await config.grant(config.token_uri)

    return grant
