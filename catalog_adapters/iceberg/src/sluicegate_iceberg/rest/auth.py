"""Authenticates the gateway to the catalog: anonymously, with a bearer token, or as OAuth client."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Final

from sluicegate.api import AccessTokens, AuthorizedClient, HttpClient, HttpRequest, SecretStr
from sluicegate_iceberg.config import IcebergConfig, OAuth2Config
from sluicegate_iceberg.rest.settings import origin

_MARGIN_SECONDS: Final = 60
# 419 is specific to Iceberg: the token has expired.
_REFUSALS: Final = frozenset((401, 419))


def authorized(config: IcebergConfig, http: HttpClient, catalog: str) -> AuthorizedClient:
    """Return a client that authenticates as configured."""
    if config.oauth2 is None:
        return AuthorizedClient(http, config.token, _REFUSALS)
    uri = config.oauth2.token_uri or f"{config.uri}/v1/oauth/tokens"
    # Headers might contain secrets of the catalog, so no other server receives them.
    headers = config.headers if origin(uri) == origin(config.uri) else {}
    tokens = client_tokens(config.oauth2, uri, http, catalog, headers=headers)
    return AuthorizedClient(http, tokens, _REFUSALS)


def client_tokens(
    client: OAuth2Config,
    uri: str,
    http: HttpClient,
    catalog: str,
    clock: Callable[[], float] = time.time,
    headers: Mapping[str, SecretStr] = MappingProxyType({}),
) -> AccessTokens:
    """Return the source of a client's access tokens (RFC 6749, section 4.4)."""

    async def grant() -> HttpRequest:
        request = await client.grant(uri)
        own = {name: value.get_secret_value() for name, value in headers.items()}
        return replace(request, headers={**own, **request.headers})

    server = f"the catalog '{catalog}'"
    return AccessTokens(http, grant, server, margin=_MARGIN_SECONDS, clock=clock)
