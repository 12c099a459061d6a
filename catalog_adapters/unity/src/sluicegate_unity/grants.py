"""Who the gateway is to the catalog: nobody, a fixed token, or what an OAuth grant gives.

Sources: RFC 8693 as Unity Catalog answers it; RFC 6749, section 4.4.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Final

import anyio

from sluicegate.api import AccessTokens, AuthorizedClient, HttpClient, HttpRequest
from sluicegate_unity.config import OAuth2, TokenExchange, UnityConfig

_EXCHANGE: Final = "urn:ietf:params:oauth:grant-type:token-exchange"
_ACCESS_TOKEN: Final = "urn:ietf:params:oauth:token-type:access_token"  # noqa: S105 (a type's name)
_MARGIN_SECONDS: Final = 300


def authorized(config: UnityConfig, http: HttpClient, catalog: str) -> AuthorizedClient:
    """The configured way to ask.

    Args:
        config: The catalog's section.
        http: Reaches the catalog and token endpoints.
        catalog: The catalog's name, for messages.
    """
    grant = _grant(config)
    if grant is None:
        return AuthorizedClient(http, config.token)
    server = f"the catalog '{catalog}'"
    return AuthorizedClient(http, AccessTokens(http, grant, server, margin=_MARGIN_SECONDS))


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
        return HttpRequest("POST", uri, form=form)

    return grant


async def _subject(config: TokenExchange) -> str:
    if config.subject_token is not None:
        return config.subject_token.get_secret_value()
    if config.subject_token_file is None:
        raise ValueError("there is no identity token")
    token = (await anyio.Path(config.subject_token_file).read_text(encoding="utf-8")).strip()
    if not token:
        raise ValueError(f"{config.subject_token_file} is empty")
    return token


def _client_credentials(config: OAuth2) -> Callable[[], Awaitable[HttpRequest]]:
    async def grant() -> HttpRequest:
        return config.grant(config.token_uri)

    return grant
