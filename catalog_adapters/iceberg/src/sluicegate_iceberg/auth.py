"""Who the gateway is to the catalog: nobody, a given bearer token, or an OAuth client."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

from sluicegate.api import AccessTokens, AuthorizedClient, HttpClient, HttpRequest
from sluicegate_iceberg.config import IcebergConfig, OAuth2Config

_MARGIN_SECONDS: Final = 60
# 419 is Iceberg's own: the token has timed out.
_REFUSALS: Final = frozenset((401, 419))


def authorized(config: IcebergConfig, http: HttpClient, catalog: str) -> AuthorizedClient:
    """The configured way to ask.

    Args:
        config: The catalog's section.
        http: Reaches the catalog and the token endpoint.
        catalog: The catalog's name, for messages.
    """
    if config.oauth2 is None:
        return AuthorizedClient(http, config.token, _REFUSALS)
    uri = config.oauth2.token_uri or f"{config.uri}/v1/oauth/tokens"
    return AuthorizedClient(http, client_tokens(config.oauth2, uri, http, catalog), _REFUSALS)


def client_tokens(
    client: OAuth2Config,
    uri: str,
    http: HttpClient,
    catalog: str,
    clock: Callable[[], float] = time.time,
) -> AccessTokens:
    """The access tokens of a client (RFC 6749, section 4.4).

    Args:
        client: Who asks.
        uri: The token endpoint.
        http: Reaches it.
        catalog: The catalog's name, for messages.
        clock: Epoch seconds.
    """

    async def grant() -> HttpRequest:
        return client.grant(uri)

    server = f"the catalog '{catalog}'"
    return AccessTokens(http, grant, server, margin=_MARGIN_SECONDS, clock=clock)
